//! A control plane on the loopback interface, with KWOK in the kubelet's place.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::certificates::Authority;
use crate::cluster::{Cluster, wait_for};
use crate::process::Process;
use crate::tools::Tools;

/// Generous, for the machine may be busy.
const PATIENCE: Duration = Duration::from_mins(3);
const POLL: Duration = Duration::from_millis(100);

/// Somebody else can take a free port before the server does.
const ATTEMPTS: u32 = 3;
const PORT_TAKEN: &str = "address already in use";

const API_SERVER: &str = "kube-apiserver";
const AUDIT_LOG: &str = "audit.log";

/// What a suite wants of it beyond the usual.
#[derive(Default)]
pub struct Extras {
    /// KWOK leaves Pods with this label alone: another kubelet has them.
    pub left_alone: Option<&'static str>,
    /// The API server writes down what it is asked to create.
    pub audits: bool,
}

pub struct ControlPlane {
    // Ended in this order, so that nobody misses a server.
    processes: Mutex<Vec<Process>>,
    pub cluster: Cluster,
    pub kubeconfig: PathBuf,
    pub(crate) authority: Authority,
    folder: TempDir,
    /// Where etcd is.
    etcd: String,
    /// How the API server was started.
    api_server: Vec<String>,
}

impl ControlPlane {
    /// Starts everything; the thread that calls this has to live until the end.
    pub fn start(tools: &Tools) -> Result<Self> {
        Self::start_with(tools, &Extras::default())
    }

    /// The same with more.
    pub fn start_with(tools: &Tools, extras: &Extras) -> Result<Self> {
        for _ in 1..ATTEMPTS {
            match Self::try_start(tools, extras) {
                Err(error) if format!("{error:#}").contains(PORT_TAKEN) => {}
                result => return result,
            }
        }
        Self::try_start(tools, extras)
    }

    fn try_start(tools: &Tools, extras: &Extras) -> Result<Self> {
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
        let mut arguments = api_server(path, &client_url, api);
        if extras.audits {
            arguments.extend(auditing(path)?);
        }
        servers.start(&program(API_SERVER), &arguments)?;
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
                format!("--config={}", stages(tools, extras, path)?.display()),
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
        let processes = Mutex::new(servers.last_first());
        Ok(Self { processes, cluster, kubeconfig, authority, folder, etcd: client_url, api_server: arguments })
    }

    /// Kills the API server; what is running without it is up to who calls this.
    pub fn stop_api_server(&self) {
        let mut processes = self.processes.lock().unwrap_or_else(PoisonError::into_inner);
        processes.retain(|process| process.name() != API_SERVER);
    }

    /// Starts it again; the thread that calls this has to live until the end.
    pub fn start_api_server(&self, tools: &Tools) -> Result<()> {
        let process = Process::start(&tools.kubernetes.join(API_SERVER), &self.api_server, self.folder())?;
        // Ended after those that ask it.
        let mut processes = self.processes.lock().unwrap_or_else(PoisonError::into_inner);
        let etcd = processes.len().saturating_sub(1);
        processes.insert(etcd, process);
        drop(processes);
        wait_for("the API server is back", || self.cluster.is_ready().then_some(()));
        Ok(())
    }

    /// What the API server has written down of each request, where it audits.
    pub fn audited(&self) -> Result<Vec<Value>> {
        let text = fs::read_to_string(self.folder().join(AUDIT_LOG)).context("the API server does not audit")?;
        // The last line may still be written.
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
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

/// Only what begins an operation is of interest, and no content of it.
fn auditing(folder: &Path) -> Result<[String; 2]> {
    let policy = json!({
        "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
        "rules": [
            {"level": "Metadata", "verbs": ["create"], "resources": [
                {"group": "", "resources": ["secrets", "serviceaccounts"]}, {"group": "batch", "resources": ["jobs"]},
            ]},
            {"level": "None"},
        ],
    });
    let file = folder.join("audit-policy.json");
    fs::write(&file, policy.to_string()).context("cannot write the audit policy")?;
    Ok([
        format!("--audit-policy-file={}", file.display()),
        format!("--audit-log-path={}", folder.join(AUDIT_LOG).display()),
    ])
}

/// What KWOK does with nodes and Pods.
fn stages(tools: &Tools, extras: &Extras, folder: &Path) -> Result<PathBuf> {
    let shipped = tools.kwok.join("stages.yaml");
    let Some(label) = extras.left_alone else { return Ok(shipped) };
    let text = fs::read_to_string(&shipped).with_context(|| format!("cannot read {}", shipped.display()))?;
    let mut own = text;
    // The stage that says of a new Pod that it is ready, and the one that ends Pods.
    for condition in [
        "    - key: '.status.phase'\n      operator: 'In'\n      values:\n      - 'Pending'\n",
        "    - key: '.metadata.deletionTimestamp'\n      operator: 'Exists'\n",
    ] {
        ensure!(own.matches(condition).count() == 1, "{} has other stages", shipped.display());
        let other = format!("{condition}    - key: '.metadata.labels[\"{label}\"]'\n      operator: 'DoesNotExist'\n");
        own = own.replace(condition, &other);
    }
    let file = folder.join("stages.yaml");
    fs::write(&file, own).context("cannot write KWOK's stages")?;
    Ok(file)
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
