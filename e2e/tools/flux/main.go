// Helm as Flux's helm-controller calls it: the SDK with the controller's options, which Helm's own command line
// does not have. The record lies in one namespace, the objects in another, and ownership is taken.
//
//	flux install|upgrade RELEASE CHART TARGET-NAMESPACE STORAGE-NAMESPACE [KEY=VALUE]
package main

import (
	"fmt"
	"os"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/strvals"
)

const timeout = 5 * time.Minute

func main() {
	if len(os.Args) < 6 {
		fmt.Fprintln(os.Stderr, "usage: flux install|upgrade RELEASE CHART TARGET-NAMESPACE STORAGE-NAMESPACE [KEY=VALUE]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(verb, release, path, target, storage string, set []string) error {
	kube.ManagedFieldsManager = "helm-controller"
	settings := cli.New()
	settings.SetNamespace(target)
	config := action.NewConfiguration()
	if err := config.Init(settings.RESTClientGetter(), storage, "secret"); err != nil {
		return err
	}
	chart, err := loader.Load(path)
	if err != nil {
		return err
	}
	values := map[string]any{}
	for _, assignment := range set {
		if err := strvals.ParseInto(assignment, values); err != nil {
			return err
		}
	}
	switch verb {
	case "install":
		install := action.NewInstall(config)
		install.ReleaseName = release
		install.Namespace = target
		install.Timeout = timeout
		install.WaitStrategy = kube.StatusWatcherStrategy
		install.WaitForJobs = true
		install.ServerSideApply = true
		install.TakeOwnership = true
		// The controller installs anew what failed the first time.
		install.Replace = true
		_, err = install.Run(chart, values)
	case "upgrade":
		upgrade := action.NewUpgrade(config)
		upgrade.Namespace = target
		upgrade.Timeout = timeout
		upgrade.WaitStrategy = kube.StatusWatcherStrategy
		upgrade.WaitForJobs = true
		upgrade.ServerSideApply = "auto"
		upgrade.TakeOwnership = true
		upgrade.ResetValues = true
		upgrade.MaxHistory = 5
		_, err = upgrade.Run(release, chart, values)
	default:
		err = fmt.Errorf("unknown verb %q", verb)
	}
	return err
}
