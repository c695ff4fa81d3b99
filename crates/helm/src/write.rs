//! The release record that Helm would store of a chart's render.

use std::collections::BTreeMap;

use base64::Engine;
use serde_json::{Value, json};

use crate::annotation::{HOOK, HOOK_DELETE_POLICY, HOOK_OUTPUT_LOG_POLICY, HOOK_WEIGHT};
use crate::hook::{self, Event, Events};
use crate::manifest::{self, SOURCE};
use crate::record::ApplyMethod;
use crate::record::base64::BASE64;
use crate::storage::{Label, Storage};
use crate::yaml::Head;

/// One object of a rendered text.
#[derive(Debug, Clone)]
pub struct Document {
    /// The path of its template, from the chart's name on; empty where it is not said.
    pub template: String,
    pub text: String,
    pub head: Head,
    /// Null where only the head is needed.
    pub object: Value,
    pub identity: Identity,
}

/// Helm's reading of a document: a resource, a hook, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    Resource,
    Hook(Events),
    /// One empty or unknown event, and Helm forgets the whole document.
    Dropped,
}

/// One revision of a release, made of a chart's rendered text.
#[derive(Debug, Clone, Copy)]
pub struct Revision<'a> {
    pub name: &'a str,
    pub namespace: &'a str,
    pub version: u64,
    /// `pending-install` for example.
    pub status: &'a str,
    /// The chart's name.
    pub chart: &'a str,
    /// In the order in which they were rendered.
    pub documents: &'a [Document],
    /// The sources of the chart's templates, by their paths inside of the chart.
    pub templates: &'a BTreeMap<String, String>,
    pub apply_method: ApplyMethod,
    /// By template, as Helm calls it, the `helm.sh/hook` with which Helm has dropped a document.
    pub dropped_hooks: Option<&'a BTreeMap<String, String>>,
}

impl Document {
    /// A document of this text, with the head and the object that were read from it.
    pub fn new(text: &str, head: Head, object: Value) -> Self {
        let template = manifest::path(text).to_owned();
        let source = |line: &&str| !line.starts_with(SOURCE);
        let text = text.trim_start_matches(['\r', '\n']).split_inclusive('\n').filter(source).collect();
        let identity = match head.annotations.get(HOOK).map(|value| Events::parse(value)) {
            None => Identity::Resource,
            Some(Ok(events)) => Identity::Hook(events),
            Some(Err(_)) => Identity::Dropped,
        };
        Self { template, text, head, object, identity }
    }

    fn hook(&self) -> Option<Value> {
        let Identity::Hook(_) = self.identity else { return None };
        let annotation = |key| self.head.annotations.get(key).map(String::as_str);
        // An empty policy is a list with one empty item: only without one Helm assumes before-hook-creation.
        let policies = |key| annotation(key).map(|policies| hook::items(policies).collect::<Vec<_>>());
        // Helm runs a hook as often as an event is written.
        let events = annotation(HOOK).into_iter().flat_map(hook::items).filter_map(|item| Event::parse(&item));
        Some(json!({
            "name": self.head.name, "kind": self.head.kind, "path": self.template, "manifest": self.text,
            "events": events.map(Event::as_str).collect::<Vec<_>>(),
            "weight": annotation(HOOK_WEIGHT).and_then(hook::weight).unwrap_or_default(),
            "delete_policies": policies(HOOK_DELETE_POLICY),
            "output_log_policies": policies(HOOK_OUTPUT_LOG_POLICY),
        }))
    }
}

impl Revision<'_> {
    /// The record as JSON, before it is packed.
    pub fn record(&self) -> Value {
        let mut hooks: Vec<_> = self.documents.iter().filter_map(Document::hook).collect();
        // A hook without events: so the policy is told what Helm does not store.
        if let Some(dropped) = self.dropped_hooks {
            hooks.extend(dropped.iter().map(|(template, events)| json!({"path": template, "name": events})));
            // A hook without a path says that the list is complete.
            hooks.push(json!({}));
        }
        let mut manifest = String::new();
        for document in self.documents.iter().filter(|document| document.identity == Identity::Resource) {
            manifest.extend(["---\n", SOURCE, &document.template, "\n", &document.text, "\n"]);
        }
        let template = |(name, source): (&String, &String)| json!({"name": name, "data": BASE64.encode(source)});
        json!({
            "name": self.name, "namespace": self.namespace, "version": self.version,
            "info": {"status": self.status}, "apply_method": self.apply_method.as_str(),
            "chart": {
                "metadata": {"name": self.chart},
                "templates": self.templates.iter().map(template).collect::<Vec<_>>(),
            },
            "hooks": hooks, "manifest": manifest,
        })
    }

    /// The object in which Helm stores it.
    pub fn stored_as(&self, storage: Storage) -> Value {
        self.holding(storage, &storage.pack(&self.record()))
    }

    /// The object with something else in the place of the packed record.
    pub fn holding(&self, storage: Storage, data: &str) -> Value {
        let label = Label { release: self.name, revision: self.version, status: self.status };
        storage.object(&label, self.namespace, data)
    }
}
