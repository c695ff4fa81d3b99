//! What the inputs hold that nobody should hand on without being asked.

use serde_json::Value;
use stable_hooks_policy::shown::Shown;

use super::input::Input;
use crate::input::{Content, Document, InputError, documents};

/// Where a container's environment is written.
const ENVIRONMENT: &str = "env";

/// What the name of a field ends with that holds a secret.
const TELLING: [&str; 8] = ["password", "passwd", "secret", "token", "apikey", "api_key", "privatekey", "private_key"];

/// What a text that is a Secret's has in it.
const OF_A_SECRET: [&str; 4] = ["kind: Secret", "\"kind\":\"Secret\"", "\"kind\": \"Secret\"", "stringData"];

/// What there is in a text; one that cannot be read may hold anything. Nothing of a Secret is told but its name.
pub(super) fn found(input: Input, text: &str) -> Vec<String> {
    let mut secrets: Vec<_> = in_comments(text).map(|(line, what)| format!("{input}:{line}: {what}")).collect();
    // Settings are no objects.
    for document in documents(text.as_bytes()).filter(|_| input != Input::Settings) {
        match document {
            Ok(Document { line, content: Content::Manifest(value) | Content::Request(value), .. }) => {
                let mut found = Vec::new();
                look_into(&value, "", &mut found);
                secrets.extend(found.into_iter().map(|what| format!("{input}:{line}: {what}")));
            }
            Err(InputError { line, .. }) => secrets.push(format!("{input}:{line}: a text that cannot be read")),
        }
    }
    secrets
}

/// A link carries comments as well.
fn in_comments(text: &str) -> impl Iterator<Item = (usize, String)> {
    text.lines().zip(1..).filter_map(|(line, number)| {
        let (before, comment) = line.split_once('#')?;
        let is_comment = before.is_empty() || before.ends_with([' ', '\t']);
        let (key, value) = comment.split_once(':').filter(|_| is_comment)?;
        let (key, value) = (key.trim().trim_matches('"'), value.trim());
        let is_secret = key == "kind" && value == "Secret";
        let is_told = is_secret || (is_telling(key) && !value.is_empty());
        is_told.then(|| (number, format!("a comment, {}", Shown(if is_secret { value } else { key }))))
    })
}

fn is_telling(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    TELLING.iter().any(|word| key.ends_with(word))
}

/// Looks at a value, which may be or hold an object; `name` is that of the object around it.
fn look_into<'v>(value: &'v Value, name: &'v str, found: &mut Vec<String>) {
    let text = |pointer| value.pointer(pointer).and_then(Value::as_str);
    let name = text("/metadata/name").unwrap_or(name);
    if text("/kind") == Some("Secret") {
        let is_full = |field| value.get(field).and_then(Value::as_object).is_some_and(|data| !data.is_empty());
        if is_full("data") || is_full("stringData") {
            found.push(format!("Secret {}", Shown(name)));
            return;
        }
    }
    // Where Helm keeps its records in ConfigMaps they hold the values too.
    if text("/metadata/labels/owner") == Some("helm") && text("/data/release").is_some() {
        found.push(format!("release record {}", Shown(name)));
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| look_into(item, name, found)),
        Value::Object(fields) => {
            for (key, value) in fields {
                if key == ENVIRONMENT {
                    found.extend(literals(value).into_iter().map(|variable| {
                        format!("the value of the environment variable {} of {}", Shown(variable), Shown(name))
                    }));
                } else if is_telling(key) && value.as_str().is_some_and(|value| !value.is_empty()) {
                    found.push(format!("the value of {} of {}", Shown(key), Shown(name)));
                }
                if key != ENVIRONMENT || value.is_array() {
                    look_into(value, name, found);
                }
            }
        }
        // A ConfigMap can hold a manifest, and an annotation what was applied last.
        Value::String(text) if OF_A_SECRET.iter().any(|words| text.contains(words)) => {
            found.push(format!("a text of {} that holds a Secret", Shown(name)));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The variables of an environment whose values are written there; in some kinds it is no list.
fn literals(environment: &Value) -> Vec<&str> {
    match environment {
        Value::Array(variables) => {
            let written =
                variables.iter().filter(|variable| variable.get("value").is_some_and(|value| !value.is_null()));
            written.map(|variable| variable.get("name").and_then(Value::as_str).unwrap_or_default()).collect()
        }
        Value::Object(variables) => {
            let written =
                variables.iter().filter(|(_, value)| !value.is_null() && !value.is_object() && !value.is_array());
            written.map(|(name, _)| name.as_str()).collect()
        }
        _ => Vec::new(),
    }
}
