//! The host capability `kubernetes`, answered by the API server.

use serde::Deserialize;
use serde_json::Value;
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_host::metadata::ContextAwareResource;
use stable_hooks_host::runtime::KubernetesCapability;

use crate::cluster::Cluster;

pub(crate) struct LiveCluster(pub(crate) Cluster);

#[derive(Deserialize)]
struct Query {
    api_version: String,
    kind: String,
    name: String,
    #[serde(default)]
    namespace: Option<String>,
}

impl KubernetesCapability for LiveCluster {
    /// What is granted is fetched; what Kubewarden makes of it, the view knows.
    fn answer(&self, operation: &str, payload: &[u8], granted: &[ContextAwareResource]) -> Result<Vec<u8>, String> {
        let query: Query = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
        let is_granted = granted.iter().any(|grant| grant.api_version == query.api_version && grant.kind == query.kind);
        let found = if is_granted { self.fetch(&query)? } else { None };
        ClusterView::empty().with_objects(found).answer(operation, payload, granted)
    }
}

impl LiveCluster {
    fn fetch(&self, query: &Query) -> Result<Option<Value>, String> {
        let namespace = query.namespace.as_deref().unwrap_or_default();
        let found = self.0.try_find(&query.api_version, &query.kind, namespace, &query.name);
        found.map_err(|error| format!("Callback evaluation failure: {error}"))
    }
}
