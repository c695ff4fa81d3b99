//! `stable-hooks orphans`, with a `kubectl` of ours: hooks that live, records that name some of them.

#![cfg(unix)]

use std::process::Output;

use serde_json::{Value, json};

use crate::cli::{code, stderr, stdout};
use crate::docs::assert_json_is_explained;
use crate::forecast::stored::{CANARY, Cluster, Release, chart, installed_job};
use crate::helms::{path_with_script, stable_hooks};

/// A release with one hook Job, `<name>-migrations`.
fn release<'a>(namespace: &'a str, name: &'a str) -> Release<'a> {
    Release {
        namespace,
        name,
        chart: chart("shop", &[]),
        installed: installed_job(name, "shop/templates/job.yaml", true),
    }
}

/// A hook that Helm has made, as the template of `kubectl` writes it.
fn live(namespace: &str, name: &str, more: &str) -> String {
    format!(
        "hook=post-install%2Cpre-upgrade&name={name}&namespace={namespace}&created=2026-11-01T10%3A00%3A00Z&manager=helm{more}"
    )
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)))
}

/// `<state> <Kind> <namespace>/<name>` of each hook that is left over.
fn left(output: &Output) -> Vec<String> {
    let report = report(output);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let hooks = report["hooks"].as_array().unwrap().iter();
    hooks
        .map(|hook| {
            let [kind, namespace, name] = ["kind", "namespace", "name"].map(|key| text(&hook["object"][key]));
            format!("{} {kind} {namespace}/{name}", text(&hook["state"]))
        })
        .collect()
}

/// One release, what it has left in each state, and hooks that others deploy.
fn mixed(name: &str) -> Cluster {
    let pod = |name: &str, phase: &str, account: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"},
            "spec": {"serviceAccountName": account, "containers": []}, "status": {"phase": phase},
        })
    };
    Cluster::new(name)
        .with(&release("shop", "orders"))
        .with_live("jobs.batch", &live("shop", "orders-migrations", ""))
        .with_live("jobs.batch", &live("shop", "gone-migrations", ""))
        .with_live("jobs.batch", &live("shop", "running-migrations", "&active=yes"))
        .with_live("jobs.batch", &live("argo", "app-migrations", "&mark=argocd.argoproj.io/tracking-id"))
        .with_live("pods", &live("data", "gone-test", "&phase=Succeeded"))
        .with_live("serviceaccounts", &live("shop", "gone", ""))
        .with_live("serviceaccounts", &live("shop", "gone-too", ""))
        .with_live("clusterroles.rbac.authorization.k8s.io", "hook=pre-delete&name=gone%3A+role&manager=helm")
        .with_pods("shop", &[pod("orders-1", "Running", "gone"), pod("gone-1", "Succeeded", "gone-too")])
}

#[test]
fn orphans_are_the_hooks_that_no_record_names_with_what_removes_each() {
    let cluster = mixed("orphans-mixed");
    let output = cluster.orphans(&["-A", "-o", "json"]).output().unwrap();
    let expected = [
        "orphan ClusterRole /gone: role",
        "orphan ServiceAccount shop/gone-too",
        "orphan Pod data/gone-test",
        "orphan Job shop/gone-migrations",
        "in-use ServiceAccount shop/gone",
        "in-use Job shop/running-migrations",
    ];
    let mut found = left(&output);
    found.sort();
    let mut sorted = expected.map(str::to_owned);
    sorted.sort();
    assert_eq!(found, sorted, "{}", stderr(&output));
    assert_eq!((code(&output), stderr(&output).as_str()), (1, ""));
    let report = report(&output);
    let commands: Vec<_> =
        report["hooks"].as_array().unwrap().iter().map(|hook| hook["command"].as_str().unwrap()).collect();
    for command in [
        "kubectl delete 'clusterrole.rbac.authorization.k8s.io/gone: role'",
        "kubectl delete job.batch/gone-migrations -n shop",
        "kubectl delete pod/gone-test -n data",
        "kubectl delete serviceaccount/gone-too -n shop",
    ] {
        assert!(commands.contains(&command), "{command}: {commands:?}");
    }
    let summary = json!({"hooks": 8, "named": 1, "tracked": 1, "orphans": 4, "inUse": 2, "unknown": 0});
    assert_eq!((&report["version"], &report["summary"]), (&json!(1), &summary));
    assert_json_is_explained("`orphans`", &stdout(&output));
    // It reads, and nothing else.
    let called = cluster.called();
    assert!(
        called.lines().all(|line| ["get ", "version ", "config "].iter().any(|verb| line.starts_with(verb))
            || !line.contains("delete")),
        "{called}"
    );
    assert!(called.contains("--field-selector type!=helm.sh/release.v1"), "{called}");
}

#[test]
fn orphans_are_written_for_people_and_for_an_issue() {
    let cluster = mixed("orphans-written");
    let human = cluster.orphans(&["-A"]).output().unwrap();
    insta::assert_snapshot!("orphans-human", stdout(&human));
    let markdown = cluster.orphans(&["-A", "-o", "markdown"]).output().unwrap();
    insta::assert_snapshot!("orphans-markdown", stdout(&markdown));
    let quiet = cluster.orphans(&["-A", "-q"]).output().unwrap();
    assert_eq!((code(&quiet), stdout(&quiet).as_str(), stderr(&quiet).as_str()), (1, "", ""));
}

#[test]
fn orphans_that_have_pods_are_in_use_and_a_claim_takes_its_data_along() {
    let cluster = Cluster::new("orphans-workloads")
        .with(&release("shop", "orders"))
        .with_live("deployments.apps", &live("shop", "cache", "&active=yes"))
        .with_live("statefulsets.apps", &live("shop", "database", "&active=yes"))
        .with_live("daemonsets.apps", &live("shop", "agent", "&active=yes"))
        .with_live("deployments.apps", &live("shop", "scaled-to-zero", ""))
        .with_live("services", &live("shop", "database", ""))
        .with_live("persistentvolumeclaims", &live("shop", "database", "&phase=Bound"))
        .with_pods("shop", &[]);
    let output = cluster.orphans(&["-A", "-o", "json"]).output().unwrap();
    let expected = [
        "orphan Deployment shop/scaled-to-zero",
        "orphan PersistentVolumeClaim shop/database",
        "orphan Service shop/database",
        "in-use DaemonSet shop/agent",
        "in-use Deployment shop/cache",
        "in-use StatefulSet shop/database",
    ];
    assert_eq!(left(&output), expected, "{}", stderr(&output));
    let claim = "kubectl delete persistentvolumeclaim/database -n shop";
    let hook = &report(&output)["hooks"][1];
    assert_eq!((&hook["command"], &hook["reason"]), (&json!(claim), &json!("")));
    let printed = |format: &str| stdout(&cluster.orphans(&["-A", "-o", format]).output().unwrap());
    for (format, line) in [
        ("human", format!("\n    {claim} # its data goes too\n    kubectl delete service/database -n shop\n")),
        ("markdown", format!("\n- `{claim} # its data goes too`\n- `kubectl delete service/database -n shop`\n")),
    ] {
        let text = printed(format);
        assert!(text.contains(&line) && text.matches("goes too").count() == 1, "{text}");
        assert!(!text.contains("delete deployment.apps/cache"), "{text}");
    }
}

#[test]
fn orphans_of_one_namespace_may_be_named_by_a_record_of_another() {
    // Flux keeps its records apart from the objects.
    let mut apart = release("flux-system", "orders").json();
    apart["namespace"] = json!("shop");
    let cluster = Cluster::new("orphans-apart")
        .with_json("flux-system", "orders", &apart)
        .with_live("jobs.batch", &live("shop", "orders-migrations", ""))
        .with_live("jobs.batch", &live("data", "gone-migrations", ""));
    let output = cluster.orphans(&["-n", "shop", "-o", "json"]).output().unwrap();
    assert_eq!((code(&output), left(&output)), (0, vec![]), "{}", stderr(&output));
    let output = cluster.orphans(&["-A", "-o", "json"]).output().unwrap();
    assert_eq!((code(&output), left(&output)), (1, vec!["orphan Job data/gone-migrations".to_owned()]));
    let output = cluster.orphans(&["-n", "data"]).env("HELM_KUBECONTEXT", "prod eu").output().unwrap();
    assert!(stdout(&output).contains("\n    kubectl delete job.batch/gone-migrations -n data '--context=prod eu'\n"));
}

#[test]
fn orphans_are_none_without_the_records_of_all_namespaces() {
    let cluster = Cluster::new("orphans-refused").with(&release("shop", "orders")).refusing("secrets", "-A");
    let named = cluster.with_live("jobs.batch", &live("shop", "orders-migrations", ""));
    // Its own records are enough where they name it.
    let output = named.orphans(&["-n", "shop", "-o", "json"]).output().unwrap();
    assert_eq!((code(&output), left(&output), stderr(&output).as_str()), (0, vec![], ""));
    assert!(!named.called().contains("get secrets -A"), "{}", named.called());
    let cluster = named.with_live("jobs.batch", &live("shop", "other-migrations", ""));
    let output = cluster.orphans(&["-n", "shop", "-o", "json"]).output().unwrap();
    assert_eq!((code(&output), left(&output)), (2, vec!["unknown Job shop/other-migrations".to_owned()]));
    let hook = &report(&output)["hooks"][0];
    let reason = "not all records of all namespaces could be listed, and any can name it";
    assert_eq!((&hook["reason"], &hook["command"]), (&json!(reason), &json!("")));
    let text = stdout(&cluster.orphans(&["-n", "shop"]).output().unwrap());
    assert!(text.contains("\nunknown: not all records") && !text.contains("kubectl delete"), "{text}");
}

#[test]
fn orphans_are_none_where_a_record_cannot_be_read() {
    let cluster = Cluster::new("orphans-broken")
        .with(&release("shop", "orders"))
        .with_data("data", "broken", "no base64 of ours")
        .with_live("jobs.batch", &live("shop", "orders-migrations", ""))
        .with_live("jobs.batch", &live("shop", "gone-migrations", ""));
    let output = cluster.orphans(&["-A", "-o", "json"]).output().unwrap();
    assert_eq!((code(&output), left(&output)), (2, vec!["unknown Job shop/gone-migrations".to_owned()]));
    assert_eq!(report(&output)["hooks"][0]["reason"], "not all records could be read, and any can name it");
    assert_eq!(stderr(&output), "error: data/sh.helm.release.v1.broken.v1: data.release is not base64\n");
}

#[test]
fn orphans_are_told_where_a_record_goes_before_it_is_read() {
    let cluster = Cluster::new("orphans-going")
        .with(&release("shop", "orders"))
        .gone("data", "pruned")
        .with_live("jobs.batch", &live("shop", "gone-migrations", ""));
    let output = cluster.orphans(&["-A", "-o", "json"]).output().unwrap();
    assert_eq!((code(&output), left(&output)), (1, vec!["orphan Job shop/gone-migrations".to_owned()]));
    // It looks again for what has come instead.
    assert_eq!(cluster.called().matches("get secrets -A -l owner=helm").count(), 2, "{}", cluster.called());
}

#[test]
fn orphans_of_kinds_that_may_not_be_listed_are_missing() {
    let cluster = Cluster::new("orphans-partly")
        .with(&release("shop", "orders"))
        .refusing("roles.rbac.authorization.k8s.io", "-A")
        .with_live("jobs.batch", &live("shop", "gone-migrations", ""));
    let output = cluster.orphans(&["-A", "-o", "json"]).output().unwrap();
    assert_eq!((code(&output), left(&output)), (2, vec!["orphan Job shop/gone-migrations".to_owned()]));
    assert!(stderr(&output).contains("could not list roles.rbac.authorization.k8s.io"), "{}", stderr(&output));
}

#[test]
fn orphans_of_which_nothing_says_who_made_or_uses_them_are_unknown() {
    let cluster = Cluster::new("orphans-unknown")
        .with(&release("shop", "orders"))
        .with_live("jobs.batch", "hook=test&name=gone-migrations&namespace=shop&created=x")
        // There is no list of the Pods of this namespace.
        .with_live("configmaps", &live("data", "gone", ""))
        .with_live("clusterroles.rbac.authorization.k8s.io", "hook=test&name=a%0AJob+b&manager=helm");
    let output = cluster.orphans(&["-A", "-o", "json"]).output().unwrap();
    let expected =
        ["unknown ClusterRole /a\\nJob b", "unknown ConfigMap data/gone", "unknown Job shop/gone-migrations"];
    assert_eq!((code(&output), left(&output)), (2, expected.map(str::to_owned).to_vec()), "{}", stderr(&output));
}

#[test]
fn orphans_read_as_few_records_as_name_all_hooks_and_say_nothing_of_their_values() {
    let mut older = release("shop", "orders");
    older.installed = installed_job("renamed", "shop/templates/job.yaml", true);
    let cluster = Cluster::new("orphans-few")
        .with_revision(&older, 1)
        .with_revision(&release("shop", "orders"), 2)
        .with_live("jobs.batch", &live("shop", "orders-migrations", ""));
    let output = cluster.orphans(&["-A"]).output().unwrap();
    let said = "1 hook: 0 orphaned, 0 orphaned and in use, 0 unknown, 1 named by a record, 0 deployed by other tools\n";
    assert_eq!((code(&output), stdout(&output).as_str()), (0, said), "{}", stderr(&output));
    assert!(!cluster.called().contains("orders.v1 -n"), "{}", cluster.called());
    // A revision that could still be rolled back to names its hooks.
    let cluster = cluster.with_live("jobs.batch", &live("shop", "renamed-migrations", ""));
    let output = cluster.orphans(&["-A"]).output().unwrap();
    assert_eq!(code(&output), 0, "{}", stdout(&output));
    assert!(cluster.called().contains("orders.v1 -n"));
    let cluster = cluster.with_live("jobs.batch", &live("shop", "gone-migrations", ""));
    for format in ["human", "json", "markdown"] {
        let output = cluster.orphans(&["-A", "-o", format]).output().unwrap();
        assert!(code(&output) == 1 && !(stdout(&output) + &stderr(&output)).contains(CANARY), "{format}");
    }
}

#[test]
fn orphans_of_a_helm_that_stores_elsewhere_cannot_be_told() {
    let cluster = Cluster::new("orphans-sql").with_live("jobs.batch", &live("shop", "orders-migrations", ""));
    let output = cluster.orphans(&["-A"]).env("HELM_DRIVER", "sql").output().unwrap();
    assert!(code(&output) == 2 && !stdout(&output).contains("kubectl"), "{}", stdout(&output));
    assert!(stderr(&output).starts_with("error: HELM_DRIVER is sql: "), "{}", stderr(&output));
    // Others may use it, and nothing here says so.
    let output = cluster.orphans(&["-A"]).output().unwrap();
    assert!(
        code(&output) == 1 && stderr(&output).starts_with("note: no record is stored here; "),
        "{}",
        stderr(&output)
    );
}

#[test]
fn orphans_without_a_cluster_say_so_once() {
    let script = "case \"$1 $2\" in\n'version --client') echo v1.36.3 ;;\n*) echo refused >&2; exit 1 ;;\nesac";
    let path = path_with_script("orphans-without-a-cluster", "kubectl", script);
    let output = stable_hooks(&[&path], &["orphans", "-A"]);
    let told = "error: kubectl reaches no cluster: nothing was looked at; `kubectl version` says why\n";
    assert_eq!((stderr(&output).as_str(), code(&output)), (told, 2));
}
