//! Manifest streams through `fix`: what it changes, and that it changes nothing else.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use helm::yaml::{Head, Limits, parse};
use helm::{DeletePolicies, DeletePolicy, Events, HOOK, HOOK_DELETE_POLICY, HOOK_WEIGHT, weight};
use serde_json::{Value, json};
use stable_hooks::fix::{Fixed, Options};
use stable_hooks_policy::Settings;

use crate::canary::{assert_silent, secrets, sings};
use crate::cost::{Most, bounded};

/// A document may copy 16 MiB with its aliases, and what is copied is held a few times.
const COST: Most =
    Most { bytes: 200 << 20, bytes_for_each: 1_000, allocations: 20_000_000, allocations_for_each: 1_000 };

static SETTINGS: LazyLock<Settings> = LazyLock::new(|| Settings::parse(&json!({"selectors": [{}]})).unwrap());

/// Mends one stream.
pub fn fix(input: &[u8]) {
    // A fuzzer changes the length all the time, and the stream stays one that people can read.
    let complete_events = input.len() % 2 == 1;
    let options = Options { settings: &SETTINGS, complete_events };
    let Fixed { stream, remarks } = bounded(COST, input.len(), || stable_hooks::fix::fix(input, options));
    // To YAML a carriage return alone ends a line too.
    let lines = input.split(|byte| matches!(byte, b'\n' | b'\r')).count();
    for remark in &remarks {
        let text = remark.to_string();
        assert!(!text.is_empty() && !text.contains(char::is_control), "{text:?}");
        assert!((1..=lines).contains(&remark.line), "line {} of {lines}: {text}", remark.line);
    }
    if stream != input {
        compare(input, &stream, complete_events);
        let again = stable_hooks::fix::fix(&stream, options).stream;
        assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&stream), "mended a second time");
    }
    if input.len().is_multiple_of(16) && str::from_utf8(input).is_ok_and(|text| !sings(text)) {
        let secrets = [input, secrets().as_bytes()].concat();
        let fixed = stable_hooks::fix::fix(&secrets, options);
        fixed.remarks.iter().for_each(|remark| assert_silent(&remark.to_string()));
    }
}

/// Document for document.
fn compare(before: &[u8], after: &[u8], complete_events: bool) {
    let (before, after) = (documents(before), documents(after));
    assert_eq!(before.len(), after.len(), "another number of documents");
    for (before, after) in before.iter().zip(&after).filter(|(before, after)| before != after) {
        let [before, after] = [before, after].map(|text| str::from_utf8(text).expect("what is mended was read"));
        let [old, new] = [before, after].map(|text| text.strip_prefix("---").unwrap_or(text)).map(object);
        let written = annotations_differ(&old, &new, complete_events);
        assert!(is_kept_around(before, after, &written), "{before:?}\nbecame {after:?}\nfor {written:?}");
    }
}

/// At lines that start with three dashes, which stay with what follows.
fn documents(stream: &[u8]) -> Vec<Vec<u8>> {
    let mut documents = vec![Vec::new()];
    for line in stream.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"---") {
            documents.push(Vec::new());
        }
        documents.last_mut().unwrap().extend_from_slice(line);
    }
    documents
}

fn object(text: &str) -> Value {
    parse(text, &Limits::default()).expect("what is mended is YAML").expect("what is mended is a document").1
}

/// The values that are new; everything else must be as it was, and each of them mean what it meant, or what was promised.
fn annotations_differ(old: &Value, new: &Value, complete_events: bool) -> Vec<String> {
    let heads = [old, new].map(Head::of);
    let text = |head: &Head, key: &str| head.annotations.get(key).map(|value| value.trim_end_matches('\n').to_owned());
    let mut rest = new.clone();
    let mut written = Vec::new();
    for key in [HOOK, HOOK_DELETE_POLICY] {
        let [before, after] = heads.each_ref().map(|head| text(head, key));
        assert_eq!(before.is_some(), after.is_some(), "{key} comes or goes");
        if let (Some(before), Some(after)) = (before, after)
            && before != after
        {
            means(key, &before, &after, complete_events);
            rest["metadata"]["annotations"][key] = old["metadata"]["annotations"][key].clone();
            written.push(after);
        }
    }
    assert!(!written.is_empty(), "the text is another, and what it says is not");
    let other_lines = |object: &Value| {
        let mut object = object.clone();
        let annotations = object["metadata"]["annotations"].as_object_mut().unwrap();
        for key in [HOOK, HOOK_DELETE_POLICY] {
            annotations.remove(key);
        }
        object
    };
    assert_eq!(other_lines(old), other_lines(&rest), "something else is changed");
    let [before, after] = heads.each_ref().map(|head| text(head, HOOK_WEIGHT).as_deref().and_then(weight));
    assert_eq!(before, after, "another weight");
    written
}

fn means(key: &str, before: &str, after: &str, complete_events: bool) {
    if key == HOOK {
        let (old, new) =
            (Events::parse(before).expect("only hooks are mended"), Events::parse(after).expect("a hook stays one"));
        assert!(new == old || complete_events && new == old.completed(), "{before:?} becomes {after:?}");
        assert_eq!(new.to_string(), after, "mended, and not in its normal form");
    } else {
        let known = |value| DeletePolicies::parse(value).iter().collect::<BTreeSet<_>>();
        let mut expected = known(before);
        expected.insert(DeletePolicy::BeforeHookCreation);
        assert_eq!(known(after), expected, "{before:?} becomes {after:?}");
    }
}

/// Around the new values every byte is what it was: behind the first of them only what stood between them, and so on.
fn is_kept_around(before: &str, after: &str, written: &[String]) -> bool {
    let orders: &[&[usize]] = if written.len() == 2 { &[&[0, 1], &[1, 0]] } else { &[&[0]] };
    orders.iter().any(|order| {
        let values: Vec<_> = order.iter().map(|place| written[*place].as_str()).collect();
        fits(before, after, &values, true)
    })
}

/// The rest of both texts, behind what was compared already.
fn fits(before: &str, after: &str, values: &[&str], is_start: bool) -> bool {
    let Some((value, values)) = values.split_first() else {
        return if is_start { before == after } else { before.ends_with(after) };
    };
    let escaped = Value::from(*value).to_string();
    let escaped = escaped.trim_matches('"');
    let places = [value, escaped].into_iter().flat_map(|written| after.match_indices(written));
    places.into_iter().any(|(at, written)| {
        let (kept, rest) = (&after[..at], &after[at + written.len()..]);
        // Quotes and the blank before them may be new with the value.
        let kept_less = kept.trim_end_matches(['"', '\'', ' ']);
        let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
        let found = if is_start { before.starts_with(kept_less).then_some(0) } else { before.find(kept_less) };
        found.is_some_and(|at| fits(&before[at + kept_less.len()..], rest, values, false))
    })
}
