//! What a rule found, complete or not at all.

use std::fmt;

use json_patch::jsonptr::{Pointer, PointerBuf};
use serde::{Serialize, Serializer};

use crate::object::Object;
use crate::request::Request;
use crate::rules::RuleId;
use crate::shown::Shown;

/// What a finding leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    Deny,
    Warn,
    /// The patch mends it.
    Fix,
}

/// Which object a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObjectRef {
    pub group: String,
    pub kind: String,
    pub namespace: String,
    /// The name, or the generateName with a `*`.
    pub name: String,
}

impl ObjectRef {
    /// What the object does not say of itself, its request does.
    pub fn new(object: &Object, request: &Request) -> Self {
        let namespace = object.namespace().or(request.namespace.as_deref());
        let name = object.name().or(request.name.as_deref()).map(|name| Shown(name).to_string());
        let generated = || object.generate_name().map(|prefix| format!("{}*", Shown(prefix)));
        Self {
            group: object.kind().group().to_owned(),
            kind: object.kind().as_str().to_owned(),
            namespace: Shown(namespace.unwrap_or_default()).to_string(),
            name: name.or_else(generated).unwrap_or_default(),
        }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(if self.name.is_empty() { "(no name)" } else { &self.name })
    }
}

/// The words with which a finding begins that is about something that its object needs; a picture of the release draws
/// its line by them.
pub fn needs(needed: &impl fmt::Display, field: &str) -> String {
    format!("needs {needed} ({field})")
}

/// The same for what its object names, and may not need.
pub fn names(named: &impl fmt::Display, field: &str) -> String {
    format!("names {named} ({field})")
}

const ANNOTATIONS: &Pointer = Pointer::from_static("/metadata/annotations");

/// A JSON pointer (RFC 6901) into the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath(PointerBuf);

impl FieldPath {
    pub(crate) fn annotation(key: &str) -> Self {
        Self(ANNOTATIONS.with_trailing_token(key))
    }

    pub(crate) fn spec(field: &str) -> Self {
        Self(PointerBuf::from_tokens(["spec", field]))
    }

    pub(crate) fn into_pointer(self) -> PointerBuf {
        self.0
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl Serialize for FieldPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A change of one annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Edit {
    Set { key: &'static str, value: String },
    Remove { key: &'static str },
}

/// What a rule reports, before the settings say what it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) path: FieldPath,
    pub(crate) message: String,
    pub(crate) help: String,
    pub(crate) edits: Vec<Edit>,
    pub(crate) warn_at_most: bool,
    pub(crate) object: Option<ObjectRef>,
}

impl Problem {
    pub(crate) fn new(path: FieldPath, message: String, help: String) -> Self {
        Self { path, message, help, edits: Vec::new(), warn_at_most: false, object: None }
    }

    /// It is about this object, one of many in a release.
    pub(crate) fn about(mut self, object: ObjectRef) -> Self {
        self.object = Some(object);
        self
    }

    /// What mends it.
    pub(crate) fn fixed_by(mut self, edit: Edit) -> Self {
        self.edits.push(edit);
        self
    }

    /// A denial would do harm here, or comes too late.
    pub(crate) fn warn_at_most(mut self) -> Self {
        self.warn_at_most = true;
        self
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub rule: RuleId,
    #[serde(rename = "level")]
    pub effect: Effect,
    pub object: ObjectRef,
    pub path: FieldPath,
    pub message: String,
    pub help: String,
    #[serde(skip)]
    pub(crate) edits: Vec<Edit>,
}

/// The whole finding in one line: which object, what was found, what would happen, which rule, what to change.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (rule {}) {}", self.object, self.message, self.rule, self.help)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{FieldPath, ObjectRef};
    use crate::object::{Kind, Object};
    use crate::request::{Change, Request};
    use crate::testing::test;

    #[test]
    fn paths_escape_slashes_and_tildes() {
        assert_eq!(FieldPath::annotation("helm.sh/hook").as_str(), "/metadata/annotations/helm.sh~1hook");
        assert_eq!(FieldPath::annotation("a~b").as_str(), "/metadata/annotations/a~0b");
    }

    #[test]
    fn objects_without_a_name_are_still_shown() {
        let request = Request { name: None, namespace: None, change: Change::Other };
        let shown = |metadata| {
            let object = Object::new(Kind::Job, json!({ "metadata": metadata }));
            ObjectRef::new(&object, &request).to_string()
        };
        assert_eq!(shown(json!({"name": "a", "namespace": "n"})), "Job n/a");
        assert_eq!(shown(json!({"generateName": "a-"})), "Job a-*");
        assert_eq!(shown(json!(null)), "Job (no name)");
        assert_eq!(shown(json!({"name": "a\nDENIED"})), "Job a\\nDENIED");
    }
}
