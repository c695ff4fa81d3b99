//! Helm's own records, read without any of the code that they test.

use std::io::Read as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Map, Value};

use super::pair::{Kind, Operation};

/// What Helm stored of a revision.
#[derive(Debug, Clone)]
pub struct Record {
    pub version: u64,
    pub status: String,
    /// The Secret.
    pub secret: Value,
    release: Value,
}

/// On which side of a release an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Absent,
    Resource,
    Hook,
    Both,
}

impl Record {
    /// All records among Secrets, the oldest first.
    #[must_use]
    pub fn all(secrets: &[Value]) -> Vec<Self> {
        let mut records: Vec<_> = secrets.iter().filter_map(Self::read).collect();
        records.sort_by_key(|record| record.version);
        records
    }

    fn read(secret: &Value) -> Option<Self> {
        let encoded = secret.pointer("/data/release")?.as_str()?;
        let zipped = BASE64_STANDARD.decode(BASE64_STANDARD.decode(encoded).ok()?).ok()?;
        let mut text = String::new();
        GzDecoder::new(zipped.as_slice()).read_to_string(&mut text).ok()?;
        let release: Value = serde_json::from_str(&text).ok()?;
        let version = release.get("version")?.as_u64()?;
        let status = release.pointer("/info/status")?.as_str()?.to_owned();
        // As `kubectl get secret -o yaml` shows it.
        let mut secret = secret.clone();
        secret.as_object_mut()?.extend([("apiVersion".to_owned(), "v1".into()), ("kind".to_owned(), "Secret".into())]);
        Some(Self { version, status, secret, release })
    }

    /// The Secret as Helm created it, with the status that says what it was about to do.
    #[must_use]
    pub fn when_created(&self, operation: Operation) -> Value {
        let status = match operation {
            Operation::Install | Operation::Replace => "pending-install",
            Operation::Rollback => "pending-rollback",
            Operation::Upgrade | Operation::FailingUpgrade | Operation::Uninstall => "pending-upgrade",
        };
        let mut secret = self.secret.clone();
        if let Some(label) = secret.pointer_mut("/metadata/labels/status") {
            *label = status.into();
        }
        secret
    }

    /// The record that Helm upgrades from: the highest that is deployed, else the last.
    #[must_use]
    pub fn current(records: &[Self]) -> Option<&Self> {
        records.iter().rev().find(|record| record.status == "deployed").or(records.last())
    }

    #[must_use]
    pub fn side(&self, object: (Kind, &str)) -> Side {
        let is_resource = documents(self.text("/manifest")).any(|document| is_of(document, object));
        match (is_resource, self.hook(object).is_some()) {
            (false, false) => Side::Absent,
            (true, false) => Side::Resource,
            (false, true) => Side::Hook,
            (true, true) => Side::Both,
        }
    }

    /// Whether it is a hook that Helm runs at one of these events.
    #[must_use]
    pub fn runs_at(&self, object: (Kind, &str), events: &[&str]) -> bool {
        let own = self.hook(object).and_then(|hook| hook.get("events")).and_then(Value::as_array);
        own.into_iter().flatten().any(|event| events.iter().any(|wanted| event == wanted))
    }

    /// Whether it is a hook that Helm does not prune.
    #[must_use]
    pub fn keeps(&self, object: (Kind, &str)) -> bool {
        let manifest = self.hook(object).and_then(|hook| hook.get("manifest")).and_then(Value::as_str);
        manifest.is_some_and(|manifest| manifest.contains("helm.sh/resource-policy: keep"))
    }

    fn hook(&self, object: (Kind, &str)) -> Option<&Value> {
        let hooks = self.release.get("hooks").and_then(Value::as_array)?;
        hooks.iter().find(|hook| is_of(hook.get("manifest").and_then(Value::as_str).unwrap_or_default(), object))
    }

    /// The values that the user gave.
    #[must_use]
    pub fn config(&self) -> Map<String, Value> {
        self.map("/config")
    }

    /// The defaults of the chart that is stored with it.
    #[must_use]
    pub fn defaults(&self) -> Map<String, Value> {
        self.map("/chart/values")
    }

    /// Whether the value of the chart is true for Helm's templates.
    #[must_use]
    pub fn has_value(&self, key: &str) -> bool {
        let of = |values: Map<String, Value>| values.get("global").and_then(|global| global.get(key)).cloned();
        let value = of(self.config()).or_else(|| of(self.defaults())).unwrap_or_default();
        !matches!(value, Value::Null | Value::Bool(false)) && value != ""
    }

    fn map(&self, pointer: &str) -> Map<String, Value> {
        self.release.pointer(pointer).and_then(Value::as_object).cloned().unwrap_or_default()
    }

    fn text(&self, pointer: &str) -> &str {
        self.release.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }
}

fn documents(manifest: &str) -> impl Iterator<Item = &str> {
    manifest.split("---\n# Source: ")
}

/// Our templates write kind and name on lines of their own, an item of a List too.
fn is_of(document: &str, (kind, name): (Kind, &str)) -> bool {
    let has = |wanted: &str| document.lines().any(|line| line.trim() == wanted);
    let is_named = has(&format!("name: {name}")) || has(&format!("generateName: {name}-"));
    is_named && has(&format!("kind: {}", kind.name()))
}
