//! Requests that a real API server recorded while Helm 3, Helm 4 and Argo CD ran, and minimal charts after real ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};
use stable_hooks::engine::Answer;
use stable_hooks::input::{Content, documents, request_of};
use stable_hooks_policy::identity::{Hook, Identity, classify};
use stable_hooks_policy::object::{Kind, Object};

use crate::cases::{patched_twice_is_patched_once, reported};
use crate::engines::{ask, files, relative};

const RECORDINGS: &str = "tests/corpus/admission/";

/// Argo CD's recordings carry no migration label: everything is selected there.
fn settings(path: &str) -> Value {
    if path.contains("/argocd/") { json!({"selectors": [{}]}) } else { json!({}) }
}

fn recordings() -> Vec<(String, Value)> {
    let read = |path: &std::path::PathBuf| serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let requests = files(RECORDINGS, "json").into_iter().map(|path| (relative(&path), read(&path)));
    // Records are releases.rs' business.
    requests.filter(|(_, request): &(_, Value)| request["kind"]["kind"] != "Secret").collect()
}

fn line(answer: &Answer) -> String {
    let verdict = match (answer.response.accepted, answer.patch.is_empty()) {
        (true, true) => "allow",
        (true, false) => "normalize",
        (false, _) => "deny",
    };
    [verdict.to_owned()].into_iter().chain(reported(answer)).collect::<Vec<_>>().join(", ")
}

#[test]
fn corpus_every_recorded_request_has_its_verdict() {
    let mut verdicts = String::new();
    for (path, request) in recordings() {
        let answer = ask(&request, &settings(&path));
        patched_twice_is_patched_once(&request, &settings(&path), &answer).unwrap();
        let path = path.strip_prefix(RECORDINGS).unwrap();
        writeln!(verdicts, "{path}: {}", line(&answer)).unwrap();
    }
    insta::assert_snapshot!("recorded", verdicts);
}

#[test]
fn corpus_every_chart_object_has_its_verdict() {
    let mut verdicts = String::new();
    for path in files("tests/corpus/charts", "yaml") {
        let name = relative(&path).replace("tests/corpus/charts/", "");
        for document in documents(&fs::read(&path).unwrap()) {
            let request = request_of(document.unwrap().content, false);
            let kind = request["kind"]["kind"].as_str().unwrap();
            if matches!(kind, "Job" | "ServiceAccount") {
                let answer = ask(&request, &json!({}));
                patched_twice_is_patched_once(&request, &json!({}), &answer).unwrap();
                writeln!(verdicts, "{name} {kind}/{}: {}", request["name"].as_str().unwrap_or("-"), line(&answer))
                    .unwrap();
            }
        }
    }
    insta::assert_snapshot!("charts", verdicts);
}

/// The identity of every object as the corpus' author wrote it down, by hand, from the real charts.
#[test]
fn corpus_identities_are_what_the_charts_authors_meant() {
    let mut compared = 0;
    for expected in files("tests/corpus/charts", "json") {
        let objects: Value = serde_json::from_slice(&fs::read(&expected).unwrap()).unwrap();
        for operation in ["install", "upgrade"] {
            let rendered = fs::read(expected.with_file_name(format!("{operation}.yaml"))).unwrap();
            let found: BTreeMap<_, _> =
                documents(&rendered).filter_map(|document| identity(document.unwrap().content)).collect();
            for (key, wanted) in objects["objects"].as_object().unwrap() {
                let judged = key.starts_with("Job/") || key.starts_with("ServiceAccount/");
                let Some(identity) = wanted[operation].as_str().filter(|_| judged) else { continue };
                let absent = ("absent".to_owned(), BTreeSet::new());
                let (word, events) = found.get(key).unwrap_or(&absent);
                assert_eq!(word, identity, "{} {operation} {key}", relative(&expected));
                if let Some(wanted) = wanted[format!("{operation}_events")].as_array().filter(|_| word == "hook") {
                    let wanted: BTreeSet<_> = wanted.iter().map(|event| event.as_str().unwrap().to_owned()).collect();
                    assert_eq!(events, &wanted, "{} {operation} {key}", relative(&expected));
                }
                compared += 1;
            }
        }
    }
    assert!(compared >= 60, "only {compared} identities compared");
}

/// `Kind/name`, the corpus' word for its identity, and a hook's events.
fn identity(content: Content) -> Option<(String, (String, BTreeSet<String>))> {
    let Content::Manifest(object) = content else { return None };
    let name = object["metadata"]["name"].as_str()?.to_owned();
    let kind = [Kind::Job, Kind::ServiceAccount].into_iter().find(|kind| object["kind"] == kind.as_str())?;
    let object = Object::new(kind, object);
    let (word, events) = match classify(&object) {
        Identity::Hook(Hook::Helm(hook)) => {
            ("hook", hook.events.iter().map(|event| event.as_str().to_owned()).collect())
        }
        Identity::Hook(Hook::ArgoCd { .. }) => ("hook", BTreeSet::new()),
        Identity::Resource(_) => ("plain", BTreeSet::new()),
        Identity::Dropped(_) => ("dropped", BTreeSet::new()),
        Identity::Absent | Identity::Both => return None,
    };
    Some((format!("{}/{name}", kind.as_str()), (word.to_owned(), events)))
}

/// What Argo CD's recordings must get, told from the requests alone.
#[test]
fn corpus_argocd_is_denied_nothing_but_flips() {
    let is_hook = |object: &Value| object["metadata"]["annotations"]["helm.sh/hook"].is_string();
    let mut flips = 0;
    for (path, request) in recordings().into_iter().filter(|(path, _)| path.contains("/argocd/")) {
        let answer = ask(&request, &settings(&path));
        let (old, new) = (&request["oldObject"], &request["object"]);
        let is_update = request["operation"] == "UPDATE";
        let deleting = new["metadata"]["deletionTimestamp"].is_string();
        if is_update && !deleting && is_hook(old) != is_hook(new) {
            let policy = new["metadata"]["annotations"]["helm.sh/hook-delete-policy"].as_str().unwrap_or_default();
            let is_only_warned = is_hook(new) && policy.contains("hook-failed");
            assert_eq!(answer.response.accepted, is_only_warned, "{path}");
            assert!(answer.patch.is_empty(), "{path}");
            flips += 1;
        } else {
            assert!(answer.response.accepted, "{path}: {:?}", answer.response.message);
        }
        let same_annotations = old["metadata"]["annotations"] == new["metadata"]["annotations"];
        if is_update && (deleting || same_annotations) {
            assert!(answer.patch.is_empty() && reported(&answer).is_empty(), "{path} must pass untouched");
        }
    }
    assert!(flips >= 6, "only {flips} flips are recorded");
}

/// Helm turns nothing over by an UPDATE but what it adopts, and that was judged at its release record.
#[test]
fn corpus_helm_is_denied_no_object() {
    for (path, request) in recordings().into_iter().filter(|(path, _)| !path.contains("/argocd/")) {
        let answer = ask(&request, &settings(&path));
        assert!(answer.response.accepted, "{path}: {:?}", answer.response.message);
    }
}

#[test]
fn corpus_manifests_given_as_a_list_are_judged_alike() {
    for path in files("tests/corpus/charts", "yaml") {
        let items: Vec<Value> = documents(&fs::read(&path).unwrap())
            .map(|document| match document.unwrap().content {
                Content::Manifest(object) => object,
                Content::Request(_) => panic!("charts hold manifests"),
            })
            .collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        let single: Vec<_> = items.iter().map(|item| request_of(Content::Manifest(item.clone()), false)).collect();
        let listed: Vec<_> =
            documents(list.as_bytes()).map(|document| request_of(document.unwrap().content, false)).collect();
        assert_eq!(single, listed);
    }
}
