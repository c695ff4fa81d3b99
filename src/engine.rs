//! Two ways to the same answer: the core compiled in, or the wasm bytes that run in the cluster.

use json_patch::Patch;
use kubewarden_policy_sdk::response::ValidationResponse;
use kubewarden_policy_sdk::settings::SettingsValidationResponse;
use serde::Serialize;
use serde_json::Value;
use stable_hooks_policy::wire;
use thiserror::Error;

use crate::host::{CallError, Policy, patch};

/// Something that answers as a Kubewarden policy does: bytes in, bytes out.
pub trait Engine {
    fn validate(&self, payload: &[u8]) -> Result<Vec<u8>, CallError>;
    fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, CallError>;
}

/// The core that is compiled into this program.
pub struct Native;

impl Engine for Native {
    fn validate(&self, payload: &[u8]) -> Result<Vec<u8>, CallError> {
        Ok(wire::validate(payload))
    }

    fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, CallError> {
        Ok(wire::validate_settings(settings))
    }
}

impl Engine for Policy {
    fn validate(&self, payload: &[u8]) -> Result<Vec<u8>, CallError> {
        self.validate(payload)
    }

    fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, CallError> {
        self.validate_settings(settings)
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
}

/// A policy's answer, and the patch that policy-server would make of it.
pub struct Answer {
    pub response: ValidationResponse,
    pub patch: Patch,
}

/// Asks for a verdict.
pub fn judge(engine: &dyn Engine, request: &Value, settings: &Value) -> Result<Answer, EngineError> {
    let answer = engine.validate(&payload(request, settings))?;
    let response: ValidationResponse = serde_json::from_slice(&answer).map_err(|_| EngineError::Format)?;
    let patch = match (request.get("object"), &response.mutated_object) {
        (Some(object), Some(mutated)) => patch(object, mutated),
        _ => Patch::default(),
    };
    Ok(Answer { response, patch })
}

/// Asks whether the settings are good; the error lists what is not.
pub fn check_settings(engine: &dyn Engine, settings: &Value) -> Result<(), EngineError> {
    let answer = engine.validate_settings(settings.to_string().as_bytes())?;
    let answer: SettingsValidationResponse = serde_json::from_slice(&answer).map_err(|_| EngineError::Format)?;
    if answer.valid {
        return Ok(());
    }
    Err(EngineError::Settings(answer.message.unwrap_or_else(|| "the settings are not valid".to_owned())))
}

/// What the host hands to `validate`.
pub fn payload(request: &Value, settings: &Value) -> Vec<u8> {
    #[derive(Serialize)]
    struct Payload<'a> {
        request: &'a Value,
        settings: &'a Value,
    }
    serde_json::to_vec(&Payload { request, settings }).unwrap_or_default()
}
