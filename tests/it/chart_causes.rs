//! `stable-hooks chart --release`: which changed values flip an object.

#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::cli::{code, stderr, stdout, temporary};
use crate::engines::built;
use crate::helms::{folder, helms, path_with, path_with_script, stable_hooks};

const CANARY: &str = "c4n4ry-Tr0ub4dor";

/// A Job that is a hook where this holds.
fn job(name: &str, condition: &str) -> String {
    format!(
        "apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  {{{{- if {condition} }}}}
  annotations: {{helm.sh/hook: 'pre-install,pre-upgrade', helm.sh/hook-delete-policy: before-hook-creation}}
  {{{{- end }}}}
spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: b}}]}}}}}}
"
    )
}

fn chart(name: &str, files: &[(&str, &str)]) -> String {
    let chart = folder(name);
    fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: c\nversion: 0.2.0\n").unwrap();
    for (path, text) in files {
        fs::create_dir_all(chart.join(path).parent().unwrap()).unwrap();
        fs::write(chart.join(path), text).unwrap();
    }
    chart.to_str().unwrap().to_owned()
}

/// A kubectl that knows revision 1 of release `r`, with these Jobs as plain resources, and of the cluster nothing else.
fn kubectl(name: &str, values: &Value, chart_values: &Value, jobs: &[&str]) -> PathBuf {
    let jobs = jobs.iter().map(|job_name| format!("---\n# Source: c/templates/job.yaml\n{}", job(job_name, "X")));
    let plain = |text: String| {
        let lines = text.lines().filter(|line| !line.contains("{{-") && !line.contains("annotations"));
        [&lines.collect::<Vec<_>>().join("\n"), "\n"].concat()
    };
    let record = json!({
        "name": "r", "namespace": "shop", "version": 1, "config": values,
        "info": {"status": "deployed", "first_deployed": "2026-01-01T00:00:00Z", "last_deployed": "2026-01-01T00:00:00Z"},
        "chart": {
            "metadata": {"apiVersion": "v2", "name": "c", "version": "0.1.0"}, "values": chart_values, "templates": [],
        },
        "manifest": jobs.map(plain).collect::<String>(),
    });
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
        "metadata": {
            "name": "sh.helm.release.v1.r.v1", "namespace": "shop",
            "labels": {"owner": "helm", "name": "r", "version": "1", "status": "deployed"},
        },
        "data": {"release": STANDARD.encode(STANDARD.encode(record.to_string()))},
    });
    let listed = temporary(&format!("{name}.json"), json!({"kind": "List", "items": [secret]}).to_string().as_bytes());
    let script = format!("case $1 in get) exec /bin/cat {} ;; esac\nexit 1", listed.display());
    path_with_script(&format!("{name}-kubectl"), "kubectl", &script)
}

/// The release as it is installed, and the chart that it is upgraded to.
struct Case<'a> {
    name: &'a str,
    values: Value,
    chart_values: Value,
    jobs: &'a [&'a str],
    files: &'a [(&'a str, &'a str)],
}

impl Case<'_> {
    /// Judges the upgrade with every Helm.
    fn judged(&self, more: &[&str], check: impl Fn(&Output)) {
        let chart = chart(self.name, self.files);
        let kubectl = kubectl(self.name, &self.values, &self.chart_values, self.jobs);
        for (number, helm) in helms().iter().enumerate() {
            let helm = path_with(&format!("{}-{number}", self.name), helm);
            check(&upgraded([&helm, &kubectl], &chart, more));
        }
    }

    /// Each flip's last words, and the values that it names.
    fn causes(&self, more: &[&str], expected: &[(&str, &str, Value)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, says, values)| ((*name).to_owned(), (*says).to_owned(), values.clone()))
            .collect();
        self.judged(&[more, &["-o", "json"]].concat(), |output| {
            assert_eq!(code(output), 1, "{}", stderr(output));
            assert_eq!(causes(output), expected, "{}", stderr(output));
        });
    }
}

fn upgraded(path: [&Path; 2], chart: &str, more: &[&str]) -> Output {
    stable_hooks(&path, &[&["chart", chart, "--release", "r", "-n", "shop"], more].concat())
}

/// The object, what is said behind the first two sentences, and the values.
fn causes(output: &Output) -> Vec<(String, String, Value)> {
    let report: Value = serde_json::from_str(&stdout(output)).unwrap();
    let findings = report["results"][0]["findings"].as_array().unwrap().iter();
    let flips = findings.filter(|finding| finding["rule"] == "release-identity-flip");
    let cause = |finding: &Value| {
        let message = finding["message"].as_str().unwrap();
        let says = STARTS.iter().find_map(|start| message.get(message.find(start)?..)).unwrap_or(message);
        (finding["object"]["name"].as_str().unwrap().to_owned(), says.to_owned(), finding["values"].clone())
    };
    flips.map(cause).collect()
}

/// How the sentences begin that say why.
const STARTS: [&str; 8] = [
    "Each of these flips",
    "No single",
    "No value changes",
    "This chart flips",
    "None of the",
    "The one changed",
    "It is not known",
    "`",
];

fn switched(path: &str) -> Value {
    json!([{"path": path, "from": "false", "to": "true"}])
}

#[test]
fn chart_causes_one_switch_of_three_values_flips_alone() {
    let template = job("m", ".Values.migration.asHook");
    Case {
        name: "causes-one",
        values: json!({"migration": {"replicas": 3}}),
        chart_values: json!({"migration": {"asHook": false, "replicas": 1}, "log": "info"}),
        jobs: &["m"],
        files: &[
            ("values.yaml", "migration: {asHook: false, replicas: 1}\nlog: info\n"),
            ("templates/job.yaml", &template),
        ],
    }
    .causes(
        &["--set", "migration.asHook=true,migration.replicas=4,log=debug"],
        &[("m", "`migration.asHook`, changed from false to true, flips it by itself.", switched("migration.asHook"))],
    );
}

#[test]
fn chart_causes_are_told_for_each_object() {
    let template =
        [job("m", "or .Values.a .Values.b"), job("k", ".Values.b"), job("o", ".Release.IsUpgrade")].join("---\n");
    let case = Case {
        name: "causes-each",
        values: json!({"a": false, "b": false}),
        chart_values: Value::Null,
        jobs: &["k", "m", "o"],
        files: &[("templates/job.yaml", &template)],
    };
    let both = json!([switched("a")[0], switched("b")[0]]);
    case.causes(
        &["--set", "a=true,b=true"],
        &[
            ("k", "`b`, changed from false to true, flips it by itself.", switched("b")),
            (
                "m",
                "Each of these flips it by itself: `a`, changed from false to true; `b`, changed from false to true.",
                both,
            ),
            ("o", "This chart flips it with the installed values too: no changed value is needed.", json!([])),
        ],
    );
    case.causes(
        &["--reset-values", "--set", "a=false,b=false"],
        &[("o", "No value changes: this chart flips it with the installed values.", json!([]))],
    );
}

#[test]
fn chart_causes_two_values_flip_together() {
    let template = job("m", "and .Values.a (eq .Values.mode \"hook\")");
    Case {
        name: "causes-two",
        values: Value::Null,
        chart_values: json!({"a": false, "mode": "job", "c": 1}),
        jobs: &["m"],
        files: &[("values.yaml", "a: true\nmode: hook\nc: 2\n"), ("templates/job.yaml", &template)],
    }
    .causes(
        &[],
        &[("m", "No single changed value flips it: it takes several of these 3: `a`, `c`, `mode`.", json!([]))],
    );
}

#[test]
fn chart_causes_a_new_version_of_the_chart_flips() {
    let template = job("m", "true");
    Case {
        name: "causes-version",
        values: json!({"log": "debug"}),
        chart_values: json!({"log": "info"}),
        jobs: &["m"],
        files: &[("values.yaml", "log: info\n"), ("templates/job.yaml", &template)],
    }
    .causes(
        &["--reset-values"],
        &[("m", "This chart flips it with the installed values too: no changed value is needed.", json!([]))],
    );
}

#[test]
fn chart_causes_the_values_of_subcharts_count() {
    let template = job("m", "or .Values.asHook .Values.global.asHook");
    let case = Case {
        name: "causes-subchart",
        values: Value::Null,
        // A record can lack the values of subcharts.
        chart_values: json!({"log": "info"}),
        jobs: &["m"],
        files: &[
            ("values.yaml", "log: info\n"),
            ("charts/sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 0.1.0\n"),
            ("charts/sub/values.yaml", "asHook: false\nother: 1\n"),
            ("charts/sub/templates/job.yaml", &template),
        ],
    };
    case.causes(
        &["--set", "sub.asHook=true,log=debug"],
        &[("m", "`sub.asHook`, changed from false to true, flips it by itself.", switched("sub.asHook"))],
    );
    let global = json!([{"path": "global.asHook", "from": "unset", "to": "true"}]);
    case.causes(
        &["--set", "global.asHook=true,log=debug"],
        &[("m", "`global.asHook`, changed from unset to true, flips it by itself.", global)],
    );
}

#[test]
fn chart_causes_a_value_that_is_gone_flips() {
    let template = job("m", "not .Values.job.plain");
    let case = Case {
        name: "causes-gone",
        values: json!({"job": {"plain": "yes", "n": 1}}),
        chart_values: Value::Null,
        jobs: &["m"],
        files: &[("values.yaml", "job: {plain: 'yes'}\n"), ("templates/job.yaml", &template)],
    };
    let gone = json!([{"path": "job.plain", "from": "\"yes\"", "to": "unset"}]);
    case.causes(
        &["--set", "job.plain=null,job.n=2"],
        &[("m", "`job.plain`, changed from \"yes\" to unset, flips it by itself.", gone)],
    );
}

#[test]
fn chart_causes_a_subchart_is_switched_on() {
    let template = job("m", ".Values.sub.enabled");
    let dependency = "{name: sub, version: 0.1.0, condition: sub.enabled}";
    let metadata = format!("apiVersion: v2\nname: c\nversion: 0.2.0\ndependencies: [{dependency}]\n");
    Case {
        name: "causes-switched",
        values: Value::Null,
        chart_values: json!({"sub": {"enabled": false}}),
        jobs: &["m"],
        files: &[
            ("Chart.yaml", &metadata),
            ("values.yaml", "sub: {enabled: false}\n"),
            ("templates/job.yaml", &template),
            ("charts/sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 0.1.0\n"),
            ("charts/sub/values.yaml", "a: 1\nb: {c: 2}\n"),
        ],
    }
    .causes(
        &["--set", "sub.enabled=true"],
        &[("m", "`sub.enabled`, changed from false to true, flips it by itself.", switched("sub.enabled"))],
    );
}

#[test]
fn chart_causes_a_value_of_a_subchart_that_is_gone_flips() {
    let template = job("m", "not .Values.plain");
    Case {
        name: "causes-sub-gone",
        values: Value::Null,
        chart_values: json!({"log": "info"}),
        jobs: &["m"],
        files: &[
            ("values.yaml", "log: info\n"),
            ("charts/sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 0.1.0\n"),
            ("charts/sub/values.yaml", "plain: true\n"),
            ("charts/sub/templates/job.yaml", &template),
        ],
    }
    .causes(
        &["--set", "sub.plain=null,log=debug"],
        &[(
            "m",
            "`sub.plain`, changed from true to unset, flips it by itself.",
            json!([{"path": "sub.plain", "from": "true", "to": "unset"}]),
        )],
    );
}

#[test]
fn chart_causes_never_show_what_a_user_wrote() {
    let template = job("m", "or (eq .Values.mode \"hook\") (ne .Values.secret .Values.old)");
    let value = job("k", "not (contains \"-old\" .Values.secret)");
    let failing = "{{ if contains \"+\" .Values.list }}{{ fail (printf \"no %s\" .Values.list) }}{{ end }}";
    let set = format!("secret={CANARY},mode=hook,list={CANARY}");
    let case = Case {
        name: "causes-secret",
        values: json!({"mode": "job", "secret": format!("{CANARY}-old"), "old": format!("{CANARY}-old"), "list": ""}),
        // What `--reuse-values` has once made the chart's own is a user's all the same.
        chart_values: json!({"mode": "job", "secret": CANARY}),
        jobs: &["k", "m"],
        files: &[
            ("values.yaml", "mode: job\nsecret: ''\nold: ''\n"),
            ("templates/job.yaml", &[template, value].join("---\n")),
            ("templates/fail.yaml", failing),
        ],
    };
    for format in ["human", "markdown", "sarif"] {
        case.judged(&["--reuse-values", "--set", &set, "-o", format], |output| {
            let said = [stdout(output), stderr(output)].concat();
            assert_eq!(code(output), 1, "{said}");
            assert!(said.contains("flips it by itself"), "{said}");
            assert!(!said.to_lowercase().contains(&CANARY.to_lowercase()), "{said}");
        });
    }
    let mode = json!({"path": "mode", "from": "\"job\"", "to": "\"hook\""});
    let secret = json!({"path": "secret", "from": "a text", "to": "a text"});
    let alone = "`secret`, changed from a text to a text, flips it by itself.";
    let says = "Each of these flips it by itself: `mode`, changed from \"job\" to \"hook\"; `secret`, changed from a text to \
                a text.";
    case.causes(
        &["--reuse-values", "--set", &set],
        &[("k", alone, json!([secret])), ("m", says, json!([mode, secret]))],
    );
}

#[test]
fn chart_causes_a_value_with_which_nothing_renders_is_told() {
    let template = job("m", ".Values.hook");
    let failing = "{{ if and .Values.bad (not .Values.hook) }}{{ fail (printf \"bad needs a hook, %s\" .Values.secret) }}{{ end }}";
    Case {
        name: "causes-failing",
        values: json!({"hook": false, "bad": false, "secret": CANARY}),
        chart_values: Value::Null,
        jobs: &["m"],
        files: &[("templates/job.yaml", &template), ("templates/fail.yaml", failing)],
    }
    .judged(&["--reuse-values", "--set", "hook=true,bad=true", "-o", "json"], |output| {
        let says =
            "`hook`, changed from false to true, flips it by itself. 1 other changed value could not be tried alone.";
        assert_eq!(causes(output), [("m".to_owned(), says.to_owned(), switched("hook"))]);
        let said = stderr(output);
        assert!(
            said.contains("`bad` could not be tried alone: execution error at (c/templates/fail.yaml:1:"),
            "{said}"
        );
        assert!(said.contains("bad needs a hook, ***"), "{said}");
        assert!(!said.contains(CANARY), "{said}");
    });
}

#[test]
fn chart_causes_are_found_where_the_installed_values_do_not_render() {
    let template =
        format!("{{{{ required \"give it\" .Values.needed }}}}\n---\n{}", job("m", "eq .Values.needed \"hook\""));
    let template = template.replace("{{ required", "# {{ required");
    Case {
        name: "causes-required",
        values: json!({"log": "info"}),
        chart_values: Value::Null,
        jobs: &["m"],
        files: &[("templates/job.yaml", &template)],
    }
    .causes(
        &["--set", "needed=hook,log=debug"],
        &[(
            "m",
            "`needed`, changed from unset to \"hook\", flips it by itself. 1 other changed value could not be tried alone. \
             The installed values could not be tried with this chart.",
            json!([{"path": "needed", "from": "unset", "to": "\"hook\""}]),
        )],
    );
}

#[test]
fn chart_causes_a_packed_chart_and_the_wasm_say_the_same() {
    let Some(wasm) = built("annotated-releases-policy.wasm") else { return };
    let template = job("m", ".Values.hook");
    let chart = chart("causes-packed", &[("values.yaml", "hook: false\nn: 1\n"), ("templates/job.yaml", &template)]);
    let kubectl = kubectl("causes-packed", &Value::Null, &json!({"hook": false, "n": 1}), &["m"]);
    let packed = folder("causes-packed-archive").join("c.tgz");
    crate::chart_helm::pack(Path::new(&chart), "c", &packed);
    let expected = "`hook`, changed from false to true, flips it by itself.".to_owned();
    for (number, helm) in helms().iter().enumerate() {
        let helm = path_with(&format!("causes-packed-{number}"), helm);
        for chart in [&chart, packed.to_str().unwrap()] {
            for more in [&[][..], &["--policy", wasm.to_str().unwrap()]] {
                let more = [&["--set", "hook=true,n=2", "-o", "json"], more].concat();
                let output = upgraded([&helm, &kubectl], chart, &more);
                let found = [("m".to_owned(), expected.clone(), switched("hook"))];
                assert_eq!(causes(&output), found, "{more:?}: {}", stderr(&output));
            }
        }
    }
}

#[test]
fn chart_causes_are_sought_within_a_limit() {
    let template = job("m", "eq (toString .Values.v49) \"2\"");
    let values = |to: u8| (0..50).map(|n| (format!("v{n:02}"), json!(to))).collect::<serde_json::Map<_, _>>();
    let file = temporary("causes-many-values.json", Value::from(values(2)).to_string().as_bytes());
    let chart = chart("causes-many", &[("templates/job.yaml", &template)]);
    let kubectl = kubectl("causes-many", &Value::from(values(1)), &Value::Null, &["m"]);
    let Some(helm) = helms().last() else { return };
    let helm = path_with("causes-many-helm", helm);
    let output = upgraded([&helm, &kubectl], &chart, &["-f", file.to_str().unwrap(), "-o", "json"]);
    let says = "None of the 38 changed values that were tried alone flips it. 12 other changed values were not tried.";
    assert_eq!(causes(&output), [("m".to_owned(), says.to_owned(), json!([]))], "{}", stderr(&output));
}
