//! What stands in policy-server's place: it serves what the controller's ConfigMap says, with our own bytes.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use axum::extract::{DefaultBodyLimit, Path as Route, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use serde::Deserialize;
use serde_json::{Value, json};
use stable_hooks::engine::check_settings;
use stable_hooks_host::metadata::ContextAwareResource;
use stable_hooks_host::runtime::KubernetesCapability;
use tokio::sync::Semaphore;

use super::modules::Modules;
use crate::cluster::Cluster;
use crate::policy_server::{Origin, Served};
use crate::webhook::lookups::LiveCluster;
use crate::webhook::{AdmissionReview, MOST_BYTES};

/// What is being answered is answered when a server is told to end.
const GRACE: Duration = Duration::from_secs(1);

pub(super) struct StandIn(Handle<SocketAddr>);

/// A policy in the controller's `policies.yml`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    module: String,
    policy_mode: String,
    #[serde(default)]
    allowed_to_mutate: bool,
    #[serde(default)]
    context_aware_resources: Vec<ContextAwareResource>,
    #[serde(default)]
    settings: Value,
    message: Option<String>,
}

struct Server {
    policies: BTreeMap<String, Served>,
    /// As many policies run at once as there are cores, as in policy-server.
    workers: Semaphore,
}

impl StandIn {
    /// Checks every policy and then listens, as policy-server does; an error is the reason for which that one ends.
    pub(super) fn start(
        address: SocketAddr,
        policies: &str,
        [certificate, key]: [Vec<u8>; 2],
        modules: &Modules,
        view: &Cluster,
    ) -> Result<Self> {
        let entries: BTreeMap<String, Entry> = serde_json::from_str(policies).context("policies.yml")?;
        let policies: Result<_> =
            entries.into_iter().map(|(id, entry)| Ok((id.clone(), served(&id, entry, modules, view)?))).collect();
        let workers = Semaphore::new(thread::available_parallelism()?.get());
        let app = Router::new()
            .route("/validate/{id}", post(validate))
            .route("/audit/{id}", post(audit))
            .layer(DefaultBodyLimit::max(MOST_BYTES))
            .with_state(Arc::new(Server { policies: policies?, workers }));
        let listener = TcpListener::bind(address).with_context(|| format!("cannot listen at {address}"))?;
        listener.set_nonblocking(true)?;
        let (runtime, handle) = (view.runtime(), Handle::new());
        let _guard = runtime.enter();
        let tls = runtime.block_on(RustlsConfig::from_pem(certificate, key))?;
        let server = axum_server::from_tcp_rustls(listener, tls)?.handle(handle.clone());
        runtime.spawn(server.serve(app.into_make_service()));
        Ok(Self(handle))
    }

    /// Closes all connections at once.
    pub(super) fn kill(&self) {
        self.0.shutdown();
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.0.graceful_shutdown(Some(GRACE));
    }
}

fn served(id: &str, entry: Entry, modules: &Modules, view: &Cluster) -> Result<Served> {
    let settings = Some(entry.settings).filter(Value::is_object).unwrap_or_else(|| json!({}));
    let lookups = Lookups { live: LiveCluster(view.clone()), granted: entry.context_aware_resources };
    let policy = modules.find(&entry.module, Arc::new(lookups))?;
    check_settings(&policy, &settings).map_err(|error| anyhow!("policy {id}: {error}"))?;
    Ok(Served {
        policy: Arc::new(policy),
        settings,
        monitors: entry.policy_mode == "monitor",
        may_mutate: entry.allowed_to_mutate,
        message: entry.message.filter(|message| !message.is_empty()),
    })
}

/// What the policy may look up is what its `ClusterAdmissionPolicy` grants, whatever its module would like.
struct Lookups {
    live: LiveCluster,
    granted: Vec<ContextAwareResource>,
}

impl KubernetesCapability for Lookups {
    fn answer(&self, operation: &str, payload: &[u8], _: &[ContextAwareResource]) -> Result<Vec<u8>, String> {
        self.live.answer(operation, payload, &self.granted)
    }
}

async fn validate(server: State<Arc<Server>>, id: Route<String>, review: Json<AdmissionReview>) -> Response {
    respond(server, id, review, Origin::Validate).await
}

async fn audit(server: State<Arc<Server>>, id: Route<String>, review: Json<AdmissionReview>) -> Response {
    respond(server, id, review, Origin::Audit).await
}

async fn respond(
    State(server): State<Arc<Server>>,
    Route(id): Route<String>,
    Json(review): Json<AdmissionReview>,
    origin: Origin,
) -> Response {
    let Some(policy) = server.policies.get(&id).cloned() else {
        return (StatusCode::NOT_FOUND, "no such policy").into_response();
    };
    let Ok(_worker) = server.workers.acquire().await else {
        return (StatusCode::INTERNAL_SERVER_ERROR, "the server ends").into_response();
    };
    // A policy computes and waits for its lookups, which an async task must not.
    match tokio::task::spawn_blocking(move || policy.review(&id, origin, review.request)).await {
        Ok(response) => Json(json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response,
        }))
        .into_response(),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "the policy could not be asked").into_response(),
    }
}
