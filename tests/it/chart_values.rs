//! `stable-hooks chart`: the values are those that Helm would use, wherever they come from.

#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::chart_renders::denials;
use crate::cli::{code, stderr, stdout, temporary};
use crate::helms::{command, folder, helms, path_with, path_with_script, stable_hooks};

const FLIPS: &str = "release-identity-flip deny Job/m";

const JOB: &str = "apiVersion: batch/v1
kind: Job
metadata:
  name: m
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}
";

/// A Job that is a hook on an upgrade where the value `hook` is `true`, or that text.
const TEMPLATE: &str = "apiVersion: batch/v1
kind: Job
metadata:
  name: m
  {{- if and .Release.IsUpgrade (eq (toString .Values.hook) \"true\") }}
  annotations:
    helm.sh/hook: pre-upgrade
  {{- end }}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}
";

fn chart(name: &str, values: &str) -> String {
    let chart = folder(name);
    fs::create_dir_all(chart.join("templates")).unwrap();
    fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: c\nversion: 0.1.0\n").unwrap();
    fs::write(chart.join("values.yaml"), values).unwrap();
    fs::write(chart.join("templates/job.yaml"), TEMPLATE).unwrap();
    chart.to_str().unwrap().to_owned()
}

fn fifo(name: &str) -> PathBuf {
    let pipe = folder(name).join("pipe.yaml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    pipe
}

#[test]
fn chart_values_from_a_pipe_reach_both_renders() {
    let chart = chart("values-pipe", "hook: false\n");
    for (number, helm) in helms().iter().enumerate() {
        let path = path_with(&format!("values-pipe-{number}"), helm);
        for run in 0..5 {
            let pipe = fifo(&format!("values-pipe-{number}-{run}"));
            let to = pipe.clone();
            let writer = thread::spawn(move || fs::write(to, "hook: true\n").unwrap());
            let output = stable_hooks(&[&path], &["chart", &chart, "-f", pipe.to_str().unwrap(), "-o", "json"]);
            writer.join().unwrap();
            assert_eq!((denials(&output), code(&output)), (vec![FLIPS.to_owned()], 1), "{}", stderr(&output));
        }
    }
}

#[test]
fn chart_values_from_standard_input_reach_both_renders() {
    let chart = chart("values-stdin", "hook: false\n");
    for (number, helm) in helms().iter().enumerate() {
        let path = path_with(&format!("values-stdin-{number}"), helm);
        let judged = |arguments: &[&str], given: &[u8]| {
            let mut program = command(env!("CARGO_BIN_EXE_stable-hooks"), &[&path]);
            program.args([&["chart", &chart, "-q"], arguments].concat()).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = program.spawn().unwrap();
            child.stdin.take().unwrap().write_all(given).unwrap();
            code(&child.wait_with_output().unwrap())
        };
        assert_eq!(judged(&["-f", "-"], b"hook: true\n"), 1);
        assert_eq!(judged(&["-f", "-"], b"hook: false\n"), 0);
        assert_eq!(judged(&["-f", "/dev/stdin"], b"hook: true\n"), 1);
        assert_eq!(judged(&["--", "--values", "-"], b"hook: true\n"), 1, "behind `--` too");
        assert_eq!(judged(&["--set-file", "hook=-"], b"true"), 1);
    }
}

#[test]
fn chart_every_flag_of_helm_for_values_counts() {
    let chart = chart("values-flags", "hook: false\n");
    let text = temporary("true.txt", b"true");
    let file = format!("hook={}", text.display());
    for (number, helm) in helms().iter().enumerate() {
        let path = path_with(&format!("values-flags-{number}"), helm);
        for flag in [
            ["--set", "hook=true"],
            ["--set-string", "hook=true"],
            ["--set-json", "hook=true"],
            ["--set-literal", "hook=true"],
            ["--set-file", &file],
        ] {
            let output = stable_hooks(&[&path], &[&["chart", &chart, "-q"], &flag[..]].concat());
            assert_eq!(code(&output), 1, "{flag:?}: {}", stderr(&output));
        }
    }
    let output = stable_hooks(&[], &["chart", &chart, "-f", "nowhere.yaml"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).starts_with("error: nowhere.yaml: "), "{}", stderr(&output));
}

/// Revision 1 of release `r`, which has the Job as a plain resource and was given these values.
fn stored(values: &Value, chart_values: &Value, status: &str) -> Value {
    let template = json!({"name": "templates/job.yaml", "data": STANDARD.encode(TEMPLATE)});
    let record = json!({
        "name": "r", "namespace": "shop", "version": 1, "config": values,
        "info": {"status": status, "first_deployed": "2026-01-01T00:00:00Z", "last_deployed": "2026-01-01T00:00:00Z"},
        "chart": {
            "metadata": {"apiVersion": "v2", "name": "c", "version": "0.1.0"},
            "values": chart_values, "templates": [template],
        },
        "manifest": format!("---\n# Source: c/templates/job.yaml\n{JOB}"),
    });
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
        "metadata": {
            "name": "sh.helm.release.v1.r.v1", "namespace": "shop",
            "labels": {"owner": "helm", "name": "r", "version": "1", "status": status},
        },
        "data": {"release": STANDARD.encode(STANDARD.encode(record.to_string()))},
    })
}

/// A kubectl that knows this release, and of the cluster nothing else.
fn kubectl(name: &str, record: &Value) -> PathBuf {
    let listed = temporary(&format!("{name}.json"), json!({"kind": "List", "items": [record]}).to_string().as_bytes());
    let script = format!("case $1 in get) exec /bin/cat {} ;; esac\nexit 1", listed.display());
    path_with_script(&format!("{name}-kubectl"), "kubectl", &script)
}

fn upgraded(path: [&Path; 2], chart: &str, more: &[&str]) -> Output {
    stable_hooks(&path, &[&["chart", chart, "--release", "r", "-n", "shop", "-q"], more].concat())
}

#[test]
fn chart_an_upgrade_without_values_takes_those_of_the_release() {
    let chart = chart("values-stored", "hook: false\n");
    let empty = temporary("empty.yaml", b"# nothing\n");
    let empty = empty.to_str().unwrap();
    for (number, helm) in helms().iter().enumerate() {
        let helm = path_with(&format!("values-stored-{number}"), helm);
        let record = stored(&json!({"hook": true}), &json!({"hook": false}), "deployed");
        let kubectl = kubectl(&format!("values-stored-{number}"), &record);
        for (more, expected) in [
            (&[][..], 1),
            (&["-f", empty], 1),
            (&["--set", "other=1"], 0),
            (&["--reset-values"], 0),
            (&["--reuse-values"], 1),
            (&["--reuse-values", "--set", "hook=false"], 0),
            (&["--reset-then-reuse-values", "--set", "other=1"], 1),
            (&["--reset-then-reuse-values", "--set", "hook=null"], 2),
        ] {
            let output = upgraded([&helm, &kubectl], &chart, more);
            assert_eq!(code(&output), expected, "{more:?}: {}", stderr(&output));
        }
        let drawn = stable_hooks(&[&helm, &kubectl], &["timeline", &chart, "--release", "r", "-n", "shop"]);
        assert_eq!(code(&drawn), 1, "{}", stdout(&drawn));
    }
}

#[test]
fn chart_reused_values_are_those_of_the_old_chart_too() {
    let chart = chart("values-reused", "hook: true\n");
    for (number, helm) in helms().iter().enumerate() {
        let helm = path_with(&format!("values-reused-{number}"), helm);
        let record = stored(&Value::Null, &json!({"hook": false}), "deployed");
        let kubectl = kubectl(&format!("values-reused-{number}"), &record);
        for (more, expected) in
            [(&[][..], 1), (&["--reuse-values"], 0), (&["--reset-then-reuse-values"], 1), (&["--reset-values"], 1)]
        {
            let output = upgraded([&helm, &kubectl], &chart, more);
            assert_eq!(code(&output), expected, "{more:?}: {}", stderr(&output));
        }
        let packed = folder(&format!("values-reused-packed-{number}")).join("c.tgz");
        crate::chart_helm::pack(Path::new(&chart), "c", &packed);
        let output = upgraded([&helm, &kubectl], packed.to_str().unwrap(), &["--reuse-values"]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
    let own = fs::read_to_string(format!("{chart}/values.yaml")).unwrap();
    assert_eq!(own, "hook: true\n", "the user's chart stays as it is");
}

#[test]
fn chart_of_an_uninstalled_release_there_is_no_upgrade() {
    let chart = chart("values-uninstalled", "hook: true\n");
    let kubectl = kubectl("values-uninstalled", &stored(&Value::Null, &Value::Null, "uninstalled"));
    let output = stable_hooks(&[&kubectl], &["chart", &chart, "--release", "r", "-n", "shop"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("release `r` is uninstalled"), "{}", stderr(&output));
}
