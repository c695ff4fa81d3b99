//! Kubewarden as its own charts install it, with its real controller beside the control plane instead of in it.
//!
//! Its Pods only look as if they ran: KWOK says that they are ready, and nobody listens. In a `Stack` those of policy-servers
//! are servers.

mod kubelet;
mod load;
mod modules;
mod real;
mod resolver;
mod scanner;
mod service;
mod stack;
mod stand_in;

pub use modules::NEXT;
pub use scanner::Reports;
pub use stack::{SERVER, Stack};

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::cluster::wait_for;
use crate::control_plane::{ControlPlane, free_ports};
use crate::helm::{Helm, Major};
use crate::process::{Process, mortal};
use crate::tools::{Tools, build};

pub const NAMESPACE: &str = "kubewarden";

pub struct Kubewarden {
    /// The programs and the charts.
    built: PathBuf,
    folder: PathBuf,
    kubeconfig: PathBuf,
    ports: [u16; 2],
    /// `None` while it is stopped.
    running: Mutex<Option<Process>>,
}

impl Kubewarden {
    /// Installs the charts and starts the controller; the thread that calls this has to live until the end.
    pub fn start(plane: &ControlPlane, tools: &Tools) -> Result<Self> {
        let built = build("kubewarden")?;
        let helm = Helm::new(Major::Four, tools, &plane.kubeconfig, plane.folder(), NAMESPACE);
        install(&helm, &built, "kubewarden-crds", &["--set", "installPolicyReportCRDs=true"])?;
        install(&helm, &built, "kubewarden-controller", &[])?;
        let kubewarden = Self {
            built,
            folder: plane.folder().join(NAMESPACE),
            kubeconfig: plane.kubeconfig.clone(),
            ports: free_ports()?,
            running: Mutex::new(None),
        };
        kubewarden.write_certificate(plane)?;
        kubewarden.is_asked_at_its_port(plane)?;
        kubewarden.come_back()?;
        Ok(kubewarden)
    }

    /// The chart with the server of namespaces' own policies.
    pub(crate) fn install_defaults(&self, plane: &ControlPlane, tools: &Tools) -> Result<()> {
        let helm = Helm::new(Major::Four, tools, &plane.kubeconfig, plane.folder(), NAMESPACE);
        install(&helm, &self.built, "kubewarden-defaults", &[])
    }

    /// The audit scanner.
    pub(crate) fn scanner(&self) -> PathBuf {
        self.built.join("audit-scanner")
    }

    /// Kills the controller.
    pub fn stop(&self) {
        drop(self.running.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Starts the controller; the thread that calls this has to live for as long as the controller shall.
    pub fn come_back(&self) -> Result<()> {
        let [webhooks, health] = self.ports;
        let mut command = mortal(&self.built.join("controller"));
        command
            .args([
                format!("--deployments-namespace={NAMESPACE}"),
                format!("--webhook-server-port={webhooks}"),
                format!("--health-probe-bind-address=127.0.0.1:{health}"),
                "--metrics-bind-address=0".to_owned(),
            ])
            .env("KUBECONFIG", &self.kubeconfig)
            // It looks there for the certificate of its webhooks.
            .env("TMPDIR", &self.folder);
        let process = Process::spawn(command, "kubewarden-controller", &self.folder)?;
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(process);
        let address = ("127.0.0.1", webhooks);
        wait_for("the controller's webhooks", || std::net::TcpStream::connect(address).ok().map(|_| ()));
        Ok(())
    }

    fn write_certificate(&self, plane: &ControlPlane) -> Result<()> {
        let folder = self.folder.join("k8s-webhook-server/serving-certs");
        let identity = plane.authority.server()?;
        fs::create_dir_all(&folder).context("no folder for the controller's certificate")?;
        for (file, content) in [("tls.crt", &identity.certificate), ("tls.key", &identity.key)] {
            fs::write(folder.join(file), content).context("cannot write the controller's certificate")?;
        }
        Ok(())
    }

    /// The chart's webhooks lead to its Service; the process is elsewhere.
    fn is_asked_at_its_port(&self, plane: &ControlPlane) -> Result<()> {
        let bundle = BASE64_STANDARD.encode(&plane.authority.certificate);
        for (kind, name) in [
            ("MutatingWebhookConfiguration", "kubewarden-controller-mutating-webhook-configuration"),
            ("ValidatingWebhookConfiguration", "kubewarden-controller-validating-webhook-configuration"),
        ] {
            let found = plane.cluster.find(kind, "", name).with_context(|| format!("the chart makes no {name}"))?;
            let mut webhooks = found.get("webhooks").cloned().unwrap_or_default();
            for webhook in webhooks.as_array_mut().into_iter().flatten() {
                let path = webhook.pointer("/clientConfig/service/path").and_then(Value::as_str).unwrap_or_default();
                let url = format!("https://127.0.0.1:{}{path}", self.ports[0]);
                if let Some(config) = webhook.get_mut("clientConfig") {
                    *config = json!({"url": url, "caBundle": bundle});
                }
            }
            let _ = plane.cluster.merge(kind, "", name, &json!({"webhooks": webhooks}))?;
        }
        Ok(())
    }
}

fn install(helm: &Helm, built: &Path, chart: &str, more: &[&str]) -> Result<()> {
    let path = built.join(chart);
    let path = path.to_string_lossy();
    let installed = helm.run(&[&["install", chart, &path, "--create-namespace"], more].concat());
    ensure!(installed.success, "{chart} cannot be installed: {}", installed.stderr);
    Ok(())
}
