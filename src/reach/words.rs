//! The words in a template by which an object is a hook, a Job or a `ServiceAccount`.

use helm::HOOK;
use serde_json::Value;

/// The annotation that makes a hook, and not one of those that only go with it.
pub(super) fn names_hook(text: &str) -> bool {
    text.match_indices(HOOK).any(|(at, _)| {
        let next = text.get(at + HOOK.len()..).and_then(|rest| rest.chars().next());
        !matches!(next, Some('-' | '.' | 'a'..='z'))
    })
}

/// The rest of a line that says an object's kind.
pub(super) fn kind_of(line: &str) -> Option<&str> {
    let line = line.trim_start().trim_start_matches(['{', '"', '\'']);
    let rest = line.strip_prefix("kind")?.trim_start_matches(['"', '\'']).strip_prefix(':')?;
    // What follows in the same line is a comment, or the next key of a map in braces.
    let word = rest.split([',', '}', '#']).next().unwrap_or(rest);
    Some(word.trim().trim_matches(['"', '\'']))
}

pub(super) fn is_judged(kind: &str) -> bool {
    ["Job", "ServiceAccount"].contains(&kind)
}

/// A value is a Job or a `ServiceAccount`, or has one in it.
pub(super) fn holds_object(value: &Value) -> bool {
    match value {
        Value::String(text) => text.lines().any(|line| kind_of(line).is_some_and(is_judged)),
        Value::Array(items) => items.iter().any(holds_object),
        Value::Object(fields) => {
            let kind = fields.get("kind").and_then(Value::as_str);
            kind.is_some_and(is_judged) || fields.values().any(holds_object)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A value has the annotation's key in it.
pub(super) fn holds_hook(value: &Value) -> bool {
    match value {
        Value::String(text) => names_hook(text),
        Value::Array(items) => items.iter().any(holds_hook),
        Value::Object(fields) => fields.iter().any(|(key, value)| names_hook(key) || holds_hook(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
