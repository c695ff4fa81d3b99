//! Requests: any bytes as the payload of `validate`, and requests that are put together of what rules look at.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use stable_hooks_policy::RuleId;
use stable_hooks_policy::cluster::NoCluster;
use stable_hooks_policy::object::HOOK_ANNOTATIONS;
use stable_hooks_policy::wire::validate;

use crate::answer::Answer;
use crate::canary::{CANARY, sings};
use crate::choice::Choices;
use crate::cost::{Most, bounded};

/// A small JSON object takes a hundred times its text as a map, and a few copies are made of what is patched.
const COST: Most = Most { bytes: 200_000, bytes_for_each: 500, allocations: 4_000, allocations_for_each: 20 };

/// Beside those that have a normal form.
const OTHERS: [&str; 6] = [
    "argocd.argoproj.io/tracking-id",
    "meta.helm.sh/release-name",
    "meta.helm.sh/release-namespace",
    "helm.sh/resource-policy",
    "somebody.else/key~1",
    "\u{202e}\n",
];
static ANNOTATIONS: LazyLock<Vec<&str>> = LazyLock::new(|| [&HOOK_ANNOTATIONS[..], &OTHERS].concat());

/// The payload that an input stands for: itself, or what its bytes choose.
#[must_use]
pub fn payload(input: &[u8]) -> Vec<u8> {
    if input.starts_with(b"{") {
        return input.to_vec();
    }
    let mut choices = Choices::new(input);
    let payload = json!({"request": request_of(&mut choices), "settings": settings(&mut choices)});
    payload.to_string().into_bytes()
}

/// Judges one payload.
pub fn request(input: &[u8]) {
    let payload = payload(input);
    if input.starts_with(b"{") && sings(&String::from_utf8_lossy(input)) {
        // Only where we put the word it is a Secret; what stands around it need not be UTF-8.
        return;
    }
    let bytes = bounded(COST, payload.len(), || validate(&payload, &NoCluster));
    let asked = || serde_json::from_slice::<Value>(&payload);
    let Ok(said) = serde_json::from_slice(&bytes) else {
        // What no host can read is copied only of what no host can have read.
        return assert!(asked().is_err(), "an answer is JSON");
    };
    if let Some(mutated) = Answer::of(said).mutated
        && let Ok(asked) = asked()
    {
        patched_once_and_for_all(asked, mutated, &bytes);
    }
}

/// Only annotations of hooks are changed, and the changed object is allowed as it is.
fn patched_once_and_for_all(mut payload: Value, mutated: Value, answered: &[u8]) {
    let object = payload["request"]["object"].take();
    assert_eq!(without_hook_annotations(object), without_hook_annotations(mutated.clone()));
    payload["request"]["object"] = mutated;
    let again = validate(payload.to_string().as_bytes(), &NoCluster);
    let second = Answer::read(&again);
    let (first, second_text) = (String::from_utf8_lossy(answered), String::from_utf8_lossy(&again));
    assert!(second.accepted && second.mutated.is_none(), "{first}\nthen {second_text}");
}

fn without_hook_annotations(mut object: Value) -> Value {
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.retain(|key, _| !HOOK_ANNOTATIONS.contains(&key.as_str()));
    }
    object
}

fn request_of(choices: &mut Choices<'_>) -> Value {
    let (group, kind) =
        choices.any(&[("batch", "Job"), ("", "ServiceAccount"), ("batch", "Job"), ("", "Secret"), ("", "ConfigMap")]);
    let mut request = json!({
        "uid": "1", "operation": choices.any(&["CREATE", "UPDATE", "UPDATE", "CREATE", "DELETE"]),
        "kind": {"group": group, "version": "v1", "kind": kind},
        "userInfo": {"username": choices.any(&["admin", ""])}, "object": object(choices),
    });
    if choices.once_in(2) {
        request["oldObject"] = object(choices);
    }
    if choices.once_in(4) {
        request["name"] = Value::from(choices.name());
        request["namespace"] = Value::from(choices.name());
    }
    if choices.once_in(16) {
        let field =
            choices.any(&["uid", "operation", "kind", "subResource", "userInfo", "object", "oldObject", "namespace"]);
        request[field] = choices.json();
    }
    request
}

/// An object whose metadata is chosen; below `spec` and `data` stands what nobody may repeat.
fn object(choices: &mut Choices<'_>) -> Value {
    let annotations: Map<_, _> = (0..choices.up_to(6))
        .map(|_| {
            let key = choices.any(&ANNOTATIONS);
            (key.to_owned(), choices.annotation(key))
        })
        .collect();
    let mut metadata =
        json!({"name": choices.name(), "namespace": choices.name(), "uid": "1", "annotations": annotations});
    for _ in 0..choices.up_to(2) {
        let key = choices.any(&["app", "app.kubernetes.io/component", "stable-hooks/migration", "owner", "status"]);
        metadata["labels"][key] = Value::from(choices.label());
    }
    match choices.byte() % 16 {
        0 => metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
        1 => metadata["ownerReferences"] = json!([{"controller": true}]),
        2 => metadata["generateName"] = Value::from(choices.name()),
        3 => metadata["labels"] = choices.json(),
        4 => metadata["annotations"] = choices.json(),
        _ => {}
    }
    json!({
        "metadata": metadata, "data": {"password": CANARY}, "stringData": {"password": CANARY}, "type": choices.any(&["Opaque", "helm.sh/release.v1"]),
        "spec": {
            "ttlSecondsAfterFinished": choices.number() % 120,
            "template": {"spec": {"serviceAccountName": choices.name(), "containers": [{"env": [{"name": "PASSWORD", "value": CANARY}]}]}},
        },
    })
}

/// Good settings, most of the time.
fn settings(choices: &mut Choices<'_>) -> Value {
    let mut settings = json!({"selectors": [{}]});
    for _ in 0..choices.up_to(4) {
        let rule = choices.any(RuleId::ALL);
        settings["rules"][rule.as_str()] = Value::from(choices.any(&["off", "warn", "deny", "fix"]));
    }
    match choices.byte() % 12 {
        0 => settings["mutate"] = json!(false),
        1 => settings["events"] = json!({"complete": false}),
        2 => settings["weights"] = json!({"mode": "enforce", "job": choices.number() % 20}),
        3 => settings["deletePolicy"] = json!("before-hook-creation,hook-succeeded"),
        4 => settings["namespaces"] = json!({"ignore": ["a", "orders"]}),
        5 => settings["jobTtlSeconds"] = json!(choices.number()),
        6 => settings = choices.json(),
        7 => settings["selectors"] = json!([{"matchLabels": {"app": choices.label()}}]),
        _ => {}
    }
    settings
}
