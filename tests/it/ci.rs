//! What other people's CI takes from this repository: the GitHub Action and the pre-commit hook.

#![cfg(unix)]

use std::fs;

use serde_json::{Value, json};
use stable_hooks::input::value;

use crate::cli::{code, run, stderr, stdout};
use crate::engines::root;
use crate::helms::{command, path_with_script};

fn read(name: &str) -> Value {
    value(&fs::read(root().join(name)).unwrap()).unwrap()
}

/// Runs one step's script as the runner does, with a program of ours that prints its arguments, one a line.
fn step(name: &str, number: usize, program: &str, environment: &[(&str, &str)]) -> String {
    let script = read("action.yml")["runs"]["steps"][number]["run"].as_str().unwrap().to_owned();
    let path = path_with_script(name, program, "printf '%s\\n' \"$@\"");
    let mut bash = command("/bin/bash", &[&path]);
    bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &script]).envs(environment.iter().copied());
    let output = bash.output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn ci_the_action_hands_its_inputs_on_whatever_is_in_them() {
    let inputs = [
        ("CHART", "charts/$(touch /nowhere) orders"),
        ("VALUES", "a.yaml\n\nb c.yaml\n"),
        ("AGAINST", "orders-1.0.0.tgz"),
        ("OUTPUT", "sarif"),
        ("ARGUMENTS", "--set\na=\"b\"; exit 1"),
    ];
    let called = step("action", 1, "stable-hooks", &inputs);
    let expected = [
        "chart",
        inputs[0].1,
        "--output",
        "sarif",
        "--values",
        "a.yaml",
        "--values",
        "b c.yaml",
        "--against",
        "orders-1.0.0.tgz",
        "--set",
        "a=\"b\"; exit 1",
    ];
    assert_eq!(called.lines().collect::<Vec<_>>(), expected);
    let output = read("action.yml")["inputs"]["output"]["default"].as_str().unwrap().to_owned();
    let nothing = [("CHART", "orders"), ("VALUES", ""), ("AGAINST", ""), ("OUTPUT", &output), ("ARGUMENTS", "")];
    assert_eq!(step("action-default", 1, "stable-hooks", &nothing), "chart\norders\n--output\ngithub\n");
}

#[test]
fn ci_the_action_builds_this_program_and_knows_each_of_its_inputs() {
    let called = step("action-build", 0, "cargo", &[("GITHUB_ACTION_PATH", "/somewhere")]);
    assert_eq!(called, "install\n--locked\n--quiet\n--path\n/somewhere\n");
    let action = read("action.yml");
    let handed_on: Vec<_> = action["runs"]["steps"][1]["env"].as_object().unwrap().values().cloned().collect();
    let inputs = action["inputs"].as_object().unwrap();
    assert_eq!(inputs.len(), handed_on.len());
    for input in inputs.keys() {
        assert!(handed_on.contains(&json!(format!("${{{{ inputs.{input} }}}}"))), "{input}");
    }
}

#[test]
fn ci_the_pre_commit_hook_calls_a_verb_when_a_chart_changes() {
    let hooks = read(".pre-commit-hooks.yaml");
    let [hook] = hooks.as_array().unwrap().as_slice() else { panic!("{hooks}") };
    let entry: Vec<_> = hook["entry"].as_str().unwrap().split(' ').collect();
    assert_eq!(entry[0], env!("CARGO_PKG_NAME"));
    assert_eq!(code(&run(&[entry[1], "--help"], b"")), 0);
    let files = regex::Regex::new(hook["files"].as_str().unwrap()).unwrap();
    for (file, is_judged) in [
        ("Chart.yaml", true),
        ("charts/orders/values-production.yaml", true),
        ("orders/templates/_helpers.tpl", true),
        ("orders/charts/postgresql-1.0.0.tgz", true),
        ("README.md", false),
        ("docs/my-values.md", false),
    ] {
        assert_eq!(files.is_match(file), is_judged, "{file}");
    }
}
