//! Many requests at once, large ones and garbage among them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::webhook::{Answered, Options};
use stable_hooks_e2e::world::{World, looks_at_objects};

#[path = "../../../tests/it/fuel/record.rs"]
#[expect(dead_code, reason = "the benchmark asks for more of it")]
mod record;

use crate::{Case, Report};

const REQUESTS: usize = 10_000;
const CONNECTIONS: usize = 64;

pub(crate) const CASES: &[Case] = &[Case {
    section: "When parts fail",
    name: "Ten thousand requests over 64 connections",
    about: "Jobs and records, with a record of 1 MiB and two bodies of garbage in each hundred.",
    helms: &[Major::Four],
    is_alone: true,
    run: many_requests,
    ..Case::EMPTY
}];

/// What one in so many requests is.
struct Kind {
    name: &'static str,
    in_a_hundred: usize,
    policy: &'static str,
    body: Vec<u8>,
}

fn recorded(file: &str) -> Value {
    let path = format!("{}/../{file}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&fs::read(path).expect("a recorded request")).expect("JSON")
}

fn review(request: &Value) -> Vec<u8> {
    json!({"request": request}).to_string().into_bytes()
}

fn kinds() -> Vec<Kind> {
    let large = record::packed(record::DOCUMENTS_OF_ONE_MIB).request;
    let record =
        "tests/corpus/admission/helm3/resource-to-hook/1-install/01-create-secret-sh.helm.release.v1.orders.v1.json";
    [
        ("a record of 1 MiB", 1, "releases", review(&large)),
        ("no JSON", 1, "objects", b"\xff{garbage".to_vec()),
        ("no operation", 1, "objects", br#"{"request": {"uid": "1"}}"#.to_vec()),
        ("a record", 30, "releases", review(&recorded(record))),
        ("a Job", 67, "objects", review(&recorded("examples/2-create-hook-job.json"))),
    ]
    .map(|(name, in_a_hundred, policy, body)| Kind { name, in_a_hundred, policy, body })
    .into()
}

fn many_requests(world: &World, _: Major) -> Report {
    let kinds = kinds();
    let turns: Vec<&Kind> = kinds.iter().flat_map(|kind| vec![kind; kind.in_a_hundred]).collect();
    assert_eq!(turns.len(), 100);
    let webhook = world.webhook("many-requests", &Options::default(), &looks_at_objects());
    // A step that has no divisor in common with 100, so that the kinds are mixed.
    let turn = |number: usize| turns[number * 37 % 100];
    let answers = webhook.post_many(CONNECTIONS, REQUESTS, |number| (turn(number).policy, turn(number).body.clone()));
    let mut seen: BTreeMap<&str, (usize, BTreeSet<&Answered>)> = BTreeMap::new();
    for (number, answer) in answers.iter().enumerate() {
        let (count, different) = seen.entry(turn(number).name).or_default();
        *count += 1;
        different.insert(answer);
    }
    let mut lines = Vec::new();
    for kind in &kinds {
        let (count, different) = &seen[kind.name];
        let Some(answer) = different.first().filter(|_| different.len() == 1) else {
            panic!("{}: {} different answers, the first {:?}", kind.name, different.len(), different.first())
        };
        let review: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let verdict = match (answer.status, &review["response"]) {
            (200, response) if response["patch"].is_string() => "normalized".to_owned(),
            (200, response) if response["allowed"] == true => "allowed".to_owned(),
            (200, response) => format!("denied with {}", response["status"]["code"]),
            (status, _) => format!("HTTP {status}"),
        };
        lines.push(format!("{} × {}: {verdict}", count, kind.name));
    }
    Report { seen: format!("Each kind is answered alike. {}.", lines.join("; ")), said: Vec::new() }
}
