//! YAML documents: what we read is what a second parser reads, with scalars resolved as go-yaml's source says.
//!
//! The second parser is libyaml, of which go-yaml is a port. Where one of the two refuses a document there is nothing to
//! compare: what we refuse is counted as unreadable, and what go-yaml refuses Helm does not install.

mod go_yaml;
mod libyaml;
mod scalar;

use helm::yaml::{Head, Limits, head, kind, parse};
use serde_json::Value;

use crate::canary::{CANARY, assert_silent, sings};
use crate::cost::{Most, bounded};
use go_yaml::Document;

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
    if has_breaks_of_yaml_1_1(text)
        || has_anchor_of_yaml_1_2(text)
        || has_indicator_of_yaml_1_1(text)
        || has_inner_mark(text)
    {
        return;
    }
    // Helm 4 cuts documents behind the end of a line; a text without one would end a block scalar without it too.
    let last = text.rsplit(['\n', '\r']).next().unwrap_or_default();
    if !last.is_empty() && last.trim_matches(' ').is_empty() {
        return;
    }
    let line_end = if last.is_empty() { "" } else { "\n" };
    let Some(theirs) = go_yaml::read(&[text, line_end].concat()) else { return };
    // What is no mapping is no object, whatever it says: a block scalar outside of everything may or may not be indented.
    if value.is_object() || theirs.value.is_object() {
        assert_eq!(value, theirs.value, "another value in {text:?}");
    }
    heads_agree(text, &value, &theirs);
}

/// To YAML 1.1, which go-yaml reads, these end a line; to 1.2, and to our parser, they are letters. Where one stands in a
/// manifest, it stands in a text for people.
fn has_breaks_of_yaml_1_1(text: &str) -> bool {
    text.contains(['\u{85}', '\u{2028}', '\u{2029}'])
}

/// YAML 1.2 lets the name of an anchor go on with these, for 1.1 it ends before them. Nobody names an anchor so.
fn has_anchor_of_yaml_1_2(text: &str) -> bool {
    let is_word = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    text.split(['&', '*']).skip(1).any(|name| name.trim_start_matches(is_word).starts_with(['?', ':', '%', '@', '`']))
}

/// In a flow collection YAML 1.1 takes these for indicators whatever follows, 1.2 only before a blank.
fn has_indicator_of_yaml_1_1(text: &str) -> bool {
    let is_before = |character: u8| matches!(character, b'{' | b'[' | b',' | b' ' | b'\t' | b'\n' | b'\r');
    let is_after = |character: u8| !matches!(character, b' ' | b'\t' | b'\n' | b'\r');
    let is_found =
        |bytes: &[u8]| matches!(bytes, &[before, b'?' | b':', after] if is_before(before) && is_after(after));
    text.contains(['{', '[']) && text.as_bytes().windows(3).any(is_found)
}

/// A byte order mark that begins a line further down moves what follows it by a column, to go-yaml; we read over it.
fn has_inner_mark(text: &str) -> bool {
    text.strip_prefix('\u{feff}').unwrap_or(text).contains('\u{feff}')
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
