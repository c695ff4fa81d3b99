//! What the user gives beside the chart: values, another chart, settings.

use std::path::Path;

use super::{HOOK, chart, flips, job, job_with, messages, sweep, write_chart};
use crate::chart_many::{with_each, write};
use crate::chart_renders::{denials, result};
use crate::cli::{code, stderr, stdout, temporary};
use crate::helms::{command, folder, stable_hooks};

const CANARY: &str = "c4n4ry-Tr0ub4dor";

fn switch(name: &str) -> String {
    chart(name, &[("values.yaml", "asHook: false\n"), ("templates/job.yaml", &job("m", ".Values.asHook"))])
}

#[test]
fn chart_sweep_starts_from_the_given_values() {
    let chart = switch("given");
    let file = temporary("sweep-given.yaml", b"asHook: true\n");
    with_each("sweep-given-path", |path| {
        let output = sweep(path, &chart, &["-f", file.to_str().unwrap(), "-o", "json"]);
        assert_eq!((flips(&output), stderr(&output)), (vec!["Job/m: asHook true > false".to_owned()], String::new()));
        // A flag stands above every values file.
        let output = sweep(path, &chart, &["--set", "asHook=true", "-o", "json"]);
        assert_eq!((flips(&output), code(&output)), (Vec::new(), 0));
        let note = format!(
            "note: {chart}: in the sweep these were not rendered with every other value: `asHook`: a flag of the command line \
             or the chart itself sets it\n"
        );
        assert_eq!(stderr(&output), note);
    });
}

#[test]
fn chart_sweep_never_shows_what_a_user_wrote() {
    let of_job = job("m", "or (eq .Values.secret \"\") (eq .Values.mode \"hook\")");
    let of_list = job("k", "or .Values.strict (has \"hook\" .Values.list)");
    let fails = "{{ if .Values.strict }}{{ fail (printf \"no %s\" .Values.secret) }}{{ end }}";
    let chart = chart(
        "secret",
        &[
            ("values.yaml", "mode: job\nsecret: ''\nlist: []\nstrict: false\n"),
            ("templates/job.yaml", &[fails, &of_job, &of_list].concat()),
        ],
    );
    let given = format!("secret: {CANARY}\nlist: [{CANARY}]\nmode: {CANARY}-mode\nmap: {{{CANARY}: {CANARY}}}\n");
    let file = temporary("sweep-secret.yaml", given.as_bytes());
    with_each("sweep-secret-path", |path| {
        for format in ["json", "human", "sarif", "github", "markdown"] {
            let output = sweep(path, &chart, &["-f", file.to_str().unwrap(), "-o", format]);
            let said = [stdout(&output), stderr(&output)].concat();
            assert_eq!(code(&output), 0, "{format}: {said}");
            assert!(said.contains("`strict`") && said.contains("not rendered with every other value"), "{said}");
            assert!(said.contains("value-flips-identity"), "{format}: {said}");
            assert!(!said.to_lowercase().contains(&CANARY.to_lowercase()), "{format}: {said}");
        }
        let output = sweep(path, &chart, &["-f", file.to_str().unwrap(), "-o", "json"]);
        let mut told = flips(&output);
        told.sort();
        let expected =
            ["Job/k: list a list of 1 > a list of 2", "Job/m: mode a text > \"hook\"", "Job/m: secret a text > \"\""];
        assert_eq!(told, expected);
    });
}

#[test]
fn chart_sweep_never_shows_what_a_user_s_template_names() {
    let of_value = job_with("m", "  {{- tpl .Values.meta . | nindent 2 }}");
    let values = "mode: job\nsize: 1\nmeta: ''\n";
    let chart = chart("secret-template", &[("values.yaml", values), ("templates/job.yaml", &of_value)]);
    let condition = format!("or (eq .Values.mode \"{CANARY}\") (gt (int .Values.size) 7771234)");
    let given = format!("meta: |-\n  {{{{- if {condition} }}}}annotations: {{{HOOK}}}{{{{- end }}}}\n");
    let file = temporary("sweep-secret-template.yaml", given.as_bytes());
    with_each("sweep-secret-template-path", |path| {
        let output = sweep(path, &chart, &["-f", file.to_str().unwrap(), "-o", "json"]);
        let said = [stdout(&output), stderr(&output)].concat();
        assert!(!said.contains(CANARY) && !said.contains("77712"), "{said}");
        let mut told = flips(&output);
        told.sort();
        told.dedup();
        let alone = told.iter().filter(|row| !row.contains(": meta ")).collect::<Vec<_>>();
        assert_eq!(alone, ["Job/m: mode \"job\" > a text", "Job/m: size 1 > a number"], "{told:?}");
    });
}

#[test]
fn chart_sweep_many_charts_each_for_itself() {
    let charts = folder("sweep-many");
    for name in ["one", "two", "three"] {
        let template = job(&format!("{name}-{{{{ .Chart.Name }}}}"), &format!(".Values.{name}"));
        let values = format!("{name}: false\n");
        write_chart(&charts.join(name), name, &[("values.yaml", &values), ("templates/job.yaml", &template)]);
    }
    write_chart(&charts.join("none"), "none", &[("values.yaml", "a: 1\n")]);
    with_each("sweep-many-path", |path| {
        let output = sweep(path, charts.to_str().unwrap(), &["-o", "json"]);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let results = report["results"].as_array().unwrap().iter();
        let told = results.flat_map(|result| {
            let findings = result["findings"].as_array().unwrap().iter();
            let row = |finding: &serde_json::Value| {
                format!(
                    "{} {}",
                    finding["object"]["name"].as_str().unwrap(),
                    finding["values"][0]["path"].as_str().unwrap()
                )
            };
            findings.map(row).collect::<Vec<_>>()
        });
        assert_eq!(
            told.collect::<Vec<_>>(),
            ["one-one one", "three-three three", "two-two two"],
            "{}",
            stderr(&output)
        );
        assert_eq!(report["summary"]["warned"], 3);
    });
}

#[test]
fn chart_sweep_is_silenced_like_every_rule() {
    let ignored = job("m", ".Values.asHook")
        .replace("{helm.sh/hook:", "{stable-hooks/ignore: value-flips-identity, helm.sh/hook:");
    let ignored = ignored.replace(
        "  {{- end }}",
        "  {{- else }}\n  annotations: {stable-hooks/ignore: value-flips-identity}\n  {{- end }}",
    );
    let by_object = chart("ignore-object", &[("values.yaml", "asHook: false\n"), ("templates/job.yaml", &ignored)]);
    let repository = folder("sweep-ignore-house");
    let files = [("values.yaml", "asHook: false\n"), ("templates/job.yaml", &*job("m", ".Values.asHook"))];
    write_chart(&repository.join("charts/orders"), "orders", &files);
    write(&repository.join(".git/HEAD"), "");
    write(&repository.join(".stable-hooks.yaml"), "ignore: {charts/orders: [value-flips-identity]}\n");
    let settings = temporary("sweep-off.yaml", b"rules: {value-flips-identity: off}\n");
    with_each("sweep-ignore-path", |path| {
        let output = sweep(path, &by_object, &["-o", "json", "--fail-on", "warn"]);
        assert_eq!((flips(&output), code(&output)), (Vec::new(), 0), "{}", stdout(&output));
        let mut program = command(env!("CARGO_BIN_EXE_stable-hooks"), &[path]);
        program.current_dir(&repository).args(["chart", "charts/orders", "--sweep", "-o", "json", "--fail-on", "warn"]);
        let output = program.output().unwrap();
        assert_eq!((flips(&output), code(&output)), (Vec::new(), 0));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["summary"]["ignored"], 1);
        assert!(stderr(&output).starts_with("note: 1 finding is ignored, as "), "{}", stderr(&output));
        let orders = repository.join("charts/orders");
        let more = ["--no-config", "--settings", settings.to_str().unwrap(), "-o", "json", "--fail-on", "warn"];
        let output = sweep(path, orders.to_str().unwrap(), &more);
        assert_eq!((flips(&output), code(&output)), (Vec::new(), 0));
    });
}

#[test]
fn chart_sweep_the_upgrade_from_an_older_chart() {
    let old = chart("old", &[("values.yaml", "other: 1\n"), ("templates/job.yaml", &job("m", "false"))]);
    let new = switch("new");
    with_each("sweep-against-path", |path| {
        let output = sweep(path, &new, &["--against", &old, "-o", "json"]);
        assert_eq!((flips(&output), denials(&output)), (vec!["Job/m: asHook false > true".to_owned()], Vec::new()));
        // Back there is no way: the old chart has no hook with either value.
        let message = &messages(&output)[0];
        let begins = "flips when an upgrade changes the value `asHook` from false to true: it is a resource";
        assert!(message.starts_with(begins), "{message}");
        assert_eq!(result(&output)["findings"][0]["values"][0]["place"]["file"], format!("{new}/values.yaml"));
    });
}

#[test]
fn chart_sweep_goes_with_a_chart_and_its_upgrade_alone() {
    let chart = switch("refused");
    for more in [&["--release", "r"][..], &["--argocd"], &["--against-all"]] {
        let output = sweep(Path::new("/nowhere"), &chart, more);
        assert_eq!(code(&output), 2, "{more:?}");
        assert!(
            stderr(&output).contains("'--sweep' cannot be used with")
                || stderr(&output).contains("cannot be used with '--sweep'"),
            "{more:?}: {}",
            stderr(&output)
        );
    }
    let output = stable_hooks(&[Path::new("/nowhere")], &["chart", "--install", "a", "--upgrade", "b", "--sweep"]);
    assert!(code(&output) == 2 && stderr(&output).contains("cannot be used with"), "{}", stderr(&output));
    for more in ["--sweep-renders", "--sweep-timeout"] {
        let output = stable_hooks(&[Path::new("/nowhere")], &["chart", &chart, more, "3"]);
        assert!(code(&output) == 2 && stderr(&output).contains("--sweep"), "{more}: {}", stderr(&output));
    }
}
