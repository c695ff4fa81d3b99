//! Two ways to the same answer: the core compiled in, or the wasm bytes that run in the cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use helm::operation::Told;
use json_patch::Patch;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stable_hooks_host::call::{CallError, patch};
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_host::metadata::ContextAwareResource;
#[cfg(feature = "runtime")]
use stable_hooks_host::runtime::Policy;
use stable_hooks_policy::cluster::{Cluster, Lookup, Query};
use stable_hooks_policy::wire::{Normalized, SettingsResponse};
use stable_hooks_policy::{Request, RequestError, wire};
use thiserror::Error;

/// Something that answers as a Kubewarden policy does: bytes in, bytes out.
pub trait Engine: Send + Sync {
    fn validate(&self, payload: &[u8]) -> Result<Vec<u8>, CallError>;
    fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, CallError>;
    /// The core that answers without bytes, if this engine is one.
    fn native(&self) -> Option<&Native> {
        None
    }
    /// The same engine before another view of the cluster.
    fn with_cluster(&self, cluster: Arc<ClusterView>) -> Box<dyn Engine>;
}

/// The core that is compiled into this program, with a view of the cluster.
#[derive(Default)]
pub struct Native {
    cluster: Arc<ClusterView>,
    /// How Helm was told to do what is judged, where that is known.
    told: Option<Told>,
}

impl Native {
    pub fn new(cluster: Arc<ClusterView>) -> Self {
        Self { cluster, told: None }
    }

    /// The same core where it is known how Helm was told to do it, which no record says.
    #[must_use]
    pub fn told(self, told: Told) -> Self {
        Self { told: Some(told), ..self }
    }

    /// The answer to a request that was read already, which would otherwise be written and read once more.
    fn answer(&self, request: Request, settings: &Value) -> Answer {
        let wire::Response { accepted, message, code, mutated_object, audit_annotations, warnings } =
            wire::answer(request.told(self.told), settings, self);
        let normalized = mutated_object.map(|Normalized { before, after }| (patch(&before, &after), after));
        let (patch, mutated_object) = normalized.unzip();
        let audit_annotations = audit_annotations
            .map(|annotations| annotations.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
        let response = ValidationResponse { accepted, message, code, mutated_object, audit_annotations, warnings };
        Answer { response, patch: patch.unwrap_or_default() }
    }
}

/// The same questions and answers as over a host call, so that both engines see the same cluster.
impl Cluster for Native {
    fn get(&self, query: &Query<'_>) -> Lookup {
        let (api_version, kind) = (query.api_version.to_owned(), query.kind.to_owned());
        let granted = [ContextAwareResource { api_version, kind }];
        wire::lookup(self.cluster.found("get_resource", &wire::lookup_request(query), &granted))
    }
}

impl Engine for Native {
    fn validate(&self, payload: &[u8]) -> Result<Vec<u8>, CallError> {
        Ok(wire::validate(payload, self))
    }

    fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, CallError> {
        Ok(wire::validate_settings(settings))
    }

    fn native(&self) -> Option<&Native> {
        Some(self)
    }

    fn with_cluster(&self, cluster: Arc<ClusterView>) -> Box<dyn Engine> {
        Box::new(Self { cluster, told: self.told })
    }
}

#[cfg(feature = "runtime")]
impl Engine for Policy {
    fn validate(&self, payload: &[u8]) -> Result<Vec<u8>, CallError> {
        self.validate(payload)
    }

    fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, CallError> {
        self.validate_settings(settings)
    }

    fn with_cluster(&self, cluster: Arc<ClusterView>) -> Box<dyn Engine> {
        Box::new(self.with_cluster(cluster))
    }
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum EngineError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("the policy's answer is not in Kubewarden's format")]
    Format,
    #[error("{0}")]
    Settings(String),
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// What a policy answers: the SDK's `ValidationResponse`.
#[derive(Debug, Serialize, Deserialize)]
pub struct ValidationResponse {
    pub accepted: bool,
    pub message: Option<String>,
    pub code: Option<u16>,
    pub mutated_object: Option<Value>,
    pub audit_annotations: Option<BTreeMap<String, String>>,
    pub warnings: Option<Vec<String>>,
}

/// A policy's answer, and the patch that policy-server would make of it.
pub struct Answer {
    pub response: ValidationResponse,
    pub patch: Patch,
}

impl Answer {
    fn new(request: &Value, response: ValidationResponse) -> Self {
        let patch = match (request.get("object"), &response.mutated_object) {
            (Some(object), Some(mutated)) => patch(object, mutated),
            _ => Patch::default(),
        };
        Self { response, patch }
    }
}

/// Asks for a verdict as policy-server does: a malformed request is denied.
pub fn ask(engine: &dyn Engine, request: &Value, settings: &Value) -> Result<Answer, EngineError> {
    Ok(Answer::new(request, by_bytes(engine, request, settings)?))
}

/// Asks for a verdict as the command line reports it: a malformed request is an error.
pub fn judge(engine: &dyn Engine, request: Value, settings: &Value) -> Result<Answer, EngineError> {
    if !fits_a_payload(&request) {
        Err(RequestError::NotJson)?;
    }
    let Some(native) = engine.native() else {
        Request::parse(request.clone())?;
        return ask(engine, &request, settings);
    };
    // A copy of what is read would take a sixth of the time of a long stream.
    Ok(native.answer(Request::parse(request)?, settings))
}

fn by_bytes(engine: &dyn Engine, request: &Value, settings: &Value) -> Result<ValidationResponse, EngineError> {
    serde_json::from_slice(&engine.validate(&payload(request, settings))?).map_err(|_| EngineError::Format)
}

/// A payload wraps the request in one more level, and JSON is read to a depth of 127.
fn fits_a_payload(request: &Value) -> bool {
    fn fits(value: &Value, levels: usize) -> bool {
        match value {
            Value::Array(items) => levels > 0 && items.iter().all(|item| fits(item, levels - 1)),
            Value::Object(map) => levels > 0 && map.values().all(|value| fits(value, levels - 1)),
            _ => true,
        }
    }
    fits(request, 126)
}

/// Asks whether the settings are good; the error lists what is not.
pub fn check_settings(engine: &dyn Engine, settings: &Value) -> Result<(), EngineError> {
    let answer = engine.validate_settings(settings.to_string().as_bytes())?;
    let answer: SettingsResponse = serde_json::from_slice(&answer).map_err(|_| EngineError::Format)?;
    if answer.valid {
        return Ok(());
    }
    Err(EngineError::Settings(answer.message.unwrap_or_else(|| "the settings are not valid".to_owned())))
}

/// The bytes that the host hands to `validate`.
pub fn payload(request: &Value, settings: &Value) -> Vec<u8> {
    #[derive(Serialize)]
    struct Payload<'a> {
        request: &'a Value,
        settings: &'a Value,
    }
    serde_json::to_vec(&Payload { request, settings }).unwrap_or_default()
}
