//! `stable-hooks chart --sweep`: which values of a chart flip an object when they change, found by trying others.

#![cfg(unix)]

mod bounds;
mod constructs;
mod given;
mod steps;

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::chart_many::{with_each, write};
use crate::chart_renders::result;
use crate::cli::{code, stderr, stdout};
use crate::helms::{folder, stable_hooks};

const RULE: &str = "value-flips-identity";
const HOOK: &str = "helm.sh/hook: 'pre-install,pre-upgrade'";

/// A Job with this in its metadata.
fn job_with(name: &str, metadata: &str) -> String {
    format!(
        "---
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
{metadata}
spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: b}}]}}}}}}
"
    )
}

/// A Job that is a hook where this holds.
fn job(name: &str, condition: &str) -> String {
    let annotations = format!("  annotations: {{{HOOK}, helm.sh/hook-delete-policy: before-hook-creation}}");
    job_with(name, &format!("  {{{{- if {condition} }}}}\n{annotations}\n  {{{{- end }}}}"))
}

/// A chart of these files, called `c` unless they say otherwise.
fn chart(name: &str, files: &[(&str, &str)]) -> String {
    let chart = folder(&format!("sweep-{name}"));
    write_chart(&chart, "c", files);
    chart.to_str().unwrap().to_owned()
}

fn write_chart(chart: &Path, name: &str, files: &[(&str, &str)]) {
    write(&chart.join("Chart.yaml"), &format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\n"));
    for (path, text) in files {
        write(&chart.join(path), text);
    }
}

fn sweep(path: &Path, chart: &str, more: &[&str]) -> Output {
    stable_hooks(&[path], &[&["chart", chart, "--sweep"], more].concat())
}

/// "Kind/name: value from > to" of each finding of the rule, in the report's order.
fn flips(output: &Output) -> Vec<String> {
    let result = result(output);
    let of_rule = result["findings"].as_array().unwrap().iter().filter(|finding| finding["rule"] == RULE);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let row = |finding: &Value| {
        let [value] = finding["values"].as_array().unwrap().as_slice() else { panic!("{finding:#}") };
        let [kind, name] = ["kind", "name"].map(|field| text(&finding["object"][field]));
        let [path, from, to] = ["path", "from", "to"].map(|field| text(&value[field]));
        format!("{kind}/{name}: {path} {from} > {to}")
    };
    of_rule.map(row).collect()
}

/// The messages of the rule's findings.
fn messages(output: &Output) -> Vec<String> {
    let result = result(output);
    let of_rule = result["findings"].as_array().unwrap().iter().filter(|finding| finding["rule"] == RULE);
    of_rule.map(|finding| finding["message"].as_str().unwrap().to_owned()).collect()
}

/// The verdict's first sentence for people, in one line.
fn title(output: &Output) -> String {
    let words: Vec<_> = stdout(output).split_whitespace().map(str::to_owned).collect();
    words.join(" ")
}

#[test]
fn chart_sweep_one_switch_flips_in_both_directions() {
    let chart = chart(
        "switch",
        &[("values.yaml", "# about\nother: 1\nasHook: false\n"), ("templates/job.yaml", &job("m", ".Values.asHook"))],
    );
    with_each("sweep-switch-path", |path| {
        let output = sweep(path, &chart, &["-o", "json"]);
        assert_eq!((code(&output), stderr(&output)), (0, String::new()));
        let result = result(&output);
        let [finding] = result["findings"].as_array().unwrap().as_slice() else { panic!("{result:#}") };
        assert_eq!((&finding["rule"], &finding["level"]), (&json!(RULE), &json!("warn")));
        let place = json!({"file": format!("{chart}/values.yaml"), "line": 3});
        assert_eq!(finding["values"], json!([{"path": "asHook", "from": "false", "to": "true", "place": place}]));
        assert_eq!(finding["template"], json!({"file": format!("{chart}/templates/job.yaml"), "line": 7}));
        let message = finding["message"].as_str().unwrap();
        let begins = "flips when an upgrade changes the value `asHook` from false to true, and from true to false. From \
                      false to true it is a resource of the revision before and becomes a hook (\"pre-install,pre-upgrade\").";
        assert!(message.starts_with(begins), "{message}");
        assert!(message.contains(" From true to false it is a hook of the revision before "), "{message}");
        let help = finding["help"].as_str().unwrap();
        assert!(help.contains("leave `asHook` as it is on a release that is installed"), "{help}");

        // The same from the other side.
        fs::write(format!("{chart}/values.yaml"), "asHook: true\n").unwrap();
        assert_eq!(flips(&sweep(path, &chart, &["-o", "json"])), ["Job/m: asHook true > false"]);
        fs::write(format!("{chart}/values.yaml"), "# about\nother: 1\nasHook: false\n").unwrap();
    });
}

#[test]
fn chart_sweep_warns_and_points_at_the_value() {
    let chart = chart(
        "warns",
        &[("values.yaml", "job:\n  asHook: false\n"), ("templates/job.yaml", &job("m", ".Values.job.asHook"))],
    );
    with_each("sweep-warns-path", |path| {
        let output = sweep(path, &chart, &["--fail-on", "warn", "-q"]);
        assert_eq!((code(&output), stderr(&output)), (1, String::new()));
        let human = sweep(path, &chart, &[]);
        assert_eq!(code(&human), 0);
        assert!(title(&human).contains("; 1 value decides about hooks, tried in 1 render"), "{}", stdout(&human));
        let sarif = sweep(path, &chart, &["-o", "sarif"]);
        let report: Value = serde_json::from_slice(&sarif.stdout).unwrap();
        let [found] = report["runs"][0]["results"].as_array().unwrap().as_slice() else { panic!("{report:#}") };
        let place = &found["locations"][0]["physicalLocation"];
        let expected =
            json!({"artifactLocation": {"uri": format!("file://{chart}/values.yaml")}, "region": {"startLine": 2}});
        assert_eq!((&found["ruleId"], &found["level"], place), (&json!(RULE), &json!("warning"), &expected));
    });
}

#[test]
fn chart_sweep_says_the_same_each_time() {
    // The renders run side by side, and end in any order.
    let values = ["a", "b", "c"];
    let text = values.map(|value| format!("{value}: {{enabled: false, mode: job}}\n")).concat();
    let jobs =
        values.map(|value| job(value, &format!("or .Values.{value}.enabled (eq .Values.{value}.mode \"hook\")")));
    let chart = chart("same", &[("values.yaml", &text), ("templates/jobs.yaml", &jobs.concat())]);
    with_each("sweep-same-path", |path| {
        for format in ["json", "human"] {
            let one = sweep(path, &chart, &["-o", format]);
            let again = sweep(path, &chart, &["-o", format]);
            assert_eq!((stdout(&again), stderr(&again)), (stdout(&one), stderr(&one)));
        }
        let output = sweep(path, &chart, &["-o", "json"]);
        let expected = values.iter().flat_map(|value| {
            [
                format!("Job/{value}: {value}.enabled false > true"),
                format!("Job/{value}: {value}.mode \"job\" > \"hook\""),
            ]
        });
        let [mut told, mut expected] = [flips(&output), expected.collect::<Vec<_>>()];
        told.sort();
        expected.sort();
        assert_eq!(told, expected);
    });
}

#[test]
fn chart_sweep_finds_what_is_off_by_default() {
    let of_job = job("m", "not .Values.migration.noHelmHook");
    let template = format!("{{{{- if .Values.migration.enabled }}}}\n{of_job}\n{{{{- end }}}}\n");
    let values = "migration:\n  enabled: false\n  noHelmHook: false\n";
    let chart = chart("two-steps", &[("values.yaml", values), ("templates/job.yaml", &template)]);
    with_each("sweep-two-steps-path", |path| {
        let output = sweep(path, &chart, &["-o", "json"]);
        assert_eq!(flips(&output), ["Job/m: migration.noHelmHook false > true"]);
        let message = &messages(&output)[0];
        let begins = "flips, where `migration.enabled` is true, when an upgrade changes the value `migration.noHelmHook` from \
                      false to true";
        assert!(message.starts_with(begins), "{message}");
    });
}

#[test]
fn chart_sweep_does_not_tell_what_no_value_flips() {
    let renamed = job_with(
        "m{{ if .Values.asHook }}-hook{{ end }}",
        &format!("  {{{{- if .Values.asHook }}}}\n  annotations: {{{HOOK}}}\n  {{{{- end }}}}"),
    );
    let random = job("m-{{ randAlphaNum 8 | lower }}", ".Values.asHook");
    let events =
        job_with("m", "  annotations: {helm.sh/hook: {{ ternary \"pre-install\" \"pre-upgrade\" .Values.asHook }}}");
    for (name, template) in [("renamed", renamed), ("random", random), ("events", events)] {
        let chart = chart(name, &[("values.yaml", "asHook: false\n"), ("templates/job.yaml", &template)]);
        with_each(&format!("sweep-{name}-path"), |path| {
            let output = sweep(path, &chart, &["-o", "json"]);
            assert_eq!((flips(&output), code(&output)), (Vec::new(), 0), "{name}: {}", stderr(&output));
            let human = title(&sweep(path, &chart, &[]));
            assert!(human.contains("1 value decides about hooks, tried in 1 render"), "{name}: {human}");
        });
    }
}

#[test]
fn chart_sweep_does_not_blame_a_value_for_what_flips_without_it() {
    let itself = [job("m", "or .Release.IsUpgrade .Values.asHook"), job("k", ".Values.asHook")].concat();
    let chart = chart("itself", &[("values.yaml", "asHook: false\n"), ("templates/job.yaml", &itself)]);
    with_each("sweep-itself-path", |path| {
        let output = sweep(path, &chart, &["-o", "json"]);
        assert_eq!(flips(&output), ["Job/k: asHook false > true"]);
        assert_eq!(crate::chart_renders::denials(&output), ["release-identity-flip deny Job/m"]);
        assert_eq!(code(&output), 1);
    });
}
