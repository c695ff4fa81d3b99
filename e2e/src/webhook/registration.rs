//! The two webhook configurations that Kubewarden's controller would make of the two policies.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use stable_hooks::input;

use super::{Options, Webhook};
use crate::cluster::wait_for;

/// A namespace with this label is watched by the webhook of that name.
pub(crate) const WATCHED_BY: &str = "stable-hooks-e2e/webhook";

impl Webhook {
    pub(super) fn register(&self, options: &Options, authority: &str) {
        let bundle = BASE64_STANDARD.encode(authority);
        self.configure("objects", options, &bundle);
        self.configure("releases", options, &bundle);
        self.wait_until_asked();
    }

    /// Makes the configuration that the module's metadata and the manifest that we ship ask for.
    fn configure(&self, policy: &str, options: &Options, bundle: &str) {
        let (name, shipped) = shipped(policy);
        let metadata = self.served.policies.get(policy).and_then(|served| served.policy.metadata());
        let metadata = metadata.expect("the module is annotated");
        let kind = if metadata.mutating { "MutatingWebhookConfiguration" } else { "ValidatingWebhookConfiguration" };
        self.cluster.create(&json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
            "metadata": {"name": format!("{policy}-{}", self.name)},
            "webhooks": [{
                "name": format!("clusterwide-{name}.kubewarden.admission"),
                "clientConfig": {"url": self.url(policy), "caBundle": bundle},
                "rules": metadata.rules,
                "namespaceSelector": {"matchLabels": {WATCHED_BY: self.name}},
                "objectSelector": shipped.get("objectSelector"),
                "matchConditions": shipped.get("matchConditions"),
                "failurePolicy": options.failure_policy,
                "matchPolicy": "Equivalent",
                "sideEffects": "None",
                "timeoutSeconds": options.timeout_seconds,
                "admissionReviewVersions": ["v1"],
            }],
        }));
    }

    /// The API server learns of a configuration a moment later.
    fn wait_until_asked(&self) {
        let namespace = format!("probe-{}", self.name);
        self.cluster.create(&json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": namespace, "labels": {WATCHED_BY: self.name}},
        }));
        let labels = json!({"owner": "helm", "status": "pending-install"});
        let metadata = json!({"generateName": "probe-", "namespace": namespace, "labels": labels});
        for kind in ["ServiceAccount", "ConfigMap"] {
            let probe = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata});
            wait_for(&format!("the API server asks the webhook {} about a {kind}", self.name), || {
                let before = self.requests();
                // A webhook may be slow or set to fail: that it was asked is enough.
                let _ = self.cluster.dry_create(&probe);
                (self.requests() > before).then_some(())
            });
        }
    }
}

/// What we ship says about a policy: the name and the `spec` of its `ClusterAdmissionPolicy`.
fn shipped(policy: &str) -> (String, Value) {
    let manifests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy/manifests/base");
    let file = fs::read(manifests.join(format!("{policy}-policy.yaml"))).expect("the manifest is there");
    let manifest = input::value(&file).expect("the manifest is YAML");
    let name = manifest.pointer("/metadata/name").and_then(Value::as_str).expect("the policy has a name").to_owned();
    (name, manifest.get("spec").cloned().expect("the manifest has a spec"))
}
