//! The API server, asked in plain words. What should not fail panics, as an assertion would.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use tokio::runtime::{Handle, Runtime};

/// Generous, for the machine may be busy.
const PATIENCE: Duration = Duration::from_mins(2);
const POLL: Duration = Duration::from_millis(100);

/// A client and the runtime that drives it.
#[derive(Clone)]
pub struct Cluster {
    runtime: Arc<Runtime>,
    client: Client,
}

impl Cluster {
    /// The cluster as its administrator.
    pub fn connect(kubeconfig: &Path) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no async runtime")?;
        let client = runtime.block_on(client(kubeconfig, None))?;
        Ok(Self { runtime: Arc::new(runtime), client })
    }

    /// The same cluster as this user sees it.
    pub fn seen_by(&self, kubeconfig: &Path, user: &str) -> Result<Self> {
        let client = self.runtime.block_on(client(kubeconfig, Some(user)))?;
        Ok(Self { runtime: Arc::clone(&self.runtime), client })
    }

    pub(crate) fn runtime(&self) -> Handle {
        self.runtime.handle().clone()
    }

    pub(crate) fn is_ready(&self) -> bool {
        let found = self.try_find("v1", "Namespace", "", "default");
        found.is_ok_and(|namespace| namespace.is_some())
    }

    pub(crate) fn has_ready_node(&self) -> bool {
        self.list("Node", "").iter().any(|node| has_condition(node, "Ready"))
    }

    /// One object, if it is there.
    #[must_use]
    pub fn find(&self, kind: &str, namespace: &str, name: &str) -> Option<Value> {
        let found = self.try_find(api_version(kind), kind, namespace, name);
        found.unwrap_or_else(|error| panic!("cannot get {kind} {namespace}/{name}: {error}"))
    }

    /// One object, if it is there and may be seen.
    pub fn try_find(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> kube::Result<Option<Value>> {
        let found = self.runtime.block_on(self.api(api_version, kind, namespace).get_opt(name))?;
        Ok(found.map(to_value))
    }

    /// All objects of a kind in a namespace, by name.
    #[must_use]
    pub fn list(&self, kind: &str, namespace: &str) -> Vec<Value> {
        self.try_list(kind, namespace).unwrap_or_else(|error| panic!("cannot list {kind} of {namespace}: {error}"))
    }

    /// The same, where the API server may be away.
    pub(crate) fn try_list(&self, kind: &str, namespace: &str) -> kube::Result<Vec<Value>> {
        let list = self.runtime.block_on(self.api(api_version(kind), kind, namespace).list(&ListParams::default()))?;
        Ok(list.items.into_iter().map(to_value).collect())
    }

    pub fn create(&self, object: &Value) -> Value {
        self.try_create(object).unwrap_or_else(|error| panic!("cannot create {object}: {error}"))
    }

    pub fn try_create(&self, object: &Value) -> kube::Result<Value> {
        self.post(object, &PostParams::default())
    }

    /// Sends the object through admission and stores nothing.
    pub fn dry_create(&self, object: &Value) -> kube::Result<Value> {
        self.post(object, &PostParams { dry_run: true, ..PostParams::default() })
    }

    fn post(&self, object: &Value, params: &PostParams) -> kube::Result<Value> {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let api = self.api(text("/apiVersion"), text("/kind"), text("/metadata/namespace"));
        let object: DynamicObject = serde_json::from_value(object.clone()).expect("a Kubernetes object");
        self.runtime.block_on(api.create(params, &object)).map(to_value)
    }

    /// Applies a JSON merge patch.
    pub fn merge(&self, kind: &str, namespace: &str, name: &str, patch: &Value) -> kube::Result<Value> {
        let api = self.api(api_version(kind), kind, namespace);
        self.runtime.block_on(api.patch(name, &PatchParams::default(), &Patch::Merge(patch))).map(to_value)
    }

    /// The same for the status alone.
    pub(crate) fn merge_status(&self, kind: &str, namespace: &str, name: &str, patch: &Value) -> kube::Result<Value> {
        let api = self.api(api_version(kind), kind, namespace);
        self.runtime.block_on(api.patch_status(name, &PatchParams::default(), &Patch::Merge(patch))).map(to_value)
    }

    /// Deletes an object; that it is gone already is fine.
    pub fn delete(&self, kind: &str, namespace: &str, name: &str, params: &DeleteParams) {
        match self.try_delete(kind, namespace, name, params) {
            Err(error) if !is_not_found(&error) => panic!("cannot delete {kind} {namespace}/{name}: {error}"),
            _ => {}
        }
    }

    /// The same, where the API server may be away.
    pub(crate) fn try_delete(
        &self,
        kind: &str,
        namespace: &str,
        name: &str,
        params: &DeleteParams,
    ) -> kube::Result<()> {
        self.runtime.block_on(self.api(api_version(kind), kind, namespace).delete(name, params)).map(|_| ())
    }

    fn api(&self, api_version: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        if namespace.is_empty() {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), namespace, &resource)
        }
    }
}

/// Asks again and again until there is an answer.
pub fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain: {what}");
        thread::sleep(POLL);
    }
}

/// Whether a condition of the object's status is true.
#[must_use]
pub fn has_condition(object: &Value, condition: &str) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|found| found.get("type") == Some(&json!(condition)) && found.get("status") == Some(&json!("True")))
}

fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

fn to_value(object: DynamicObject) -> Value {
    serde_json::to_value(object).expect("a Kubernetes object is JSON")
}

fn api_version(kind: &str) -> &'static str {
    match kind {
        "Job" | "CronJob" => "batch/v1",
        "Deployment" | "StatefulSet" => "apps/v1",
        "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding" => "rbac.authorization.k8s.io/v1",
        "Application" | "AppProject" => "argoproj.io/v1alpha1",
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => "admissionregistration.k8s.io/v1",
        "AdmissionPolicy" | "ClusterAdmissionPolicy" | "PolicyServer" => "policies.kubewarden.io/v1",
        "PodDisruptionBudget" => "policy/v1",
        "PolicyReport" => "wgpolicyk8s.io/v1alpha2",
        "Report" => "openreports.io/v1alpha1",
        _ => "v1",
    }
}

async fn client(kubeconfig: &Path, user: Option<&str>) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).context("cannot read the kubeconfig")?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.auth_info.impersonate = user.map(str::to_owned);
    Ok(Client::try_from(config)?)
}
