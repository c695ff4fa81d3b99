//! Records that are read by pages, and programs that take too long.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use super::stored::Cluster;
use super::{helm_that, outlooks, reason, release, report};
use crate::cli::{code, stderr, stdout};
use crate::helms::path_with_script;

#[test]
fn forecast_a_thousand_releases_are_read_by_pages() {
    let mut cluster = Cluster::new("thousand");
    for number in 0..1000 {
        let name = format!("release-{number:03}");
        cluster = cluster.with(&release("shop", &name, "false"));
    }
    // Every twentieth is a hook now.
    let hook = "printf 'kind: Job\\napiVersion: batch/v1\\nmetadata: {name: %s-migrations, annotations: {helm.sh/hook: \"pre-install,pre-upgrade\"}}\\n' $2";
    let plain = "printf 'kind: Job\\napiVersion: batch/v1\\nmetadata: {name: %s-migrations}\\n' $2";
    let helm = helm_that("thousand", &format!("case $2 in *[02468]0) {hook} ;; *) {plain} ;; esac"));
    let output = cluster.forecast(&helm, &["-A", "-o", "json"]).output().unwrap();
    let report = report(&output);
    assert_eq!((code(&output), &report["summary"]["releases"]), (1, &json!(1000)), "{}", stderr(&output));
    assert_eq!(report["summary"]["flips"], json!(50), "{}", report["summary"]);
    let called = cluster.called();
    let pages = called.lines().filter(|line| line.starts_with("get --raw /api/v1/secrets?labelSelector="));
    assert_eq!(pages.count(), 20);
    assert_eq!(called.lines().count(), 20 + 6, "the pages, two tables, what the cluster is");
    assert_eq!(fs::read_dir(cluster.temporary()).unwrap().count(), 0);
}

/// That many releases, one of which will flip.
fn many(name: &str, count: usize) -> Cluster {
    (1..count).fold(Cluster::new(name).with(&release("shop", "flips", "")), |cluster, number| {
        cluster.with(&release("shop", &format!("release-{number:03}"), "false"))
    })
}

/// A `helm` for them.
fn helm_of_many(name: &str) -> PathBuf {
    let job = "kind: Job\\napiVersion: batch/v1\\nmetadata: {name: %s-migrations";
    let hook = format!("printf '{job}, annotations: {{helm.sh/hook: \"pre-install,pre-upgrade\"}}}}\\n' $2");
    helm_that(name, &format!("case $2 in flips) {hook} ;; *) printf '{job}}}\\n' $2 ;; esac"))
}

/// How often `kubectl` was called so.
fn calls(cluster: &Cluster, start: &str) -> usize {
    cluster.called().lines().filter(|line| line.starts_with(start)).count()
}

#[test]
fn forecast_pages_that_are_forgotten_are_begun_again_and_no_release_is_told_twice() {
    let helm = helm_of_many("expires");
    let cluster = many("expires", 130).whose_pages("expires");
    let output = cluster.forecast(&helm, &["-A", "-o", "json"]).output().unwrap();
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(!stderr(&output).contains("Expired"), "{}", stderr(&output));
    let outlooks = outlooks(&output);
    assert_eq!((outlooks.len(), outlooks[0].as_str()), (130, "flips shop/flips"));
    let names: BTreeSet<_> = outlooks.iter().collect();
    assert_eq!(names.len(), 130);
    // The first, the second too late, and all three.
    assert_eq!((calls(&cluster, "get --raw /api/v1/secrets?"), calls(&cluster, "get secret ")), (5, 0));
}

#[test]
fn forecast_where_no_page_can_be_read_each_record_is() {
    let helm = helm_of_many("refused");
    let cluster = many("refused", 12).whose_pages("refused");
    let output = cluster.forecast(&helm, &["-n", "shop", "-o", "json"]).output().unwrap();
    assert_eq!((code(&output), outlooks(&output).len()), (1, 12), "{}", stderr(&output));
    assert!(!stderr(&output).contains("Forbidden"), "{}", stderr(&output));
    assert_eq!(
        (calls(&cluster, "get --raw /api/v1/namespaces/shop/secrets?"), calls(&cluster, "get secret ")),
        (1, 12)
    );
}

#[test]
fn forecast_reads_what_is_on_no_page_by_itself() {
    let helm = helm_of_many("left-over");
    let old = release("shop", "release-003", "false");
    let cluster = many("left-over", 12)
        .with_revision(&old, 2)
        .gone("shop", "gone")
        .listed("secrets", "shop   sh.helm.release.v1.orders.v7   helm.sh/release.v1   1   3d   failed\n");
    let output = cluster.forecast(&helm, &["-A", "-o", "json"]).output().unwrap();
    assert_eq!((code(&output), outlooks(&output).len()), (2, 14), "{}", stderr(&output));
    assert_eq!(report(&output)["summary"]["notForecastable"], json!(2), "{}", stdout(&output));
    assert_eq!((calls(&cluster, "get --raw "), calls(&cluster, "get secret ")), (1, 2));
    let revised =
        report(&output)["releases"].as_array().unwrap().iter().find(|one| one["name"] == "release-003").cloned();
    assert_eq!(revised.unwrap()["revision"], json!(3));
}

#[test]
fn forecast_a_program_that_hangs_is_given_up() {
    let hangs = "exec /bin/sleep 60";
    let begun = Instant::now();
    let cluster = many("hanging", 12).whose_pages("hangs");
    let output = cluster.forecast(&helm_of_many("quick"), &["-A", "-o", "json", "--timeout", "1"]).output().unwrap();
    assert_eq!((code(&output), report(&output)["summary"]["notForecastable"].clone()), (2, json!(12)));
    let page = "sh.helm.release.v1.flips.v1: kubectl takes longer than 1 second; `--timeout SECONDS` waits longer";
    assert_eq!(reason(&output), page);
    assert_eq!(calls(&cluster, "get secret "), 0, "it is not waited for once for each");

    // One release of two: the other is foretold.
    let cluster =
        Cluster::new("hanging-helm").with(&release("shop", "hangs", "false")).with(&release("shop", "orders", "false"));
    let helm = helm_that("hanging", &format!("case $2 in hangs) {hangs} ;; *) echo --- ;; esac"));
    let output = cluster.forecast(&helm, &["-A", "-o", "json", "--timeout", "1"]).output().unwrap();
    assert_eq!(outlooks(&output), ["not-forecastable shop/hangs", "stable shop/orders"], "{}", stderr(&output));
    assert_eq!(reason(&output), "helm takes longer than 1 second to render it; `--timeout SECONDS` waits longer");
    assert_eq!(fs::read_dir(cluster.temporary()).unwrap().count(), 0);

    for (name, helm, kubectl, told) in [
        (
            "version",
            hangs,
            "",
            "error: helm takes longer than 1 second to say its version; `--timeout SECONDS` waits longer",
        ),
        (
            "client",
            "echo v3.22.0",
            hangs,
            "error: kubectl takes longer than 1 second; `--timeout SECONDS` waits longer",
        ),
        (
            "table",
            "echo v3.22.0",
            "case \"$1\" in get) exec /bin/sleep 60 ;; esac",
            "error: kubectl takes longer than 1 second to list secrets; `--timeout SECONDS` waits longer",
        ),
    ] {
        let helm = path_with_script(&format!("forecast-hanging-{name}-helm"), "helm", helm);
        let kubectl = path_with_script(&format!("forecast-hanging-{name}-kubectl"), "kubectl", kubectl);
        let output = crate::helms::stable_hooks(&[&kubectl, &helm], &["forecast", "-A", "--timeout=1"]);
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains(told), "{told}: {}", stderr(&output));
    }
    assert!(begun.elapsed() < Duration::from_secs(50), "it waited");
    let output = crate::helms::stable_hooks(&[], &["forecast", "-A", "--timeout=0"]);
    assert!(stderr(&output).contains("invalid value '0' for '--timeout <SECONDS>'"), "{}", stderr(&output));
}
