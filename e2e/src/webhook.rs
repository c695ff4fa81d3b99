//! The policy behind HTTPS, with policy-server's semantics, registered as Kubewarden would register it.

pub(crate) mod lookups;
pub(crate) mod registration;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::extract::{DefaultBodyLimit, Path as Route, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_host::runtime::Policy;
use tokio::sync::Semaphore;

use crate::certificates::{Authority, Identity};
use crate::cluster::Cluster;
use crate::policy_server::{Origin, Served};
use lookups::LiveCluster;

/// policy-server's limit.
pub(crate) const MOST_BYTES: usize = 2 * 1024 * 1024;

/// policy-server's limit is 2 seconds by default; a busy machine must not fail a test.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(8);

/// The two annotated modules, compiled once.
pub struct Policies {
    pub(crate) objects: Policy,
    pub(crate) releases: Policy,
}

impl Policies {
    /// Loads what `make annotated-policy.wasm annotated-releases-policy.wasm` has built.
    pub fn load() -> Result<Self> {
        let read = |name: &str| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
            fs::read(path).with_context(|| format!("make {name}"))
        };
        let (one, other) = (read("annotated-policy.wasm")?, read("annotated-releases-policy.wasm")?);
        let objects = Policy::from_bytes(&one, Arc::new(ClusterView::default()), TIMEOUT)?;
        let releases = objects.annotated_as(&one, &other)?;
        Ok(Self { objects, releases })
    }
}

/// How a webhook is set up; the default is Kubewarden's.
pub struct Options {
    /// The policy's own settings, for both modules.
    pub settings: Value,
    pub failure_policy: &'static str,
    /// How long the API server waits.
    pub timeout_seconds: u8,
    /// Each answer is held back for so long.
    pub delay: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { settings: json!({}), failure_policy: "Fail", timeout_seconds: 10, delay: Duration::ZERO }
    }
}

/// A server and its two webhook configurations, for the namespaces that carry its name as a label.
pub struct Webhook {
    name: String,
    address: SocketAddr,
    identity: Identity,
    served: Arc<Server>,
    cluster: Cluster,
    /// `None` while it is stopped.
    running: Mutex<Option<Handle<SocketAddr>>>,
}

struct Server {
    policies: BTreeMap<&'static str, Served>,
    delay: Duration,
    requests: AtomicUsize,
    /// As many policies run at once as there are cores, as in policy-server; a policy that waits is not on the clock.
    workers: Semaphore,
}

impl Webhook {
    /// Starts a server and registers it. It looks the cluster up as `view` sees it.
    pub(crate) fn start(
        name: &str,
        policies: &Policies,
        options: &Options,
        authority: &Authority,
        cluster: &Cluster,
        view: &Cluster,
    ) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no free port for the webhook")?;
        let live = Arc::new(LiveCluster(view.clone()));
        // Kubewarden's controller lets those mutate whose `ClusterAdmissionPolicy` says so.
        let serve = |policy: Policy| Served {
            may_mutate: policy.metadata().is_some_and(|metadata| metadata.mutating),
            policy: Arc::new(policy),
            settings: options.settings.clone(),
            monitors: false,
            message: None,
        };
        let served = Server {
            policies: BTreeMap::from([
                ("objects", serve(policies.objects.with_cluster(live.clone()))),
                ("releases", serve(policies.releases.with_cluster(live))),
            ]),
            delay: options.delay,
            requests: AtomicUsize::new(0),
            workers: Semaphore::new(thread::available_parallelism()?.get()),
        };
        let webhook = Self {
            name: name.to_owned(),
            address: listener.local_addr()?,
            identity: authority.server()?,
            served: Arc::new(served),
            cluster: cluster.clone(),
            running: Mutex::new(None),
        };
        webhook.serve(listener)?;
        webhook.register(options, &authority.certificate);
        Ok(webhook)
    }

    /// Closes all connections at once, as if the process had been killed.
    pub fn kill(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(handle) = running {
            handle.shutdown();
        }
    }

    /// Comes back at the same address.
    pub fn come_back(&self) {
        let listener = crate::cluster::wait_for("the webhook's port", || TcpListener::bind(self.address).ok());
        self.serve(listener).expect("the webhook starts again");
    }

    /// How many requests have arrived.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.served.requests.load(Ordering::Relaxed)
    }

    /// Posts a body as it is; the HTTP status and the answer.
    #[must_use]
    pub fn post(&self, policy: &str, content_type: &str, body: &[u8]) -> Answered {
        let body = body.to_vec();
        self.cluster.runtime().block_on(async { send(&self.client(), policy, content_type, body).await })
    }

    /// Posts that many bodies over that many connections; the answers in the order of the numbers that were asked for.
    #[must_use]
    pub fn post_many(
        &self,
        connections: usize,
        count: usize,
        body: impl Fn(usize) -> (&'static str, Vec<u8>) + Sync,
    ) -> Vec<Answered> {
        let (next, answers) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        thread::scope(|scope| {
            for _ in 0..connections {
                scope.spawn(|| {
                    // Each has a pool of its own, and sends one request after the other.
                    let client = self.client();
                    while let Some(number) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|next| *next < count) {
                        let (policy, body) = body(number);
                        let sending = send(&client, policy, "application/json", body);
                        let answer = self.cluster.runtime().block_on(sending);
                        answers.lock().unwrap_or_else(PoisonError::into_inner).insert(number, answer);
                    }
                });
            }
        });
        answers.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
    }

    fn client(&self) -> Client {
        let address = format!("https://{}", self.address).parse().expect("a URL");
        let mut config = kube::Config::new(address);
        // It is our own; whether the API server trusts it every other scenario shows.
        config.accept_invalid_certs = true;
        let _guard = self.cluster.runtime().enter();
        Client::try_from(config).expect("a client")
    }

    /// Bytes that are neither TLS nor HTTP.
    pub fn send_no_http(&self) {
        let mut stream = TcpStream::connect(self.address).expect("the webhook listens");
        stream.write_all(b"garbage\r\n\r\n").expect("the webhook reads");
    }

    /// Where a policy answers.
    #[must_use]
    pub fn url(&self, policy: &str) -> String {
        format!("https://{}/validate/{policy}", self.address)
    }

    fn serve(&self, listener: TcpListener) -> Result<()> {
        listener.set_nonblocking(true)?;
        let (certificate, key) = (self.identity.certificate.clone(), self.identity.key.clone());
        let handle = Handle::new();
        let app = Router::new()
            .route("/validate/{policy}", post(validate))
            .layer(DefaultBodyLimit::max(MOST_BYTES))
            .with_state(Arc::clone(&self.served));
        let runtime = self.cluster.runtime();
        let _guard = runtime.enter();
        let tls = runtime.block_on(RustlsConfig::from_pem(certificate.into(), key.into()))?;
        let server = axum_server::from_tcp_rustls(listener, tls)?.handle(handle.clone());
        runtime.spawn(server.serve(app.into_make_service()));
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
        Ok(())
    }
}

/// What came back from the server.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Answered {
    /// Of HTTP.
    pub status: u16,
    pub body: String,
}

pub(crate) async fn send(client: &Client, policy: &str, content_type: &str, body: Vec<u8>) -> Answered {
    let request = Request::post(format!("/validate/{policy}"))
        .header(CONTENT_TYPE, content_type)
        .body(Body::from(body))
        .expect("a request");
    let response = client.send(request).await.expect("the webhook answers");
    let status = response.status().as_u16();
    let body = response.into_body().collect_bytes().await.expect("the webhook answers");
    Answered { status, body: String::from_utf8_lossy(&body).into_owned() }
}

#[derive(Deserialize)]
pub(crate) struct AdmissionReview {
    pub(crate) request: Map<String, Value>,
}

async fn validate(
    State(served): State<Arc<Server>>,
    Route(id): Route<String>,
    Json(review): Json<AdmissionReview>,
) -> Response {
    let Some(policy) = served.policies.get(id.as_str()).cloned() else {
        return (StatusCode::NOT_FOUND, "no such policy").into_response();
    };
    served.requests.fetch_add(1, Ordering::Relaxed);
    tokio::time::sleep(served.delay).await;
    let Ok(_worker) = served.workers.acquire().await else {
        return (StatusCode::INTERNAL_SERVER_ERROR, "the server ends").into_response();
    };
    // A policy computes and waits for its lookups, which an async task must not.
    match tokio::task::spawn_blocking(move || policy.review(&id, Origin::Validate, review.request)).await {
        Ok(response) => Json(json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response,
        }))
        .into_response(),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "the policy could not be asked").into_response(),
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.kill();
    }
}
