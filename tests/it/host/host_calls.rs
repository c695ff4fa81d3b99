use serde_json::Value;
use stable_hooks_host::metadata::annotate;

use super::*;

const QUERY: &[u8] = br#"{"api_version":"v1","kind":"Secret","name":"db","namespace":"shop","disable_cache":true}"#;

fn secrets() -> ClusterView {
    ClusterView::empty().with_objects([json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "shop", "name": "db"}, "data": {"a": "Yg=="}
    })])
}

fn granting(wasm: &[u8], kind: &str) -> Vec<u8> {
    let resources = json!([{"apiVersion": "v1", "kind": kind}]);
    annotate(wasm, &json!({"protocolVersion": "v1", "contextAwareResources": resources})).expect("it is a module")
}

fn asks(operation: &str) -> Vec<u8> {
    guests::asks_host("kubewarden", "kubernetes", operation)
}

#[test]
fn a_granted_object_is_found() {
    let guest = granting(&asks("get_resource"), "Secret");
    let answer = policy_in(&guest, secrets(), DEFAULT_TIMEOUT).validate(QUERY).unwrap();
    let object: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(object["data"]["a"], "Yg==");
}

#[test]
fn the_metadata_decides_what_is_granted() {
    let refusal = guest_error(
        "Policy has not been granted access to Kubernetes v1/Secret resources. The violation has been reported.",
    );
    let other_kind = granting(&asks("get_resource"), "ServiceAccount");
    assert_eq!(policy_in(&other_kind, secrets(), DEFAULT_TIMEOUT).validate(QUERY), refusal);
    let no_metadata = asks("get_resource");
    assert_eq!(policy_in(&no_metadata, secrets(), DEFAULT_TIMEOUT).validate(QUERY), refusal);
}

#[test]
fn without_a_cluster_the_client_is_missing() {
    let guest = granting(&asks("get_resource"), "Secret");
    assert_eq!(
        policy(&guest).validate(QUERY),
        guest_error("Callback evaluation failure: kube::Client was not initialized properly"),
    );
}

#[test]
fn settings_and_version_cannot_look_into_the_cluster() {
    let guest = granting(&asks("get_resource"), "Secret");
    let policy = policy_in(&guest, secrets(), DEFAULT_TIMEOUT);
    let refusal = guest_error("Cannot process Wasm guest request: callback channel not provided");
    assert_eq!(policy.validate_settings(QUERY), refusal);
    assert_eq!(policy.protocol_version(), refusal);
}

#[test]
fn a_log_entry_is_accepted_by_every_operation() {
    let policy = policy(&guests::asks_host("kubewarden", "tracing", "log"));
    assert!(policy.validate(b"{}").unwrap().is_empty());
    assert!(policy.validate_settings(b"{}").unwrap().is_empty());
}

#[test]
fn console_output_is_dropped() {
    let guest = guests::guest(
        "(call $log (i32.const 0) (i32.const 1)) (call $respond (i32.const 0) (i32.const 0)) (i32.const 1)",
    );
    assert!(policy(&guest).validate(b"{}").unwrap().is_empty());
}

#[test]
fn everything_else_is_refused() {
    for (binding, namespace, operation, refusal) in [
        ("other", "kubernetes", "get_resource", "unknown binding: other"),
        ("kubewarden", "tracing", "read", "unknown operation: read"),
        ("kubewarden", "kubernetes", "delete", "unknown operation: delete"),
        (
            "kubewarden",
            "net",
            "v1/dns_lookup_host",
            "Policy has not been granted access to the 'net/v1/dns_lookup_host' host capability. \
             The violation has been reported.",
        ),
    ] {
        let guest = guests::asks_host(binding, namespace, operation);
        assert_eq!(policy(&guest).validate(b"{}"), guest_error(refusal));
    }
}
