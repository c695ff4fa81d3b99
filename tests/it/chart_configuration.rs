//! `stable-hooks chart`: what a hook reads, and what differs between two renders of one chart.

#![cfg(unix)]

use crate::chart_changes::{chart, job, with_each};
use crate::chart_renders::findings;
use crate::cli::{stdout, temporary};

/// A ConfigMap and a Secret with these values, and a hook that reads all of both.
fn reads(url: &str, password: &str) -> String {
    let hook = job("  annotations: {helm.sh/hook: \"pre-install,pre-upgrade\"}\n")
        .replace("image: b", "image: b, envFrom: [{configMapRef: {name: c}}, {secretRef: {name: s}}]");
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {{URL: {url}}}\n---\napiVersion: v1\nkind: Secret\n\
         metadata: {{name: s}}\nstringData: {{password: {password}}}\n---\n{hook}"
    )
}

#[test]
fn chart_a_hook_that_reads_what_the_release_changes_is_found_unless_it_changes_by_chance() {
    let stale = |output: &std::process::Output| {
        let findings = findings(output);
        findings.into_iter().filter(|finding| finding.starts_with("hook-stale-dependency")).collect::<Vec<_>>()
    };
    let value = chart("stale-value", &reads("{{ .Values.url | default \"a\" }}", "same"));
    let old = chart("stale-old", &reads("a", "same"));
    let chance = chart("stale-chance", &reads("{{ now | date \"20060102150405\" | quote }}", "{{ randAlpha 20 }}"));
    let both = chart("stale-both", &reads("b", "{{ randAlpha 20 }}"));
    let by_operation = chart("stale-operation", &reads("{{ .Release.IsUpgrade | quote }}", "same"));
    let values = temporary("stale-values.yaml", b"url: b\n");
    let old_values = temporary("stale-old-values.yaml", b"url: c\n");
    with_each("stale", |chart| {
        let of_job = ["hook-stale-dependency warn Job/m".to_owned()];
        let output = chart(&[&value, "--against", &old, "--set", "url=b", "-o", "json"]);
        assert_eq!(stale(&output), of_job, "another chart: {}", stdout(&output));
        assert!(stdout(&output).contains("reads URL of ConfigMap c"), "{}", stdout(&output));
        let [values, old_values] = [&values, &old_values].map(|file| file.to_str().unwrap());
        let output = chart(&[&value, "--against", &value, "-f", values, "--against-values", old_values, "-o", "json"]);
        assert_eq!(stale(&output), of_job, "other values: {}", stdout(&output));
        assert_eq!(stale(&chart(&[&value, "--against", &old, "-o", "json"])), [""; 0], "the same value");
        assert_eq!(stale(&chart(&[&chance, "--against", &chance, "-o", "json"])), [""; 0], "time and chance");
        let output = chart(&[&both, "--against", &old, "-o", "json"]);
        assert_eq!(stale(&output), of_job, "one of two by chance: {}", stdout(&output));
        assert!(!stdout(&output).contains("Secret s"), "{}", stdout(&output));
        assert_eq!(stale(&chart(&[&by_operation, "-o", "json"])), [""; 0], "the same chart and values");
    });
}
