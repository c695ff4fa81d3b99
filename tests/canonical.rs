//! Five requests that stand for all: what each costs is recorded and measured.

#![expect(clippy::indexing_slicing, reason = "the JSON is written below")]

use serde_json::{Value, json};
use stable_hooks::engine::payload;

/// A Job as a real API server sent it.
const RECORDED: &str = include_str!("../examples/2-create-hook-job.json");

/// Name and payload: not selected, selected and normal, selected with a patch, denied, and a Secret of somebody else.
pub(crate) fn payloads() -> Vec<(&'static str, Vec<u8>)> {
    let recorded: Value = serde_json::from_str(RECORDED).unwrap_or_default();
    let request = |component: &str, annotations: Value| {
        let mut request = recorded.clone();
        request["object"]["metadata"]["labels"] = json!({"app.kubernetes.io/component": component});
        request["object"]["metadata"]["annotations"] = annotations;
        request
    };
    let normal = json!({
        "helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-weight": "10",
        "helm.sh/hook-delete-policy": "before-hook-creation",
    });
    let mut denied = request("migrations", normal.clone());
    denied["operation"] = json!("UPDATE");
    denied["oldObject"] = request("migrations", json!({}))["object"].clone();
    let requests = [
        ("unselected", request("web", normal.clone())),
        ("normal", request("migrations", normal)),
        ("patched", request("migrations", json!({"helm.sh/hook": "pre-upgrade"}))),
        ("denied", denied),
        ("secret", secret(&recorded)),
    ];
    requests.into_iter().map(|(name, request)| (name, payload(&request, &json!({})))).collect()
}

/// What the releases policy is asked about besides Helm's records.
fn secret(recorded: &Value) -> Value {
    let mut request = recorded.clone();
    request["kind"] = json!({"group": "", "version": "v1", "kind": "Secret"});
    request["object"] = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"name": "orders-tls", "namespace": "shop", "labels": {"app": "orders"}},
        "data": {"tls.crt": "LS0t".repeat(500), "tls.key": "LS0t".repeat(500)},
    });
    request
}
