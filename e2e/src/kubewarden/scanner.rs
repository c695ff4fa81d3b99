//! The real audit scanner, run as its chart's CronJob says, under the rights of its ServiceAccount.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use super::NAMESPACE;
use super::real::as_user;
use super::resolver::Resolver;
use crate::cluster::Cluster;
use crate::helm::{Run, run};
use crate::process::mortal;

/// The kind of objects that it writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reports {
    OpenReports,
    PolicyReports,
}

impl Reports {
    fn option(self) -> &'static str {
        match self {
            Self::OpenReports => "openreports",
            Self::PolicyReports => "policyreport",
        }
    }

    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::OpenReports => "Report",
            Self::PolicyReports => "PolicyReport",
        }
    }
}

/// One run of it over the whole cluster.
pub(crate) fn scan(
    program: &Path,
    cluster: &Cluster,
    kubeconfig: &Path,
    folder: &Path,
    reports: Reports,
) -> Result<Run> {
    let job = cluster.find("CronJob", NAMESPACE, "audit-scanner").context("the chart makes no CronJob")?;
    let pod = job.pointer("/spec/jobTemplate/spec/template/spec").context("a CronJob has Pods")?;
    for (mount, secret) in mounts(pod) {
        let found = cluster.find("Secret", NAMESPACE, &secret).with_context(|| format!("no Secret {secret}"))?;
        let folder = folder.join(mount.trim_start_matches('/'));
        fs::create_dir_all(&folder).context("no folder for the scanner")?;
        for (file, encoded) in found.get("data").and_then(Value::as_object).into_iter().flatten() {
            let content = BASE64_STANDARD.decode(encoded.as_str().unwrap_or_default())?;
            fs::write(folder.join(file), content).context("cannot write the scanner's files")?;
        }
    }
    let account = pod.get("serviceAccountName").and_then(Value::as_str).context("the scanner has an account")?;
    let own = folder.join("kubeconfig");
    fs::write(&own, as_user(kubeconfig, &format!("system:serviceaccount:{NAMESPACE}:{account}"))?)?;
    let arguments = arguments(pod, folder, reports)?;
    let resolver = Resolver::start(cluster)?;
    let mut command = mortal(program);
    // Go asks no proxy for what is on the loopback interface, as the API server is.
    command.args(&arguments).env("KUBECONFIG", own).env("HTTPS_PROXY", &resolver.url);
    Ok(run(command, "audit-scanner"))
}

/// Where each Secret is mounted.
fn mounts(pod: &Value) -> Vec<(String, String)> {
    let list = |pointer| pod.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    let text = |value: &Value, pointer| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    list("/containers/0/volumeMounts")
        .filter_map(|mount| {
            let volume = list("/volumes").find(|volume| volume.get("name") == mount.get("name"))?;
            Some((text(mount, "/mountPath"), text(volume, "/secret/secretName")))
        })
        .collect()
}

/// Those of the CronJob, with the kind of reports that is wanted.
fn arguments(pod: &Value, folder: &Path, reports: Reports) -> Result<Vec<String>> {
    let command =
        pod.pointer("/containers/0/command").and_then(Value::as_array).context("the scanner has a command")?;
    let mut arguments: Vec<_> = command.iter().skip(1).filter_map(Value::as_str).map(str::to_owned).collect();
    for argument in &mut arguments {
        if argument.starts_with("/pki/") || argument.starts_with("/client-cert/") {
            *argument = format!("{}{argument}", folder.display());
        }
    }
    let kind =
        arguments.iter().position(|argument| argument == "--report-kind").and_then(|at| arguments.get_mut(at + 1));
    let kind = kind.context("the CronJob says which reports it writes")?;
    ensure!(kind == Reports::OpenReports.option(), "the chart's default is {kind} now");
    reports.option().clone_into(kind);
    Ok(arguments)
}
