//! What the inputs hold that nobody should hand on without being asked.

use serde_json::Value;
use stable_hooks_policy::shown::Shown;

use super::input::Input;
use crate::input::{Content, Document, InputError, documents};

/// Where a container's environment is written.
const ENVIRONMENT: &str = "env";

/// What there is in a text; one that cannot be read may hold anything. Nothing of a Secret is told but its name.
pub(super) fn found(input: Input, text: &str) -> Vec<String> {
    let mut secrets = Vec::new();
    for document in documents(text.as_bytes()) {
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

/// Looks at a value, which may be or hold an object; `name` is that of the object around it.
fn look_into<'v>(value: &'v Value, name: &'v str, found: &mut Vec<String>) {
    let text = |pointer| value.pointer(pointer).and_then(Value::as_str);
    let name = text("/metadata/name").unwrap_or(name);
    if text("/kind") == Some("Secret") {
        let is_full = |field| value.get(field).and_then(Value::as_object).is_some_and(|data| !data.is_empty());
        found.extend((is_full("data") || is_full("stringData")).then(|| format!("Secret {}", Shown(name))));
        return;
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
                    found.extend(literals(value).map(|variable| {
                        format!("the value of the environment variable {} of {}", Shown(variable), Shown(name))
                    }));
                }
                look_into(value, name, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The variables of an environment whose values are written there.
fn literals(environment: &Value) -> impl Iterator<Item = &str> {
    let variables = environment.as_array().into_iter().flatten();
    let written = variables.filter(|variable| variable.get("value").is_some_and(|value| !value.is_null()));
    written.map(|variable| variable.get("name").and_then(Value::as_str).unwrap_or_default())
}
