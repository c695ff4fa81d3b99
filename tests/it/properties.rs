//! What holds for every input, asked of generated ones, natively and inside the wasm.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use stable_hooks::engine::{Answer, payload};

use crate::cases::{patched_twice_is_patched_once, reported};
use crate::engines::{annotated, ask, validate};
use stable_hooks_policy::RuleId;
use stable_hooks_policy::ignore::IGNORE;
use stable_hooks_policy::object::HOOK_ANNOTATIONS;

/// Annotations that no rule changes.
const OTHERS: [&str; 4] = [
    "argocd.argoproj.io/tracking-id",
    "meta.helm.sh/release-name",
    "meta.helm.sh/release-namespace",
    "somebody.else/key~1",
];

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z/~.]{0,8}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Words of the grammars, well and badly put together.
fn annotation_value() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "pre-install",
        "post-install",
        "pre-upgrade",
        "post-upgrade",
        "pre-rollback",
        "pre-delete",
        "test",
        "Pre-Upgrade",
        " post-install ",
        "",
        "nonsense",
        "before-hook-creation",
        "hook-succeeded",
        "hook-failed",
        "5",
        "-5",
        "+05",
        "ten",
        "PreSync",
        "PostSync",
        "Skip",
        "BeforeHookCreation",
        "HookFailed",
    ]);
    prop_oneof![
        9 => prop::collection::vec(words, 1..4).prop_map(|words| Value::from(words.join(","))),
        1 => json_value(),
    ]
}

/// Names of rules and others, with what may stand around them; or what is no list of words at all.
fn ignored() -> impl Strategy<Value = Value> {
    let rules = RuleId::ALL.iter().map(|rule| rule.as_str());
    let words: Vec<_> = rules.chain(["", " ", "hook-wieght", "Hook-Weight", "*", "a\n\u{202e}b"]).collect();
    prop_oneof![
        8 => (prop::collection::vec(prop::sample::select(words), 0..6), prop::sample::select(vec![",", ", ", " ,\t", ";"]))
            .prop_map(|(words, separator)| Value::from(words.join(separator))),
        1 => json_value(),
        1 => (0..3000usize).prop_map(|length| Value::from("hook-weight,".repeat(length))),
    ]
}

fn metadata() -> impl Strategy<Value = Value> {
    let annotations = prop::collection::btree_map(
        prop::sample::select([&HOOK_ANNOTATIONS[..], &OTHERS].concat()),
        annotation_value(),
        0..7,
    );
    let label = prop::sample::select(vec!["migrations", "db-migrate", "web", "immigration"]);
    (annotations, label, any::<[bool; 4]>(), prop::option::of(ignored())).prop_map(
        |(annotations, label, [deleting, owned, generated, opted_out], ignored)| {
            let mut metadata =
                json!({"name": "a", "namespace": "n", "labels": {"app": label}, "annotations": annotations});
            if let Some(ignored) = ignored {
                metadata["annotations"][IGNORE] = ignored;
            }
            if deleting && owned {
                metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            }
            if owned && generated {
                metadata["ownerReferences"] = json!([{"controller": true}]);
            }
            if generated {
                metadata["generateName"] = json!("a-");
            }
            if opted_out && generated {
                metadata["labels"]["stable-hooks/migration"] = json!("false");
            }
            metadata
        },
    )
}

/// The uid of the request too, as in an audit.
fn with_uid(mut metadata: Value) -> Value {
    metadata["uid"] = json!("1");
    metadata
}

prop_compose! {
    fn request()(
        kind in prop::sample::select(vec!["Job", "ServiceAccount"]),
        operation in prop::sample::select(vec!["CREATE", "UPDATE"]),
        new in metadata(),
        old in prop::option::of(metadata()),
        extra in json_value(),
        ttl in prop::option::of(0..100u32),
        audit in any::<bool>(),
    ) -> Value {
        json!({
            "uid": "1", "operation": operation, "name": "a", "namespace": "n",
            "kind": {"group": if kind == "Job" { "batch" } else { "" }, "version": "v1", "kind": kind},
            "userInfo": {"username": if audit { "" } else { "admin" }},
            "object": {
                "metadata": with_uid(new), "unknown": extra,
                "spec": {"ttlSecondsAfterFinished": ttl, "template": {"x": [1, {}]}},
            },
            "oldObject": old.map(|metadata| json!({ "metadata": metadata })),
        })
    }
}

fn settings() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({}),
        json!({"selectors": [{}]}),
        json!({"mutate": false}),
        json!({"events": {"complete": false}, "weights": {"mode": "enforce"}}),
        json!({"deletePolicy": "hook-failed,before-hook-creation"}),
        json!({"rules": {"identity-flip": "warn", "hook-events": "deny", "argocd-annotations": "off", "hook-weight": "warn"}}),
    ])
}

/// Everything but the annotations that have a normal form.
fn without_hook_annotations(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        for key in HOOK_ANNOTATIONS {
            annotations.remove(key);
        }
    }
    object
}

/// The same JSON text with every object's keys in reverse order.
fn reversed(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let members =
                map.iter().rev().map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), reversed(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(reversed).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_get_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let answer: Value = serde_json::from_slice(&validate(&bytes)).unwrap();
        prop_assert_eq!(&answer["code"], 400);
    }

    #[test]
    fn a_truncated_request_gets_an_answer(request in request(), cut in 0.0..1.0f64) {
        let bytes = payload(&request, &json!({}));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a share of a short length")]
        let length = (bytes.len() as f64 * cut) as usize;
        let answer: Value = serde_json::from_slice(&validate(&bytes[..length])).unwrap();
        prop_assert_eq!(&answer["code"], 400);
    }

    #[test]
    fn any_json_in_any_field_gets_an_answer(
        mut request in request(),
        path in prop::sample::select(vec![
            "/uid", "/operation", "/kind", "/kind/group", "/kind/version", "/kind/kind", "/namespace", "/userInfo",
            "/userInfo/username", "/object", "/object/metadata", "/object/metadata/name", "/object/metadata/labels",
            "/object/metadata/annotations", "/object/spec", "/oldObject", "/object/metadata/annotations/helm.sh~1hook",
        ]),
        junk in json_value(),
    ) {
        if let Some(field) = request.pointer_mut(path) {
            *field = junk;
        }
        let answer = ask(&request, &json!({"selectors": [{}]}));
        prop_assert!(answer.response.accepted || answer.response.message.is_some());
    }

    #[test]
    fn any_settings_get_an_answer(request in request(), settings in json_value()) {
        let answer = ask(&request, &settings);
        prop_assert!(answer.response.accepted || answer.response.message.is_some());
    }

    #[test]
    fn a_patch_is_idempotent_and_touches_hook_annotations_only(request in request(), settings in settings()) {
        let answer = ask(&request, &settings);
        prop_assert!(patched_twice_is_patched_once(&request, &settings, &answer).is_ok());
        if let Some(mutated) = &answer.response.mutated_object {
            prop_assert!(answer.response.accepted);
            prop_assert!(mutated["metadata"]["annotations"]["helm.sh/hook"].is_string());
            prop_assert_eq!(without_hook_annotations(mutated), without_hook_annotations(&request["object"]));
        }
    }

    #[test]
    fn the_order_of_keys_changes_no_answer(request in request(), settings in settings()) {
        let read = |answer: Vec<u8>| -> Value { serde_json::from_slice(&answer).unwrap() };
        let forward = read(validate(&payload(&request, &settings)));
        let backward = read(validate(reversed(&json!({"request": request, "settings": settings})).as_bytes()));
        prop_assert_eq!(forward, backward);
    }

    #[test]
    fn what_is_ignored_is_all_that_is_missing(request in request(), settings in settings()) {
        let rules = |answer: &Answer, annotation| -> BTreeSet<String> {
            annotated(answer, annotation).iter().map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect()
        };
        let answer = ask(&request, &settings);
        let (found, ignored) = (rules(&answer, "findings"), rules(&answer, "ignored"));
        prop_assert!(found.is_disjoint(&ignored) && !ignored.contains("foreign-takeover"));
        let mut heard = request.clone();
        if let Some(annotations) = heard.pointer_mut("/object/metadata/annotations").and_then(Value::as_object_mut) {
            annotations.remove(IGNORE);
        }
        let heard = ask(&heard, &settings);
        prop_assert!(rules(&heard, "ignored").is_empty());
        prop_assert_eq!(rules(&heard, "findings"), &found | &ignored);
    }

    #[test]
    fn findings_come_denials_first_then_in_the_order_of_the_registry(request in request(), settings in settings()) {
        let found = reported(&ask(&request, &settings));
        let place = |finding: &String| {
            let (rule, level) = finding.split_once(' ').unwrap();
            (level != "deny", rule.parse::<RuleId>().unwrap())
        };
        prop_assert!(found.iter().map(place).is_sorted());
    }
}

#[test]
fn of_duplicate_keys_the_last_counts() {
    let payload = br#"{"request": {"uid": "", "uid": "1", "operation": "DELETE", "operation": "CREATE",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"}, "userInfo": {"username": "admin"}, "object": {},
        "object": {"metadata": {"name": "a", "labels": {"app": "web", "app": "migrate"},
            "annotations": {"helm.sh/hook": "test", "helm.sh/hook": "pre-upgrade"}}}}}"#;
    let answer: Value = serde_json::from_slice(&validate(payload)).unwrap();
    assert_eq!(answer["mutated_object"]["metadata"]["annotations"]["helm.sh/hook"], json!("pre-install,pre-upgrade"));
}

#[test]
fn a_two_mebibyte_request_is_judged() {
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), json!("a"));
    metadata.insert("annotations".to_owned(), json!({"helm.sh/hook": "pre-upgrade", "big": "x".repeat(2 << 20)}));
    metadata.insert("labels".to_owned(), json!({"app": "migrate"}));
    let request = json!({
        "uid": "1", "operation": "CREATE", "userInfo": {"username": "admin"},
        "kind": {"group": "batch", "version": "v1", "kind": "Job"}, "object": {"metadata": metadata},
    });
    let answer = ask(&request, &json!({}));
    assert!(answer.response.accepted && !answer.patch.is_empty());
}
