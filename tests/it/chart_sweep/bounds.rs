//! Charts that cannot be rendered, or not with every value, and how much is rendered.

use std::fs;
use std::path::Path;

use super::{chart, flips, job, messages, sweep, title};
use crate::chart_many::with_each;
use crate::cli::{code, stderr, stdout};
use crate::helms::{folder, helms, path_with_script};

/// A `helm` that does this before what it is for.
fn helm_after(name: &str, script: impl Fn(&str) -> String, test: impl Fn(&Path, &Path)) {
    for (number, helm) in helms().iter().enumerate() {
        let log = folder(&format!("sweep-{name}-{number}")).join("log");
        fs::write(&log, "").unwrap();
        let script = format!("{}\nexec '{}' \"$@\"", script(&log.display().to_string()), helm.display());
        test(&path_with_script(&format!("sweep-{name}-path-{number}"), "helm", &script), &log);
    }
}

/// How often the output says that the chart was rendered for the sweep.
fn told_renders(title: &str) -> usize {
    let (_, rest) = title.split_once("tried in ").unwrap_or_else(|| panic!("{title}"));
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn chart_sweep_where_no_upgrade_can_be_rendered_sweeps_installs() {
    let fails = "{{ if .Release.IsUpgrade }}{{ fail \"it needs the passwords\" }}{{ end }}\n";
    let template = [fails, &job("m", ".Values.asHook")].concat();
    let chart = chart("no-upgrade", &[("values.yaml", "asHook: false\n"), ("templates/job.yaml", &template)]);
    with_each("sweep-no-upgrade-path", |path| {
        let output = sweep(path, &chart, &["-o", "json"]);
        assert_eq!((code(&output), flips(&output)), (2, vec!["Job/m: asHook false > true".to_owned()]));
        let said = stderr(&output);
        assert!(said.contains("it needs the passwords") && said.contains("could not render"), "{said}");
        let human = title(&sweep(path, &chart, &[]));
        assert!(human.contains("the install alone; 1 value decides about hooks, tried in 1 render"), "{human}");
    });
}

#[test]
fn chart_sweep_where_a_value_has_no_upgrade_judges_the_way_back() {
    let fails = "{{ if and .Release.IsUpgrade .Values.asHook }}{{ fail \"it needs the passwords\" }}{{ end }}\n";
    let template = [fails, &job("m", ".Values.asHook")].concat();
    let chart = chart("way-back", &[("values.yaml", "asHook: false\n"), ("templates/job.yaml", &template)]);
    with_each("sweep-way-back-path", |path| {
        let output = sweep(path, &chart, &["-o", "json"]);
        assert_eq!((code(&output), flips(&output)), (0, vec!["Job/m: asHook false > true".to_owned()]));
        let message = &messages(&output)[0];
        let begins = "flips when an upgrade changes the value `asHook` from true to false: it is a hook";
        assert!(message.starts_with(begins), "{message}");
    });
}

#[test]
fn chart_sweep_what_helm_cannot_read_is_told_as_without_it() {
    let template = job("m", ".Values.asHook");
    let cycle = "{{- define \"c.a\" }}{{ include \"c.a\" . }}{{ end }}{{ include \"c.a\" . }}";
    for (name, values, more) in [
        ("unparsed", "asHook: false\n", "{{ if .Values.asHook }}\n"),
        ("no-map", "- asHook\n", ""),
        ("cycle", "asHook: false\n", cycle),
    ] {
        let chart =
            chart(name, &[("values.yaml", values), ("templates/job.yaml", &template), ("templates/more.yaml", more)]);
        with_each(&format!("sweep-{name}-path"), |path| {
            let output = sweep(path, &chart, &["-o", "json"]);
            assert_eq!(code(&output), 2, "{name}: {}", stderr(&output));
            assert!(
                stderr(&output).contains(&format!("error: {chart}: helm could not render the chart")),
                "{name}: {}",
                stderr(&output)
            );
            assert!(!stdout(&output).contains("value-flips-identity"), "{name}: {}", stdout(&output));
        });
    }
}

#[test]
fn chart_sweep_a_value_with_which_nothing_renders_is_told() {
    let cycle =
        "{{- define \"c.a\" }}{{ include \"c.a\" . }}{{ end }}{{ if .Values.deep }}{{ include \"c.a\" . }}{{ end }}\n";
    let template = [cycle, &job("m", "or .Values.deep .Values.asHook")].concat();
    let values = "asHook: false\ndeep: false\n";
    let schema = r#"{"properties": {"deep": {"enum": [false]}}}"#;
    let files = [("values.yaml", values), ("templates/job.yaml", &*template)];
    for (name, more) in [("deep", &[][..]), ("schema", &[("values.schema.json", schema)])] {
        let chart = chart(&format!("refused-{name}"), &[&files[..], more].concat());
        with_each(&format!("sweep-refused-{name}-path"), |path| {
            let output = sweep(path, &chart, &["-o", "json"]);
            assert_eq!((code(&output), flips(&output)), (0, vec!["Job/m: asHook false > true".to_owned()]));
            let note = format!("note: {chart}: in the sweep these were not rendered with every other value: `deep`: ");
            assert!(stderr(&output).starts_with(&note), "{name}: {}", stderr(&output));
        });
    }
}

#[test]
fn chart_sweep_within_few_renders_says_what_is_left() {
    let values = ["a", "b", "c", "d", "e"];
    let text = values.map(|value| format!("{value}: false\n")).concat();
    let jobs: String = values.iter().map(|value| job(value, &format!(".Values.{value}"))).collect();
    let chart = chart("few", &[("values.yaml", &text), ("templates/jobs.yaml", &jobs)]);
    let count = |log: &str| format!("echo \"$1\" >>'{log}'");
    helm_after("few", count, |path, log| {
        let output = sweep(path, &chart, &["--sweep-renders", "3", "-o", "json"]);
        assert_eq!(
            (code(&output), flips(&output)),
            (0, ["a", "b", "c"].map(|value| format!("Job/{value}: {value} false > true")).into())
        );
        let note = format!(
            "note: {chart}: after 3 renders these values were not tried, or not in every way: `d`, `e`, `b`, `c`, `a`; `--sweep-renders N` \
             allows more\n"
        );
        assert_eq!(stderr(&output), note);
        let log = fs::read_to_string(log).unwrap();
        // The install, the upgrade, and three.
        assert_eq!(log.lines().filter(|verb| *verb == "template").count(), 5, "{log}");
    });
}

#[test]
fn chart_sweep_runs_helm_as_often_as_it_says() {
    let plain = job("m", ".Values.asHook");
    let upgrades = job("m", "and .Release.IsUpgrade .Values.asHook");
    let fails = "{{ if and .Release.IsUpgrade .Values.asHook }}{{ fail \"no\" }}{{ end }}\n";
    let fails = [fails, &*plain].concat();
    let fails_always = ["{{ if .Values.asHook }}{{ fail \"no\" }}{{ end }}\n", &*plain].concat();
    let of_job = job("m", ".Values.asHook");
    let two_steps = format!("{{{{- if .Values.on }}}}\n{of_job}\n{{{{- end }}}}\n");
    for (name, values, template) in [
        ("plain", "asHook: false\n", &plain),
        ("upgrades", "asHook: false\n", &upgrades),
        ("fails", "asHook: false\n", &fails),
        ("fails-always", "asHook: false\n", &fails_always),
        ("two-steps", "asHook: false\non: false\n", &two_steps),
    ] {
        let chart = chart(&format!("count-{name}"), &[("values.yaml", values), ("templates/job.yaml", template)]);
        let count = |log: &str| format!("echo \"$1\" >>'{log}'");
        helm_after(&format!("count-{name}"), count, |path, log| {
            let told = told_renders(&title(&sweep(path, &chart, &[])));
            let log = fs::read_to_string(log).unwrap();
            let runs = log.lines().filter(|verb| *verb == "template").count();
            // The install and the upgrade are rendered without a sweep, too.
            assert!(runs <= told + 2, "{name}: {runs} runs, {told} told");
        });
    }
}

#[test]
fn chart_sweep_without_hooks_renders_no_more() {
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n{{ if .Values.on }}data: {a: b}{{ end }}\n";
    let chart = chart("no-hooks", &[("values.yaml", "on: false\n"), ("templates/map.yaml", template)]);
    let count = |log: &str| format!("echo \"$1\" >>'{log}'");
    helm_after("no-hooks", count, |path, log| {
        let output = sweep(path, &chart, &[]);
        let human = title(&output);
        assert!(human.contains("; no value of it decides about a hook"), "{human}");
        assert_eq!((code(&output), stderr(&output)), (0, String::new()));
        let log = fs::read_to_string(log).unwrap();
        assert!(log.lines().filter(|verb| *verb == "template").count() == 2, "{log}");
    });
}

#[test]
fn chart_sweep_ends_a_render_that_takes_too_long() {
    let template = job("m", "or .Values.slow .Values.asHook");
    let values = "asHook: false\nslow: false\n";
    let chart = chart("slow", &[("values.yaml", values), ("templates/job.yaml", &template)]);
    // Only a values file of the sweep has the value.
    let one = |_: &str| {
        "for file; do case $file in *sweep-*.json) read -r text <\"$file\" || :; case $text in *slow*) exec /bin/sleep 20;; \
         esac;; esac; done"
            .to_owned()
    };
    helm_after("slow-one", one, |path, _| {
        let output = sweep(path, &chart, &["--sweep-timeout", "3", "-o", "json"]);
        assert_eq!(
            (code(&output), flips(&output)),
            (0, vec!["Job/m: asHook false > true".to_owned()]),
            "{}",
            stderr(&output)
        );
        let note = format!(
            "note: {chart}: in the sweep these were not rendered with every other value: `slow`: helm takes longer than 3 \
             seconds to render it\n"
        );
        assert_eq!(stderr(&output), note);
    });
    let all = |_: &str| "case $1 in template) /bin/sleep 2;; esac".to_owned();
    helm_after("slow-all", all, |path, _| {
        let output = sweep(path, &chart, &["--sweep-timeout", "1", "-o", "json"]);
        assert_eq!((code(&output), flips(&output)), (2, Vec::new()));
        let error = format!(
            "error: {chart}: its values cannot be swept: one render takes longer than 1 second; `--sweep-timeout SECONDS` \
             allows more\n"
        );
        assert_eq!(stderr(&output), error);
    });
}
