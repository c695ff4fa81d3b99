//! The forecast that lives in the cluster: the manifests that ship, on a real API server. KWOK's Pods do not run, so the program
//! runs beside them: with the arguments and the index that the Job's Pods have, and with the rights of their ServiceAccount.

#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a scenario fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use stable_hooks_e2e::cluster::{has_condition, wait_for};
use stable_hooks_e2e::helm::{Major, Run, run};
use stable_hooks_e2e::scene::Scene;
use stable_hooks_e2e::suite::{self, Scenario};
use stable_hooks_e2e::world::World;

const NAMESPACE: &str = "stable-hooks";
const ACCOUNT: &str = "stable-hooks-forecast";
const OURS: &str = "stable-hooks-forecast-secret-";
const STABLE: usize = 10;

fn main() -> ExitCode {
    let scenario = Scenario::new("The forecast in the cluster".to_owned(), |world: &World| in_the_cluster(world));
    suite::run(vec![scenario], World::without_webhooks, None)
}

fn in_the_cluster(world: &World) {
    let scenes = ["in one", "in another"].map(|name| Scene::new(world, name, Major::Four, None));
    let scene = &scenes[0];
    for number in 0..STABLE {
        let _ = scenes[number % 2].install(&format!("stable-{number}"), "stable", &["--no-hooks"]).succeeds();
    }
    for scene in &scenes {
        let _ = scene.install("flips", "upgrade-only-hook", &[]).succeeds();
        scene.settle();
    }
    define(scene);
    let _ = scene.kubectl_of_a_page("apply -k policy/manifests/forecast/base").succeeds();
    let _ = scene.kubectl_of_a_page("apply -k policy/manifests/forecast/shards").succeeds();

    let pods = pods(scene, "first");
    assert_eq!(pods.keys().map(String::as_str).collect::<Vec<_>>(), ["0", "1", "2", "3"]);
    let account = kubeconfig(scene, NAMESPACE, ACCOUNT);
    may_nothing_else(scene, &account);

    // The others store theirs; the one that may read nothing fails, and is run again alone.
    let nobody = kubeconfig(scene, NAMESPACE, "default");
    for (index, arguments) in &pods {
        if index == "2" {
            let refused = beside(scene, &nobody, arguments);
            assert_eq!(refused.code, Some(2), "{}", refused.stderr);
            assert!(refused.stderr.contains("forbidden"), "{}", refused.stderr);
        } else {
            assert_eq!(beside(scene, &account, arguments).succeeds().code, Some(0));
        }
    }
    let expected = releases(&scenes);
    let without = reports(&scenes);
    assert!(without.len() < expected.len() && !without.is_empty(), "{without:?}");
    let retried = beside(scene, &account, &pods["2"]).succeeds();
    assert!(retried.stdout.ends_with(&format!("{} reports stored, 0 removed\n", expected.len() - without.len())));
    let all = reports(&scenes);
    assert_eq!(all.keys().cloned().collect::<BTreeSet<_>>(), expected, "each release has its report");
    for ((_, report), result) in &all {
        let foretold = if report.ends_with("flips") { "fail" } else { "pass" };
        assert_eq!(result, foretold, "{report}");
    }

    // A release is gone, and one is new; what others have made stays.
    let _ = scene.helm.run(&["uninstall", "stable-0"]).succeeds();
    let _ = scene.install("stable-new", "stable", &["--no-hooks"]).succeeds();
    let foreign =
        "apiVersion: openreports.io/v1alpha1\nkind: Report\nmetadata:\n  name: stable-hooks-forecast-secret-by-hand\n";
    let file = scene.folder().join("foreign.yaml");
    fs::write(&file, foreign).expect("the file is written");
    let _ = scene.kubectl(&["create", "-f", &file.to_string_lossy()]).succeeds();
    let uids = uids(&scenes);
    let runs: Vec<_> = pods.values().map(|arguments| beside(scene, &account, arguments).succeeds()).collect();
    let removed = runs.iter().filter(|run| run.stdout.ends_with(" 1 removed\n")).count();
    assert_eq!(removed, 1, "one shard removes it: {runs:?}");
    let after = reports(&scenes);
    let mut expected = releases(&scenes);
    expected.insert((scene.namespace.clone(), format!("{OURS}by-hand")));
    assert_eq!(after.keys().cloned().collect::<BTreeSet<_>>(), expected);
    for (place, uid) in self::uids(&scenes) {
        let is_new = place.1.ends_with("stable-new");
        assert_eq!(uids.get(&place) == Some(&uid), !is_new, "{place:?}: a report is replaced in place");
    }

    // Without shards it is the same.
    let whole =
        beside(scene, &account, &["forecast", "-A", "--output=openreports", "--store"].map(str::to_owned)).succeeds();
    assert!(whole.stdout.contains("2 will flip") && whole.stdout.ends_with(" 0 removed\n"), "{}", whole.stdout);
    assert_eq!(reports(&scenes).len(), expected.len());
    let selected =
        scene.kubectl_of_a_page("get reports.openreports.io -A -l app.kubernetes.io/component=forecast -o name");
    assert_eq!(selected.succeeds().stdout.lines().count(), expected.len() - 1);
    in_one_namespace(&scenes[1], scene);
}

/// The definition of the reports, as Kubewarden's chart brings it.
fn define(scene: &Scene<'_>) {
    let schemas = std::env::var("SCHEMAS").expect("SCHEMAS names the folder that `make schemas` fills");
    let file = Path::new(&schemas).join("openreports.io_reports.yaml");
    let _ = scene.kubectl_of_a_page(&format!("apply --server-side -f {}", file.display())).succeeds();
    wait_for("the definition is served", || {
        let defined = scene.kubectl_of_a_page("get crd reports.openreports.io -o json").succeeds();
        let defined: Value = serde_json::from_str(&defined.stdout).expect("kubectl prints JSON");
        has_condition(&defined, "Established").then_some(())
    });
}

/// A Job of the CronJob: what each of its Pods runs, by its index.
fn pods(scene: &Scene<'_>, name: &str) -> BTreeMap<String, Vec<String>> {
    let create = format!("create job {name} -n {NAMESPACE} --from=cronjob/{ACCOUNT}");
    let _ = scene.kubectl_of_a_page(&create).succeeds();
    wait_for("the Pods of the Job", || {
        let listed = scene.kubectl_of_a_page(&format!("get pods -n {NAMESPACE} -l job-name={name} -o json")).succeeds();
        let listed: Value = serde_json::from_str(&listed.stdout).expect("kubectl prints JSON");
        let pods: BTreeMap<_, _> = listed["items"].as_array().into_iter().flatten().map(what_it_runs).collect();
        (pods.len() == 4).then_some(pods)
    })
}

/// As the kubelet starts it: a variable in an argument is that of the container.
fn what_it_runs(pod: &Value) -> (String, Vec<String>) {
    let container = &pod["spec"]["containers"][0];
    let variables = container["env"].as_array().expect("the Job gives it variables");
    let index = variables.iter().find(|variable| variable["name"] == "JOB_COMPLETION_INDEX").expect("its index");
    let label = "batch.kubernetes.io/job-completion-index";
    let path = index["valueFrom"]["fieldRef"]["fieldPath"].as_str().unwrap_or_default();
    assert!(path.contains(label), "{index}");
    let index = pod["metadata"]["labels"][label].as_str().expect("the label that the variable reads").to_owned();
    assert_eq!(container["command"], json!(["stable-hooks"]));
    assert_eq!(pod["spec"]["serviceAccountName"], ACCOUNT);
    let arguments = container["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let arguments = arguments.map(|argument| argument.replace("$(JOB_COMPLETION_INDEX)", &index)).collect();
    (index, arguments)
}

/// A kubeconfig with a token of that ServiceAccount, and nothing of the administrator's.
fn kubeconfig(scene: &Scene<'_>, namespace: &str, account: &str) -> PathBuf {
    let token = scene.kubectl_of_a_page(&format!("create token {account} -n {namespace}")).succeeds().stdout;
    let text = fs::read_to_string(&scene.world.plane.kubeconfig).expect("there is a kubeconfig");
    let mut config: Value = serde_json::from_str(&text).expect("it is JSON");
    config["users"][0]["user"] = json!({"token": token.trim()});
    let path = scene.folder().join(format!("{namespace}-{account}.kubeconfig"));
    fs::write(&path, config.to_string()).expect("the kubeconfig is written");
    path
}

/// Runs the program as a Pod would.
fn beside(scene: &Scene<'_>, kubeconfig: &Path, arguments: &[String]) -> Run {
    let mut command = scene.helm.command(Path::new("stable-hooks"));
    command.args(arguments).env("KUBECONFIG", kubeconfig);
    run(command, &format!("stable-hooks {}", arguments.join(" ")))
}

/// The API server refuses the ServiceAccount all that no forecast needs.
fn may_nothing_else(scene: &Scene<'_>, kubeconfig: &Path) {
    let kubectl = |arguments: &str| kubectl_as(scene, kubeconfig, arguments);
    let namespace = &scene.namespace;
    for allowed in ["get secrets -A", "get configmaps -A", "get reports.openreports.io -A"] {
        let _ = kubectl(allowed).succeeds();
    }
    for refused in [
        "get jobs -A".to_owned(),
        "get pods -A".to_owned(),
        "get serviceaccounts -A".to_owned(),
        "get secrets -A --watch".to_owned(),
        format!("delete secret sh.helm.release.v1.flips.v1 -n {namespace} --wait=false"),
        format!("create configmap mine -n {namespace}"),
        format!("label secret sh.helm.release.v1.flips.v1 -n {namespace} a=b"),
        format!("create token {ACCOUNT} -n {NAMESPACE}"),
        format!("get reports.openreports.io -n {namespace} {OURS}flips"),
    ] {
        let run = kubectl(&refused).fails();
        assert!(run.stderr.contains("orbidden"), "{refused}: {}", run.stderr);
    }
}

fn kubectl_as(scene: &Scene<'_>, kubeconfig: &Path, arguments: &str) -> Run {
    let mut command = scene.helm.command(&scene.world.tools.kubernetes.join("kubectl"));
    command.args(arguments.split(' ')).env("KUBECONFIG", kubeconfig);
    run(command, &format!("kubectl {arguments}"))
}

/// The kustomization of the page, in this namespace: it stores the reports of its own releases, and may read no other.
fn in_one_namespace(scene: &Scene<'_>, other: &Scene<'_>) {
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/forecast.md")).expect("there is a page");
    let (_, block) = page.split_once("```yaml\n").expect("it has a kustomization");
    let block = block
        .split("```")
        .next()
        .unwrap_or_default()
        .replace("namespace: shop", &format!("namespace: {}", scene.namespace));
    let (before, remote) =
        block.split_once("https://github.com/stable-hooks/stable-hooks//").expect("it names a release");
    let (local, _) = remote.split_once("?ref=").expect("by its tag");
    let folder = scene.folder().join("own");
    fs::create_dir_all(&folder).expect("there is a folder");
    let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/../policy");
    std::os::unix::fs::symlink(policy, folder.join("policy")).expect("the manifests are linked");
    fs::write(folder.join("kustomization.yaml"), format!("{before}{local}\n")).expect("it is written");
    let _ = scene.kubectl_of_a_page(&format!("apply -k {}", folder.display())).succeeds();

    let job = scene.kubectl(&["get", "cronjob", ACCOUNT, "-o", "json"]).succeeds();
    let job: Value = serde_json::from_str(&job.stdout).expect("kubectl prints JSON");
    let container = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["env"][0]["valueFrom"]["fieldRef"]["fieldPath"], "metadata.namespace");
    let arguments = container["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let arguments: Vec<_> = arguments.map(|argument| argument.replace("$(NAMESPACE)", &scene.namespace)).collect();
    let account = kubeconfig(scene, &scene.namespace, ACCOUNT);
    let _ = scene.kubectl(&["delete", "reports.openreports.io", "--all"]).succeeds();
    let run = beside(scene, &account, &arguments).succeeds();
    let releases = releases(std::slice::from_ref(scene));
    assert!(run.stdout.ends_with(&format!("{} reports stored, 0 removed\n", releases.len())), "{}", run.stdout);
    assert_eq!(reports(std::slice::from_ref(scene)).into_keys().collect::<BTreeSet<_>>(), releases);
    for refused in ["get secrets -A".to_owned(), format!("get secrets -n {}", other.namespace)] {
        assert!(kubectl_as(scene, &account, &refused).fails().stderr.contains("orbidden"), "{refused}");
    }
}

type Place = (String, String);

/// The reports that releases should have.
fn releases(scenes: &[Scene<'_>]) -> BTreeSet<Place> {
    let of = |scene: &Scene<'_>| {
        let listed = scene.helm.run(&["list", "--short"]).succeeds().stdout;
        let names: Vec<_> = listed.lines().map(|name| (scene.namespace.clone(), format!("{OURS}{name}"))).collect();
        names
    };
    scenes.iter().flat_map(of).collect()
}

/// Those that there are, each with its first result.
fn reports(scenes: &[Scene<'_>]) -> BTreeMap<Place, String> {
    fields(scenes, "/results/0/result")
}

fn uids(scenes: &[Scene<'_>]) -> BTreeMap<Place, String> {
    fields(scenes, "/metadata/uid")
}

fn fields(scenes: &[Scene<'_>], pointer: &str) -> BTreeMap<Place, String> {
    let of = |scene: &Scene<'_>| {
        let listed = scene.kubectl(&["get", "reports.openreports.io", "-o", "json"]).succeeds();
        let listed: Value = serde_json::from_str(&listed.stdout).expect("kubectl prints JSON");
        let text =
            |report: &Value, pointer| report.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let items = listed["items"].as_array().cloned().unwrap_or_default();
        let place = |report: &Value| (text(report, "/metadata/namespace"), text(report, "/metadata/name"));
        items.iter().map(|report| (place(report), text(report, pointer))).collect::<Vec<_>>()
    };
    scenes.iter().flat_map(of).collect()
}
