//! One scenario's namespaces, one for each Helm, and what is applied to the cluster around them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread::{self, ScopedJoinHandle};

use serde_json::{Value, json};
use stable_hooks_e2e::cluster::{Cluster, has_condition, wait_for};
use stable_hooks_e2e::helm::{Major, Run};
use stable_hooks_e2e::kubewarden::{NAMESPACE, SERVER, Stack};
use stable_hooks_e2e::page::Page;
use stable_hooks_e2e::scene::Scene;

pub(crate) const POLICIES: &str = "clusteradmissionpolicies.policies.kubewarden.io";
const BASE: &str = "policy/manifests/base";

pub(crate) struct Stage<'stack> {
    pub(crate) stack: &'stack Stack,
    pub(crate) page: Page,
    pub(crate) scenes: [Scene<'stack>; 2],
}

impl<'stack> Stage<'stack> {
    /// Nothing of ours is in the cluster.
    pub(crate) fn new(stack: &'stack Stack, name: &str) -> Self {
        let scenes = Major::ALL.map(|major| Scene::new(&stack.world, name, major, None));
        let stage = Self { stack, page: Page::read("rollout.md"), scenes };
        stage.take_away(BASE);
        stage
    }

    /// The same, and then this folder of our manifests.
    pub(crate) fn with(stack: &'stack Stack, name: &str, manifests: &str) -> Self {
        let stage = Self::new(stack, name);
        stage.apply(manifests);
        stage
    }

    pub(crate) fn apply(&self, manifests: &str) {
        let _ = self.kubectl(&format!("apply -k policy/manifests/{manifests}")).succeeds();
        self.settle();
    }

    pub(crate) fn cluster(&self) -> &Cluster {
        self.stack.world.cluster()
    }

    /// The one of the two that has Helm 4.
    pub(crate) fn scene(&self) -> &Scene<'stack> {
        &self.scenes[1]
    }

    pub(crate) fn kubectl(&self, arguments: &str) -> Run {
        self.scene().kubectl_of_a_page(arguments)
    }

    /// Runs what stands below a heading of the rollout page, in the namespace of Helm 4.
    pub(crate) fn run(&self, heading: &str) -> Vec<Run> {
        let commands = self.page.commands_below(heading);
        assert!(!commands.is_empty(), "{heading} has no command");
        let lines = commands.iter().map(|command| {
            let run = self.scene().line_of_a_page(&of_this_tree(command), "upgrade-only-hook");
            // 1 is a finding of ours.
            assert!(run.success || command.contains("stable-hooks review"), "`{command}` failed:\n{}", run.stderr);
            run
        });
        lines.collect()
    }

    /// Waits until all servers have what the policies say, and the API server asks them.
    pub(crate) fn settle(&self) {
        wait_for("the policies are served as they are", || {
            self.is_settled(SERVER, "ClusterAdmissionPolicy", "").then_some(())
        });
        self.wait_until_asked();
    }

    /// Whether the controller has carried everything over to a server of this name.
    pub(crate) fn is_settled(&self, server: &str, kind: &str, namespace: &str) -> bool {
        let name = format!("policy-server-{server}");
        let Some(config) = self.cluster().find("ConfigMap", NAMESPACE, &name) else { return false };
        let Some(deployment) = self.cluster().find("Deployment", NAMESPACE, &name) else { return false };
        let policies: Vec<_> = self
            .cluster()
            .list(kind, namespace)
            .into_iter()
            .filter(|policy| policy["spec"]["policyServer"] == server)
            .collect();
        let entries: Value = serde_json::from_str(config["data"]["policies.yml"].as_str().unwrap_or("{}"))
            .expect("the controller writes JSON");
        let version = &config["metadata"]["resourceVersion"];
        let pods = self.pods(server);
        let wanted = deployment["spec"]["replicas"].as_u64().unwrap_or_default();
        policies.len() == entries.as_object().map_or(0, serde_json::Map::len)
            && policies.iter().all(|policy| is_served(policy, &entries) && is_active(policy) && self.is_hooked(policy))
            && deployment["spec"]["template"]["metadata"]["labels"]["kubewarden/config-version"] == *version
            && u64::try_from(pods.len()) == Ok(wanted)
            && pods.iter().all(|pod| has_condition(pod, "Ready"))
            && pods.iter().all(|pod| pod["metadata"]["labels"]["kubewarden/config-version"] == *version)
            && pods.iter().all(|pod| {
                pod["spec"]["containers"][0]["image"]
                    == deployment["spec"]["template"]["spec"]["containers"][0]["image"]
            })
    }

    pub(crate) fn pods(&self, server: &str) -> Vec<Value> {
        let pods = self.cluster().list("Pod", NAMESPACE);
        pods.into_iter().filter(|pod| pod["metadata"]["labels"]["kubewarden/policy-server"] == server).collect()
    }

    fn is_hooked(&self, policy: &Value) -> bool {
        self.webhook(policy).is_some_and(|webhook| webhook["failurePolicy"] == policy["spec"]["failurePolicy"])
    }

    /// The webhook that the controller has made of a policy.
    pub(crate) fn webhook(&self, policy: &Value) -> Option<Value> {
        let kind = if policy["spec"]["mutating"] == true {
            "MutatingWebhookConfiguration"
        } else {
            "ValidatingWebhookConfiguration"
        };
        let (name, namespace) = (policy["metadata"]["name"].as_str()?, policy["metadata"]["namespace"].as_str());
        let name =
            namespace.map_or(format!("clusterwide-{name}"), |namespace| format!("namespaced-{namespace}-{name}"));
        Some(self.cluster().find(kind, "", &name)?["webhooks"][0].clone())
    }

    /// The API server learns of a webhook a moment later.
    fn wait_until_asked(&self) {
        for scene in &self.scenes {
            let contradictory = json!({
                "apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": {
                    "generateName": "probe-", "namespace": scene.namespace, "labels": {"stable-hooks/migration": "true"},
                    "annotations": {"helm.sh/hook": "unknown"},
                },
            });
            let file = scene.file("probe", &contradictory);
            wait_for("the API server asks the policy", || {
                let run = scene.kubectl(&["create", "--dry-run=server", "-f", &file]);
                (!run.success || run.stderr.contains("unknown-hook-event")).then_some(())
            });
        }
    }

    /// Deletes what a folder of our manifests has made, and waits until it is gone.
    pub(crate) fn take_away(&self, manifests: &str) {
        let _ = self.kubectl(&format!("delete -k {manifests} --ignore-not-found")).succeeds();
        wait_for("the servers are gone", || self.pods(SERVER).is_empty().then_some(()));
        wait_for("the webhooks are gone", || {
            ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
                .iter()
                .flat_map(|kind| self.cluster().list(kind, ""))
                .all(|webhook| !webhook["metadata"]["name"].as_str().is_some_and(|name| name.contains("stable-hooks")))
                .then_some(())
        });
    }

    /// What may be left of us, by kind and name.
    pub(crate) fn traces(&self) -> BTreeSet<String> {
        let cluster_wide = [
            "ClusterAdmissionPolicy",
            "ClusterRole",
            "ClusterRoleBinding",
            "MutatingWebhookConfiguration",
            "PolicyServer",
            "ValidatingWebhookConfiguration",
        ];
        let of_kubewarden =
            ["ConfigMap", "Deployment", "Pod", "PodDisruptionBudget", "Secret", "Service", "ServiceAccount"];
        let places = cluster_wide.map(|kind| (kind, "")).into_iter().chain(of_kubewarden.map(|kind| (kind, NAMESPACE)));
        let places = places.chain([("Report", "")]);
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        places
            .flat_map(|(kind, place)| {
                self.cluster().list(kind, place).into_iter().map(move |object| format!("{kind} {}", name(&object)))
            })
            .collect()
    }

    /// Does the same with both Helms at once; both say the same.
    pub(crate) fn with_each_helm<T: PartialEq + std::fmt::Debug + Send>(
        &self,
        act: impl Fn(&Scene<'_>) -> T + Sync,
    ) -> T {
        let [three, four] = thread::scope(|scope| {
            let act = &act;
            self.scenes.each_ref().map(|scene| scope.spawn(move || act(scene))).map(ScopedJoinHandle::join)
        })
        .map(|said| said.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        assert_eq!(three, four, "both Helms");
        four
    }
}

/// A manifest for `kubectl create`, which is what anybody may have written.
pub(crate) fn create(scene: &Scene<'_>, object: &Value) -> Run {
    let kind = object["kind"].as_str().unwrap_or_default();
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    scene.kubectl(&["create", "-f", &scene.file(&format!("{kind}-{name}"), object)])
}

/// A folder that a command fetches from the repository is here as well.
fn of_this_tree(command: &str) -> String {
    match command.split_once("'https://github.com/stable-hooks/stable-hooks//") {
        Some((before, rest)) => format!("{before}{}", rest.split('?').next().unwrap_or(rest)),
        None => command.to_owned(),
    }
}

fn is_served(policy: &Value, served: &Value) -> bool {
    let (name, namespace) = (policy["metadata"]["name"].as_str(), policy["metadata"]["namespace"].as_str());
    let name = name.unwrap_or_default();
    let id = namespace.map_or(format!("clusterwide-{name}"), |namespace| format!("namespaced-{namespace}-{name}"));
    let (entry, spec) = (&served[id], &policy["spec"]);
    [("policyMode", "mode"), ("settings", "settings"), ("module", "module"), ("allowedToMutate", "mutating")]
        .iter()
        .all(|(served, wanted)| entry[served] == spec[wanted])
}

pub(crate) fn is_active(policy: &Value) -> bool {
    policy["status"]["policyStatus"] == "active" && has_condition(policy, "PolicyActive")
}

/// A Job or a ServiceAccount that is a migration, with these annotations.
pub(crate) fn migration(kind: &str, name: &str, annotations: &Value) -> Value {
    let metadata = json!({"name": name, "labels": {"stable-hooks/migration": "true"}, "annotations": annotations});
    if kind == "ServiceAccount" {
        return json!({"apiVersion": "v1", "kind": kind, "metadata": metadata});
    }
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "migrate", "image": "orders:1"}]});
    json!({"apiVersion": "batch/v1", "kind": kind, "metadata": metadata, "spec": {"template": {"spec": pod}}})
}

/// What the API server says, without the address that a Service has in this run.
pub(crate) fn without_address(text: &str) -> String {
    let words = text.split_whitespace().map(|word| if word.starts_with("127.32.0.") { "…:" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// A text of this repository.
pub(crate) fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    fs::read_to_string(path).expect("the file is there")
}
