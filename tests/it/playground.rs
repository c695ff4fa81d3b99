//! The playground's one function, and the command line beside it: what one says of a text the other says, too.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use stable_hooks::input::value;
use stable_hooks::playground::answer;

use crate::cases::requests;
use crate::cli::{stderr, stdout};
use crate::engines::{files, root, validate};
use crate::helms::folder;

/// What the page reads of an answer.
#[derive(Deserialize)]
struct Answered {
    errors: Vec<Value>,
    notes: Vec<String>,
    report: Option<Box<RawValue>>,
    timeline: Option<Value>,
    marks: Vec<Value>,
    fixed: Option<Value>,
    patched: Vec<Option<String>>,
    calls: Vec<Value>,
    secrets: Vec<String>,
}

impl Answered {
    fn report(&self) -> Value {
        serde_json::from_str(self.report.as_ref().unwrap().get()).unwrap()
    }

    /// As the command line tells them on standard error.
    fn complaints(&self) -> String {
        let mut told = String::new();
        for error in &self.errors {
            let line = error["line"].as_u64().map(|line| format!("{line}:")).unwrap_or_default();
            let (file, text) = (file_of(error["input"].as_str().unwrap()), error["text"].as_str().unwrap());
            writeln!(told, "error: {file}:{line} {text}").unwrap();
        }
        for note in &self.notes {
            writeln!(told, "note: {note}").unwrap();
        }
        told
    }
}

fn file_of(input: &str) -> &'static str {
    match input {
        "settings" => "settings.yaml",
        "before" => "install.yaml",
        "after" => "upgrade.yaml",
        "manifest" => "manifest.yaml",
        "review" => "review.yaml",
        other => panic!("{other} is no input"),
    }
}

fn ask(question: &Value) -> Answered {
    serde_json::from_str(&answer(&question.to_string())).unwrap()
}

fn renders(before: &str, after: &str) -> Value {
    json!({"door": "renders", "settings": "", "before": before, "after": after, "argocd": false})
}

/// The program, where the question's texts lie in files.
fn run(question: &Value, place: &Path, arguments: &[&str]) -> Output {
    for (input, text) in question.as_object().unwrap() {
        if let Some(text) = text.as_str().filter(|_| input != "door") {
            fs::write(place.join(file_of(input)), text).unwrap();
        }
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_stable-hooks"));
    command.args(arguments).args(["--settings", "settings.yaml"]).current_dir(place).env_clear();
    command.output().unwrap()
}

/// Both say the same, byte for byte.
fn compare(question: &Value, place: &Path) -> Result<(), String> {
    let answered = ask(question);
    let output = match question["door"].as_str().unwrap() {
        "renders" => {
            let arguments = ["chart", "--install", "install.yaml", "--upgrade", "upgrade.yaml", "-o", "json"];
            let argocd = question["argocd"].as_bool().unwrap().then_some("--argocd");
            run(question, place, &[&arguments[..], argocd.as_slice()].concat())
        }
        "manifest" => {
            let complete = question["completeEvents"].as_bool().unwrap().then_some("--complete-events");
            let mended = run(question, place, &[&["fix", "manifest.yaml"][..], complete.as_slice()].concat());
            let fixed = answered.fixed.as_ref().unwrap();
            let remarks = fixed["remarks"].as_array().unwrap().iter();
            let remarks = remarks
                .map(|remark| format!("manifest.yaml:{}: {}\n", remark["line"], remark["text"].as_str().unwrap()));
            if (stdout(&mended), stderr(&mended)) != (fixed["text"].as_str().unwrap().to_owned(), remarks.collect()) {
                return Err(format!("fix says {}, and the page {fixed}", stderr(&mended)));
            }
            run(question, place, &["review", "manifest.yaml", "-o", "json"])
        }
        _ => run(question, place, &["review", "review.yaml", "-o", "json"]),
    };
    let (printed, of_page) = (stdout(&output), answered.report.as_ref().map_or("", |report| report.get()));
    if printed.trim_end() != of_page.trim_end() {
        return Err(format!("{question}\nthe program prints {printed}, the page {of_page}"));
    }
    let told = stderr(&output);
    if told != answered.complaints() {
        return Err(format!("{question}\nthe program tells {told}, the page {}", answered.complaints()));
    }
    Ok(())
}

/// Every case that has texts, at each door that takes them.
fn questions() -> Vec<Value> {
    let mut questions: Vec<_> = requests()
        .map(|(settings, request)| {
            let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
            json!({"door": "review", "settings": settings.to_string(), "review": review.to_string()})
        })
        .collect();
    for path in files("tests/cases", "yaml") {
        let case = value(&fs::read(&path).unwrap()).unwrap();
        let settings = case.get("settings").filter(|settings| !settings.is_null()).map(Value::to_string);
        let settings = settings.unwrap_or_default();
        let text = |key: &str| case.get(key).and_then(Value::as_str).map(str::to_owned);
        let [before, after] =
            [["baseline", "install", "old"], ["record", "upgrade", "new"]].map(|keys| keys.into_iter().find_map(text));
        let Some(after) = after else { continue };
        let before = before.unwrap_or_else(|| after.clone());
        let renders = |argocd| json!({"door": "renders", "settings": settings, "before": before, "after": after, "argocd": argocd});
        questions.push(renders(false));
        questions.extend(case.get("new").map(|_| renders(true)));
        let complete_events = questions.len().is_multiple_of(2);
        questions.push(
            json!({"door": "manifest", "settings": settings, "manifest": after, "completeEvents": complete_events}),
        );
    }
    questions.extend(examples());
    questions
}

/// Those that the page has to start from.
fn examples() -> Vec<Value> {
    let folder = root().join("playground/page/examples");
    let text = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
    let examples: Vec<Value> = serde_json::from_str(&text("examples.json")).unwrap();
    let question = |example: &Value| {
        let mut question = json!({"door": example["door"], "settings": "", "argocd": false, "completeEvents": false});
        for (input, file) in example["files"].as_object().unwrap() {
            question[input] = text(file.as_str().unwrap()).into();
        }
        for (switch, on) in example["switches"].as_object().into_iter().flatten() {
            question[switch] = on.clone();
        }
        question
    };
    examples.iter().map(question).collect()
}

#[test]
fn playground_says_what_the_program_says_of_every_case() {
    let questions = questions();
    assert!(questions.len() > 500, "{} questions", questions.len());
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for worker in 0..4 {
            let (next, failures, questions) = (&next, &failures, &questions);
            scope.spawn(move || {
                let place = folder(&format!("playground-{worker}"));
                while let Some(question) = questions.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(reason) = compare(question, &place) {
                        failures.lock().unwrap().push(reason);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {} differ:\n{}", failures.len(), questions.len(), failures.join("\n"));
    // The tests in a browser ask the page the same.
    let lines = questions.iter().map(|question| {
        let report = ask(question).report.map_or(Value::Null, |report| report.get().into());
        format!("{}\n", json!({"question": question, "report": report}))
    });
    fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("playground.jsonl"), lines.collect::<String>()).unwrap();
}

#[test]
fn playground_tells_what_it_cannot_read_as_the_program_does() {
    let place = folder("playground-errors");
    let deep = format!("a: {}1", "{a: ".repeat(10_000));
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n";
    for text in
        ["", "# nothing\n", "a: [", "kind: 5\n", "{\"kind\": \"Job\"", "\u{0}\u{1}", "- a\n- b\n", &deep, "%\n---\n!!"]
    {
        let mut asked = vec![renders(text, job), renders(job, text)];
        for (door, input) in [("manifest", "manifest"), ("review", "review")] {
            asked.push(json!({"door": door, "settings": "", input: text, "completeEvents": false}));
        }
        for question in asked {
            compare(&question, &place).unwrap();
        }
    }
    for settings in ["- a\n", "a: [", "5", "rules: {hook-event: deny}\n", "labelSelector: 5\n", "a: 1\n---\nb: 2\n"] {
        let question = json!({"door": "review", "settings": settings, "review": job});
        let answered = ask(&question);
        assert!(answered.report.is_none() && !answered.errors.is_empty(), "{settings}");
        let output = run(&question, &place, &["review", "review.yaml", "-o", "json"]);
        assert_eq!(stderr(&output), answered.complaints(), "{settings}");
    }
    for question in ["", "{", "{}", "[]", "null", r#"{"door": "window"}"#, r#"{"door": "renders", "before": 5}"#] {
        let answered: Answered = serde_json::from_str(&answer(question)).unwrap();
        assert_eq!(answered.errors.len(), 1, "{question}");
    }
}

const JOB: &str = "\
---
# Source: orders/templates/job.yaml
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a, env: [{name: PASSWORD, value: s3cret}]}]}}}
";

#[test]
fn playground_marks_the_lines_of_a_flip_and_draws_it() {
    let hook = JOB.replace("  name: migrate\n", "  name: migrate\n  annotations:\n    helm.sh/hook: pre-upgrade\n");
    let before = format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\n{JOB}");
    let answered = ask(&renders(&before, &hook));
    let report = answered.report();
    assert_eq!(report["results"][0]["verdict"], "deny", "{report}");
    let findings = report["results"][0]["findings"].as_array().unwrap();
    let flip = findings.iter().position(|finding| finding["rule"] == "release-identity-flip").unwrap();
    let marks = answered.marks.iter().filter(|mark| mark["finding"] == flip);
    let lines: Vec<_> = marks.map(|mark| (mark["input"].as_str().unwrap(), mark["line"].as_u64().unwrap())).collect();
    assert_eq!(lines, [("before", 9), ("after", 8)], "{:?}", answered.marks);
    let timeline = answered.timeline.unwrap();
    assert!(timeline["svg"].as_str().unwrap().starts_with("<svg "), "{timeline}");
    let text = timeline["text"].as_str().unwrap();
    assert!(text.contains("release-identity-flip") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn playground_hands_on_what_the_policy_is_asked_and_patched() {
    let job = JOB.replace(
        "  name: migrate\n",
        "  name: migrate\n  labels: {app.kubernetes.io/component: migrations}\n  annotations:\n    helm.sh/hook: \"pre-upgrade,pre-install\"\n",
    );
    let answered = ask(&json!({"door": "review", "settings": "", "review": job}));
    let (call, patched) = (&answered.calls[0], answered.patched[0].as_deref().unwrap());
    let [payload, said] = ["payload", "answer"].map(|key| call[key].as_str().unwrap());
    assert_eq!(said.as_bytes(), validate(payload.as_bytes()), "as both engines answer");
    let patched: Value = serde_json::from_str(patched).unwrap();
    assert_eq!(serde_json::from_str::<Value>(said).unwrap()["mutated_object"], patched);
    assert_eq!(answered.marks[0]["line"], 9, "{:?}", answered.marks);
    let object = value(job.as_bytes()).unwrap();
    let line_in = |text: &str| ask(&json!({"door": "review", "settings": "", "review": text})).marks[0]["line"].clone();
    let kind = json!({"group": "batch", "version": "v1", "kind": "Job"});
    let request = json!({"uid": "1", "kind": kind, "operation": "CREATE", "namespace": "a", "name": "migrate", "userInfo": {"username": "a"}, "object": object});
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let pretty = serde_json::to_string_pretty(&review).unwrap();
    let hook = pretty.lines().position(|line| line.contains("helm.sh/hook")).unwrap() + 1;
    assert_eq!(line_in(&pretty), hook);
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [object, object]});
    assert_eq!(line_in(&serde_json::to_string_pretty(&list).unwrap()), 1, "an item of a list has no line of its own");
}

#[test]
fn playground_says_what_should_not_be_handed_on() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: orders-db}\nstringData: {password: s3cret}\n";
    let record = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sh.helm.release.v1.orders.v1, labels: {owner: helm}}\ndata: {release: abc}\n";
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [value(secret.as_bytes()).unwrap()]}).to_string();
    let review = json!({"kind": "AdmissionReview", "request": {"kind": {}, "operation": "CREATE", "object": value(secret.as_bytes()).unwrap()}});
    let of = |text: &str| ask(&json!({"door": "review", "settings": "", "review": text})).secrets;
    assert_eq!(of(secret), ["review.yaml:1: Secret orders-db"]);
    assert_eq!(of(&list), ["review.yaml:1: Secret orders-db"]);
    assert_eq!(of(&review.to_string()), ["review.yaml:1: Secret orders-db"]);
    assert_eq!(of("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {}\n"), Vec::<String>::new());
    let map = "apiVersion: a/v1\nkind: Worker\nmetadata: {name: w}\nspec: {env: {PASSWORD: s3cret}, apiToken: s3cret, other: a}\n";
    let of_map = ["the value of apiToken of w", "the value of the environment variable PASSWORD of w"];
    assert_eq!(of(map), of_map.map(|what| format!("review.yaml:1: {what}")));
    let applied = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, annotations: {applied: '{\"kind\":\"Secret\",\"data\":{}}'}}\n";
    assert_eq!(of(applied), ["review.yaml:1: a text of a that holds a Secret"]);
    let commented = "# kind: Secret\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a} # password: s3cret\n# a note: no secret\n";
    assert_eq!(of(commented), ["review.yaml:1: a comment, Secret", "review.yaml:4: a comment, password"]);
    let told =
        ask(&json!({"door": "review", "settings": "# token: s3cret\n", "review": "apiVersion: v1\nkind: A\n"})).secrets;
    assert_eq!(told, ["settings.yaml:1: a comment, token"]);
    let settings = json!({"door": "review", "settings": "a: [", "review": secret});
    assert_eq!(ask(&settings).secrets, ["review.yaml:1: Secret orders-db"], "whatever the settings are");
    assert_eq!(of(record), ["review.yaml:1: release record sh.helm.release.v1.orders.v1"]);
    let variable = "the value of the environment variable PASSWORD of migrate";
    assert_eq!(of(JOB), [format!("review.yaml:3: {variable}")]);
    assert_eq!(of("a: ["), ["review.yaml:1: a text that cannot be read"]);
    assert_eq!(of(&JOB.replace("value: s3cret", "valueFrom: {secretKeyRef: {name: a, key: b}}")), Vec::<String>::new());
    let of_renders = ask(&renders(JOB, secret)).secrets;
    assert_eq!(of_renders, [format!("install.yaml:3: {variable}"), "upgrade.yaml:1: Secret orders-db".to_owned()]);
}
