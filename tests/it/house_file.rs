//! `.stable-hooks.yaml`: what a repository says once about its charts.

#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::chart_many::{chart, verdicts, with_each, write};
use crate::cli::{code, stderr};
use crate::engines::root;
use crate::helms::{command, folder};

/// Two charts that flip, and a house file.
fn repository(name: &str, house: &str) -> PathBuf {
    let repository = folder(name);
    for name in ["orders", "legacy"] {
        chart(&repository.join("charts").join(name), "flip");
    }
    // Nothing above it is looked at.
    write(&repository.join(".git/HEAD"), "");
    write(&repository.join(".stable-hooks.yaml"), house);
    repository
}

fn judge(path: &Path, folder: &Path, arguments: &[&str]) -> Output {
    let mut command = command(env!("CARGO_BIN_EXE_stable-hooks"), &[path]);
    command.arg("chart").args(arguments).args(["-o", "json"]).current_dir(folder).output().unwrap()
}

fn told(output: &Output) -> Vec<String> {
    verdicts(output).into_iter().map(|(source, verdict)| format!("{verdict} {source}")).collect()
}

#[test]
fn house_file_names_the_charts_and_their_values() {
    let house = "charts: [charts/*]\nvalues:\n  charts/orders:\n  - [a.yaml, b.yaml]\n  - a.yaml\n";
    let repository = repository("house-charts", house);
    write(&repository.join("a.yaml"), "hook: on upgrade\n");
    write(&repository.join("b.yaml"), "hook: never\n");
    with_each("house-charts-path", |path| {
        let all = ["deny charts/legacy", "allow charts/orders (a.yaml + b.yaml)", "deny charts/orders (a.yaml)"];
        assert_eq!(told(&judge(path, &repository, &[])), all);
        // From the chart upwards, wherever one stands.
        let inside = repository.join("charts/orders");
        assert_eq!(told(&judge(path, &inside, &["."])), ["allow . (a.yaml + b.yaml)", "deny . (a.yaml)"]);
        write(&inside.join(".stable-hooks.yaml"), "charts: [.]\nignore: {.: [release-identity-flip]}\n");
        assert_eq!(told(&judge(path, &inside, &[])), ["allow ."], "the nearest one counts");
        std::fs::remove_file(inside.join(".stable-hooks.yaml")).unwrap();
        // One that is missing hides no other.
        std::fs::rename(repository.join("b.yaml"), repository.join("c.yaml")).unwrap();
        let output = judge(path, &repository, &["charts/orders"]);
        assert_eq!(told(&output), ["deny charts/orders (a.yaml)"]);
        assert!(code(&output) == 2 && stderr(&output).contains("b.yaml: No such file"), "{}", stderr(&output));
        std::fs::rename(repository.join("c.yaml"), repository.join("b.yaml")).unwrap();
        let alone = judge(path, &repository, &["charts/orders", "--no-config"]);
        assert_eq!(told(&alone), ["deny charts/orders"]);
    });
}

#[test]
fn house_file_sets_levels_and_what_is_ignored_is_counted() {
    let house = "settings:\n  rules:\n    release-identity-flip: warn\n";
    let set = repository("house-settings", house);
    let ignoring = repository("house-ignore", "ignore:\n  charts/legacy/**: [release-identity-flip]\n");
    let of_template = "ignore:\n  charts/*/templates/migrations.yaml: [release-identity-flip]\n";
    let of_template = repository("house-ignore-template", of_template);
    let of_other = repository("house-ignore-other", "ignore:\n  charts/legacy/**: [hook-order]\n");
    with_each("house-settings-path", |path| {
        assert_eq!(told(&judge(path, &set, &["charts"])), ["allow charts/legacy", "allow charts/orders"]);
        let output = judge(path, &ignoring, &["charts"]);
        assert_eq!(told(&output), ["allow charts/legacy", "deny charts/orders"]);
        let file = ignoring.canonicalize().unwrap().join(".stable-hooks.yaml");
        assert_eq!(stderr(&output), format!("note: 1 finding is ignored, as {} says\n", file.display()));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["summary"]["ignored"], serde_json::json!(1));
        // What both say is counted once, and it is the file that is named.
        let annotated = concat!(
            "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: legacy\n  annotations:\n    stable-hooks/ignore: RULES\n",
            "    {{ if .Release.IsUpgrade }}helm.sh/hook: pre-upgrade{{ end }}\n"
        );
        let both = repository("house-ignore-both", "ignore:\n  charts/legacy/**: [release-identity-flip]\n");
        let template = both.join("charts/legacy/templates/migrations.yaml");
        for (rules, notes) in [("release-identity-flip", 1), ("hook-order", 1)] {
            write(&template, &annotated.replace("RULES", rules));
            let output = judge(path, &both, &["charts/legacy"]);
            assert_eq!(told(&output), ["allow charts/legacy"]);
            assert_eq!(
                stderr(&output).matches("note: 1 finding is ignored, as ").count(),
                notes,
                "{}",
                stderr(&output)
            );
            assert!(stderr(&output).contains(".stable-hooks.yaml says"), "{}", stderr(&output));
        }
        let alone = judge(path, &both, &["charts/legacy", "--no-config"]);
        assert_eq!(told(&alone), ["deny charts/legacy"]);
        assert_eq!(told(&judge(path, &of_template, &["charts"])), ["allow charts/legacy", "allow charts/orders"]);
        assert_eq!(told(&judge(path, &of_other, &["charts"])), ["deny charts/legacy", "deny charts/orders"]);
    });
}

#[test]
fn house_file_s_faults_are_told_with_their_line() {
    with_each("house-faults-path", |path| {
        for (text, told) in [
            (
                "charts: [charts/*]\nignores: {}\n",
                ":2: unknown field `ignores`, expected one of charts, values, settings, ignore",
            ),
            (
                "ignore:\n  a/**:\n  - hook-order\n  - no-such\n",
                ":4: there is no rule `no-such`; `stable-hooks explain` lists them",
            ),
            ("settings:\n  rules:\n    hook-order: off\n    nope: off\n", ":4: settings.rules.nope: unknown field"),
            ("settings:\n  jobTtlSeconds: soon\n", ":2: settings.jobTtlSeconds: expected a number of seconds"),
            ("ignore:\n  'a/***': [hook-order]\n", ":2: `a/***` is no pattern of paths: "),
            ("charts: charts/*\n", ":1: expected sequence start"),
            ("charts: [charts/*]\ncharts: []\n", ":2: duplicate mapping key: charts\n"),
            ("values:\n  charts/*: [{a: b}]\n", ":2: expected a file, or a list of files that are given together"),
            ("charts: [\n", ":1: unclosed bracket '['"),
            ("charts: [nowhere/*]\n", ": `charts` names `nowhere/*`, and there is no such chart"),
        ] {
            let repository = repository("house-faults", text);
            let arguments: &[&str] = if text.contains("nowhere") { &[] } else { &["charts"] };
            let output = judge(path, &repository, arguments);
            let file = repository.canonicalize().unwrap().join(".stable-hooks.yaml");
            let told = format!("error: {}{told}", file.display());
            assert!(code(&output) == 2 && stderr(&output).starts_with(&told), "{told}: {}", stderr(&output));
            assert_eq!(stderr(&output).matches("error: ").count(), 1, "one fault, told once: {}", stderr(&output));
        }
    });
}

#[test]
fn house_file_and_command_line_do_not_contradict_each_other_in_silence() {
    let repository =
        repository("house-contradicts", "settings: {jobTtlSeconds: 5}\nvalues: {charts/orders: [a.yaml]}\n");
    write(&repository.join("a.yaml"), "hook: never\n");
    write(&repository.join("settings.yaml"), "jobTtlSeconds: 6\n");
    with_each("house-contradicts-path", |path| {
        for (arguments, told) in [
            (
                vec!["charts/legacy", "--settings", "settings.yaml"],
                "has settings, and --settings settings.yaml gives others",
            ),
            (vec!["charts/orders", "-f", "a.yaml"], "names the chart's values, and the command line gives others"),
        ] {
            let output = judge(path, &repository, &arguments);
            assert!(code(&output) == 2 && stderr(&output).contains(told), "{arguments:?}: {}", stderr(&output));
            let output = judge(path, &repository, &[&arguments[..], &["--no-config"]].concat());
            assert_ne!(code(&output), 2, "{}", stderr(&output));
        }
        assert_eq!(told(&judge(path, &repository, &["charts/legacy", "-f", "a.yaml"])), ["allow charts/legacy"]);
    });
}

#[test]
fn house_file_of_the_page_is_one() {
    let page = std::fs::read_to_string(root().join("docs/house-file.md")).unwrap();
    let (_, example) = page.split_once("```yaml\n").unwrap();
    let repository = repository("house-page", example.split("```").next().unwrap());
    for values in ["staging", "base", "production"] {
        write(&repository.join(format!("values/{values}.yaml")), "hook: never\n");
    }
    with_each("house-page-path", |path| {
        let orders = "allow charts/orders (values/staging.yaml, values/base.yaml + values/production.yaml)";
        let output = judge(path, &repository, &[]);
        assert_eq!(told(&output), ["allow charts/legacy", orders], "{}", stderr(&output));
        assert!(stderr(&output).starts_with("note: 1 finding is ignored"), "{}", stderr(&output));
    });
}
