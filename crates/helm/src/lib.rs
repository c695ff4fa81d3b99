//! Helm's own conventions: its hook annotations, the order of hooks, manifests as it splits them, YAML as it reads it,
//! and the release records that it stores, reads and starts from. Nothing here knows a rule.

#![deny(clippy::disallowed_methods)]

mod annotation;
pub mod history;
mod hook;
pub mod manifest;
pub mod operation;
pub mod order;
pub mod record;
pub mod storage;
#[cfg(test)]
mod testing;
pub mod write;
pub mod yaml;

pub use annotation::{
    HOOK, HOOK_DELETE_POLICY, HOOK_OUTPUT_LOG_POLICY, HOOK_WEIGHT, RELEASE_NAME, RELEASE_NAMESPACE, RESOURCE_POLICY,
    is_kept, keeps,
};
pub use hook::{DeletePolicies, DeletePolicy, Event, Events, NotAHook, items, spelled, weight};
