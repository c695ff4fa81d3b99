//! The findings of rules, complete or not at all.

use std::fmt;

use json_patch::jsonptr::{Pointer, PointerBuf};
use serde::{Deserialize, Serialize, Serializer};

use crate::name::Name;
use crate::rule::{Effect, RuleId};
use crate::selector::Standing;

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

    pub(crate) fn name() -> Self {
        Self(PointerBuf::from_tokens(["metadata", "name"]))
    }

    /// The whole object.
    pub(crate) fn whole() -> Self {
        Self(PointerBuf::new())
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

/// A rule's report, before the settings say what it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) path: FieldPath,
    pub(crate) message: String,
    pub(crate) remedy: Remedy,
    pub(crate) edits: Vec<Edit>,
    pub(crate) needs: Option<Needed>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) is_in_the_way: bool,
    pub(crate) warn_at_most: bool,
}

/// What to change, and in which template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remedy {
    /// As messages show it, where a template is to change.
    pub(crate) template: Option<String>,
    /// A sentence of its own, or the end of one that begins with the template.
    pub(crate) text: String,
}

/// What becomes of an object, or of the operation, if Helm goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    GoneUntilTheNextUpgrade,
    Gone,
    /// Deleted and made again.
    MadeAnew,
    Stays,
    /// A resource of the release, though Helm did not make it.
    TakenOver,
    /// Another release loses it.
    Lost,
    /// The hook's program does not run.
    DoesNotRun,
    /// Helm waits for the hook until its timeout.
    Hangs,
    /// Helm stops when it comes to the object.
    Fails,
}

/// An object that a finding's object needs, or only names, and where it names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Needed {
    pub object: Name,
    /// As a path from the object's top: `spec.template.spec.serviceAccountName`.
    pub field: String,
}

impl Problem {
    pub(crate) fn new(path: FieldPath, message: String, remedy: impl Into<Remedy>) -> Self {
        let remedy = remedy.into();
        let (edits, needs, outcome) = (Vec::new(), None, None);
        Self { path, message, remedy, edits, needs, outcome, is_in_the_way: false, warn_at_most: false }
    }

    pub(crate) fn found(self, rule: RuleId, effect: Effect, object: Name) -> Finding {
        let Self { path, message, remedy, edits, needs, outcome, is_in_the_way, warn_at_most: _ } = self;
        Finding { rule, effect, object, path, message, remedy, needs, outcome, is_in_the_way, edits }
    }

    /// Adds an edit that mends it.
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

/// A rule's report on one object of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReleaseProblem {
    pub(crate) object: Name,
    pub(crate) standing: Standing,
    pub(crate) problem: Problem,
}

impl ReleaseProblem {
    pub(crate) fn new(object: &Name, standing: Standing, problem: Problem) -> Self {
        Self { object: object.clone(), standing, problem }
    }

    /// A denial would do harm here, or comes too late.
    pub(crate) fn warn_at_most(self) -> Self {
        Self { problem: self.problem.warn_at_most(), ..self }
    }

    pub(crate) fn ending_in(mut self, outcome: Outcome) -> Self {
        self.problem.outcome = Some(outcome);
        self
    }

    /// The live object is to be deleted before the operation can go on.
    pub(crate) fn in_the_way(mut self) -> Self {
        self.problem.is_in_the_way = true;
        self
    }

    /// It is about something that the object names in that field.
    pub(crate) fn about(mut self, object: &Name, field: &str) -> Self {
        self.problem.needs = Some(Needed { object: object.clone(), field: field.to_owned() });
        self
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub rule: RuleId,
    #[serde(rename = "level")]
    pub effect: Effect,
    pub object: Name,
    pub path: FieldPath,
    pub message: String,
    #[serde(rename = "help")]
    pub remedy: Remedy,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<Needed>,
    #[serde(skip)]
    pub(crate) outcome: Option<Outcome>,
    #[serde(skip)]
    pub(crate) is_in_the_way: bool,
    #[serde(skip)]
    pub(crate) edits: Vec<Edit>,
}

impl From<String> for Remedy {
    fn from(text: String) -> Self {
        Self { template: None, text }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.template {
            Some(template) => write!(f, "In {template}, {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl Serialize for Remedy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::FieldPath;
    use crate::testing::test;

    #[test]
    fn paths_escape_slashes_and_tildes() {
        assert_eq!(FieldPath::annotation("helm.sh/hook").as_str(), "/metadata/annotations/helm.sh~1hook");
        assert_eq!(FieldPath::annotation("a~b").as_str(), "/metadata/annotations/a~0b");
    }
}
