//! What a registry would have: each of our modules, in this version and in one to come.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_host::runtime::{KubernetesCapability, Policy};

use crate::webhook::{Policies, TIMEOUT};

/// The version that an upgrade goes to; its bytes are the same.
pub const NEXT: &str = "v99.0.0";

const OBJECTS: &str = "stable-hooks";
const RELEASES: &str = "stable-hooks-releases";
/// The guest of `tests/yardstick`, which does next to nothing.
const YARDSTICK: &str = "yardstick";

pub(crate) struct Modules(pub(crate) Policies);

impl Modules {
    /// The policy that `registry://HOST/policies/NAME:VERSION` is.
    pub(super) fn find(&self, module: &str, cluster: Arc<dyn KubernetesCapability>) -> Result<Policy> {
        match name(module)? {
            OBJECTS => Ok(self.0.objects.with_cluster(cluster)),
            RELEASES => Ok(self.0.releases.with_cluster(cluster)),
            // Only a measurement wants it, and waits for it.
            _ => Ok(Policy::from_bytes(&fs::read(file(module)?)?, Arc::new(ClusterView::empty()), TIMEOUT)?),
        }
    }
}

/// The file of a module.
pub(super) fn file(module: &str) -> Result<PathBuf> {
    let file = match name(module)? {
        OBJECTS => "annotated-policy.wasm",
        RELEASES => "annotated-releases-policy.wasm",
        _ => "annotated-yardstick.wasm",
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    path.canonicalize().with_context(|| format!("make {file}"))
}

fn name(module: &str) -> Result<&str> {
    let found = module.strip_prefix("registry://ghcr.io/stable-hooks/policies/").and_then(|rest| rest.split_once(':'));
    let (name, version) = found.with_context(|| format!("cannot fetch {module}"))?;
    let is_there = [concat!("v", env!("CARGO_PKG_VERSION")), NEXT].contains(&version);
    ensure!(is_there && [OBJECTS, RELEASES, YARDSTICK].contains(&name), "cannot fetch {module}: not found");
    Ok(name)
}
