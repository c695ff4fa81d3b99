//! policy-server itself in a Pod's place, set up by the variables and the files of that Pod.

use std::env;
use std::fs;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::kubelet::variable;
use super::modules;
use crate::process::{Process, mortal};

pub(super) struct Real {
    process: Mutex<Process>,
    readiness: u16,
}

impl Real {
    /// The thread that calls this has to live for as long as the server shall.
    pub(super) fn start(
        program: &Path,
        folder: &Path,
        spec: &Value,
        address: SocketAddr,
        policies: &str,
        [certificate, key]: &[Vec<u8>; 2],
        (kubeconfig, user): (&Path, &str),
    ) -> Result<Self> {
        for name in ["pki", "config", "tmp"] {
            fs::create_dir_all(folder.join(name)).context("no folder for policy-server")?;
        }
        let mut served: Value = serde_json::from_str(policies).context("policies.yml")?;
        for policy in served.as_object_mut().into_iter().flat_map(|policies| policies.values_mut()) {
            let module = policy.get("module").and_then(Value::as_str).unwrap_or_default();
            let file = format!("file://{}", modules::file(module)?.display());
            if let Some(policy) = policy.as_object_mut() {
                policy.insert("module".to_owned(), json!(file));
            }
        }
        let written = [
            ("config/policies.yml", served.to_string().into_bytes()),
            ("pki/tls.crt", certificate.clone()),
            ("pki/tls.key", key.clone()),
            ("kubeconfig", as_user(kubeconfig, user)?.into_bytes()),
        ];
        for (file, content) in written {
            fs::write(folder.join(file), content).with_context(|| format!("cannot write {file}"))?;
        }
        let mut command = mortal(program);
        command
            .args(["--addr", &address.ip().to_string()])
            // A Pod has its own variables and nobody else's.
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("KUBECONFIG", folder.join("kubeconfig"));
        for entry in spec.pointer("/containers/0/env").and_then(Value::as_array).into_iter().flatten() {
            let text = |field| entry.get(field).and_then(Value::as_str).unwrap_or_default();
            // The container's paths are in the Pod's folder.
            let value = text("value");
            let is_path = ["/pki", "/config", "/tmp"].iter().any(|mounted| value.starts_with(mounted));
            let value = if is_path { format!("{}{value}", folder.display()) } else { value.to_owned() };
            command.env(text("name"), value);
        }
        let readiness = variable(spec, "KUBEWARDEN_READINESS_PROBE_PORT").and_then(|port| port.parse().ok());
        let process = Mutex::new(Process::spawn(command, "policy-server", folder)?);
        Ok(Self { process, readiness: readiness.unwrap_or(8081) })
    }

    pub(super) fn failure(&self) -> Option<String> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).failure()
    }

    /// It opens the port of its probe when it serves.
    pub(super) fn is_ready(&self, address: SocketAddr) -> bool {
        let ip: IpAddr = address.ip();
        TcpStream::connect_timeout(&SocketAddr::new(ip, self.readiness), Duration::from_millis(200)).is_ok()
    }
}

/// A kubeconfig of somebody who asks as this user.
pub(super) fn as_user(kubeconfig: &Path, user: &str) -> Result<String> {
    let text = fs::read_to_string(kubeconfig).context("cannot read the kubeconfig")?;
    let mut config: Value = serde_json::from_str(&text).context("the kubeconfig is JSON")?;
    let found =
        config.pointer_mut("/users/0/user").and_then(Value::as_object_mut).context("the kubeconfig has a user")?;
    found.insert("as".to_owned(), json!(user));
    Ok(config.to_string())
}
