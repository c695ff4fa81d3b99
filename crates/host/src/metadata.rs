//! A policy's metadata: the JSON in the wasm section `io.kubewarden.metadata`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;
use wasm_encoder::{CustomSection, Section};
use wasmparser::{BinaryReaderError, Chunk, Parser, Payload};

const SECTION: &str = "io.kubewarden.metadata";

/// The part of the metadata that a host needs; keys that it does not know are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// The requests that the API server asks the policy about, as a webhook configuration writes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Value>,
    pub mutating: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_mode: Option<String>,
    pub context_aware_resources: Vec<ContextAwareResource>,
    pub annotations: BTreeMap<String, String>,
}

/// A kind of Kubernetes object that the policy may look up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextAwareResource {
    pub api_version: String,
    pub kind: String,
}

/// One operation on one resource, about which an API server asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target<'a> {
    pub operation: &'a str,
    pub group: &'a str,
    pub version: &'a str,
    pub resource: &'a str,
    /// Empty for the object itself.
    pub subresource: &'a str,
}

/// Why a policy cannot judge releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotForReleases {
    #[error("it has no metadata, which says what the policy is asked about and what it may look at")]
    NoMetadata,
    #[error(
        "the rules in its metadata lack the CREATE of {resource}, where Helm keeps its records, so an API server would \
         not ask it about a release"
    )]
    NotAsked { resource: &'static str },
    #[error(
        "the contextAwareResources in its metadata lack {kind}, where Helm keeps its records, so it could not look at the \
         revision before, and a flip would pass"
    )]
    MayNotLook { kind: &'static str },
}

impl Metadata {
    /// Whether the API server asks the policy about that, as it matches the rules of a webhook configuration.
    #[must_use]
    pub fn covers(&self, target: &Target<'_>) -> bool {
        let is_in = |rule: &Value, list, wanted| listed(rule, list).any(|item| item == "*" || item == wanted);
        let has_resource = |rule: &Value| {
            listed(rule, "resources").any(|item| {
                let (resource, subresource) = item.split_once('/').unwrap_or((item, ""));
                let fits = |pattern, found| pattern == "*" || pattern == found;
                fits(resource, target.resource) && fits(subresource, target.subresource)
            })
        };
        self.rules.iter().any(|rule| {
            is_in(rule, "operations", target.operation)
                && is_in(rule, "apiGroups", target.group)
                && is_in(rule, "apiVersions", target.version)
                && has_resource(rule)
        })
    }

    /// The rules in words: `CREATE of secrets, configmaps`.
    #[must_use]
    pub fn covered(&self) -> String {
        let join = |rule, list, comma| listed(rule, list).collect::<Vec<_>>().join(comma);
        let words = |rule| format!("{} of {}", join(rule, "operations", "/"), join(rule, "resources", ", "));
        let rules: Vec<_> = self.rules.iter().map(words).collect();
        if rules.is_empty() { "none".to_owned() } else { rules.join("; ") }
    }
}

/// Whether a policy with this metadata is asked about release records, and may look at the one before.
///
/// # Errors
///
/// When it is not.
pub fn check_for_releases(metadata: Option<&Metadata>) -> Result<(), NotForReleases> {
    let metadata = metadata.ok_or(NotForReleases::NoMetadata)?;
    for (kind, resource) in [("Secret", "secrets"), ("ConfigMap", "configmaps")] {
        let create = Target { operation: "CREATE", group: "", version: "v1", resource, subresource: "" };
        if !metadata.covers(&create) {
            return Err(NotForReleases::NotAsked { resource });
        }
        let may_look = |granted: &ContextAwareResource| (&*granted.api_version, &*granted.kind) == ("v1", kind);
        if !metadata.context_aware_resources.iter().any(may_look) {
            return Err(NotForReleases::MayNotLook { kind });
        }
    }
    Ok(())
}

/// The texts in one of a rule's lists.
fn listed<'a>(rule: &'a Value, list: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    rule.get(list).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

#[derive(Debug, Error)]
pub enum MetadataError {
    #[error("not a WebAssembly module: the file does not start with the module header")]
    NotWasm,
    #[error("a WebAssembly component, but a policy is a core module: build it for wasm32-unknown-unknown")]
    Component,
    #[error("a damaged WebAssembly module: {0}")]
    Malformed(#[from] BinaryReaderError),
    #[error("the section `{SECTION}` does not hold policy metadata: {0}")]
    Json(serde_json::Error),
}

/// The metadata of a module, or `None` when it has not been annotated yet.
///
/// # Errors
///
/// When the bytes are no module, or when the section does not hold metadata.
pub fn read(wasm: &[u8]) -> Result<Option<Metadata>, MetadataError> {
    check_header(wasm)?;
    for payload in Parser::new(0).parse_all(wasm) {
        // The first section counts, as in Kubewarden.
        if let Some(json) = metadata_section(&payload?) {
            let metadata = serde_json::from_slice(json).map_err(MetadataError::Json)?;
            return Ok(Some(metadata));
        }
    }
    Ok(None)
}

/// The same module with `metadata` in place of any older one; every other byte stays as it is.
///
/// `metadata` is the complete JSON as `kwctl annotate` writes it, `protocolVersion` included.
///
/// # Errors
///
/// When the bytes are no module, or when `metadata` cannot be read back.
pub fn annotate(wasm: &[u8], metadata: &Value) -> Result<Vec<u8>, MetadataError> {
    check_header(wasm)?;
    let mut annotated = Vec::with_capacity(wasm.len());
    let mut parser = Parser::new(0);
    let mut rest = wasm;
    // At the end of its input the parser never asks for more data, it reports an error instead.
    while let Chunk::Parsed { consumed, payload } = parser.parse(rest, true)? {
        let (bytes, after) = rest.split_at(consumed);
        if metadata_section(&payload).is_none() {
            annotated.extend_from_slice(bytes);
        }
        if let Payload::End(_) = payload {
            break;
        }
        rest = after;
    }
    let section = CustomSection { name: SECTION.into(), data: metadata.to_string().into_bytes().into() };
    section.append_to(&mut annotated);
    read(&annotated)?;
    Ok(annotated)
}

/// Whether two modules differ in nothing but their metadata.
///
/// # Errors
///
/// When one of them is no module.
pub fn have_the_same_code(one: &[u8], other: &[u8]) -> Result<bool, MetadataError> {
    let none = Value::Object(Map::new());
    Ok(annotate(one, &none)? == annotate(other, &none)?)
}

fn metadata_section<'a>(payload: &Payload<'a>) -> Option<&'a [u8]> {
    match payload {
        Payload::CustomSection(section) if section.name() == SECTION => Some(section.data()),
        _ => None,
    }
}

// In a component the parser would also report the sections of the modules inside.
fn check_header(wasm: &[u8]) -> Result<(), MetadataError> {
    if Parser::is_component(wasm) {
        Err(MetadataError::Component)
    } else if Parser::is_core_wasm(wasm) {
        Ok(())
    } else {
        Err(MetadataError::NotWasm)
    }
}

#[cfg(test)]
mod tests;
