//! Reports of forecasts, one for each release, and shards.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::stored::Cluster;
use super::{helm_that, mixed, outlooks, release, report, with_each};
use crate::cli::{code, stderr, stdout};
use crate::manifests::forecast_arguments;
use crate::outputs::{assert_valid, schema, strict};

/// `<namespace>/<name>` of each report in a List.
fn names(list: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| format!("{}/{}", text(&item["metadata"]["namespace"]), text(&item["metadata"]["name"]))).collect()
}

const OURS: &str = "stable-hooks-forecast-secret";

#[test]
fn forecast_reports_are_one_for_each_release_and_valid() {
    let cluster = mixed("reports").with_config_map(&release("shop", "orders", "false"));
    with_each("reports", |helm| {
        for (format, file, version, api, kind) in [
            ("openreports", "openreports.io_reports.yaml", "v1alpha1", "openreports.io/v1alpha1", "Report"),
            (
                "policyreport",
                "wgpolicyk8s.io_policyreports.yaml",
                "v1alpha2",
                "wgpolicyk8s.io/v1alpha2",
                "PolicyReport",
            ),
        ] {
            let output = cluster.forecast(helm, &["-A", "-o", format]).output().unwrap();
            assert_eq!(code(&output), 2, "{}", stderr(&output));
            let list = report(&output);
            assert_eq!((&list["apiVersion"], &list["kind"]), (&json!("v1"), &json!("List")));
            let expected = [
                format!("shop/{OURS}-orders"),
                format!("data/{OURS}-broken"),
                format!("shop/{OURS}-whole"),
                format!("shop/{OURS}-always"),
                "shop/stable-hooks-forecast-configmap-orders".to_owned(),
            ];
            assert_eq!(names(&list), expected);
            let items = list["items"].as_array().unwrap();
            let results: Vec<_> = items.iter().map(|item| item["results"][0]["result"].as_str().unwrap()).collect();
            assert_eq!(results, ["fail", "error", "error", "pass", "pass"]);
            let scope = json!({"apiVersion": "v1", "kind": "Secret", "namespace": "shop", "name": "sh.helm.release.v1.orders.v1"});
            let job = json!([{"kind": "Job", "namespace": "shop", "name": "orders-migrations"}]);
            assert_eq!((&items[0]["scope"], &items[0]["results"][0]["resources"]), (&scope, &job));
            assert_eq!(items[0]["results"][0]["rule"], "release-identity-flip");
            let stable = "the next upgrade, revision 2 of shop-0.1.0, is stable";
            assert_eq!(items[3]["results"][0]["message"], stable);
            assert!(items[2]["results"][0]["message"].as_str().unwrap().ends_with("--chart whole=PATH"));
            for item in items {
                assert_eq!((&item["apiVersion"], &item["kind"]), (&json!(api), &json!(kind)));
                for outcome in ["pass", "fail", "warn", "error", "skip"] {
                    let results = item["results"].as_array().unwrap().iter();
                    let count = results.filter(|result| result["result"] == outcome).count();
                    assert_eq!(item["summary"][outcome], json!(count), "{outcome}");
                }
                if let Some(crd) = schema(file) {
                    assert_valid(&strict(&crd, version), item);
                }
            }
        }
    });
}

#[test]
fn forecast_stores_a_report_for_each_release_and_removes_those_of_releases_that_are_gone() {
    let gone = [format!("{OURS}-gone"), "stable-hooks-forecast-configmap-orders".to_owned()];
    let cluster = gone
        .iter()
        .fold(mixed("store"), |cluster, report| cluster.with_live("reports.openreports.io", &format!("shop {report}")));
    let cluster = cluster
        .with_live("reports.openreports.io", &format!("shop {OURS}-orders"))
        .with_live("reports.openreports.io", "shop made-by-hand")
        .with_live("reports.openreports.io", &format!("left {OURS}-a.b"));
    let Some(arguments) = forecast_arguments() else { return };
    let (verb, arguments) = arguments.split_first().unwrap();
    assert_eq!(verb, "forecast");
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    with_each("store", |helm| {
        let before = cluster.applied().len();
        let output = cluster.forecast(helm, &arguments).output().unwrap();
        let told = "4 releases: 1 will flip, 0 will be denied, 2 not forecastable, 0 with warnings, 1 stable\n4 reports stored, 3 removed\n";
        assert_eq!((code(&output), stdout(&output).as_str()), (0, told), "{}", stderr(&output));
        let applied = cluster.applied();
        assert_eq!((applied.len(), names(&applied[before]).len()), (before + 1, 4));
        let called = cluster.called();
        let called: Vec<_> =
            called.lines().filter(|line| ["apply", "delete"].iter().any(|verb| line.starts_with(verb))).collect();
        let [apply, left, shop] = called[called.len() - 3..] else { panic!("{called:?}") };
        assert!(apply.starts_with("apply --server-side --force-conflicts --field-manager=stable-hooks -f "), "{apply}");
        assert_eq!(left, format!("delete reports.openreports.io -n left --ignore-not-found --wait=false {OURS}-a.b"));
        assert_eq!(
            shop,
            format!("delete reports.openreports.io -n shop --ignore-not-found --wait=false {}", gone.join(" "))
        );
        assert_eq!(std::fs::read_dir(cluster.temporary()).unwrap().count(), 0);
    });
}

#[test]
fn forecast_that_is_not_whole_removes_no_report_and_fails() {
    let helm = helm_that("stores", "echo ---");
    let store = |cluster: &Cluster, more: &[&str]| {
        let arguments = [&["-A", "-o", "openreports", "--store", "--timeout=2"], more].concat();
        cluster.forecast(&helm, &arguments).output().unwrap()
    };
    let new = |name: &str| {
        Cluster::new(name)
            .with(&release("shop", "orders", "false"))
            .with_live("reports.openreports.io", &format!("shop {OURS}-gone"))
    };
    let unlisted = new("store-unlisted").refusing("configmaps", "-A");
    let output = store(&unlisted, &[]);
    assert_eq!((code(&output), unlisted.applied().len()), (2, 1), "{}", stderr(&output));
    assert!(stderr(&output).contains("gone stay, for not all records could be listed"), "{}", stderr(&output));
    assert!(!unlisted.called().contains("delete "));

    let refused = new("store-refused").that_stores_nothing();
    let output = store(&refused, &[]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("not all reports are stored: kubectl: "), "{}", stderr(&output));
    assert!(stdout(&output).ends_with("0 reports stored, 1 removed\n"), "{}", stdout(&output));

    // What may go well the next time is stored and fails: the Job tries again.
    let slow = helm_that("store-slow", "exec /bin/sleep 60");
    let slowly = new("store-slow");
    let arguments = ["-A", "-o", "openreports", "--store", "--timeout=1"];
    let output = slowly.forecast(&slow, &arguments).output().unwrap();
    assert_eq!((code(&output), slowly.applied().len()), (2, 1), "{}", stderr(&output));

    // No release is left.
    let empty = Cluster::new("store-empty").with_live("reports.openreports.io", &format!("shop {OURS}-gone"));
    let output = store(&empty, &["-q"]);
    assert_eq!((code(&output), stdout(&output)), (0, String::new()), "{}", stderr(&output));
    assert!(empty.called().contains(&format!("--wait=false {OURS}-gone")));
    for (more, reason) in [
        (["-o", "json"], "--store goes with -o openreports or -o policyreport"),
        (["orders", "-A"], "the argument '[NAME]' cannot be used with '--store'"),
    ] {
        let output = empty.forecast(&helm, &[&more[..], &["--store"]].concat()).output().unwrap();
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    }
}

#[test]
fn forecast_shards_are_disjoint_and_together_all_and_remove_only_their_own_reports() {
    let helm = helm_that("shards", "echo ---");
    let names: Vec<_> = (0..30).map(|number| format!("release-{number}")).collect();
    let cluster =
        names.iter().fold(Cluster::new("shards"), |cluster, name| cluster.with(&release("shop", name, "false")));
    let cluster = (0..20).fold(cluster, |cluster, number| {
        cluster.with_live("reports.openreports.io", &format!("shop {OURS}-gone-{number}"))
    });
    let mut all = Vec::new();
    for shard in ["0/3", "1/3", "2/3"] {
        let output = cluster.forecast(&helm, &["-A", "-o", "json", "--shard", shard]).output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!((5..=15).contains(&outlooks(&output).len()), "{shard}: {}", outlooks(&output).len());
        all.extend(outlooks(&output));
        // The names of all releases are known to each.
        let output =
            cluster.forecast(&helm, &["-A", "-o", "openreports", "--store", "--shard", shard]).output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
    let found: BTreeSet<_> = all.iter().collect();
    assert_eq!((all.len(), found.len()), (30, 30));
    let called = cluster.called();
    let removed = called.lines().filter(|line| line.starts_with("delete "));
    let removed: Vec<_> = removed.flat_map(|line| line.split(' ').filter(|word| word.starts_with(OURS))).collect();
    let once: BTreeSet<_> = removed.iter().collect();
    assert_eq!((removed.len(), once.len()), (20, 20));
    for wrong in ["3/3", "x"] {
        let output = cluster.forecast(&helm, &["-A", "--shard", wrong]).output().unwrap();
        assert!(stderr(&output).contains("invalid value") && code(&output) == 2, "{}", stderr(&output));
    }
}
