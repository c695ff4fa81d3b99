//! What a kubelet and kube-proxy do for the Pods of policy-servers, and for no other: KWOK has those.
//!
//! Each Pod is a server of its own, from the ConfigMap and the Secret that the Pod mounts. It is ready when the server is.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use super::NAMESPACE;
use super::modules::Modules;
use super::real::Real;
use super::service::Service;
use super::stand_in::StandIn;
use crate::cluster::Cluster;

/// The Pods of a policy-server have this label, with its name.
pub(crate) const LABEL: &str = "kubewarden/policy-server";

const POLL: Duration = Duration::from_millis(100);

/// A container that has ended is started again after so long.
const RESTART: Duration = Duration::from_secs(2);

/// A server that is to end serves those who are with it for so long.
const GRACE: Duration = Duration::from_secs(3);

/// Why a Pod without an end of its own ended.
const KILLED: &str = "killed";

pub(crate) struct Kubelet {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

pub(crate) struct Host {
    pub(crate) cluster: Cluster,
    pub(crate) folder: PathBuf,
    /// The administrator's, by the address that Pods have for the API server.
    pub(crate) kubeconfig: PathBuf,
    pub(crate) modules: Option<Modules>,
    /// policy-server itself, if it is at hand.
    pub(crate) program: Option<PathBuf>,
}

struct Shared {
    host: Host,
    ends: AtomicBool,
    /// What ends is not started again.
    is_out: AtomicBool,
    pods: Mutex<BTreeMap<String, Pod>>,
    /// No address is used twice: the one who had it may still be ending.
    addresses: AtomicUsize,
    services: Mutex<BTreeMap<String, Service>>,
}

struct Pod {
    name: String,
    /// The name of its policy-server.
    server: String,
    address: SocketAddr,
    spec: Value,
    state: State,
    /// Since it is to end; it ends a moment later.
    leaves: Option<Instant>,
}

enum State {
    Serves(Server),
    Starts(Server),
    Ended { why: String, at: Instant },
}

pub(super) enum Server {
    StandIn(StandIn),
    Real(Real),
}

impl Kubelet {
    pub(crate) fn start(host: Host) -> Self {
        let shared = Arc::new(Shared {
            host,
            ends: AtomicBool::new(false),
            is_out: AtomicBool::new(false),
            pods: Mutex::default(),
            addresses: AtomicUsize::new(0),
            services: Mutex::default(),
        });
        let thread = thread::spawn({
            let shared = Arc::clone(&shared);
            // Servers are started here and end with this thread.
            move || shared.run()
        });
        Self { shared, thread: Some(thread) }
    }

    /// Kills the server in one Pod of a policy-server, if another one serves; whether it did.
    pub(crate) fn kill_one(&self, server: &str) -> bool {
        let serving = {
            let pods = self.shared.pods.lock().unwrap_or_else(PoisonError::into_inner);
            pods.values().filter(|pod| pod.server == server && matches!(pod.state, State::Serves(_))).count()
        };
        if serving > 1 {
            self.kill(server, 1);
        }
        serving > 1
    }

    /// Kills the servers in all its Pods; none is started again until it is over.
    pub(crate) fn outage(&self, server: &str) {
        self.shared.is_out.store(true, Ordering::Relaxed);
        self.kill(server, usize::MAX);
    }

    pub(crate) fn outage_is_over(&self) {
        self.shared.is_out.store(false, Ordering::Relaxed);
    }

    /// Why the Pods that do not run ended, by their names.
    pub(crate) fn ended(&self, server: &str) -> BTreeMap<String, String> {
        let pods = self.shared.pods.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = pods.values().filter(|pod| pod.server == server).filter_map(|pod| match &pod.state {
            State::Ended { why, .. } => Some((pod.name.clone(), why.clone())),
            State::Serves(_) | State::Starts(_) => None,
        });
        ended.collect()
    }

    fn kill(&self, server: &str, most: usize) {
        let mut pods = self.shared.pods.lock().unwrap_or_else(PoisonError::into_inner);
        let running = pods.values_mut().filter(|pod| pod.server == server && matches!(pod.state, State::Serves(_)));
        for pod in running.take(most) {
            if let State::Serves(Server::StandIn(server)) = &pod.state {
                server.kill();
            }
            pod.ends(KILLED.to_owned());
        }
        drop(pods);
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // What went wrong in there has been seen by a scenario.
            let _ = thread.join();
        }
    }
}

impl Shared {
    #[expect(clippy::print_stderr, reason = "the log of a kubelet")]
    fn run(&self) {
        while !self.ends.load(Ordering::Relaxed) {
            // The API server may be away for a while.
            if let Ok(found) = self.host.cluster.try_list("Pod", NAMESPACE)
                && let Err(error) = self.follow(&found)
            {
                eprintln!("the kubelet of the policy-servers: {error:#}");
            }
            thread::sleep(POLL);
        }
        self.services.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.pods.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn follow(&self, found: &[Value]) -> Result<()> {
        let text = |pod: &Value, pointer| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let ours = found.iter().filter(|pod| !text(pod, "/spec/nodeName").is_empty());
        let ours: BTreeMap<_, _> =
            ours.filter_map(|pod| Some((text(pod, "/metadata/uid"), (pod, label(pod)?)))).collect();
        let known = {
            let mut pods = self.pods.lock().unwrap_or_else(PoisonError::into_inner);
            pods.retain(|uid, _| ours.contains_key(uid));
            for (uid, pod) in pods.iter_mut() {
                if ours.get(uid).is_some_and(|(found, _)| is_leaving(found)) {
                    pod.leaves.get_or_insert_with(Instant::now);
                }
            }
            pods.keys().cloned().collect::<Vec<_>>()
        };
        // Nobody is sent to a server that ends.
        self.route()?;
        for (uid, (pod, server)) in ours.into_iter().filter(|(uid, _)| !known.contains(uid)) {
            let mut new =
                self.new_pod(text(pod, "/metadata/name"), server, pod.get("spec").cloned().unwrap_or_default());
            if is_leaving(pod) {
                new.leaves = Some(Instant::now());
            } else {
                self.start_server(&mut new);
            }
            self.pods.lock().unwrap_or_else(PoisonError::into_inner).insert(uid, new);
        }
        self.get_on();
        self.route()
    }

    fn new_pod(&self, name: String, server: String, spec: Value) -> Pod {
        let port = variable(&spec, "KUBEWARDEN_PORT").and_then(|port| port.parse().ok()).unwrap_or(8443);
        let [.., high, low] = (self.addresses.fetch_add(1, Ordering::Relaxed) + 1).to_be_bytes();
        let address = SocketAddr::from(([127, 33, high, low], port));
        Pod { name, server, address, spec, state: State::new(), leaves: None }
    }

    /// Starts what has ended, and says of each Pod how it is when that has changed.
    fn get_on(&self) {
        let is_out = self.is_out.load(Ordering::Relaxed);
        let mut pods = self.pods.lock().unwrap_or_else(PoisonError::into_inner);
        for pod in pods.values_mut() {
            if let Some(since) = pod.leaves {
                if since.elapsed() > GRACE {
                    drop(pod.take());
                    // It is tried again in a moment.
                    let _ = self.host.cluster.try_delete(
                        "Pod",
                        NAMESPACE,
                        &pod.name,
                        &DeleteParams::default().grace_period(0),
                    );
                }
                continue;
            }
            match pod.take() {
                State::Ended { why, at } => {
                    pod.state = State::Ended { why, at };
                    let again =
                        matches!(&pod.state, State::Ended { why, at } if why == KILLED && at.elapsed() > RESTART);
                    self.says(pod, false);
                    if again && !is_out {
                        self.start_server(pod);
                    }
                }
                State::Starts(mut server) => match server.failure() {
                    Some(why) => pod.ends(why),
                    None if server.is_ready(pod.address) => {
                        pod.state = State::Serves(server);
                        self.says(pod, true);
                    }
                    None => pod.state = State::Starts(server),
                },
                State::Serves(mut server) => match server.failure() {
                    Some(why) => pod.ends(why),
                    None => pod.state = State::Serves(server),
                },
            }
        }
    }

    fn start_server(&self, pod: &mut Pod) {
        match self.try_start(pod) {
            Ok(server) => pod.state = State::Starts(server),
            Err(error) => pod.ends(format!("{error:#}")),
        }
    }

    fn try_start(&self, pod: &Pod) -> Result<Server> {
        let mounted = format!("policy-server-{}", pod.server);
        let get = |kind| {
            let found = self.host.cluster.try_find("v1", kind, NAMESPACE, &mounted)?;
            found.with_context(|| format!("no {kind} {mounted}"))
        };
        let (config, secret) = (get("ConfigMap")?, get("Secret")?);
        let policies = config.pointer("/data/policies.yml").and_then(Value::as_str).context("no policies.yml")?;
        let pem = |name: &str| {
            let encoded =
                secret.get("data").and_then(|data| data.get(name)).and_then(Value::as_str).unwrap_or_default();
            BASE64_STANDARD.decode(encoded).context("the Secret has no certificate")
        };
        let identity = [pem("tls.crt")?, pem("tls.key")?];
        let account = pod.spec.get("serviceAccountName").and_then(Value::as_str).unwrap_or("default");
        let user = format!("system:serviceaccount:{NAMESPACE}:{account}");
        let Host { cluster, folder, kubeconfig, modules, program } = &self.host;
        if let Some(program) = program {
            let folder = folder.join(&pod.name);
            return Real::start(program, &folder, &pod.spec, pod.address, policies, &identity, (kubeconfig, &user))
                .map(Server::Real);
        }
        let modules = modules.as_ref().context("no modules")?;
        let view = cluster.seen_by(kubeconfig, &user)?;
        StandIn::start(pod.address, policies, identity, modules, &view).map(Server::StandIn)
    }

    /// Writes the Pod's status, as far as anybody looks at it.
    fn says(&self, pod: &Pod, is_ready: bool) {
        let Ok(Some(now)) = self.host.cluster.try_find("v1", "Pod", NAMESPACE, &pod.name) else { return };
        let ready = if is_ready { "True" } else { "False" };
        let conditions = now.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
        let is_said = |condition: &Value| {
            condition.get("type") == Some(&json!("Ready")) && condition.get("status") == Some(&json!(ready))
        };
        if conditions.iter().any(is_said) {
            return;
        }
        let state = match &pod.state {
            State::Ended { why, .. } => json!({"waiting": {"reason": "CrashLoopBackOff", "message": why}}),
            State::Serves(_) | State::Starts(_) => json!({"running": {}}),
        };
        let of_scheduler =
            conditions.into_iter().filter(|condition| condition.get("type") == Some(&json!("PodScheduled")));
        let conditions: Vec<_> = of_scheduler
            .chain(
                ["Initialized", "Ready", "ContainersReady"]
                    .map(|kind| json!({"type": kind, "status": if kind == "Initialized" { "True" } else { ready }})),
            )
            .collect();
        let status = json!({"status": {
            "phase": "Running", "conditions": conditions,
            "containerStatuses": [{
                "name": format!("policy-server-{}", pod.server), "image": "policy-server", "imageID": "",
                "ready": is_ready, "restartCount": 0, "state": state,
            }],
        }});
        // It is said again in a moment.
        let _ = self.host.cluster.merge_status("Pod", NAMESPACE, &pod.name, &status);
    }

    /// Each Service leads to the Pods that are ready.
    fn route(&self) -> Result<()> {
        let mut behind: BTreeMap<String, Vec<SocketAddr>> = BTreeMap::new();
        {
            let pods = self.pods.lock().unwrap_or_else(PoisonError::into_inner);
            for pod in pods.values() {
                let servers = behind.entry(pod.server.clone()).or_default();
                let is_asked = pod.leaves.is_none() && matches!(pod.state, State::Serves(_));
                servers.extend(is_asked.then_some(pod.address));
            }
        }
        let mut services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        for (server, addresses) in &behind {
            if !services.contains_key(server)
                && let Ok(Some(service)) =
                    self.host.cluster.try_find("v1", "Service", NAMESPACE, &format!("policy-server-{server}"))
                && let Some(address) = address(&service)
            {
                services.insert(server.clone(), Service::new(address, self.host.cluster.runtime()));
            }
            if let Some(service) = services.get(server) {
                service.leads_to(addresses.clone())?;
            }
        }
        // A server that is made anew gets another address.
        services.retain(|server, _| behind.contains_key(server));
        drop(services);
        Ok(())
    }
}

impl State {
    fn new() -> Self {
        Self::Ended { why: String::new(), at: Instant::now() }
    }
}

impl Pod {
    /// Whoever takes it puts another in its place.
    fn take(&mut self) -> State {
        std::mem::replace(&mut self.state, State::new())
    }

    fn ends(&mut self, why: String) {
        self.state = State::Ended { why, at: Instant::now() };
    }
}

impl Server {
    fn failure(&mut self) -> Option<String> {
        match self {
            Self::StandIn(_) => None,
            Self::Real(real) => real.failure(),
        }
    }

    fn is_ready(&self, address: SocketAddr) -> bool {
        match self {
            Self::StandIn(_) => true,
            Self::Real(real) => real.is_ready(address),
        }
    }
}

fn is_leaving(pod: &Value) -> bool {
    pod.pointer("/metadata/deletionTimestamp").is_some()
}

fn label(pod: &Value) -> Option<String> {
    pod.pointer("/metadata/labels")?.get(LABEL)?.as_str().map(str::to_owned)
}

/// The value of a variable of the Pod's only container.
pub(super) fn variable(spec: &Value, name: &str) -> Option<String> {
    let variables = spec.pointer("/containers/0/env")?.as_array()?;
    let found = variables.iter().find(|variable| variable.get("name") == Some(&json!(name)))?;
    found.get("value")?.as_str().map(str::to_owned)
}

fn address(service: &Value) -> Option<SocketAddr> {
    let ip = service.pointer("/spec/clusterIP").and_then(Value::as_str)?;
    let port = service.pointer("/spec/ports/0/port").and_then(Value::as_u64)?;
    format!("{ip}:{port}").parse().ok()
}
