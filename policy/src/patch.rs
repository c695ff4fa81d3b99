//! The patch that brings an object to its normal form: `metadata.annotations` only, on the raw JSON.

use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation};
use serde_json::Value;

use crate::finding::{Edit, FieldPath, Finding};
use crate::rule::Effect;

/// A patch that changes something.
#[derive(Debug, Clone, PartialEq)]
pub struct NonEmptyPatch(Patch);

impl NonEmptyPatch {
    fn new(patch: Patch) -> Option<Self> {
        (!patch.is_empty()).then_some(Self(patch))
    }
}

impl AsRef<Patch> for NonEmptyPatch {
    fn as_ref(&self) -> &Patch {
        &self.0
    }
}

/// The edits of everything that is to be fixed, as one patch (RFC 6902).
pub(crate) fn plan(findings: &[Finding]) -> Option<NonEmptyPatch> {
    let fixes = findings.iter().filter(|finding| finding.effect == Effect::Fix);
    NonEmptyPatch::new(Patch(fixes.flat_map(|finding| &finding.edits).map(operation).collect()))
}

fn operation(edit: &Edit) -> PatchOperation {
    match edit {
        Edit::Set { key, value } => PatchOperation::Add(AddOperation {
            path: FieldPath::annotation(key).into_pointer(),
            value: Value::String(value.clone()),
        }),
        Edit::Remove { key } => {
            PatchOperation::Remove(RemoveOperation { path: FieldPath::annotation(key).into_pointer() })
        }
    }
}
