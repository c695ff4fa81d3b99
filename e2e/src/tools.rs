//! The Go programs, at the versions that `e2e/tools/*/go.mod` pins.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Folders with the programs in them.
pub struct Tools {
    /// etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl.
    pub kubernetes: PathBuf,
    /// kwok, and its stages.
    pub kwok: PathBuf,
    pub helm3: PathBuf,
    pub helm4: PathBuf,
    /// Helm with the options of Flux's controller.
    pub flux: PathBuf,
}

impl Tools {
    /// Builds what is not built yet; the first time that takes minutes.
    pub fn build() -> Result<Self> {
        let [kubernetes, kwok, helm3, helm4, flux] = ["kubernetes", "kwok", "helm3", "helm4", "flux"].map(build);
        Ok(Self { kubernetes: kubernetes?, kwok: kwok?, helm3: helm3?, helm4: helm4?, flux: flux? })
    }
}

/// The folder with the programs of `e2e/tools/<name>`.
pub fn build(name: &str) -> Result<PathBuf> {
    let script = tools_folder().join("build");
    let output = Command::new(&script)
        .arg(name)
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", script.display()))?;
    ensure!(output.status.success(), "{} {name} failed, see above", script.display());
    let folder = String::from_utf8(output.stdout).context("the folder's name is not UTF-8")?;
    Ok(folder.trim_end().into())
}

/// The version of a module that `e2e/tools/<name>/go.mod` pins, without the `v`.
pub fn pinned(name: &str, module: &str) -> Result<String> {
    let path = tools_folder().join(name).join("go.mod");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let version = text.lines().find_map(|line| {
        let (found, version) = line.trim().trim_start_matches("require ").split_once(" v")?;
        (found == module).then(|| version.split(' ').next().unwrap_or_default().to_owned())
    });
    version.with_context(|| format!("{} does not require {module}", path.display()))
}

fn tools_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tools")
}
