//! The whole of Kubewarden: charts, controller, policy-servers behind their Services, audit scanner.

use std::env;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, anyhow};
use serde_json::{Map, Value, json};

use super::Kubewarden;
use super::kubelet::{Host, Kubelet, LABEL};
use super::modules::Modules;
use super::scanner::{Reports, scan};
use super::service::Service;
use crate::control_plane::{ControlPlane, Extras};
use crate::helm::Run;
use crate::network;
use crate::tools::{self, Tools};
use crate::webhook::Policies;
use crate::world::World;

/// The `PolicyServer` that we ship.
pub const SERVER: &str = "stable-hooks";

/// Where Pods find the API server: the first address of the control plane's range.
const API_SERVICE: &str = "127.32.0.1:443";

pub struct Stack {
    // Ended in this order, so that nobody misses a server.
    kubelet: Kubelet,
    pub kubewarden: Kubewarden,
    /// The way of the policy-servers, and of nobody else, to the API server.
    api: Service,
    pub world: World,
}

impl Stack {
    /// Fetches what comes from the network and leaves it; whether the machine allows that.
    ///
    /// A Service's port is 443, which anybody may have in a network of their own, and no other program has there.
    pub fn enter() -> Result<bool> {
        let _ = tools::build("kubewarden")?;
        let _ = Tools::build()?;
        Ok(network::enter())
    }

    /// Starts everything; the thread that calls this has to live until the end.
    pub fn start() -> Result<Self> {
        let tools = Tools::build()?;
        let program = real();
        let compiling = thread::spawn({
            let is_wanted = program.is_none();
            move || is_wanted.then(Policies::load).transpose()
        });
        let plane = ControlPlane::start_with(&tools, &Extras { left_alone: Some(LABEL), audits: true })?;
        let api = Service::new(API_SERVICE.parse()?, plane.cluster.runtime());
        let kubeconfig = kubeconfig(&plane, &api)?;
        let policies = compiling.join().map_err(|_| anyhow!("compiling the policies panicked"))??;
        let kubewarden = Kubewarden::start(&plane, &tools)?;
        let kubelet = Kubelet::start(Host {
            cluster: plane.cluster.clone(),
            folder: plane.folder().join("pods"),
            kubeconfig,
            modules: policies.map(Modules),
            program,
        });
        kubewarden.install_defaults(&plane, &tools)?;
        Ok(Self { kubelet, kubewarden, api, world: World::of(tools, plane) })
    }

    /// One run of the audit scanner over the whole cluster.
    #[must_use]
    pub fn scan(&self, reports: Reports) -> Run {
        let plane = &self.world.plane;
        let folder = plane.folder().join("scanner");
        let run = scan(&self.kubewarden.scanner(), &plane.cluster, &plane.kubeconfig, &folder, reports);
        run.expect("the audit scanner is started")
    }

    /// Kills one policy-server while another serves; its Pod starts it again, as a kubelet does. Whether one was killed.
    #[must_use]
    pub fn kill_one(&self) -> bool {
        self.kubelet.kill_one(SERVER)
    }

    /// Kills all policy-servers, and none comes back until `outage_is_over`.
    pub fn outage(&self) {
        self.kubelet.outage(SERVER);
    }

    pub fn outage_is_over(&self) {
        self.kubelet.outage_is_over();
    }

    /// From now on a policy-server waits for what it looks up, or does no more.
    pub fn lookups_hang(&self, hang: bool) {
        self.api.hangs(hang);
    }

    /// Why policy-servers ended, each reason once.
    #[must_use]
    pub fn ended(&self) -> Vec<String> {
        let mut reasons: Vec<_> = self.kubelet.ended(SERVER).into_values().collect();
        reasons.sort();
        reasons.dedup();
        reasons
    }

    /// What the API server's audit log says of each object that was created there: its name, and the annotations.
    #[must_use]
    pub fn audited(&self, namespace: &str) -> Vec<(String, Map<String, Value>)> {
        let events = self.world.plane.audited().expect("the API server audits");
        let of_object = |event: &Value, field: &str| {
            let found = event.get("objectRef").and_then(|object| object.get(field)).and_then(Value::as_str);
            found.unwrap_or_default().to_owned()
        };
        let events = events.iter().filter(|event| of_object(event, "namespace") == namespace);
        let annotations =
            |event: &Value| event.get("annotations").and_then(Value::as_object).cloned().unwrap_or_default();
        events.map(|event| (of_object(event, "name"), annotations(event))).collect()
    }

    /// The names of the objects that the API server let in although a policy could not be asked.
    #[must_use]
    pub fn let_in_unjudged(&self, namespace: &str) -> Vec<String> {
        let is_unjudged =
            |annotations: &Map<String, Value>| annotations.keys().any(|key| key.starts_with("failed-open."));
        let mut names: Vec<_> = self
            .audited(namespace)
            .into_iter()
            .filter(|(_, annotations)| is_unjudged(annotations))
            .map(|(name, _)| name)
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// Whether it is policy-server itself that answers.
    #[must_use]
    pub fn is_real() -> bool {
        real().is_some()
    }
}

/// policy-server, where it is on the PATH.
fn real() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join("policy-server")).find(|program| program.is_file())
}

/// The administrator's kubeconfig with the address that Pods have for the API server.
fn kubeconfig(plane: &ControlPlane, api: &Service) -> Result<PathBuf> {
    let text = fs::read_to_string(&plane.kubeconfig).context("cannot read the kubeconfig")?;
    let mut config: Value = serde_json::from_str(&text).context("the kubeconfig is JSON")?;
    let cluster = config.pointer_mut("/clusters/0/cluster").and_then(Value::as_object_mut);
    let cluster = cluster.context("the kubeconfig has a cluster")?;
    let server = cluster.insert("server".to_owned(), json!(format!("https://{API_SERVICE}"))).unwrap_or_default();
    // The certificate is for this name.
    cluster.insert("tls-server-name".to_owned(), json!("localhost"));
    let address: SocketAddr =
        server.as_str().and_then(|server| server.strip_prefix("https://")).unwrap_or_default().parse()?;
    api.leads_to(vec![address])?;
    let file: &Path = &plane.folder().join("kubeconfig-of-pods");
    fs::write(file, config.to_string()).context("cannot write a kubeconfig")?;
    Ok(file.to_owned())
}
