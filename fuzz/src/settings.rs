//! Settings: any bytes; what is taken for good judges a Job, and what is not judges nothing.

use std::sync::LazyLock;

use serde_json::{Value, json};
use stable_hooks_policy::cluster::NoCluster;
use stable_hooks_policy::wire::{validate, validate_settings};

use crate::answer::Answer;
use crate::canary::{CANARY, assert_silent, sings};
use crate::cost::{Most, bounded};

const COST: Most = Most { bytes: 200_000, bytes_for_each: 2_000, allocations: 4_000, allocations_for_each: 50 };

/// A migration off its normal form, so that as many settings as possible matter.
static JOB: LazyLock<String> = LazyLock::new(|| {
    json!({
        "uid": "1", "operation": "CREATE", "userInfo": {"username": "admin"}, "name": "orders-migrate", "namespace": "shop",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "object": {
            "metadata": {
                "name": "orders-migrate", "namespace": "shop", "labels": {"app": "migrate", "team": "orders"},
                "annotations": {
                    "helm.sh/hook": "pre-upgrade", "helm.sh/hook-delete-policy": "hook-succeeded",
                    "argocd.argoproj.io/sync-wave": "5",
                },
            },
            "spec": {
                "ttlSecondsAfterFinished": 5,
                "template": {"spec": {"containers": [{"env": [{"name": "PASSWORD", "value": CANARY}]}]}},
            },
        },
    })
    .to_string()
});

/// The fixed Job under these settings.
#[must_use]
pub fn payload(settings: &[u8]) -> Vec<u8> {
    payload_of(&JOB, settings)
}

fn payload_of(request: &str, settings: &[u8]) -> Vec<u8> {
    [b"{\"request\":", request.as_bytes(), b",\"settings\":", settings, b"}"].concat()
}

/// Asks whether settings are good, and then the same settings for a verdict.
pub fn settings(input: &[u8]) {
    if str::from_utf8(input).is_ok_and(sings) {
        return;
    }
    let answer = bounded(COST, input.len(), || validate_settings(input));
    let answer: Value = serde_json::from_slice(&answer).expect("an answer is JSON");
    let is_valid = answer["valid"].as_bool().expect("an answer says whether the settings are good");
    let message = answer["message"].as_str().unwrap_or_default();
    assert_ne!(is_valid, !message.is_empty(), "good settings need no message, others one");
    assert_silent(message);
    let Ok(settings) = serde_json::from_slice::<Value>(input) else {
        return assert!(!is_valid, "what is no JSON is no settings");
    };
    let verdict = bounded(COST, input.len(), || validate(&payload(input), &NoCluster));
    let verdict = Answer::read(&verdict);
    assert_eq!(verdict.code == Some(400), !is_valid, "{message:?} or {:?}", verdict.message);
    if let Some(mutated) = verdict.mutated {
        let mut again: Value = serde_json::from_str(&JOB).unwrap();
        again["object"] = mutated;
        let second =
            Answer::read(&validate(&payload_of(&again.to_string(), settings.to_string().as_bytes()), &NoCluster));
        assert!(second.accepted && second.mutated.is_none(), "patched a second time under {settings}");
    }
}
