//! What Helm stores of a chart's rendered text, so that tests can show charts instead of records.

use std::collections::BTreeMap;
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use helm::record::ApplyMethod;
use helm::storage::Storage;
use helm::write;
use serde_json::{Value, json};
use stable_hooks::render::Render;

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

impl<'a> Revision<'a> {
    pub(crate) fn new(name: &'a str, namespace: &'a str, version: u64, status: &'a str, rendered: &'a str) -> Self {
        let (templates, labels) = (BTreeMap::new(), BTreeMap::new());
        Self { name, namespace, version, status, rendered, apply_method: None, templates, labels }
    }

    /// Its JSON, which Helm packs.
    pub(crate) fn json(&self) -> Value {
        self.of(&read(self.rendered)).record()
    }

    /// Packed as Helm packs it, where the program leaves the JSON plain.
    pub(crate) fn secret(&self) -> Value {
        let record = self.json();
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(record.to_string().as_bytes()).unwrap();
        let once = STANDARD.encode(packed.finish().unwrap());
        self.secret_with(&STANDARD.encode(once))
    }

    /// The Secret around something else in the place of the record.
    pub(crate) fn secret_with(&self, data: &str) -> Value {
        let mut secret = self.of(&Render::default()).holding(Storage::Secret, data);
        for (key, value) in &self.labels {
            secret["metadata"]["labels"][key] = json!(value);
        }
        secret
    }

    fn of<'r>(&'r self, render: &'r Render) -> write::Revision<'r> {
        let Self { name, namespace, version, status, ref templates, .. } = *self;
        let apply_method = ApplyMethod::of(self.apply_method.unwrap_or_default());
        let (chart, documents) = (render.chart(), &render.documents);
        write::Revision {
            name,
            namespace,
            version,
            status,
            chart,
            documents,
            templates,
            apply_method,
            dropped_hooks: None,
        }
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

/// A rendered text in which nothing is broken, of one template where it does not say of which.
pub(crate) fn read(rendered: &str) -> Render {
    let mut render = Render::read(rendered.as_bytes());
    assert!(render.broken.is_empty(), "{:?} in\n{rendered}", render.broken);
    for document in render.documents.iter_mut().filter(|document| document.template.is_empty()) {
        "chart/templates/all.yaml".clone_into(&mut document.template);
    }
    render
}
