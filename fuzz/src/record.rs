//! Release records: one is made as Helm makes it, each of its layers is broken by choice, and it is judged.

use std::cell::RefCell;
use std::io::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use flate2::write::GzEncoder;
use flate2::{Compression, Crc};
use helm::record::{Limits, Record};
use helm::storage::Storage;
use serde_json::{Value, json};
use stable_hooks_policy::cluster::{Cluster, Lookup, Query, Unavailable};
use stable_hooks_policy::wire::validate;

use crate::answer::Answer;
use crate::canary::CANARY;
use crate::choice::Choices;
use crate::cost::{Most, bounded};

/// What is packed inflates to a thousand times its size, and is read into as much again.
const COST: Most = Most { bytes: 2_000_000, bytes_for_each: 3_000, allocations: 20_000, allocations_for_each: 50 };

/// What a layer's bytes become.
enum Break {
    Cut(usize),
    Flip(usize, u8),
    Twice,
    Insert(usize, u8),
}

/// A record in the object that stores it.
struct Stored {
    object: Value,
    kind: &'static str,
    /// What must be read of it, where nothing is broken.
    whole: Option<Expected>,
}

struct Expected {
    name: String,
    version: u64,
    hooks: usize,
    data: String,
}

/// The payload that an input stands for.
#[must_use]
pub fn payload(input: &[u8]) -> Vec<u8> {
    let mut choices = Choices::new(input);
    payload_of(&stored(&mut choices, None), &mut choices)
}

fn payload_of(stored: &Stored, choices: &mut Choices<'_>) -> Vec<u8> {
    let releases = json!({
        "scope": choices.any(&["all", "all", "selected", "jobs-and-serviceaccounts"]), "baseline": choices.any(&["live", "record"]),
        "undecodable": choices.any(&["warn", "deny"]), "onLookupFailure": choices.any(&["warn", "deny"]),
        "rollback": choices.any(&["warn", "deny"]), "limits": {"lookups": choices.any(&[32, 1, 0])},
    });
    let request = json!({
        "uid": "1", "operation": "CREATE", "userInfo": {"username": "admin"}, "namespace": "shop",
        "kind": {"group": "", "version": "v1", "kind": stored.kind}, "object": stored.object,
    });
    json!({"request": request, "settings": {"releases": releases}}).to_string().into_bytes()
}

/// Judges one record, before a cluster in which an earlier one lives.
pub fn record(input: &[u8]) {
    let mut choices = Choices::new(input);
    let stored = stored(&mut choices, None);
    let payload = payload_of(&stored, &mut choices);
    let cluster = Living { answers: choices.byte(), rest: RefCell::new(choices) };
    let answer = Answer::read(&bounded(COST, payload.len(), || validate(&payload, &cluster)));
    assert!(answer.mutated.is_none(), "a record is never patched");
    if let Some(expected) = stored.whole {
        assert!(!answer.said.contains("the release record cannot be read"), "{}", answer.said);
        expected.compare(stored.kind);
    }
}

impl Expected {
    fn compare(&self, kind: &str) {
        let storage = Storage::of("", "v1", kind).expect("a record lies in one of two kinds");
        let record = storage.decode(&self.data, Limits::default()).expect("nothing is broken");
        let Record { name, version, hooks, .. } = record;
        assert_eq!((name.as_str(), version, hooks.len()), (self.name.as_str(), self.version, self.hooks));
    }
}

fn stored(choices: &mut Choices<'_>, version: Option<u64>) -> Stored {
    let version = version.unwrap_or_else(|| u64::from(choices.number() % 12));
    let status = choices.any(&["pending-upgrade", "pending-install", "pending-rollback", "deployed"]);
    let (name, namespace) = (choices.name(), choices.name());
    let record = record_of(choices, &name, &namespace, version, status);
    let hooks = record["hooks"].as_array().map_or(0, Vec::len);
    let (kind, is_secret) = choices.any(&[("Secret", true), ("Secret", true), ("ConfigMap", false)]);

    let mut is_whole = true;
    let mut layer = |bytes: Vec<u8>, choices: &mut Choices<'_>| {
        let broken = broken(choices);
        is_whole &= broken.is_none();
        broken.map_or_else(|| bytes.clone(), |broken| broken.apply(&bytes))
    };
    let json = layer(record.to_string().into_bytes(), choices);
    let packed = if choices.once_in(4) { json } else { layer(gzip(&json, choices.once_in(32)), choices) };
    let mut data = layer(BASE64.encode(packed).into_bytes(), choices);
    if is_secret {
        data = layer(BASE64.encode(data).into_bytes(), choices);
    }
    let data = String::from_utf8_lossy(&data).into_owned();
    let labels = json!({"owner": "helm", "name": name, "version": version.to_string(), "status": status});
    let mut object = json!({
        "metadata": {"name": format!("sh.helm.release.v1.{name}.v{version}"), "namespace": namespace, "labels": labels},
        "type": "helm.sh/release.v1", "data": {"release": data, "password": CANARY}, "stringData": {"password": CANARY},
    });
    match choices.byte() % 32 {
        0 => object["data"] = choices.json(),
        1 => object["data"]["release"] = choices.json(),
        2 => object["metadata"] = choices.json(),
        3 => object["metadata"]["labels"] = choices.json(),
        4 => object["metadata"]["labels"]["stable-hooks/accept-release-identity-flip"] = json!(version.to_string()),
        5 => object["metadata"]["namespace"] = choices.json(),
        _ => {}
    }
    let is_stored_whole = object["data"]["release"].as_str() == Some(data.as_str());
    let whole = (is_whole && is_stored_whole).then_some(Expected { name, version, hooks, data });
    Stored { object, kind, whole }
}

fn record_of(choices: &mut Choices<'_>, name: &str, namespace: &str, version: u64, status: &str) -> Value {
    let (mut manifest, mut hooks) = (String::new(), Vec::new());
    for _ in 0..choices.up_to(3) {
        let document = document(choices);
        if choices.once_in(2) {
            let template = choices.any(&["a", "b", "hook"]);
            manifest.extend(["---\n# Source: shop/templates/", template, ".yaml\n", &document]);
        } else {
            let events: Vec<_> = choices.events().split(',').map(str::to_owned).collect();
            hooks.push(json!({
                "name": choices.name(), "kind": choices.any(&["Job", "ServiceAccount", "Pod", "Secret", ""]),
                "path": "shop/templates/hook.yaml", "manifest": document, "events": events, "weight": choices.number() % 4,
                "delete_policies": choices.any(&[None, Some(["before-hook-creation"]), Some(["hook-succeeded"]), Some(["hook-failed"]), Some([""])]),
            }));
        }
    }
    let template = "{{ if .Release.IsInstall }}\nhelm.sh/hook: pre-install\n{{ end }}";
    let mut record = json!({
        "name": name, "namespace": namespace, "version": version, "apply_method": choices.any(&["", "ssa", "csa"]),
        "info": {"status": status, "description": "", "notes": CANARY}, "config": {"password": CANARY},
        "chart": {
            "metadata": {"name": "shop"}, "values": {"password": CANARY},
            "templates": [{"name": "templates/hook.yaml", "data": BASE64.encode(template)}],
            "files": [{"name": "password.txt", "data": BASE64.encode(CANARY)}],
        },
        "manifest": manifest, "hooks": hooks,
    });
    if choices.once_in(16) {
        let field = choices.any(&["apply_method", "config", "chart"]);
        record[field] = Value::Null;
    }
    record
}

/// A document of a manifest: an object that rules look at, or anything.
fn document(choices: &mut Choices<'_>) -> String {
    if choices.once_in(8) {
        return choices.text() + "\n";
    }
    let kind = choices.any(&[
        "apiVersion: batch/v1\nkind: Job",
        "apiVersion: v1\nkind: ServiceAccount",
        "apiVersion: v1\nkind: Secret",
        "apiVersion: apps/v1\nkind: Deployment",
        "apiVersion: v1\nkind: Pod",
        "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]",
        "apiVersion: v1\nkind: Service",
    ]);
    let mut metadata = json!({"name": choices.name()});
    if choices.once_in(2) {
        metadata["namespace"] = Value::from(choices.name());
    }
    for _ in 0..choices.up_to(3) {
        let key = choices.any(&[
            "helm.sh/hook",
            "helm.sh/hook-weight",
            "helm.sh/hook-delete-policy",
            "helm.sh/resource-policy",
        ]);
        metadata["annotations"][key] = choices.annotation(key);
    }
    if choices.once_in(2) {
        metadata["labels"]["app"] = Value::from(choices.label());
    }
    let document = format!("{kind}\nmetadata: {metadata}\ndata: {{password: {CANARY}}}\n");
    // A pod's template takes more time than all the rest.
    if !choices.once_in(3) {
        return document;
    }
    let [account, claim] = [choices.name(), choices.name()].map(Value::from);
    format!(
        "{document}spec:\n  template: &pod\n    spec:\n      serviceAccountName: {account}\n      \
         volumes: [{{name: a, persistentVolumeClaim: {{claimName: {claim}}}}}, {{name: b, secret: {{secretName: {claim}}}}}]\n      \
         containers:\n      - name: a\n        env: [{{name: PASSWORD, value: {CANARY}}}, {{name: HOST, value: {claim}}}]\n        \
         envFrom: [{{secretRef: {{name: {claim}}}}}]\n"
    )
}

/// Most often nothing.
fn broken(choices: &mut Choices<'_>) -> Option<Break> {
    let choice = choices.byte();
    let place = usize::try_from(choices.number()).unwrap_or_default();
    match choice {
        250.. => Some(Break::Cut(place)),
        240..250 => Some(Break::Flip(place, choices.byte())),
        235..240 => Some(Break::Twice),
        225..235 => Some(Break::Insert(place, choices.byte())),
        _ => None,
    }
}

impl Break {
    fn apply(self, bytes: &[u8]) -> Vec<u8> {
        let mut broken = bytes.to_vec();
        let length = broken.len().max(1);
        match self {
            Self::Cut(at) => broken.truncate(at % length),
            Self::Flip(at, bits) => {
                if let Some(byte) = broken.get_mut(at % length) {
                    *byte ^= bits;
                }
            }
            Self::Twice => broken.extend_from_slice(bytes),
            Self::Insert(at, byte) => broken.insert(at % length, byte),
        }
        broken
    }
}

/// Deflating takes most of the time, so most often the bytes are only stored.
fn gzip(bytes: &[u8], is_deflated: bool) -> Vec<u8> {
    if is_deflated {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        return encoder.finish().unwrap();
    }
    let length = u16::try_from(bytes.len()).expect("a small record");
    let mut sum = Crc::new();
    sum.update(bytes);
    let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let (length, inverse) = (length.to_le_bytes(), (!length).to_le_bytes());
    [&header, &[1][..], &length, &inverse, bytes, &sum.sum().to_le_bytes(), &sum.amount().to_le_bytes()].concat()
}

/// A cluster with an earlier record; of other objects some live, some do not, and some are not told.
struct Living<'a> {
    answers: u8,
    /// Makes the earlier record, should anybody ask.
    rest: RefCell<Choices<'a>>,
}

impl Cluster for Living<'_> {
    fn get(&self, query: &Query<'_>) -> Lookup {
        let name = query.name.bytes().fold(self.answers, u8::wrapping_add);
        match (query.name.starts_with("sh.helm.release.v1."), name % 4) {
            (_, 0) => Lookup::NotFound,
            (false, 1) => Lookup::Unavailable(Unavailable::Failed),
            (true, _) => Lookup::Found(stored(&mut self.rest.borrow_mut(), Some(1)).object),
            (false, kind) => {
                let hook = json!({"helm.sh/hook": "pre-install"});
                let owned = json!({"meta.helm.sh/release-name": "orders", "meta.helm.sh/release-namespace": "shop"});
                let annotations = if kind == 2 { hook } else { owned };
                Lookup::Found(
                    json!({"metadata": {"name": query.name, "annotations": annotations}, "spec": {"password": CANARY}}),
                )
            }
        }
    }
}
