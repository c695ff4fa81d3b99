//! `stable-hooks chart` and `release`: what Helm makes of an object from one revision to the next.

#![cfg(unix)]

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::chart_renders::findings;
use crate::cli::{code, run, stderr, stdout, temporary};
use crate::helms::{folder, helms, path_with, stable_hooks};

/// A migration Job with these lines of metadata.
pub(crate) fn job(metadata: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: m\n  labels: {{app: migrate}}\n{metadata}spec:\n  \
         backoffLimit: 1\n  template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: b}}]}}}}\n"
    )
}

pub(crate) fn chart(name: &str, template: &str) -> String {
    let chart = folder(name);
    fs::create_dir_all(chart.join("templates")).unwrap();
    fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: c\nversion: 0.1.0\n").unwrap();
    fs::write(chart.join("templates/job.yaml"), template).unwrap();
    chart.to_str().unwrap().to_owned()
}

pub(crate) fn with_each(name: &str, test: impl Fn(&dyn Fn(&[&str]) -> Output)) {
    for (number, helm) in helms().iter().enumerate() {
        let path = path_with(&format!("{name}-{number}"), helm);
        test(&|arguments| stable_hooks(&[&path], &[&["chart"], arguments].concat()));
    }
}

#[test]
fn chart_a_job_that_helm_drops_is_lost_and_helm_s_words_are_shown() {
    let plain = chart("dropped-plain", &job(""));
    let typo = chart("dropped-typo", &job("  annotations: {helm.sh/hook: \"pre-install,pre-update\"}\n"));
    let of_value = chart("dropped-value", &job("  annotations: {helm.sh/hook: {{ .Values.on | quote }}}\n"));
    with_each("dropped", |chart| {
        for (new, more) in [(&typo, &[][..]), (&of_value, &["--set", "on=pre-update"]), (&of_value, &["--set", "on="])]
        {
            let output = chart(&[&[new.as_str(), "--against", &plain, "-o", "json"], more].concat());
            assert_eq!(findings(&output), ["dropped-hook deny Job/m"], "{new}: {}", stderr(&output));
            assert_eq!((code(&output), stderr(&output).matches("skipping unknown hook").count()), (1, 1));
        }
        let output = chart(&[&typo, "--against", &plain]);
        let words = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("Helm would delete it, and create nothing in its place."), "{words}");
        // Dropped on both sides: nothing is lost, and nobody would notice.
        let output = chart(&[&typo, "--fail-on", "warn"]);
        let words = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("Helm drops a document of this chart: its helm.sh/hook is \"pre-install,pre-update\""));
        assert_eq!((code(&output), stderr(&output).matches("skipping unknown hook").count()), (1, 1));
        assert_eq!(code(&chart(&[&plain, "--against", &plain, "--fail-on", "warn"])), 0);
    });
}

#[test]
fn chart_a_list_that_becomes_a_hook_is_a_flip_of_its_items() {
    let item = job("").replace('\n', "\n    ");
    let list = |annotations: &str| {
        format!("apiVersion: v1\nkind: List\nmetadata:\n  name: l\n{annotations}items:\n  - {}\n", item.trim_end())
    };
    let flips =
        chart("list-flips", &list("{{ if .Release.IsUpgrade }}  annotations: {helm.sh/hook: pre-upgrade}\n{{ end }}"));
    let unhooked = chart(
        "list-unhooked",
        &list("{{ if .Release.IsInstall }}  annotations: {helm.sh/hook: \"pre-install,pre-upgrade\"}\n{{ end }}"),
    );
    let stays = chart("list-stays", &list("  annotations: {helm.sh/hook: \"post-install,pre-upgrade\"}\n"));
    with_each("list", |chart| {
        let output = chart(&[&flips, "-o", "json"]);
        assert!(findings(&output).contains(&"release-identity-flip deny Job/m".to_owned()), "{}", stdout(&output));
        let output = chart(&[&unhooked, "-o", "json"]);
        assert!(findings(&output).contains(&"release-identity-flip deny Job/m".to_owned()), "{}", stdout(&output));
        assert_eq!(code(&chart(&[&stays])), 0);
    });
}

#[test]
fn chart_annotations_in_capitals_are_annotations_for_helm() {
    let flips =
        chart("capitals", &job("{{ if .Release.IsUpgrade }}  Annotations: {helm.sh/hook: pre-upgrade}\n{{ end }}"));
    with_each("capitals", |chart| {
        let output = chart(&[&flips, "-o", "json"]);
        assert!(findings(&output).contains(&"release-identity-flip deny Job/m".to_owned()), "{}", stdout(&output));
    });
}

#[test]
fn chart_nothing_is_guessed_where_both_renders_are_known() {
    let annotation = |value: &str| job(&format!("  annotations: {{helm.sh/hook: {value}}}\n"));
    let in_arguments = annotation("\"post-install,pre-upgrade\"")
        .replace("image: b", "image: b, args: [\"{{ .Release.IsUpgrade }}\"]");
    let ternary = annotation("{{ ternary \"pre-install\" \"pre-upgrade\" .Release.IsInstall }}");
    let one_sided = annotation("pre-upgrade").replace("image: b", "image: b, args: [\"{{ .Release.IsUpgrade }}\"]");
    let in_arguments = chart("guess-arguments", &in_arguments);
    let ternary = chart("guess-ternary", &ternary);
    let one_sided = chart("guess-one-sided", &one_sided);
    let only_installed = chart(
        "guess-only-installed",
        &format!("{{{{ if .Release.IsInstall }}}}\n{}{{{{ end }}}}\n", annotation("pre-install")),
    );
    with_each("guess", |chart| {
        for stable in [&in_arguments, &ternary] {
            let output = chart(&[stable, "-o", "json"]);
            assert_eq!(findings(&output), Vec::<String>::new(), "{stable}");
        }
        assert_eq!(findings(&chart(&[&one_sided, "-o", "json"])), ["one-sided-hook warn Job/m"], "once");
        let of_install = findings(&chart(&[&only_installed, "-o", "json"]));
        assert!(of_install.contains(&"one-sided-hook warn Job/m".to_owned()), "{of_install:?}");
    });
}

#[test]
fn chart_an_upgrade_on_the_same_day_flips_what_is_named_by_the_day() {
    let named = |format: &str| {
        let hook = "  {{- if .Release.IsUpgrade }}\n  annotations: {helm.sh/hook: pre-upgrade}\n  {{- end }}\n";
        job(hook).replace("name: m\n", &format!("name: m-{{{{ now | date \"{format}\" }}}}\n"))
    };
    let [by_year, by_second] = ["2006", "20060102150405"].map(|format| chart(&format!("now-{format}"), &named(format)));
    with_each("now", |chart| {
        let denied =
            |output: &Output| findings(output).iter().any(|found| found.starts_with("release-identity-flip deny"));
        let output = chart(&[&by_year, "-o", "json"]);
        assert!(denied(&output) && code(&output) == 1, "{}", stdout(&output));
        let output = chart(&[&by_second, "-o", "json"]);
        assert!(!denied(&output) && code(&output) == 0, "{}", stdout(&output));
    });
}

#[test]
fn chart_arguments_that_render_something_else_are_refused() {
    let flip = chart(
        "else",
        &job("  {{- if .Release.IsUpgrade }}\n  annotations: {helm.sh/hook: pre-upgrade}\n  {{- end }}\n"),
    );
    with_each("else", |chart| {
        for argument in ["--no-hooks", "--no-hooks=true", "--is-upgrade=false", "--is-upgrade", "-s", "--show-only=a"] {
            let output = chart(&[&flip, "--", argument]);
            assert_eq!(code(&output), 2, "{argument}");
            assert!(stderr(&output).contains(&format!("`{argument}` behind `--` would render something else")));
        }
    });
}

/// Helm 4 applies a new release server-side: an account that is there already is none in its way.
#[test]
fn chart_writes_a_new_release_as_the_helm_that_renders_it() {
    let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: m\n  labels: {app: migrate}\n  annotations: \
                   {helm.sh/hook: 'pre-install,pre-upgrade', helm.sh/hook-delete-policy: hook-failed}\n";
    let account = chart("server-side", account);
    for (number, helm) in helms().iter().enumerate() {
        let path = path_with(&format!("server-side-{number}"), helm);
        let output = stable_hooks(&[&path], &["chart", &account, "-o", "json"]);
        assert_eq!(code(&output), i32::from(number == 0), "{}", stdout(&output));
    }
}

#[test]
fn chart_says_which_template_asks_a_cluster_that_it_does_not_have() {
    let on_cluster = "{{- if lookup \"batch/v1\" \"Job\" .Release.Namespace \"m\" }}";
    let asks = chart(
        "asks",
        &job(&format!("  annotations:\n    {on_cluster}\n    helm.sh/hook: pre-upgrade\n    {{{{- end }}}}\n")),
    );
    let comment = chart("asks-not", &job("  annotations: {helm.sh/hook: pre-upgrade} # {{/* no lookup */}} lookup\n"));
    with_each("lookup", |chart| {
        let output = chart(&[&asks]);
        assert!(stderr(&output).contains("templates/job.yaml makes hooks and calls `lookup`"), "{}", stderr(&output));
        assert_eq!(stderr(&output).matches("lookup").count(), 1);
        assert!(!stderr(&chart(&[&comment])).contains("lookup"));
    });
}

#[test]
fn chart_renders_without_source_lines_leave_no_gap_in_a_sentence() {
    let file = |name: &str, text: &str| temporary(name, text.as_bytes()).to_str().unwrap().to_owned();
    let install = file("no-source-install.yaml", &job(""));
    let upgrade = file("no-source-upgrade.yaml", &job("  annotations: {helm.sh/hook: pre-upgrade}\n"));
    let output = run(&["chart", "--install", &install, "--upgrade", &upgrade], b"");
    let words = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code(&output), 1);
    assert!(words.contains("becomes a hook (\"pre-upgrade\")"), "{words}");
    assert!(words.contains("-> In its template, leave helm.sh/hook out"), "{words}");
    assert!(!words.contains("(template )") && !words.contains("In ,"), "{words}");
}

/// A stored revision of `r`.
struct Stored<'a> {
    version: u64,
    status: &'a str,
    description: &'a str,
    first_deployed: &'a str,
    last_deployed: &'a str,
    is_hook: bool,
}

impl Stored<'_> {
    fn secret(&self) -> Value {
        let Self { version, status, description, first_deployed, last_deployed, is_hook } = self;
        let text = job(if *is_hook { "  annotations: {helm.sh/hook: \"pre-install,pre-upgrade\"}\n" } else { "" });
        let hook = json!({
            "name": "m", "kind": "Job", "path": "c/templates/job.yaml", "manifest": text,
            "events": ["pre-install", "pre-upgrade"],
        });
        let manifest = if *is_hook { String::new() } else { format!("---\n# Source: c/templates/job.yaml\n{text}") };
        let record = json!({
            "name": "r", "namespace": "shop", "version": version, "manifest": manifest,
            "hooks": if *is_hook { vec![hook] } else { Vec::new() },
            "info": {
                "status": status, "description": description, "first_deployed": first_deployed,
                "last_deployed": last_deployed,
            },
        });
        let labels = json!({"owner": "helm", "name": "r", "version": version.to_string(), "status": status});
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
            "metadata": {"name": format!("sh.helm.release.v1.r.v{version}"), "namespace": "shop", "labels": labels},
            "data": {"release": STANDARD.encode(STANDARD.encode(record.to_string()))},
        })
    }
}

const FIRST: Stored<'_> = Stored {
    version: 1,
    status: "superseded",
    description: "Install complete",
    first_deployed: "2026-01-01T00:00:00Z",
    last_deployed: "2026-01-01T00:00:00Z",
    is_hook: false,
};
/// The upgrade over it, which turns the Job into a hook.
const SECOND: Stored<'_> = Stored {
    version: 2,
    status: "deployed",
    description: "Upgrade complete",
    last_deployed: "2026-01-02T00:00:00Z",
    is_hook: true,
    ..FIRST
};

fn history(name: &str, revisions: &[&Stored<'_>]) -> PathBuf {
    let items: Vec<_> = revisions.iter().map(|revision| revision.secret()).collect();
    temporary(name, json!({"kind": "List", "apiVersion": "v1", "items": items}).to_string().as_bytes())
}

fn release(name: &str, revisions: &[&Stored<'_>]) -> i32 {
    code(&run(&["release", "-q", history(name, revisions).to_str().unwrap()], b""))
}

#[test]
fn release_an_install_in_the_place_of_an_uninstalled_one_is_no_upgrade() {
    let replaced = Stored { description: "superseded by new release", ..FIRST };
    assert_eq!(release("replace-upgrade.json", &[&FIRST, &SECOND]), 1);
    let second = Stored { description: "Install complete", first_deployed: SECOND.last_deployed, ..SECOND };
    assert_eq!(release("replace-install.json", &[&replaced, &second]), 0);
}

#[test]
fn release_only_helm_s_own_words_make_a_rollback() {
    let second = Stored { description: "Rollback to the old flow", ..SECOND };
    assert_eq!(release("rollback-words.json", &[&FIRST, &second]), 1, "an upgrade with a description");
    let second = Stored { description: "Rollback to 7", ..SECOND };
    assert_eq!(release("rollback-later.json", &[&FIRST, &second]), 1, "there is no revision 7 to go back to");
    let second = Stored { description: "Rollback to 1", ..SECOND };
    assert_eq!(release("rollback-other.json", &[&FIRST, &second]), 1, "it does not hold what revision 1 holds");
    assert_eq!(release("rollback-alone.json", &[&second]), 0, "without revision 1 nobody can tell");
    let third = Stored { version: 3, description: "Rollback to 1", is_hook: false, ..SECOND };
    let output =
        run(&["release", "-o", "json", history("rollback.json", &[&FIRST, &SECOND, &third]).to_str().unwrap()], b"");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["results"][2]["verdict"], json!("allow"), "a rollback only warns: {report}");
}

#[test]
fn release_a_rollback_that_failed_is_compared_with_the_revision_before_it() {
    let first = Stored { status: "deployed", ..FIRST };
    let second = Stored { status: "failed", description: "Upgrade \"r\" failed: no", ..SECOND };
    let third = Stored {
        version: 3,
        last_deployed: "2026-01-03T00:00:00Z",
        description: "Rollback \"r\" failed: no",
        ..second
    };
    let third = Stored { is_hook: false, ..third };
    let file = history("rollback-that-failed.json", &[&first, &second, &third]);
    let output = run(&["release", "-o", "json", file.to_str().unwrap()], b"");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rollback = &report["results"][2];
    assert_eq!(
        (&rollback["verdict"], &rollback["findings"][0]["rule"]),
        (&json!("allow"), &json!("release-identity-flip"))
    );
}

#[test]
fn release_after_a_failed_rollback_nothing_counts_as_deployed() {
    let second = Stored { status: "superseded", ..SECOND };
    let failed = Stored { version: 3, status: "failed", description: "Rollback to 1", ..SECOND };
    let failed = Stored { is_hook: false, ..failed };
    let fourth = Stored { version: 4, ..SECOND };
    // The failed rollback has the Job as a resource again, and the upgrade starts from it.
    let output = run(
        &[
            "release",
            "-o",
            "json",
            history("failed-rollback.json", &[&FIRST, &second, &failed, &fourth]).to_str().unwrap(),
        ],
        b"",
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["results"][3]["verdict"], json!("deny"), "{report}");
}

#[test]
fn release_a_failed_upgrade_that_a_failed_rollback_superseded_was_never_deployed() {
    let first = Stored { status: "deployed", ..FIRST };
    let second = Stored { status: "superseded", description: "Upgrade \"r\" failed: no", ..SECOND };
    let third = Stored { version: 3, status: "failed", description: "Rollback \"r\" failed: no", ..SECOND };
    let fourth = Stored { version: 4, ..SECOND };
    let file = history("superseded-failure.json", &[&first, &second, &third, &fourth]);
    let output = run(&["release", "-o", "json", file.to_str().unwrap()], b"");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Revision 1 is deployed all the time, with the Job as a resource.
    assert_eq!(report["results"][3]["verdict"], json!("deny"), "{report}");
}
