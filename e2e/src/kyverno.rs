//! Kyverno's admission controller, beside the control plane instead of in it.

use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::json;

use crate::control_plane::{ControlPlane, free_ports};
use crate::helm::run;
use crate::process::{Process, mortal};
use crate::tools::{Tools, build};
use crate::world::World;

const NAMESPACE: &str = "kyverno";
const SERVICE: &str = "kyverno-svc";
const CONTROLLER: &str = "kyverno-admission-controller";

/// A world with Kyverno in it.
pub struct KyvernoWorld {
    // Ended first, so that it misses no API server.
    kyverno: Process,
    pub world: World,
}

impl KyvernoWorld {
    /// Starts everything; the thread that calls this has to live until the end.
    pub fn start() -> Result<Self> {
        let world = World::start()?;
        let kyverno = start(&world.plane, &world.tools)?;
        Ok(Self { kyverno, world })
    }
}

impl Drop for KyvernoWorld {
    #[expect(clippy::print_stderr, reason = "a test run tells why its scenarios failed")]
    fn drop(&mut self) {
        if let Some(failure) = self.kyverno.failure() {
            eprintln!("{failure}");
        }
    }
}

fn start(plane: &ControlPlane, tools: &Tools) -> Result<Process> {
    let folder = build("kyverno")?;
    install(plane, tools, &folder.join("crds.yaml"))?;
    let [port] = free_ports()?;
    let mut command = mortal(&folder.join("kyverno"));
    command
        .args([
            format!("--kubeconfig={}", plane.kubeconfig.display()),
            format!("--serverIP=127.0.0.1:{port}"),
            "--webhookServerHost=127.0.0.1".to_owned(),
            format!("--webhookServerPort={port}"),
            format!("--caSecretName={SERVICE}.{NAMESPACE}.svc.kyverno-tls-ca"),
            format!("--tlsSecretName={SERVICE}.{NAMESPACE}.svc.kyverno-tls-pair"),
            format!("--backgroundServiceAccountName=system:serviceaccount:{NAMESPACE}:kyverno-background-controller"),
            format!("--reportsServiceAccountName=system:serviceaccount:{NAMESPACE}:kyverno-reports-controller"),
            "--disableMetrics=true".to_owned(),
            "--controllerRuntimeMetricsAddress=0".to_owned(),
            // By default it calls nothing on the loopback interface, where the policy is here.
            "--httpBlocklist=169.254.0.0/16".to_owned(),
        ])
        .envs([
            ("INIT_CONFIG", "kyverno"),
            ("METRICS_CONFIG", "kyverno-metrics"),
            ("KYVERNO_NAMESPACE", NAMESPACE),
            ("KYVERNO_POD_NAME", CONTROLLER),
            ("KYVERNO_SERVICEACCOUNT_NAME", CONTROLLER),
            ("KYVERNO_ROLE_NAME", "kyverno:admission-controller"),
            ("KYVERNO_SVC", SERVICE),
            ("KYVERNO_DEPLOYMENT", CONTROLLER),
        ])
        // A policy cannot bring a CA of its own.
        .env("SSL_CERT_FILE", plane.folder().join("ca.crt"));
    Process::spawn(command, "kyverno", plane.folder())
}

/// What its chart would put into the cluster, as far as it asks for it.
fn install(plane: &ControlPlane, tools: &Tools, definitions: &Path) -> Result<()> {
    let mut apply = mortal(&tools.kubernetes.join("kubectl"));
    apply.arg("--kubeconfig").arg(&plane.kubeconfig).args(["apply", "--server-side", "-f"]).arg(definitions);
    let applied = run(apply, "kubectl apply --server-side -f crds.yaml");
    ensure!(applied.success, "Kyverno's CustomResourceDefinitions are refused: {}", applied.stderr);
    plane.cluster.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}));
    for (kind, name) in [("ConfigMap", "kyverno"), ("ConfigMap", "kyverno-metrics"), ("ServiceAccount", CONTROLLER)] {
        plane
            .cluster
            .create(&json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}}));
    }
    Ok(())
}
