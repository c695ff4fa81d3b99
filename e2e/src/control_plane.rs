//! A control plane on the loopback interface, with KWOK in the kubelet's place.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use tempfile::TempDir;

use crate::certificates::Authority;
use crate::cluster::Cluster;
use crate::process::Process;
use crate::tools::Tools;

/// Generous, for the machine may be busy.
const PATIENCE: Duration = Duration::from_mins(3);
const POLL: Duration = Duration::from_millis(100);

/// Somebody else can take a free port before the server does.
const ATTEMPTS: u32 = 3;
const PORT_TAKEN: &str = "address already in use";

pub struct ControlPlane {
    // Ended in this order, so that nobody misses a server.
    _processes: Vec<Process>,
    pub cluster: Cluster,
    pub kubeconfig: PathBuf,
    pub(crate) authority: Authority,
    folder: TempDir,
    /// Where etcd is.
    etcd: String,
}

impl ControlPlane {
    /// Starts everything; the thread that calls this has to live until the end.
    pub fn start(tools: &Tools) -> Result<Self> {
        for _ in 1..ATTEMPTS {
            match Self::try_start(tools) {
                Err(error) if format!("{error:#}").contains(PORT_TAKEN) => {}
                result => return result,
            }
        }
        Self::try_start(tools)
    }

    fn try_start(tools: &Tools) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("stable-hooks-e2e-").tempdir().context("no temporary folder")?;
        let authority = Authority::new()?;
        let path = folder.path();
        let [etcd_client, etcd_peer, api] = free_ports()?;
        let kubeconfig = write_files(path, &authority, api)?;
        let program = |name: &str| tools.kubernetes.join(name);
        let mut servers = Servers::new(path);

        let (client_url, peer_url) =
            (format!("http://127.0.0.1:{etcd_client}"), format!("http://127.0.0.1:{etcd_peer}"));
        servers.start(
            &program("etcd"),
            &[
                format!("--data-dir={}", path.join("etcd").display()),
                format!("--listen-client-urls={client_url}"),
                format!("--advertise-client-urls={client_url}"),
                format!("--listen-peer-urls={peer_url}"),
                format!("--initial-advertise-peer-urls={peer_url}"),
                format!("--initial-cluster=default={peer_url}"),
                // The data shall not outlive the process.
                "--unsafe-no-fsync".to_owned(),
            ],
        )?;
        let file = |name: &str| path.join(name).display().to_string();
        servers.start(&program("kube-apiserver"), &api_server(path, &client_url, api))?;
        let cluster = Cluster::connect(&kubeconfig)?;
        servers.wait_for("the API server", || cluster.is_ready())?;

        let with_config = format!("--kubeconfig={}", kubeconfig.display());
        servers.start(
            &program("kube-controller-manager"),
            &[
                with_config.clone(),
                "--leader-elect=false".to_owned(),
                "--secure-port=0".to_owned(),
                format!("--service-account-private-key-file={}", file("server.key")),
                format!("--root-ca-file={}", file("ca.crt")),
                "--kube-api-qps=500".to_owned(),
                "--kube-api-burst=1000".to_owned(),
                // KWOK's node gives no sign of life, and Pods on a lost node are not ready.
                "--node-monitor-grace-period=24h".to_owned(),
            ],
        )?;
        servers.start(
            &program("kube-scheduler"),
            &[with_config.clone(), "--leader-elect=false".to_owned(), "--secure-port=0".to_owned()],
        )?;
        servers.start(
            &tools.kwok.join("kwok"),
            &[
                with_config,
                "--manage-all-nodes".to_owned(),
                format!("--config={}", tools.kwok.join("stages.yaml").display()),
            ],
        )?;
        cluster.create(&json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "node", "annotations": {"kwok.x-k8s.io/node": "fake"}},
        }));
        servers.wait_for("the node", || cluster.has_ready_node())?;
        servers.wait_for("the ServiceAccount of a namespace", || {
            cluster.find("ServiceAccount", "default", "default").is_some()
        })?;
        Ok(Self { _processes: servers.last_first(), cluster, kubeconfig, authority, folder, etcd: client_url })
    }

    /// A second API server of the same cluster, with one option more; its address. It runs until it is dropped.
    pub fn second_api_server(&self, tools: &Tools, option: &str) -> Result<(Process, String)> {
        let [port] = free_ports()?;
        let mut arguments = api_server(self.folder(), &self.etcd, port);
        arguments.push(option.to_owned());
        let logs = self.folder().join("second");
        fs::create_dir_all(&logs).context("no folder for a log")?;
        let process = Process::start(&tools.kubernetes.join("kube-apiserver"), &arguments, &logs)?;
        Ok((process, format!("https://127.0.0.1:{port}")))
    }

    /// A folder that is removed at the end.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Servers that are being started, one after the other.
pub(crate) struct Servers<'a> {
    processes: Vec<Process>,
    folder: &'a Path,
}

impl<'a> Servers<'a> {
    pub(crate) fn new(folder: &'a Path) -> Self {
        Self { processes: Vec::new(), folder }
    }

    fn start(&mut self, program: &Path, arguments: &[String]) -> Result<()> {
        ensure!(program.exists(), "{} is missing: remove its folder, and it is built again", program.display());
        self.processes.push(Process::start(program, arguments, self.folder)?);
        Ok(())
    }

    /// Starts a command that is `mortal`.
    pub(crate) fn spawn(&mut self, command: Command, name: &str) -> Result<()> {
        self.processes.push(Process::spawn(command, name, self.folder)?);
        Ok(())
    }

    pub(crate) fn last_first(self) -> Vec<Process> {
        self.processes.into_iter().rev().collect()
    }

    pub(crate) fn wait_for(&mut self, what: &str, condition: impl Fn() -> bool) -> Result<()> {
        let start = Instant::now();
        while !condition() {
            if let Some(failure) = self.processes.iter_mut().find_map(Process::failure) {
                bail!("{failure}");
            }
            ensure!(start.elapsed() < PATIENCE, "{what} is not there after {PATIENCE:?}");
            thread::sleep(POLL);
        }
        Ok(())
    }
}

/// All are held until all are known, so that they differ.
pub(crate) fn free_ports<const N: usize>() -> Result<[u16; N]> {
    let mut listeners = Vec::new();
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

fn api_server(folder: &Path, etcd: &str, port: u16) -> Vec<String> {
    let file = |name: &str| folder.join(name).display().to_string();
    vec![
        format!("--etcd-servers={etcd}"),
        "--bind-address=127.0.0.1".to_owned(),
        // Nobody calls it. Without it the server wants a default route, and a network of our own has none.
        "--advertise-address=192.0.2.1".to_owned(),
        format!("--secure-port={port}"),
        format!("--tls-cert-file={}", file("server.crt")),
        format!("--tls-private-key-file={}", file("server.key")),
        format!("--client-ca-file={}", file("ca.crt")),
        format!("--service-account-key-file={}", file("server.crt")),
        format!("--service-account-signing-key-file={}", file("server.key")),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        // A Service that is called is on the loopback interface, where nobody answers.
        "--service-cluster-ip-range=127.32.0.0/24".to_owned(),
    ]
}

fn write_files(folder: &Path, authority: &Authority, api: u16) -> Result<PathBuf> {
    let server = authority.server()?;
    let admin = authority.client("admin", "system:masters")?;
    let encoded = |pem: &str| BASE64_STANDARD.encode(pem);
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "e2e",
        "clusters": [{"name": "e2e", "cluster": {
            "server": format!("https://127.0.0.1:{api}"),
            "certificate-authority-data": encoded(&authority.certificate),
        }}],
        "users": [{"name": "admin", "user": {
            "client-certificate-data": encoded(&admin.certificate), "client-key-data": encoded(&admin.key),
        }}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "admin"}}],
    })
    .to_string();
    let files = [
        ("ca.crt", &authority.certificate),
        ("server.crt", &server.certificate),
        ("server.key", &server.key),
        ("kubeconfig", &kubeconfig),
    ];
    for (name, content) in files {
        fs::write(folder.join(name), content).with_context(|| format!("cannot write {name}"))?;
    }
    Ok(folder.join("kubeconfig"))
}
