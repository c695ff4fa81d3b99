//! `stable-hooks chart CHART…`: many charts in one command, and the values that chart-testing keeps beside a chart.

#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::{code, stderr, stdout};
use crate::engines::root;
use crate::helms::{command, folder, helms, path_with, stable_hooks};

/// The same with every Helm that is here: the folder of that Helm, for the PATH.
pub(crate) fn with_each(name: &str, test: impl Fn(&Path)) {
    for (number, helm) in helms().iter().enumerate() {
        test(&path_with(&format!("{name}-{number}"), helm));
    }
}

/// A copy of a chart of ours, under its folder's name.
pub(crate) fn chart(to: &Path, of: &str) -> PathBuf {
    let from = root().join("tests/charts").join(of);
    for file in crate::engines::files(&format!("tests/charts/{of}"), "yaml") {
        let copy = to.join(file.strip_prefix(&from).unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(file, copy).unwrap();
    }
    let name = to.file_name().unwrap().to_str().unwrap();
    write(&to.join("Chart.yaml"), &format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\n"));
    to.to_owned()
}

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Source and verdict of each result.
pub(crate) fn verdicts(output: &std::process::Output) -> Vec<(String, String)> {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let results = report["results"].as_array().unwrap().iter();
    results.map(|result| (text(&result["source"]), text(&result["verdict"]))).collect()
}

fn denied(source: &str) -> (String, String) {
    (source.to_owned(), "deny".to_owned())
}

fn allowed(source: &str) -> (String, String) {
    (source.to_owned(), "allow".to_owned())
}

#[test]
fn chart_many_a_monorepo_of_forty_charts_is_judged_in_one_command() {
    let charts = folder("many").join("charts");
    for number in 0..40 {
        let chart = chart(&charts.join(format!("team-{}/c{number:02}", number % 3)), "flip");
        if number % 2 == 0 {
            write(&chart.join("values.yaml"), "hook: always\n");
        }
        // A chart's own charts are a part of it.
        if number == 0 {
            write(&chart.join("charts/inner/Chart.yaml"), "apiVersion: v2\nname: inner\nversion: 0.1.0\n");
        }
    }
    with_each("many-path", |path| {
        let report = stable_hooks(&[path], &["chart", charts.to_str().unwrap(), "-o", "json"]);
        let name = |number: usize| format!("{}/team-{}/c{number:02}", charts.display(), number % 3);
        let mut expected: Vec<_> = (0..40)
            .map(|number| if number % 2 == 0 { allowed(&name(number)) } else { denied(&name(number)) })
            .collect();
        expected.sort();
        assert_eq!(verdicts(&report), expected, "{}", stderr(&report));
        assert_eq!((code(&report), stderr(&report)), (1, String::new()));
        let [one, other] = [1, 3].map(name);
        let human = stable_hooks(&[path], &["chart", &other, &one]);
        assert!(stdout(&human).ends_with("\n2 charts: 2 denied, 0 with warnings\n"), "{}", stdout(&human));
        let at = |name: &str| stdout(&human).replace("\n    ", " ").find(&format!("deny {name}: ")).unwrap();
        assert!(at(&other) < at(&one), "{}", stdout(&human));
    });
}

#[test]
fn chart_many_one_that_cannot_be_judged_hides_no_other() {
    let charts = folder("many-broken");
    let good = chart(&charts.join("good"), "flip");
    let broken = chart(&charts.join("broken"), "flip");
    write(&broken.join("templates/bad.yaml"), "{{ fail \"it is broken\" }}\n");
    with_each("many-broken-path", |path| {
        let report = stable_hooks(&[path], &["chart", charts.to_str().unwrap(), "-o", "json"]);
        assert_eq!(verdicts(&report), [denied(&good.display().to_string())]);
        assert_eq!(code(&report), 2);
        let said = stderr(&report);
        assert!(said.contains("it is broken"), "{said}");
        assert!(said.contains(&format!("error: {}: helm could not render the chart", broken.display())), "{said}");
    });
}

#[test]
fn chart_many_what_goes_with_one_chart_is_refused_with_several() {
    let charts = folder("many-refused");
    let [one, other] = ["one", "other"].map(|name| chart(&charts.join(name), "flip").display().to_string());
    let empty = folder("many-empty").display().to_string();
    for (arguments, reason) in [
        (vec![&*one, &*other, "--against", &*one], "--against goes with one chart"),
        (vec![&*empty], "there is no Chart.yaml in it, nor in a folder of it"),
        (vec![&*one, "--version", "1.0.0"], "--version chooses among the charts of a repository"),
        (vec!["--no-config"], "which chart? Give one, or name them under `charts` in a .stable-hooks.yaml"),
    ] {
        let output = command(env!("CARGO_BIN_EXE_stable-hooks"), &[Path::new("/nowhere")])
            .arg("chart")
            .args(&arguments)
            .output()
            .unwrap();
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(stderr(&output).contains(reason), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn chart_many_the_values_of_chart_testing_are_judged_beside_the_chart_s_own() {
    let chart = chart(&folder("ci-values").join("orders"), "flip");
    write(&chart.join("values.yaml"), "hook: always\n");
    write(&chart.join("ci/a-values.yaml"), "hook: never\n");
    write(&chart.join("ci/b-values.yaml"), "hook: on upgrade\n");
    write(&chart.join("ci/c-values.yaml"), "hook: always\n");
    write(&chart.join("ci/readme.yaml"), "hook: on upgrade\n");
    let source = chart.to_str().unwrap();
    with_each("ci-values-path", |path| {
        let report = stable_hooks(&[path], &["chart", source, "-o", "json"]);
        let expected = [
            allowed(&format!("{source} (its own values, ci/c-values.yaml)")),
            allowed(&format!("{source} (ci/a-values.yaml)")),
            denied(&format!("{source} (ci/b-values.yaml)")),
        ];
        assert_eq!(verdicts(&report), expected, "{}", stderr(&report));
        let human = stdout(&stable_hooks(&[path], &["chart", source]));
        assert!(human.ends_with("\n1 chart, 3 results: 1 denied, 0 with warnings\n"), "{human}");
        let given = chart.join("ci/a-values.yaml");
        let report = stable_hooks(&[path], &["chart", source, "-f", given.to_str().unwrap(), "-o", "json"]);
        assert_eq!(verdicts(&report), [allowed(source)], "given values are the only ones");
        let summary: Value = serde_json::from_slice(&report.stdout).unwrap();
        let counts = json!({"objects": 1, "denied": 0, "normalized": 0, "warned": 0, "ignored": 0});
        assert_eq!(summary["summary"], counts);
    });
}

#[test]
fn chart_many_what_a_chart_lacks_is_named_with_the_command_that_gets_it() {
    let lacking = chart(&folder("lacking").join("orders"), "flip");
    let metadata = "apiVersion: v2\nname: orders\nversion: 0.1.0\ndependencies:\n\
                    - {name: postgresql, version: 1.2.3, repository: 'https://charts.example'}\n\
                    - {name: redis, version: 1.2.3, repository: 'https://charts.example'}\n";
    write(&lacking.join("Chart.yaml"), metadata);
    let archive = lacking.with_file_name("orders-0.1.0.tgz");
    crate::chart_helm::pack(&lacking, "orders", &archive);
    let [folder, archive] = [&lacking, &archive].map(|path| path.display().to_string());
    with_each("lacking-path", |path| {
        let output = stable_hooks(&[path], &["chart", &folder]);
        let told = format!(
            "error: {folder}: what it depends on is not in its charts/ folder: postgresql, redis. `helm dependency build \
             {folder}` gets it\n"
        );
        assert!(code(&output) == 2 && stderr(&output).ends_with(&told), "{}", stderr(&output));
        let output = stable_hooks(&[path], &["chart", &archive]);
        let told = format!("error: {archive}: what it depends on is not in the archive: postgresql, redis. ");
        assert!(code(&output) == 2 && stderr(&output).contains(&told), "{}", stderr(&output));
    });
}

#[test]
fn chart_many_each_chart_is_judged_once_and_a_missing_one_hides_no_other() {
    let charts = folder("many-once");
    let one = chart(&charts.join("one"), "flip").display().to_string();
    std::os::unix::fs::symlink(&one, charts.join("two")).unwrap();
    with_each("many-once-path", |path| {
        let again = format!("{one}/");
        let output =
            stable_hooks(&[path], &["chart", &one, &again, charts.to_str().unwrap(), "nowhere/at/all", "-o", "json"]);
        assert_eq!(verdicts(&output), [denied(&one)]);
        let told = "error: nowhere/at/all: there is no such file or folder, and helm cannot pull it: ";
        assert!(code(&output) == 2 && stderr(&output).starts_with(told), "{}", stderr(&output));
    });
}

#[test]
fn chart_many_a_chart_that_needs_its_ci_values_is_judged_with_them_alone() {
    let chart = chart(&folder("ci-needed").join("orders"), "flip");
    write(&chart.join("templates/needs.yaml"), "{{ required \"a password is needed\" .Values.password }}\n");
    write(&chart.join("ci/a-values.yaml"), "password: '# x'\n");
    write(&chart.join("ci/b-values.yaml"), "hook: always\n");
    let source = chart.to_str().unwrap();
    with_each("ci-needed-path", |path| {
        let output = stable_hooks(&[path], &["chart", source, "-o", "json"]);
        assert_eq!(verdicts(&output), [denied(&format!("{source} (ci/a-values.yaml)"))]);
        let said = stderr(&output);
        assert!(said.contains("note: it is judged with the values of ci/ alone, for with its own: "), "{said}");
        // A set that is meant to be good and is not is no note.
        assert_eq!((code(&output), said.matches("\nerror: ").count()), (2, 1), "{said}");
        std::fs::rename(chart.join("ci/b-values.yaml"), chart.join("ci/b.yaml")).unwrap();
        assert_eq!(code(&stable_hooks(&[path], &["chart", source])), 1);
        std::fs::rename(chart.join("ci/b.yaml"), chart.join("ci/b-values.yaml")).unwrap();
    });
}
