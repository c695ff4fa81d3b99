//! The patch that brings an object to its normal form: `metadata.annotations` only, on the raw JSON.

use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation};
use serde_json::Value;

use crate::finding::{Edit, Effect, FieldPath, Finding};
use crate::verdict::NonEmptyPatch;

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
