//! What a registry would have: each of our modules, in this version and in one to come.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use stable_hooks_host::runtime::Policy;

use crate::webhook::Policies;

/// The version that an upgrade goes to; its bytes are the same.
pub const NEXT: &str = "v99.0.0";

pub(crate) struct Modules(pub(crate) Policies);

impl Modules {
    /// The policy that `registry://HOST/policies/NAME:VERSION` is.
    pub(super) fn find(&self, module: &str) -> Result<&Policy> {
        match name(module)? {
            "stable-hooks" => Ok(&self.0.objects),
            _ => Ok(&self.0.releases),
        }
    }
}

/// The file of a module.
pub(super) fn file(module: &str) -> Result<PathBuf> {
    let file = match name(module)? {
        "stable-hooks" => "annotated-policy.wasm",
        _ => "annotated-releases-policy.wasm",
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    path.canonicalize().with_context(|| format!("make {file}"))
}

fn name(module: &str) -> Result<&str> {
    let found = module.strip_prefix("registry://ghcr.io/stable-hooks/policies/").and_then(|rest| rest.split_once(':'));
    let (name, version) = found.with_context(|| format!("cannot fetch {module}"))?;
    let is_there = [concat!("v", env!("CARGO_PKG_VERSION")), NEXT].contains(&version);
    ensure!(is_there && ["stable-hooks", "stable-hooks-releases"].contains(&name), "cannot fetch {module}: not found");
    Ok(name)
}
