//! YAML documents: what we read is what a second parser reads, with scalars resolved as go-yaml's source says.
//!
//! The second parser is libyaml, of which go-yaml is a port. Where one of the two refuses a document there is nothing to
//! compare: what we refuse is counted as unreadable, and what go-yaml refuses Helm does not install.

mod events;
mod libyaml;
mod scalar;

use serde_json::Value;
use stable_hooks_policy::yaml::{Head, Limits, head, kind, parse};

use crate::canary::{CANARY, assert_silent, sings};
use crate::cost::{Most, bounded};
use libyaml::Document;

/// Small, so that bombs are found out before they cost time.
const LIMITS: Limits = Limits { depth: 127, copied: 64 << 10, reread: 64 << 10 };

/// A small JSON object takes a hundred times its text as a map.
const COST: Most = Most { bytes: 2 << 20, bytes_for_each: 1_000, allocations: 20_000, allocations_for_each: 100 };

/// Reads one document with both parsers.
pub fn yaml(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    if sings(text) {
        return;
    }
    let read = bounded(COST, input.len(), || parse(text, &LIMITS));
    let value = match read {
        Ok(found) => found.map_or(Value::Null, |(_, value)| value),
        Err(error) => {
            assert!(!error.to_string().contains(char::is_control));
            return says_nothing(text);
        }
    };
    let Some(theirs) = libyaml::read(text) else { return };
    assert_eq!(value, theirs.value, "another value in {text:?}");
    heads_agree(text, &value, &theirs);
}

/// What is read of a document's head is what the whole document says.
fn heads_agree(text: &str, value: &Value, theirs: &Document) {
    let whole = Head::of(value);
    // What is said again further down is not seen, and a merge key at the end says all again.
    if theirs.repeats_itself {
        return;
    }
    let head = head(text, &LIMITS).expect("the head of a document that can be read");
    assert_eq!(head, whole, "another head in {text:?}");
    let kind = kind(text, &LIMITS).expect("the kind of a document that can be read");
    assert_eq!(kind, whole.kind, "another kind in {text:?}");
}

/// An error quotes nothing of a text that cannot be read.
fn says_nothing(text: &str) {
    let marked = text.replace("secret", CANARY);
    if let Err(error) = parse(&marked, &LIMITS) {
        assert_silent(&error.to_string());
    }
}
