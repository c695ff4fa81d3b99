//! Runs a policy file as policy-server does: compiled once, a fresh instance for every call.

mod clock;
pub mod wapc;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use wasmtime::{Config, Engine, ExternType, Module, OptLevel, RegallocAlgorithm, Trap};

use crate::call::CallError;
use crate::cluster::ClusterView;
use crate::metadata::{self, ContextAwareResource, Metadata, MetadataError};
use wapc::{Guest, HostCall};

/// The default time limit of policy-server.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(2);

const EXECUTION_MODE: &str = "kubewarden-wapc";
/// The module names that WASI's functions are imported from begin with this.
const WASI: &str = "wasi_";

/// A compiled policy.
pub struct Policy {
    guest: Guest,
    metadata: Option<Metadata>,
    lookups: Arc<Lookups>,
    timeout: Duration,
}

/// The source of answers to a policy's questions about the cluster: a file, or an API server.
pub trait KubernetesCapability: Send + Sync {
    /// Answers the host call `kubewarden/kubernetes/<operation>` of a policy that may see `granted`.
    ///
    /// # Errors
    ///
    /// The text that Kubewarden would hand to the policy.
    fn answer(&self, operation: &str, payload: &[u8], granted: &[ContextAwareResource]) -> Result<Vec<u8>, String>;
}

impl KubernetesCapability for ClusterView {
    fn answer(&self, operation: &str, payload: &[u8], granted: &[ContextAwareResource]) -> Result<Vec<u8>, String> {
        self.answer(operation, payload, granted)
    }
}

/// The cluster that a call may ask about, and the resources that it may see there.
struct Lookups {
    cluster: Arc<dyn KubernetesCapability>,
    granted: Vec<ContextAwareResource>,
}

/// Why a file cannot be used as a policy.
#[derive(Debug, Error)]
pub enum LoadError {
    #[error("cannot read policy `{}`: {reason}", path.display())]
    Read { path: PathBuf, reason: io::Error },
    #[error("cannot load policy `{}`: {reason}", path.display())]
    Unusable { path: PathBuf, reason: PolicyError },
}

/// Why bytes cannot be used as a policy.
#[derive(Debug, Error)]
pub enum PolicyError {
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    #[error("execution mode `{0}` is not supported, only `{EXECUTION_MODE}` is")]
    ExecutionMode(String),
    #[error("the files differ in more than their metadata")]
    OtherCode,
    #[error("the module does not compile: {0:#}")]
    Compile(wasmtime::Error),
    #[error("the module does not export the function `__guest_call`, so it is no waPC policy")]
    NoGuestCall,
    #[error(
        "the module needs WASI, which this program does not offer: build the policy for wasm32-unknown-unknown, or run it with \
         kwctl"
    )]
    Wasi,
    #[error("the module needs something that a policy host does not offer: {0}")]
    Import(wasmtime::Error),
    #[error("cannot start the clock that enforces the time limit: {0}")]
    Clock(io::Error),
}

impl Policy {
    /// Reads and compiles a policy file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is not a policy that this host can run.
    pub fn load(path: &Path, cluster: Arc<ClusterView>, timeout: Duration) -> Result<Self, LoadError> {
        let bytes = fs::read(path).map_err(|reason| LoadError::Read { path: path.into(), reason })?;
        Self::from_bytes(&bytes, cluster, timeout).map_err(|reason| LoadError::Unusable { path: path.into(), reason })
    }

    /// Compiles a policy.
    ///
    /// # Errors
    ///
    /// When the bytes are not a policy that this host can run.
    pub fn from_bytes(bytes: &[u8], cluster: Arc<ClusterView>, timeout: Duration) -> Result<Self, PolicyError> {
        let metadata = metadata::read(bytes)?;
        if let Some(mode) = metadata.as_ref().and_then(|metadata| metadata.execution_mode.as_deref())
            && mode != EXECUTION_MODE
        {
            return Err(PolicyError::ExecutionMode(mode.to_owned()));
        }
        let guest = compile(bytes)?;
        let lookups = Arc::new(Lookups { cluster, granted: granted(metadata.as_ref()) });
        Ok(Self { guest, metadata, lookups, timeout })
    }

    /// The same policy before another view of the cluster; nothing is compiled again.
    #[must_use]
    pub fn with_cluster(&self, cluster: Arc<dyn KubernetesCapability>) -> Self {
        let lookups = Arc::new(Lookups { cluster, granted: self.lookups.granted.clone() });
        let (guest, metadata) = (self.guest.clone(), self.metadata.clone());
        Self { guest, metadata, lookups, timeout: self.timeout }
    }

    /// The same code under the metadata of another file; nothing is compiled again.
    ///
    /// # Errors
    ///
    /// When the other file has metadata that cannot be read, or `original` and it differ in more than that.
    pub fn annotated_as(&self, original: &[u8], other: &[u8]) -> Result<Self, PolicyError> {
        if !metadata::have_the_same_code(original, other)? {
            return Err(PolicyError::OtherCode);
        }
        let metadata = metadata::read(other)?;
        let lookups = Lookups { cluster: Arc::clone(&self.lookups.cluster), granted: granted(metadata.as_ref()) };
        Ok(Self { guest: self.guest.clone(), metadata, lookups: Arc::new(lookups), timeout: self.timeout })
    }

    /// The policy's metadata, if it has been annotated.
    #[must_use]
    pub fn metadata(&self) -> Option<&Metadata> {
        self.metadata.as_ref()
    }

    /// Answers `{"request": .., "settings": ..}` with the guest's `ValidationResponse`.
    ///
    /// # Errors
    ///
    /// When the guest reports an error, traps or takes too long.
    pub fn validate(&self, payload: &[u8]) -> Result<Vec<u8>, CallError> {
        self.call("validate", payload, Some(Arc::clone(&self.lookups)))
    }

    /// Answers settings with the guest's `SettingsValidationResponse`.
    ///
    /// # Errors
    ///
    /// When the guest reports an error, traps or takes too long.
    pub fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, CallError> {
        self.call("validate_settings", settings, None)
    }

    /// The version of the protocol that the guest speaks, as JSON: `"v1"`.
    ///
    /// # Errors
    ///
    /// When the guest reports an error, traps or takes too long.
    pub fn protocol_version(&self) -> Result<Vec<u8>, CallError> {
        self.call("protocol_version", &[], None)
    }

    fn call(&self, operation: &str, payload: &[u8], lookups: Option<Arc<Lookups>>) -> Result<Vec<u8>, CallError> {
        let ticks = clock::ticks(self.timeout);
        let answer: Arc<HostCall> = Arc::new(move |binding: &str, namespace: &str, operation: &str, payload: &[u8]| {
            host_call(lookups.as_deref(), binding, namespace, operation, payload)
        });
        let started = self.guest.start(self.guest.store(answer), |store| store.set_epoch_deadline(ticks));
        let called = started.and_then(|mut instance| {
            instance.store.set_epoch_deadline(ticks);
            instance.call(operation, payload)
        });
        match called {
            Ok(answer) => answer.map_err(CallError::Guest),
            Err(error) if error.downcast_ref() == Some(&Trap::Interrupt) => Err(CallError::TimedOut(self.timeout)),
            Err(_) => Err(CallError::Trap),
        }
    }
}

fn granted(metadata: Option<&Metadata>) -> Vec<ContextAwareResource> {
    metadata.map(|metadata| metadata.context_aware_resources.clone()).unwrap_or_default()
}

fn compile(bytes: &[u8]) -> Result<Guest, PolicyError> {
    let mut config = Config::new();
    config.epoch_interruption(true);
    if cfg!(debug_assertions) {
        // An unoptimised compiler takes seconds for a module that it optimises: longer than the module runs.
        config.cranelift_opt_level(OptLevel::None).cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
    }
    let engine = Engine::new(&config).map_err(PolicyError::Compile)?;
    let module = Module::new(&engine, bytes).map_err(PolicyError::Compile)?;
    let guest_call = module.get_export("__guest_call");
    if !guest_call.is_some_and(|export| is_guest_call(&export)) {
        return Err(PolicyError::NoGuestCall);
    }
    if module.imports().any(|import| import.module().starts_with(WASI)) {
        return Err(PolicyError::Wasi);
    }
    clock::start(&engine).map_err(PolicyError::Clock)?;
    Guest::link(&engine, &module).map_err(PolicyError::Import)
}

/// `(operation length, payload length) -> 1 for success`.
fn is_guest_call(export: &ExternType) -> bool {
    let ExternType::Func(function) = export else {
        return false;
    };
    let (params, results) = (function.params(), function.results());
    params.len() == 2 && results.len() == 1 && params.chain(results).all(|value| value.is_i32())
}

fn host_call(
    lookups: Option<&Lookups>,
    binding: &str,
    namespace: &str,
    operation: &str,
    payload: &[u8],
) -> Result<Vec<u8>, String> {
    match (binding, namespace, operation, lookups) {
        ("kubewarden", "tracing", "log", _) => Ok(Vec::new()),
        ("kubewarden", "tracing", ..) => Err(format!("unknown operation: {operation}")),
        ("kubewarden", "kubernetes", _, Some(lookups)) => lookups.cluster.answer(operation, payload, &lookups.granted),
        // policy-server answers no lookups yet while it checks settings.
        ("kubewarden", "kubernetes", _, None) => {
            Err("Cannot process Wasm guest request: callback channel not provided".to_owned())
        }
        ("kubewarden", ..) => Err(format!(
            "Policy has not been granted access to the '{namespace}/{operation}' host capability. \
             The violation has been reported."
        )),
        _ => Err(format!("unknown binding: {binding}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_can_be_shared_between_threads() {
        fn needs<T: Send + Sync>() {}
        needs::<Policy>();
    }
}
