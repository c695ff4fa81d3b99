//! However a run ends, its exit code is that of all that was judged, and its output a whole document.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use stable_hooks_host::metadata::annotate;

use crate::cli::{code, run, stderr, stdout, temporary};
use crate::guests::guest_with;
use crate::helms::stable_hooks;
use crate::packages::yaml;

/// The formats that a program reads.
const DOCUMENTS: [&str; 4] = ["json", "sarif", "policyreport", "openreports"];
const JOB: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: m, labels: {app: migrate}}\n";
const DENIED: &str = "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: both\n  labels: {app: migrate}\n  \
                      annotations: {helm.sh/hook: test-failure, meta.helm.sh/release-name: r}\n";

fn path(name: &str, content: &str) -> String {
    temporary(name, content.as_bytes()).to_str().unwrap().to_owned()
}

#[test]
fn endings_a_reader_that_closes_the_pipe_does_not_change_the_exit_code() {
    let harmless =
        |at| format!("{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"c{at}\"}}}}\n");
    let stream = path("closed-pipe.yaml", &((0..20_000).map(harmless).collect::<String>() + DENIED));
    let mut child = Command::new(env!("CARGO_BIN_EXE_stable-hooks"))
        .args(["review", &stream])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((code(&output), stderr(&output)), (1, String::new()), "{line}");
}

#[test]
fn endings_what_cannot_be_judged_still_writes_a_whole_document() {
    let settings = path("endings-settings.yaml", "rules: [");
    let policy = path("endings-policy.wasm", "no wasm");
    let job = path("endings-job.yaml", JOB);
    let shared = [
        (vec!["--settings", &settings], "malformed YAML"),
        (vec!["--settings", "nowhere.yaml"], "nowhere.yaml: No such file"),
        (vec!["--policy", &policy], "not a WebAssembly module"),
        (vec!["--cluster", "nowhere.json"], "nowhere.json: No such file"),
    ];
    let of_all = [vec!["review", &job], vec!["chart", "nowhere"], vec!["release", &job], vec!["timeline", &job]];
    let mut cases: Vec<_> = of_all
        .iter()
        .flat_map(|verb| shared.iter().map(move |(more, reason)| ([&verb[..], &more[..]].concat(), *reason)))
        .collect();
    cases.extend([
        (vec!["review", "nowhere.yaml"], "nowhere.yaml: No such file"),
        (vec!["chart", "nowhere"], "no `helm` on the PATH"),
        (vec!["chart", "--install", "nowhere.yaml", "--upgrade", &job], "nowhere.yaml: No such file"),
        (vec!["chart", "nowhere", "--release", "orders"], "no `kubectl` on the PATH"),
        (vec!["release", "nowhere.json"], "nowhere.json: No such file"),
        (vec!["release", &job, "-n", "shop"], "-n goes with a release's name, and only files are given"),
        (vec!["release", "orders", "-n", "shop"], "no `kubectl` on the PATH"),
        (vec!["timeline", "nowhere.tgz"], "no `helm` on the PATH"),
        (vec!["timeline", "nowhere.tgz", "--baseline", &job], "--baseline goes with records"),
        (vec!["timeline", &job, "--set", "a=b"], "these options go with a chart"),
        (vec!["timeline", "orders", "-n", "shop"], "no `kubectl` on the PATH"),
        (vec!["forecast"], "no `helm` on the PATH"),
        (vec!["orphans"], "no `kubectl` on the PATH"),
        (vec!["forecast", "--settings", &settings], "malformed YAML"),
        (vec!["forecast", "--policy", &policy], "not a WebAssembly module"),
    ]);
    for (arguments, reason) in cases {
        let formats =
            if ["timeline", "forecast", "orphans"].contains(&arguments[0]) { &DOCUMENTS[..1] } else { &DOCUMENTS };
        for format in formats {
            assert_ends_whole(&[&arguments[..], &["-o", format]].concat(), reason);
        }
    }
}

/// Where there is neither a helm nor a kubectl.
fn alone(arguments: &[&str]) -> Output {
    stable_hooks(&[Path::new("/nowhere")], arguments)
}

/// Exit code 2 with the reason, and JSON that says of nothing that it was judged.
fn assert_ends_whole(arguments: &[&str], reason: &str) {
    let output = alone(arguments);
    assert_eq!(code(&output), 2, "{arguments:?}");
    assert!(stderr(&output).contains(reason), "{arguments:?}: {}", stderr(&output));
    assert_eq!(stderr(&output).matches("error: ").count(), 1, "{arguments:?}: {}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{arguments:?}: {error}: {}", stdout(&output));
    });
    let mut found = ["results", "timelines", "releases", "hooks"].map(|key| &document[key]).to_vec();
    found.push(&document["runs"][0]["results"]);
    assert!(found.into_iter().any(|list| *list == json!([])), "{arguments:?}: {document}");
}

#[test]
fn endings_pictures_and_pages_are_whole_as_well() {
    for (arguments, end) in [
        (["timeline", "nowhere.tgz", "-o", "svg"], "</svg>\n"),
        (["timeline", "nowhere.tgz", "-o", "html"], "</html>\n"),
        (["forecast", "nothing", "-o", "html"], "</html>\n"),
    ] {
        let output = alone(&arguments);
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(stdout(&output).ends_with(end), "{arguments:?}: {}", stdout(&output));
    }
}

#[test]
fn endings_an_empty_list_is_nothing_to_judge_and_an_empty_file_is_a_mistake() {
    let printed = "{\n    \"apiVersion\": \"v1\",\n    \"items\": [],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \
                   \"resourceVersion\": \"\"\n    }\n}\n";
    for list in [printed, "kind: List\nitems: []\n", "apiVersion: batch/v1\nkind: JobList\nitems: null\n", "[]"] {
        let output = run(&["review", "-o", "json"], list.as_bytes());
        assert_eq!((code(&output), stderr(&output)), (0, String::new()), "{list}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&report["summary"]["objects"], &report["results"]), (&json!(0), &json!([])), "{list}");
        for verb in ["release", "timeline"] {
            let output = run(&[verb, "-"], list.as_bytes());
            assert_eq!(code(&output), 2, "{list}");
            assert_eq!(stderr(&output), "error: -: there is no release record in it\n", "{list}");
        }
    }
    for empty in ["", "# nothing\n", "---\n---\n"] {
        let output = run(&["review"], empty.as_bytes());
        assert_eq!(code(&output), 2);
        assert_eq!(stderr(&output), "error: -: there is no object in it\n");
    }
}

#[test]
fn endings_a_field_of_another_type_is_named_with_its_place() {
    for (manifest, reason) in [
        ("metadata: {name: 123}", "metadata.name is a number where Kubernetes wants a string; put it in quotes"),
        ("metadata: {name: yes}", "metadata.name is true or false where Kubernetes wants a string; put it in quotes"),
        ("metadata: {name: [a]}", "metadata.name is a list where Kubernetes wants a string"),
        ("metadata: {name: a, namespace: 1}", "metadata.namespace is a number where Kubernetes wants a string"),
        ("metadata: {name: a, uid: 1}", "metadata.uid is a number where Kubernetes wants a string"),
        ("metadata: [hunter2]", "metadata is a list where Kubernetes wants an object"),
    ] {
        let file = path("mistyped.yaml", &format!("{JOB}---\n\napiVersion: batch/v1\nkind: Job\n{manifest}\n"));
        for more in [&[][..], &["--audit"]] {
            let output = run(&[&["review", &file], more].concat(), b"");
            assert_eq!(code(&output), 2, "{manifest}");
            assert!(stderr(&output).starts_with(&format!("error: {file}:6: {reason}")), "{}", stderr(&output));
            assert!(!stderr(&output).contains("hunter2"));
            assert!(stdout(&output).contains("1 object: "), "the other one is judged: {}", stdout(&output));
        }
    }
    for (manifest, reason) in [
        ("apiVersion: 1\nkind: Job\n", "-:1: apiVersion is a number where Kubernetes wants a string; put it in quotes"),
        ("apiVersion: v1\nkind: 7\n", "-:1: kind is a number where Kubernetes wants a string; put it in quotes"),
        ("apiVersion: v1\n", "-:1: neither an AdmissionReview"),
    ] {
        let output = run(&["review"], manifest.as_bytes());
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    }
    // Labels and annotations of another type are a warning of the policy's own.
    let labels =
        run(&["review"], b"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, labels: [7], annotations: {a: 1}}\n");
    assert_eq!(code(&labels), 0, "{}", stderr(&labels));
    assert!(stdout(&labels).contains("metadata.labels is not an object"), "{}", stdout(&labels));
}

/// A policy that finds all settings good and allows everything, with or without words; small, so that it compiles fast.
fn policy(name: &str, metadata: Option<&str>, warnings: &str) -> String {
    let answer = format!(r#"{{"valid":true,"accepted":true,"warnings":[{warnings}]}}"#);
    let body = format!("(call $respond (i32.const 0) (i32.const {})) (i32.const 1)", answer.len());
    let data = format!(r#"(data (i32.const 0) "{}")"#, answer.replace('"', "\\\""));
    let mut wasm = guest_with(&body, &data);
    if let Some(file) = metadata {
        wasm = annotate(&wasm, &yaml(file)).unwrap();
    }
    temporary(name, &wasm).to_str().unwrap().to_owned()
}

const OBJECTS: Option<&str> = Some("policy/metadata.yml");
const RELEASES: Option<&str> = Some("policy/releases/metadata.yml");

#[test]
fn endings_a_policy_for_objects_does_not_judge_releases() {
    let renders = ["tests/timeline/flip/install.yaml", "tests/timeline/flip/upgrade.yaml"];
    let renders = ["--install", renders[0], "--upgrade", renders[1]];
    let record =
        "tests/corpus/admission/helm3/resource-to-hook/1-install/01-create-secret-sh.helm.release.v1.orders.v1.json";
    let releases = policy("endings-releases.wasm", RELEASES, "");
    for (name, metadata, reason) in [
        (
            "endings-objects.wasm",
            OBJECTS,
            "the rules in its metadata lack the CREATE of secrets, where Helm keeps its records, so an API server would not \
             ask it about a release",
        ),
        ("endings-plain.wasm", None, "it has no metadata, which says"),
    ] {
        let objects = policy(name, metadata, "");
        for verb in [
            [&["chart"], &renders[..]].concat(),
            [&["timeline"], &renders[..]].concat(),
            vec!["release", record],
            vec!["timeline", record],
        ] {
            let output = run(&[&verb[..], &["--policy", &objects]].concat(), b"");
            assert_eq!(code(&output), 2, "{verb:?}");
            let told = format!("error: {objects} cannot judge releases: {reason}");
            assert!(stderr(&output).starts_with(&told), "{verb:?}: {}", stderr(&output));
            assert!(stderr(&output).contains("give annotated-releases-policy.wasm"), "{}", stderr(&output));
            let output = run(&[&verb[..], &["--policy", &releases]].concat(), b"");
            assert_eq!(code(&output), 0, "{verb:?}: {}", stderr(&output));
        }
        let forecast = run(&["forecast", "--policy", &objects], b"");
        assert!(code(&forecast) == 2 && stderr(&forecast).contains("cannot judge releases"), "{}", stderr(&forecast));
    }
}

#[test]
fn endings_review_says_when_a_cluster_would_not_ask_the_policy() {
    let objects = policy("endings-review-objects.wasm", OBJECTS, "");
    let releases = policy("endings-review-releases.wasm", RELEASES, "");
    let talks = policy("endings-review-talks.wasm", OBJECTS, r#""so so""#);
    let plain = policy("endings-review-plain.wasm", None, r#""so so""#);
    let config_map = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
    let (both, of_jobs) = (format!("{JOB}{config_map}"), "CREATE/UPDATE of jobs; CREATE/UPDATE of serviceaccounts\n");
    let all_but_one = "about 1 of these 2 objects: the rules in its metadata are ";
    for (policy, stream, told) in [
        (&objects, JOB, String::new()),
        (&objects, &both, String::new()),
        (&objects, config_map, format!("about 0 of these 1 objects: the rules in its metadata are {of_jobs}")),
        (&releases, config_map, String::new()),
        (
            &releases,
            JOB,
            "about 0 of these 1 objects: the rules in its metadata are CREATE of secrets, configmaps\n".to_owned(),
        ),
        (&talks, JOB, String::new()),
        (&talks, &both, format!("{all_but_one}{of_jobs}")),
        (&plain, &both, String::new()),
    ] {
        let output = run(&["review", "--policy", policy], stream.as_bytes());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let told = if told.is_empty() { told } else { format!("note: an API server would ask {policy} {told}") };
        assert_eq!(stderr(&output), told, "{stream}");
        assert_eq!(stderr(&run(&["review", "-q", "--policy", policy], stream.as_bytes())), "");
    }
}

/// Renders of `count` hooks, each with an account and a Service: plain on install, and the other way round.
fn renders(count: usize) -> [String; 2] {
    ["pre-install", "post-install,pre-upgrade"].map(|events| {
        let object = |number: usize| {
            let hook = format!("annotations: {{helm.sh/hook: \"{events}\"}}");
            format!(
                "---\napiVersion: batch/v1\nkind: Job\nmetadata: {{name: m-{number}, labels: {{app: migrate}}, {hook}}}\n\
                 spec:\n  template: {{spec: {{serviceAccountName: m-{number}, containers: [{{name: a, image: b}}]}}}}\n\
                 ---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: m-{number}, {hook}}}\n\
                 ---\napiVersion: v1\nkind: Service\nmetadata: {{name: db-{number}}}\nspec: {{clusterIP: None}}\n"
            )
        };
        path(&format!("many-{count}-{}.yaml", events.len()), &(0..count).map(object).collect::<String>())
    })
}

/// Processor seconds of the program alone, as the shell counts them: other work on the machine does not matter.
fn seconds(verb: &str, count: usize) -> f64 {
    let [install, upgrade] = renders(count);
    let program = env!("CARGO_BIN_EXE_stable-hooks");
    let script = format!("'{program}' {verb} --install '{install}' --upgrade '{upgrade}' -o json >/dev/null; times");
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let times = stdout(&output);
    let of_children =
        times.lines().nth(1).and_then(|line| line.split_whitespace().next()).unwrap_or_default().to_owned();
    let (minutes, seconds) = of_children.trim_end_matches('s').split_once('m').unwrap();
    minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
}

/// Four times the hooks, at most nine times the work; a search for each would be sixteen times.
#[test]
fn endings_many_hooks_take_time_in_proportion() {
    for verb in ["chart", "timeline"] {
        let (few, many) = (seconds(verb, 400), seconds(verb, 1600));
        assert!(many < few * 9.0, "{verb}: {few:.2} s for 400 hooks, {many:.2} s for 1,600");
    }
}
