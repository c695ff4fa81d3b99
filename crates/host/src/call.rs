//! The outcomes of a policy's call, whatever runs the policy.

use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

/// Why a policy gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CallError {
    #[error("the policy was stopped, it did not answer within {0:?}")]
    TimedOut(Duration),
    #[error("the policy reported an error: {0}")]
    Guest(String),
    #[error("the policy crashed (WebAssembly trap)")]
    Trap,
}

/// The RFC 6902 patch that policy-server makes of the object that a policy returned.
#[must_use]
pub fn patch(object: &Value, mutated: &Value) -> json_patch::Patch {
    json_patch::diff(object, mutated)
}
