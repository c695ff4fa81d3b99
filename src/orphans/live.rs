//! The hooks that live in a cluster, as a template of `kubectl` writes them: a line each, and no byte of what they hold.

use helm::{Events, RELEASE_NAME};
use stable_hooks_policy::name::Name;

use crate::escaped::unescaped;

/// A kind of objects that charts make hooks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    /// As `kubectl get` takes it.
    pub(crate) resource: &'static str,
    pub(crate) group: &'static str,
    pub(crate) name: &'static str,
    pub(crate) is_in_namespaces: bool,
}

impl Kind {
    const fn namespaced(resource: &'static str, group: &'static str, name: &'static str) -> Self {
        Self { resource, group, name, is_in_namespaces: true }
    }

    const fn cluster_wide(resource: &'static str, group: &'static str, name: &'static str) -> Self {
        Self { resource, group, name, is_in_namespaces: false }
    }
}

const RBAC: &str = "rbac.authorization.k8s.io";

/// The kinds that are looked through.
pub(crate) const KINDS: [Kind; 17] = [
    Kind::namespaced("jobs.batch", "batch", "Job"),
    Kind::namespaced("cronjobs.batch", "batch", "CronJob"),
    Kind::namespaced("pods", "", "Pod"),
    Kind::namespaced("serviceaccounts", "", "ServiceAccount"),
    Kind::namespaced("secrets", "", "Secret"),
    Kind::namespaced("configmaps", "", "ConfigMap"),
    Kind::namespaced("persistentvolumeclaims", "", "PersistentVolumeClaim"),
    Kind::namespaced("services", "", "Service"),
    Kind::namespaced("deployments.apps", "apps", "Deployment"),
    Kind::namespaced("statefulsets.apps", "apps", "StatefulSet"),
    Kind::namespaced("daemonsets.apps", "apps", "DaemonSet"),
    Kind::namespaced("networkpolicies.networking.k8s.io", "networking.k8s.io", "NetworkPolicy"),
    Kind::namespaced("ingresses.networking.k8s.io", "networking.k8s.io", "Ingress"),
    Kind::namespaced("roles.rbac.authorization.k8s.io", RBAC, "Role"),
    Kind::namespaced("rolebindings.rbac.authorization.k8s.io", RBAC, "RoleBinding"),
    Kind::cluster_wide("clusterroles.rbac.authorization.k8s.io", RBAC, "ClusterRole"),
    Kind::cluster_wide("clusterrolebindings.rbac.authorization.k8s.io", RBAC, "ClusterRoleBinding"),
];

/// Annotations and labels of an object that something else than Helm's hooks deploys.
const ANNOTATIONS: [&str; 5] = [
    RELEASE_NAME,
    "argocd.argoproj.io/tracking-id",
    "argocd.argoproj.io/hook",
    "kubectl.kubernetes.io/last-applied-configuration",
    "config.k8s.io/owning-inventory",
];
const LABELS: [&str; 2] = ["kustomize.toolkit.fluxcd.io/name", "kapp.k14s.io/app"];

/// Tools that deploy a chart's hooks as they deploy everything, by how their field managers begin. Argo CD that tracks by a
/// label is known by this alone: charts render the same label.
const MANAGERS: [&str; 5] = ["argocd", "kustomize-controller", "kubectl-client-side-apply", "kubectl-create", "pulumi"];

/// The field manager of `kubectl apply --server-side`; `kubectl-label` and the like only change what is there.
const KUBECTL: &str = "kubectl";

/// A Helm hook that lives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hook {
    pub(crate) name: Name,
    /// As an annotation spells them.
    pub(crate) events: String,
    /// When it was made, as the API server writes it; empty where it does not say.
    pub(crate) created: String,
    /// A Job or a Pod that is not over, or something that has Pods.
    pub(crate) is_running: bool,
    /// The API server says who has written it.
    pub(crate) has_managers: bool,
}

/// An object with a hook's annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// Helm has made it, as far as can be seen.
    Hook(Hook),
    /// Another tool deploys it.
    Tracked,
    /// One that something else deletes, or none that Helm would make.
    Other,
}

/// The template with which `kubectl` writes a line for each object of a list that carries the annotation of a hook, as a
/// query string. An annotation's value can hold anything, the one of `kubectl apply` a Secret's data: only that of
/// `helm.sh/hook` is written.
pub(crate) fn template() -> String {
    let mark = |key: &&str| r#"{{if index . "KEY"}}&mark=KEY{{end}}"#.replace("KEY", key);
    let marks = |keys: &[&str]| keys.iter().map(mark).collect::<String>();
    [
        r#"{{range .items}}{{$object := .}}{{with .metadata.annotations}}{{with index . "helm.sh/hook"}}hook={{urlquery .}}"#,
        "{{with $object.metadata}}&name={{urlquery .name}}{{with .namespace}}&namespace={{urlquery .}}{{end}}",
        "{{with .creationTimestamp}}&created={{urlquery .}}{{end}}",
        "{{if .ownerReferences}}&ends=owner{{end}}{{if .deletionTimestamp}}&ends=now{{end}}",
        "{{range .managedFields}}&manager={{urlquery .manager}}{{end}}{{with .annotations}}",
        &marks(&ANNOTATIONS),
        "{{end}}{{with .labels}}",
        &marks(&LABELS),
        "{{end}}{{end}}{{with $object.status}}{{if .active}}&active=yes{{end}}",
        // Of a Deployment or a StatefulSet, and of a DaemonSet.
        "{{if .replicas}}&active=yes{{end}}{{if .currentNumberScheduled}}&active=yes{{end}}",
        "{{with .phase}}&phase={{urlquery .}}{{end}}{{end}}{{\"\\n\"}}{{end}}{{end}}{{end}}",
    ]
    .concat()
}

/// Reads a line of the template; `None` for what is none.
pub(crate) fn read(line: &str, kind: Kind) -> Option<Found> {
    let mut hook = Hook::default();
    let mut name = None;
    let (mut is_tracked, mut ends) = (false, false);
    for (key, value) in line.split('&').filter_map(|pair| pair.split_once('=')) {
        let value = unescaped(value)?;
        match key {
            "hook" => match Events::parse(&value) {
                Ok(events) => hook.events = events.to_string(),
                Err(_) => ends = true,
            },
            "name" => name = Some(value),
            "namespace" => hook.name.namespace = value,
            "created" => hook.created = value,
            "ends" => ends = true,
            "mark" => is_tracked = true,
            "manager" => {
                hook.has_managers = true;
                is_tracked |= value == KUBECTL || MANAGERS.iter().any(|manager| value.starts_with(manager));
            }
            "active" => hook.is_running = true,
            "phase" => hook.is_running |= kind.name == "Pod" && !["Succeeded", "Failed"].contains(&&*value),
            _ => {}
        }
    }
    hook.name.name = name?;
    kind.group.clone_into(&mut hook.name.group);
    kind.name.clone_into(&mut hook.name.kind);
    if ends {
        return Some(Found::Other);
    }
    Some(if is_tracked { Found::Tracked } else { Found::Hook(hook) })
}

#[cfg(test)]
mod tests {
    use super::{Found, KINDS, Kind, read, template};

    const POD: Kind = KINDS[2];

    fn found(line: &str) -> Found {
        read(line, KINDS[0]).unwrap()
    }

    #[test]
    fn a_line_is_a_hook() {
        let line = "hook=pre-upgrade%2C+Post-Install&name=orders&namespace=shop&created=2026-11-01T10%3A00%3A00Z&manager=helm\
                    &manager=kube-controller-manager&active=yes";
        let Found::Hook(hook) = found(line) else { panic!("no hook") };
        assert_eq!(hook.name.to_string(), "Job shop/orders");
        assert_eq!((hook.name.group.as_str(), hook.events.as_str()), ("batch", "post-install,pre-upgrade"));
        assert_eq!((hook.created.as_str(), hook.is_running, hook.has_managers), ("2026-11-01T10:00:00Z", true, true));
    }

    #[test]
    fn what_others_deploy_is_theirs() {
        let line = |more: &str| format!("hook=test&name=a&namespace=shop&manager=helm{more}");
        assert!(matches!(found(&line("")), Found::Hook(_)));
        for more in [
            "&mark=argocd.argoproj.io/tracking-id",
            "&manager=argocd-controller",
            "&manager=kubectl",
            "&manager=kubectl-client-side-apply",
            "&manager=kustomize-controller",
        ] {
            assert_eq!(found(&line(more)), Found::Tracked, "{more}");
        }
        assert!(matches!(found(&line("&manager=kubectl-label")), Found::Hook(_)));
        for more in ["&ends=owner", "&ends=now&manager=argocd-controller", "&hook=crd-install"] {
            assert_eq!(found(&line(more)), Found::Other, "{more}");
        }
    }

    #[test]
    fn only_a_pod_runs_by_its_phase() {
        let is_running = |phase: &str, kind| {
            let line = format!("hook=test&name=a&phase={phase}");
            matches!(read(&line, kind), Some(Found::Hook(hook)) if hook.is_running)
        };
        assert_eq!(
            ["Running", "Pending", "Succeeded", "Failed"].map(|phase| is_running(phase, POD)),
            [true, true, false, false]
        );
        assert!(!is_running("Bound", KINDS[6]));
    }

    #[test]
    fn what_has_pods_runs() {
        for field in [".active", ".replicas", ".currentNumberScheduled"] {
            let asked = format!("{{{{if {field}}}}}&active=yes{{{{end}}}}");
            assert_eq!(template().matches(&asked).count(), 1, "{field}");
        }
        let deployment = KINDS.into_iter().find(|kind| kind.name == "Deployment").unwrap();
        let is_running = |more: &str| {
            let line = format!("hook=pre-install&name=a&namespace=shop&manager=helm{more}");
            matches!(read(&line, deployment), Some(Found::Hook(hook)) if hook.is_running)
        };
        assert!(is_running("&active=yes") && !is_running(""));
    }

    #[test]
    fn what_is_no_line_is_nothing() {
        for line in ["", "No resources found", "hook=test", "hook=test&name=%ff"] {
            assert_eq!(read(line, POD), None, "{line}");
        }
    }
}
