//! The program as a user runs it: arguments in, text and exit code out.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::engines::{files, relative, root, wasm};

/// Runs the program without anything that the environment could add.
pub(crate) fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_stable-hooks"))
        .args(arguments)
        .current_dir(root())
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // It writes while it reads; one that refuses its arguments reads nothing.
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().unwrap()
    })
}

pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn examples() -> Vec<String> {
    let files = files("examples", "json");
    files.iter().map(|path| relative(path)).collect()
}

fn review_examples<'a>(examples: &'a [String], more: &[&'a str]) -> Output {
    let mut arguments = vec!["review", "--settings", "examples/settings.yaml"];
    arguments.extend(more);
    arguments.extend(examples.iter().map(String::as_str));
    run(&arguments, b"")
}

/// A file below the build directory, gone with it.
pub(crate) fn temporary(name: &str, content: &[u8]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// A request whose object is nested that deep.
fn nested(levels: usize) -> String {
    let (open, close) = ("[".repeat(levels), "]".repeat(levels));
    format!(
        "{{\"uid\":\"1\",\"operation\":\"CREATE\",\"kind\":{{\"version\":\"v1\",\"kind\":\"X\"}},\"object\":{{\"x\":{open}{close}}}}}"
    )
}

const HOOK: &str = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\n  labels: {app: migrate}\n  annotations: {helm.sh/hook: pre-upgrade}\n";

#[test]
fn cli_the_examples_show_an_allow_a_patch_and_a_denial() {
    let output = review_examples(&examples(), &[]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(!stdout(&output).contains('\u{1b}'), "no colour in a pipe");
    assert!(stdout(&output).lines().all(|line| line.chars().count() <= 100), "{}", stdout(&output));
    insta::assert_snapshot!("examples-human", stdout(&output));
}

#[test]
fn cli_json_is_the_documented_format() {
    let output = review_examples(&examples(), &["-o", "json"]);
    assert_eq!(code(&output), 1);
    insta::assert_snapshot!("examples-json", stdout(&output));
}

#[test]
fn cli_the_wasm_says_the_same_as_the_native_core() {
    let Some(wasm) = wasm() else { return };
    let wasm = wasm.to_str().unwrap().to_owned();
    let native = review_examples(&examples(), &["-o", "json"]);
    let guest = review_examples(&examples(), &["-o", "json", "--policy", &wasm]);
    assert_eq!(stdout(&native), stdout(&guest));
    assert_eq!(code(&native), code(&guest));
}

#[test]
fn cli_sources_are_numbered_in_streams_and_lists() {
    let stream = format!(
        "# a comment\n---\n{HOOK}---\napiVersion: v1\nkind: List\nitems:\n- {{apiVersion: v1, kind: Secret, metadata: {{name: s}}}}\n"
    );
    let output = run(&["review", "-o", "json", "-"], stream.as_bytes());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sources: Vec<_> = report["results"].as_array().unwrap().iter().map(|result| &result["source"]).collect();
    assert_eq!(sources, [&json!("-#1"), &json!("-#2")]);
    assert_eq!(report["summary"], json!({"objects": 2, "denied": 0, "normalized": 1, "warned": 0, "ignored": 0}));
    assert_eq!(code(&output), 0);
}

#[test]
fn cli_an_audit_fails_drift() {
    let output = run(&["review", "--audit", "-o", "json"], HOOK.as_bytes());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["results"][0]["verdict"], json!("deny"));
    assert_eq!(report["results"][0]["patch"], json!([]));
    assert_eq!(code(&output), 1);
}

#[test]
fn cli_fail_on_warn_counts_warnings() {
    let plain = "{apiVersion: batch/v1, kind: Job, metadata: {name: a, labels: {app: migrate}}}";
    assert_eq!(code(&run(&["review"], plain.as_bytes())), 0);
    assert_eq!(code(&run(&["review", "--fail-on", "warn"], plain.as_bytes())), 1);
    assert_eq!(code(&run(&["review", "--fail-on", "warn"], HOOK.as_bytes())), 0, "a patch is no warning");
}

#[test]
fn cli_quiet_writes_nothing_but_errors() {
    let output = run(&["review", "-q"], HOOK.as_bytes());
    assert_eq!((code(&output), stdout(&output), stderr(&output)), (0, String::new(), String::new()));
}

#[test]
fn cli_bad_documents_are_named_and_the_good_ones_still_judged() {
    let ndjson = b"{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":\"a\"}}\n{\"hunter2\": \n{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":\"b\"}}\n";
    let output = run(&["review", "--all"], ndjson);
    assert_eq!(code(&output), 2);
    assert!(stdout(&output).contains("ServiceAccount a") && stdout(&output).contains("ServiceAccount b"));
    assert!(stderr(&output).starts_with("error: -:2: malformed JSON"), "{}", stderr(&output));
    assert!(!stderr(&output).contains("hunter2"));
}

#[test]
fn cli_what_cannot_be_judged_is_exit_code_2_with_a_reason() {
    let request =
        json!({"uid": "1", "kind": {"group": "batch", "version": "v1", "kind": "Job"}, "operation": "CREATE"});
    for (input, reason) in [
        (&b"{"[..], "-:1: malformed JSON"),
        (b"a: [", "-:1: malformed YAML"),
        (b"\xff\xfe\x00", "-:1: UTF-16"),
        (b"just text", "neither an AdmissionReview"),
        (b"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"v1\"}", "without a request"),
        (request.to_string().as_bytes(), "no `object`, which a CREATE or UPDATE needs"),
        (b"", "-: there is no object in it"),
        (b"# nothing\n---\n", "-: there is no object in it"),
        (nested(125).as_bytes(), "nested deeper than 127 levels"),
    ] {
        let output = run(&["review"], input);
        assert_eq!(code(&output), 2, "{reason}");
        assert!(stderr(&output).contains(reason), "{reason}: {}", stderr(&output));
        assert!(stdout(&output).starts_with("0 objects"), "{}", stdout(&output));
    }
}

#[test]
fn cli_bad_usage_is_exit_code_2_with_a_reason() {
    let wrong = temporary("wrong-settings.yaml", b"mutat: true\nrules: {identity-flip: fix}\n");
    let broken = temporary("broken.yaml", b"a: [");
    let text = temporary("text.wasm", b"not wasm");
    let list = temporary("list.json", b"[7]");
    let path = |path: &PathBuf| path.to_str().unwrap().to_owned();
    for (arguments, reason) in [
        (vec!["review", "nowhere.json"], "nowhere.json: No such file"),
        (
            vec!["review", "--settings", &path(&wrong)],
            "wrong-settings.yaml: the settings are not valid\nrules.identity-flip: expected off, warn or deny, found \"fix\"\nmutat: unknown field",
        ),
        (vec!["review", "--settings", &path(&broken)], "broken.yaml:1: malformed YAML"),
        (vec!["review", "--policy", &path(&text)], "text.wasm"),
        (vec!["review", "--policy", "nowhere.wasm"], "nowhere.wasm"),
        (vec!["review", "--cluster", &path(&list)], "list.json: "),
        (vec!["explain", "identity-flop"], "there is no rule `identity-flop`; the rules are identity-flip, "),
        (vec!["reveiw"], "reveiw"),
        (vec!["review", "-o", "xml"], "xml"),
    ] {
        let output = run(&arguments, b"");
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(stderr(&output).contains(reason), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn cli_explain_shows_a_page_and_a_list() {
    insta::assert_snapshot!("explain", stdout(&run(&["explain", "hook-events"], b"")));
    insta::assert_snapshot!("explain-list", stdout(&run(&["explain"], b"")));
    let json: Value = serde_json::from_slice(&run(&["explain", "-o", "json"], b"").stdout).unwrap();
    assert_eq!(json["rules"].as_array().unwrap().len(), stable_hooks_policy::RuleId::ALL.len());
    assert_eq!(json["rules"][0]["rule"], json!("identity-flip"));
}

#[test]
fn cli_help_ends_with_two_examples() {
    for verb in ["review", "chart", "release", "fix", "explain", "completions"] {
        let help = stdout(&run(&[verb, "--help"], b""));
        let (_, examples) = help.split_once("Examples:\n").unwrap();
        assert_eq!(examples.lines().count(), 2, "{examples}");
        assert!(examples.lines().all(|line| line.starts_with("  ")), "{examples}");
    }
}

#[test]
fn cli_help_has_no_backticks() {
    for verb in
        ["review", "chart", "release", "timeline", "forecast", "orphans", "fix", "explain", "completions", "--help"]
    {
        for help in ["--help", "-h"] {
            let help = stdout(&run(&[verb, help], b""));
            assert!(help.len() > 200 && !help.contains('`'), "{help}");
        }
    }
}

#[test]
fn cli_review_shows_untouched_objects_only_when_asked() {
    let manifest = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    assert_eq!(stdout(&run(&["review"], manifest)), "1 object: 0 denied, 0 normalized, 0 with warnings\n");
    assert!(stdout(&run(&["review", "--all"], manifest)).starts_with("allow CREATE ConfigMap a (-#1)\n1 object: "));
}

#[test]
fn cli_colour_is_there_when_it_is_asked_for() {
    assert!(stdout(&run(&["review", "--color", "always"], HOOK.as_bytes())).contains("\u{1b}["));
}

#[test]
fn cli_control_characters_of_an_object_reach_no_terminal() {
    let evil = "\u{1b}]0;evil\u{7}";
    let request = json!({
        "uid": "1", "operation": evil, "kind": {"group": "batch", "version": "v1", "kind": "Job"}, "name": evil,
        "object": {"metadata": {"name": evil}},
    });
    let output = run(&["review", "--all", "--color", "always"], request.to_string().as_bytes());
    assert!(stdout(&output).contains("evil") && !stdout(&output).contains(evil), "{}", stdout(&output));
}

#[test]
fn cli_a_closed_pipe_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_stable-hooks"))
        .args(["explain", "hook-events"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((code(&output), stderr(&output)), (0, String::new()));
}
