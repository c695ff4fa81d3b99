use std::collections::BTreeMap;

use serde_json::Value;

use super::error::YamlError;
use super::reader::{Builder, Extent, FIELDS, Limits, field_of, read};

/// The fields that tell an object apart, as Go reads them into strings. Absent ones are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub namespace: String,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
}

/// Reads a document until apiVersion, kind and metadata are complete: what follows may be megabytes.
///
/// An error after that, or a field that is written again there, is not seen.
pub fn head(text: &str, limits: &Limits) -> Result<Head, YamlError> {
    let document = read(text, limits, Extent::Until(is_complete))?;
    Ok(document.map_or_else(Head::default, |(_, value)| Head::of(&value)))
}

/// Reads as little as tells the kind; empty where none is said.
pub fn kind(text: &str, limits: &Limits) -> Result<String, YamlError> {
    let document = read(text, limits, Extent::Until(|builder| has(builder, &["kind"])))?;
    Ok(document.map_or_else(String::new, |(_, value)| string(value.get("kind"))))
}

fn is_complete(builder: &Builder) -> bool {
    has(builder, &FIELDS)
}

fn has(builder: &Builder, keys: &[&str]) -> bool {
    builder.top_level().is_some_and(|entries| keys.iter().all(|key| entries.contains_key(*key)))
}

impl Head {
    /// A field of the wrong type counts as absent. Go finds one in any case: `Annotations` are annotations for Helm.
    pub fn of(object: &Value) -> Self {
        let mut head = Self::default();
        for (key, value) in entries(object) {
            match field_of(key) {
                Some("apiVersion") => set(&mut head.api_version, value),
                Some("kind") => set(&mut head.kind, value),
                Some("metadata") => head.read_metadata(value),
                _ => {}
            }
        }
        head
    }

    fn read_metadata(&mut self, metadata: &Value) {
        for (key, value) in entries(metadata) {
            let is = |field| key.eq_ignore_ascii_case(field);
            if is("name") {
                set(&mut self.name, value);
            } else if is("namespace") {
                set(&mut self.namespace, value);
            } else if is("labels") {
                self.labels.extend(strings(value));
            } else if is("annotations") {
                self.annotations.extend(strings(value));
            }
        }
    }

    /// The API group; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version.rsplit_once('/').map_or("", |(group, _)| group)
    }
}

fn string(value: Option<&Value>) -> String {
    value.and_then(text).unwrap_or_default()
}

/// In the order of their keys, which is Go's: of two fields that differ in case the last one counts.
fn entries(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten()
}

fn set(field: &mut String, value: &Value) {
    if let Some(text) = text(value).filter(|_| !value.is_null()) {
        *field = text;
    }
}

fn strings(map: &Value) -> impl Iterator<Item = (String, String)> {
    entries(map).filter_map(|(key, value)| Some((key.clone(), text(value)?)))
}

/// Where Go wants a string, `sigs.k8s.io/yaml` spells numbers and booleans out, and null leaves the string empty.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(value) => Some(value.to_string()),
        Value::String(value) => Some(value.clone()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Head, Limits, head, kind};
    use crate::testing::test;

    fn read(text: &str) -> Head {
        head(text, &Limits::default()).unwrap()
    }

    fn annotation(value: &str) -> Option<String> {
        read(&format!("metadata: {{annotations: {{a: {value}}}}}")).annotations.remove("a")
    }

    #[test]
    fn reads_what_tells_an_object_apart() {
        let job = read(
            "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  namespace: shop\n  \
             labels: {app: shop}\n  annotations:\n    helm.sh/hook: pre-upgrade\nspec: {}\n",
        );
        assert_eq!((job.api_version.as_str(), job.kind.as_str()), ("batch/v1", "Job"));
        assert_eq!((job.name.as_str(), job.namespace.as_str()), ("migrate", "shop"));
        assert_eq!(job.labels["app"], "shop");
        assert_eq!(job.annotations["helm.sh/hook"], "pre-upgrade");
    }

    #[test]
    fn stops_where_it_has_all() {
        let start = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n";
        assert_eq!(read(&format!("{start}data: [\n\t}}")).name, "a");
        assert_eq!(read(&format!("{start}metadata: {{name: b}}\n")).name, "a");
        assert!(head("apiVersion: v1\nkind: Secret\ndata: [\n\t}\nmetadata: {name: a}\n", &Limits::default()).is_err());
    }

    #[test]
    fn the_kind_is_read_without_what_follows() {
        let read = |text| kind(text, &Limits::default());
        assert_eq!(read("apiVersion: v1\nkind: Job\nmetadata: [\n").unwrap(), "Job");
        assert_eq!(read("metadata: {kind: A}\nkind: B\n").unwrap(), "B");
        assert_eq!(read("# nothing\n").unwrap(), "");
        assert!(read("metadata: [\nkind: B\n").is_err());
    }

    #[test]
    fn reads_keys_in_any_order_and_the_last_of_each() {
        let text = "data: {kind: No, metadata: {name: no}}\nmetadata: {name: a, annotations: {k: a}, annotations: {k: b}}\nkind: B\nkind: C\napiVersion: v1\n";
        let found = read(text);
        assert_eq!((found.kind.as_str(), found.name.as_str()), ("C", "a"));
        assert_eq!(found.annotations["k"], "b");
    }

    #[test]
    fn scalars_become_the_strings_that_go_makes_of_them() {
        for (value, expected) in
            [("5", "5"), ("-05", "-5"), ("0x10", "16"), ("1_000", "1000"), ("1.5", "1.5"), ("5.0", "5")]
        {
            assert_eq!(annotation(value).as_deref(), Some(expected), "{value}");
        }
        for (value, expected) in [("yes", "true"), ("off", "false"), ("~", ""), ("", ""), ("\"5\"", "5")] {
            assert_eq!(annotation(value).as_deref(), Some(expected), "{value}");
        }
        assert_eq!(annotation("[pre-install]"), None);
    }

    #[test]
    fn wrong_and_missing_fields_are_empty() {
        for text in ["", "# nothing\n", "[]", "a", "metadata: []", "metadata: {name: {}, labels: 5, annotations: null}"]
        {
            assert_eq!(read(text), Head::default(), "{text}");
        }
    }

    #[test]
    fn keys_are_found_in_any_case_and_the_last_in_byte_order_counts() {
        let found = read("Kind: A\nMETADATA: {Name: a, Annotations: {k: a, l: a}}\nmetadata: {annotations: {k: b}}\n");
        assert_eq!((found.kind.as_str(), found.name.as_str()), ("A", "a"));
        assert_eq!(found.annotations, [("k", "b"), ("l", "a")].map(|(k, v)| (k.to_owned(), v.to_owned())).into());
        assert_eq!(read("kind: A\nKind: B\nmetadata: {name: a, Name: b}\n").name, "a");
        assert_eq!(read("metadata: {Name: a, name: ~}\n").name, "a");
    }

    #[test]
    fn limits_hold() {
        let deep = Limits { depth: 2, ..Limits::default() };
        assert!(head("metadata: {labels: {}}", &deep).is_err());
        assert!(head("metadata: {name: a}", &deep).is_ok());
        let copies = Limits { copied: 100, ..Limits::default() };
        let error = head("a: &a [xxxxxxxx, yyyyyyyy]\nb: *a\n", &copies).unwrap_err();
        assert_eq!(error.to_string(), "line 1, column 26: anchors and aliases that copy too much");
    }
}
