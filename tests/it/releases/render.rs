//! What Helm stores of a chart's rendered text, made anew so that tests can show charts instead of records.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use stable_hooks::input::value;

const SOURCE: &str = "# Source: ";
const EVENTS: [&str; 10] = [
    "pre-install",
    "post-install",
    "pre-delete",
    "post-delete",
    "pre-upgrade",
    "post-upgrade",
    "pre-rollback",
    "post-rollback",
    "test",
    "test-success",
];

/// One revision of a release, given by its rendered text.
pub(crate) struct Revision<'a> {
    pub(crate) name: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) version: u64,
    pub(crate) status: &'a str,
    /// YAML as `helm template` prints it.
    pub(crate) rendered: &'a str,
    pub(crate) apply_method: Option<&'a str>,
    /// By path inside of the chart.
    pub(crate) templates: BTreeMap<String, String>,
    /// Besides Helm's own.
    pub(crate) labels: BTreeMap<String, String>,
}

/// One document of a rendered text.
pub(crate) struct Rendered {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) object: Value,
    pub(crate) identity: Identity,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    Resource,
    Hook {
        events: Vec<String>,
    },
    /// One unknown event, and Helm forgets the whole document.
    Dropped,
}

impl<'a> Revision<'a> {
    pub(crate) fn new(name: &'a str, namespace: &'a str, version: u64, status: &'a str, rendered: &'a str) -> Self {
        let (templates, labels) = (BTreeMap::new(), BTreeMap::new());
        Self { name, namespace, version, status, rendered, apply_method: None, templates, labels }
    }

    /// The record as JSON, before it is packed.
    pub(crate) fn record(&self) -> Value {
        let documents = documents(self.rendered);
        let chart = documents.first().and_then(|document| document.path.split('/').next()).unwrap_or("chart");
        let templates: Vec<_> = self
            .templates
            .iter()
            .map(|(name, source)| json!({"name": name, "data": STANDARD.encode(source), "modtime": ""}))
            .collect();
        let mut record = json!({
            "name": self.name, "namespace": self.namespace, "version": self.version,
            "info": {"status": self.status, "description": "made for a test"},
            "chart": {"metadata": {"name": chart}, "templates": templates, "values": {}},
        });
        // Helm leaves out what is empty.
        let hooks: Vec<_> = documents.iter().filter_map(hook).collect();
        if !hooks.is_empty() {
            record["hooks"] = json!(hooks);
        }
        let resources = documents.iter().filter(|document| document.identity == Identity::Resource);
        let mut manifest = String::new();
        for document in resources {
            write!(manifest, "---\n{SOURCE}{}\n{}\n", document.path, document.text).unwrap();
        }
        if !manifest.is_empty() {
            record["manifest"] = json!(manifest);
        }
        if let Some(method) = self.apply_method {
            record["apply_method"] = json!(method);
        }
        record
    }

    pub(crate) fn secret(&self) -> Value {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(self.record().to_string().as_bytes()).unwrap();
        let once = STANDARD.encode(packed.finish().unwrap());
        self.secret_with(&STANDARD.encode(once))
    }

    /// The Secret around something else in the place of the record.
    pub(crate) fn secret_with(&self, data: &str) -> Value {
        let version = self.version.to_string();
        let own = [("owner", "helm"), ("name", self.name), ("version", &version), ("status", self.status)];
        let mut labels = self.labels.clone();
        labels.extend(own.map(|(key, value)| (key.to_owned(), value.to_owned())));
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
            "metadata": {
                "name": format!("sh.helm.release.v1.{}.v{version}", self.name),
                "namespace": self.namespace, "labels": labels,
            },
            "data": {"release": data},
        })
    }
}

/// The request that creates a Secret.
pub(crate) fn creation(secret: &Value) -> Value {
    json!({
        "uid": "0000-1", "operation": "CREATE", "userInfo": {"username": "admin"},
        "kind": {"group": "", "version": "v1", "kind": "Secret"},
        "resource": {"group": "", "version": "v1", "resource": "secrets"},
        "name": secret["metadata"]["name"], "namespace": secret["metadata"]["namespace"],
        "object": secret, "oldObject": null,
    })
}

/// The documents of a rendered text, in its order.
pub(crate) fn documents(rendered: &str) -> Vec<Rendered> {
    let mut texts = vec![String::new()];
    for line in rendered.lines() {
        if line.starts_with("---") {
            texts.push(String::new());
        } else {
            let text = texts.last_mut().unwrap();
            text.push_str(line);
            text.push('\n');
        }
    }
    texts.iter().filter_map(|text| document(text)).collect()
}

fn document(text: &str) -> Option<Rendered> {
    let is_empty = text.lines().all(|line| line.trim().is_empty() || line.starts_with('#'));
    if is_empty {
        return None;
    }
    let source = text.lines().find_map(|line| line.strip_prefix(SOURCE));
    let path = source.unwrap_or("chart/templates/all.yaml").trim().to_owned();
    let text = text.split_inclusive('\n').filter(|line| !line.starts_with(SOURCE)).collect::<String>();
    let object = value(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?} in\n{text}"));
    let identity = identity(&object);
    Some(Rendered { path, text, object, identity })
}

/// The text of an annotation as Helm gets it: what is no string becomes one.
fn annotation(object: &Value, key: &str) -> Option<String> {
    match object["metadata"]["annotations"].get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Null => Some(String::new()),
        other => Some(other.to_string()),
    }
}

fn items(value: &str) -> Vec<String> {
    value.split(',').map(|item| item.trim().to_lowercase()).collect()
}

fn identity(object: &Value) -> Identity {
    let Some(hook) = annotation(object, "helm.sh/hook") else { return Identity::Resource };
    let events = items(&hook);
    let is_known = events.iter().all(|event| EVENTS.contains(&event.as_str()));
    // Helm's own table maps the old spelling to the new one.
    let spelled = |event: String| if event == "test-success" { "test".to_owned() } else { event };
    if is_known { Identity::Hook { events: events.into_iter().map(spelled).collect() } } else { Identity::Dropped }
}

fn hook(document: &Rendered) -> Option<Value> {
    let Identity::Hook { events } = &document.identity else { return None };
    let object = &document.object;
    let mut hook = json!({
        "name": object["metadata"]["name"], "kind": object["kind"], "path": document.path,
        "manifest": document.text, "events": events, "last_run": {"phase": ""},
    });
    // As strconv.Atoi: no spaces, no fractions; what it refuses counts as 0, and 0 is left out.
    let weight = annotation(object, "helm.sh/hook-weight").and_then(|weight| weight.parse::<i64>().ok());
    if let Some(weight) = weight.filter(|weight| *weight != 0) {
        hook["weight"] = json!(weight);
    }
    if let Some(policy) = annotation(object, "helm.sh/hook-delete-policy") {
        hook["delete_policies"] = json!(items(&policy));
    }
    Some(hook)
}
