//! Policies run as policy-server runs them.

mod calls;
mod host_calls;
mod loading;
mod time_limit;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use stable_hooks_host::call::{CallError, patch};
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_host::runtime::{DEFAULT_TIMEOUT, Policy};

use crate::guests;

fn policy(wasm: &[u8]) -> Policy {
    policy_in(wasm, ClusterView::default(), DEFAULT_TIMEOUT)
}

fn policy_in(wasm: &[u8], cluster: ClusterView, timeout: Duration) -> Policy {
    Policy::from_bytes(wasm, Arc::new(cluster), timeout).expect("the policy loads")
}

fn guest_error(text: &str) -> Result<Vec<u8>, CallError> {
    Err(CallError::Guest(text.to_owned()))
}

#[test]
fn a_patch_holds_only_what_changed() {
    let patch = patch(&json!({"a": 1, "b": [1, 2]}), &json!({"a": 2, "b": [1, 2], "c": {}}));
    let expected = json!([
        {"op": "replace", "path": "/a", "value": 2},
        {"op": "add", "path": "/c", "value": {}},
    ]);
    assert_eq!(serde_json::to_value(patch).unwrap(), expected);
}
