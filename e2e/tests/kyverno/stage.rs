//! A namespace that Kyverno watches with policies of its own, and the policy server that these call.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use stable_hooks_e2e::cluster::wait_for;
use stable_hooks_e2e::helm::{Major, Run};
use stable_hooks_e2e::scene::Scene;
use stable_hooks_e2e::webhook::{Options, Webhook};
use stable_hooks_e2e::world::{World, looks_at_objects};

/// The address in the policies as they are shipped.
const SHIPPED: &str = "https://policy-server.stable-hooks.svc:8443/validate/objects";

/// A namespace with this label is watched by the policies of that name.
const WATCHED_BY: &str = "stable-hooks-e2e/kyverno";

pub(crate) struct Stage<'world> {
    pub(crate) scene: Scene<'world>,
    pub(crate) webhook: Webhook,
    name: &'static str,
}

impl<'world> Stage<'world> {
    pub(crate) fn new(world: &'world World, name: &'static str, major: Major) -> Self {
        let webhook = world.webhook(&format!("kyverno-{name}"), &Options::default(), &looks_at_objects());
        // Kubewarden's way of asking the same server is not to have a part in this.
        let scene = Scene::new(world, &format!("kyverno {name}"), major, None);
        let labels = json!({"metadata": {"labels": {WATCHED_BY: name}}});
        let _ = scene.cluster().merge("Namespace", "", &scene.namespace, &labels).expect("the namespace is labelled");
        Self { scene, webhook, name }
    }

    /// Applies a shipped policy, for this namespace and with this server's address, and waits until it works.
    pub(crate) fn validates_with(&self, file: &str) {
        self.apply(file);
        let contradictory = json!({"helm.sh/hook": "pre-upgrade", "meta.helm.sh/release-name": "orders"});
        wait_for("Kyverno denies what the policy denies", || {
            let denial = self.scene.cluster().dry_create(&self.account("probe", &contradictory)).err()?.to_string();
            denial.contains("(rule contradictory-identity)").then_some(())
        });
    }

    /// The same for the one that normalizes.
    pub(crate) fn normalizes(&self) {
        self.apply("mutating-policy.yaml");
        wait_for("Kyverno applies the policy's patch", || {
            let object =
                self.scene.cluster().dry_create(&self.account("probe", &json!({"helm.sh/hook": "pre-upgrade"})));
            object.ok()?.pointer("/metadata/annotations/helm.sh~1hook-weight").map(|_| ())
        });
    }

    fn apply(&self, file: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy/kyverno").join(file);
        let shipped = fs::read_to_string(&path).expect("the policy is read");
        let (shipped_base, base) = (SHIPPED.trim_end_matches("objects"), self.webhook.url(""));
        assert!(shipped.contains(shipped_base), "{file} calls another address");
        let policy = shipped
            .replace(shipped_base, &base)
            .replace("name: stable-hooks", &format!("name: {}-stable-hooks", self.name))
            .replace(
                "matchConstraints:\n",
                &format!(
                    "matchConstraints:\n    namespaceSelector: {{matchLabels: {{{WATCHED_BY}: {}}}}}\n",
                    self.name
                ),
            );
        let path = self.scene.folder().join(file);
        fs::write(&path, policy).expect("the policy is written");
        let path = path.to_string_lossy();
        // Kyverno checks policies with a webhook of its own, and that comes up a moment after its process.
        wait_for("Kyverno takes the policy", || self.scene.kubectl(&["apply", "-f", &path]).success.then_some(()));
    }

    pub(crate) fn account(&self, name: &str, annotations: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": self.metadata(name, annotations)})
    }

    pub(crate) fn job(&self, name: &str, annotations: &Value) -> Value {
        json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": self.metadata(name, annotations),
            "spec": {"template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "migrate", "image": "orders:1"}],
            }}},
        })
    }

    /// What the rule said to an operation that it denied, through the policy as it is shipped.
    #[track_caller]
    pub(crate) fn denial(&self, run: Run, rule: &str) -> String {
        let run = run.fails();
        assert!(run.is_denied_by(rule), "{}", run.stderr);
        let denial = run.denial().expect("a denial says why");
        self.scene.shown(&denial).replace(&format!("{}-stable-hooks", self.name), "stable-hooks")
    }

    fn metadata(&self, name: &str, annotations: &Value) -> Value {
        json!({
            "name": name, "namespace": self.scene.namespace, "annotations": annotations,
            "labels": {"stable-hooks/migration": "true"},
        })
    }
}
