//! What every scenario here needs.

use serde_json::Value;
use stable_hooks_e2e::argocd::ArgoWorld;
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::scene::Scene;

pub(crate) const MIGRATIONS: &str = "orders-migrations";
pub(crate) const HOOK: &str = "pre-install,pre-upgrade";
pub(crate) const SYNCED: &str = "Synced, Healthy";

pub(crate) fn scene<'world>(argocd: &'world ArgoWorld, name: &str, watched_by: Option<&str>) -> Scene<'world> {
    Scene::new(&argocd.world, &format!("argocd {name}"), Major::Three, watched_by)
}

pub(crate) fn annotations(object: &Value) -> &Value {
    &object["metadata"]["annotations"]
}

pub(crate) fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}
