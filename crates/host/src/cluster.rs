//! A policy's questions about the cluster, answered from known objects instead of by an API server.
//!
//! Requests, answers and error texts are those of Kubewarden's host capabilities (`kubernetes`).

mod mask;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thiserror::Error;

use crate::metadata::ContextAwareResource;
use mask::Mask;

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The objects of a cluster; the default is no cluster at all, which is not an empty one.
#[derive(Debug, Clone, Default)]
pub struct ClusterView {
    kinds: Option<Arc<BTreeMap<Kind, Objects>>>,
    /// Release records by kind and place, known also where nothing else of the cluster is.
    records: Option<Arc<BTreeMap<Kind, Objects>>>,
    /// Where only one namespace was looked into.
    namespace: Option<Arc<str>>,
}

/// `apiVersion` and `kind`.
type Kind = (String, String);
/// By namespace (empty for cluster-wide objects) and name, which is also the order of a list.
type Objects = BTreeMap<(String, String), Value>;

/// Why an entry cannot be in a view.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum EntryError {
    #[error("line {line}: an object without `metadata.name`")]
    NoName { line: usize },
    #[error("line {line}: {kind} `{name}` of namespace `{namespace}` again, with other content")]
    Conflict { line: usize, kind: String, namespace: String, name: String },
}

impl ClusterView {
    /// The cluster that a file tells of: each entry is an object and the line where it stands, or why it cannot be read.
    /// Entries are taken one by one, so the error that stands first in the file is the one that is told.
    ///
    /// # Errors
    ///
    /// When an entry cannot be read, is an object without a name, or contradicts another one.
    pub fn from_entries<E: From<EntryError>>(
        entries: impl IntoIterator<Item = Result<(usize, Value), E>>,
    ) -> Result<Self, E> {
        let mut kinds = BTreeMap::<Kind, Objects>::new();
        for entry in entries {
            let (line, object) = entry?;
            let (kind, place) = address(&object);
            if place.1.is_empty() {
                return Err(EntryError::NoName { line }.into());
            }
            let objects = kinds.entry(kind.clone()).or_default();
            // Two overlapping `kubectl get` calls are fine as long as they agree.
            if objects.get(&place).is_some_and(|known| *known != object) {
                let (namespace, name) = place;
                let kind = format!("{}/{}", kind.0, kind.1);
                return Err(EntryError::Conflict { line, kind, namespace, name }.into());
            }
            objects.insert(place, object);
        }
        Ok(Self { kinds: Some(Arc::new(kinds)), records: None, namespace: None })
    }

    /// A cluster of which it is known that nothing is in it.
    #[must_use]
    pub fn empty() -> Self {
        Self { kinds: Some(Arc::default()), records: None, namespace: None }
    }

    /// The same cluster with these objects in it as well, in the place of others of their names.
    #[must_use]
    pub fn with_objects(&self, objects: impl IntoIterator<Item = Value>) -> Self {
        let mut kinds = self.kinds.as_deref().cloned().unwrap_or_default();
        for object in objects {
            let (kind, place) = address(&object);
            kinds.entry(kind).or_default().insert(place, object);
        }
        Self { kinds: Some(Arc::new(kinds)), records: self.records.clone(), namespace: self.namespace.clone() }
    }

    /// The same view, of one namespace: what lies in another one is not known.
    #[must_use]
    pub fn within(self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.into()), ..self }
    }

    /// The same cluster with release records in it. Where there is no other object, these are all its Secrets and
    /// `ConfigMaps`, and about other kinds still nothing is known.
    #[must_use]
    pub fn with_records(&self, records: impl IntoIterator<Item = Value>) -> Self {
        let mut known = BTreeMap::<Kind, Objects>::new();
        for record in records {
            let (kind, place) = address(&record);
            known.entry(kind).or_default().insert(place, record);
        }
        Self { kinds: self.kinds.clone(), records: Some(Arc::new(known)), namespace: self.namespace.clone() }
    }

    /// Answers the host call `kubewarden/kubernetes/<operation>` of a policy that may see `granted`.
    ///
    /// # Errors
    ///
    /// The text that Kubewarden would hand to the policy.
    pub fn answer(&self, operation: &str, payload: &[u8], granted: &[ContextAwareResource]) -> Result<Vec<u8>, String> {
        self.found(operation, payload, granted).map(|found| found.to_string().into_bytes())
    }

    /// The same answer before it is written as JSON.
    ///
    /// # Errors
    ///
    /// As [`Self::answer`].
    pub fn found(&self, operation: &str, payload: &[u8], granted: &[ContextAwareResource]) -> Result<Value, String> {
        let found = match operation {
            "get_resource" => {
                let query: Get = parse(payload)?;
                check_grant(granted, &query.api_version, &query.kind)?;
                self.get(&query)
            }
            "list_resources_by_namespace" => {
                let query: ListByNamespace = parse(payload)?;
                check_grant(granted, &query.list.api_version, &query.list.kind)?;
                self.list(&query.list, Some(&query.namespace))
            }
            "list_resources_all" => {
                let query: List = parse(payload)?;
                check_grant(granted, &query.api_version, &query.kind)?;
                self.list(&query, None)
            }
            "can_i" => self.kinds().and_then(|_| Err(unanswerable("`can_i`"))),
            _ => return Err(format!("unknown operation: {operation}")),
        };
        found.map_err(|reason| format!("Callback evaluation failure: {reason}"))
    }

    fn get(&self, query: &Get) -> Result<Value, String> {
        let mut object = match self.record(query) {
            Some(record) => record?,
            None => self.find(query)?,
        };
        Mask::new(query.field_masks.iter().flatten()).prune_object(&mut object);
        Ok(object)
    }

    /// A release record; `None` where the cluster's other objects have the answer.
    fn record(&self, query: &Get) -> Option<Result<Value, String>> {
        let records = self.records.as_deref()?;
        let kind = (query.api_version.clone(), query.kind.clone());
        let place = (query.namespace.clone().unwrap_or_default(), query.name.clone());
        match records.get(&kind).and_then(|objects| objects.get(&place)) {
            Some(record) => Some(Ok(record.clone())),
            None if self.kinds.is_none() && is_record_storage(&kind) => Some(Err(cannot_find(query))),
            None => None,
        }
    }

    fn find(&self, query: &Get) -> Result<Value, String> {
        let Get { api_version, kind, name, namespace, .. } = query;
        if let (Some(seen), Some(wanted)) = (&self.namespace, namespace)
            && **seen != **wanted
        {
            return Err(unanswerable("an object of a namespace that was not looked into"));
        }
        let objects = self.objects(api_version, kind)?;
        let namespace_of_key = match namespace {
            Some(namespace) if is_namespaced(objects) => namespace.as_str(),
            None if is_namespaced(objects) => {
                return Err(format!("Resource {api_version}/{kind} is namespaced, but no namespace was provided"));
            }
            // Kubernetes ignores the namespace of a cluster-wide kind.
            _ => "",
        };
        let found = objects.and_then(|objects| objects.get(&(namespace_of_key.to_owned(), name.to_owned())));
        found.cloned().ok_or_else(|| cannot_find(query))
    }

    fn list(&self, query: &List, namespace: Option<&str>) -> Result<Value, String> {
        let List { api_version, kind, .. } = query;
        let objects = self.objects(api_version, kind)?;
        if namespace.is_some() && objects.is_some() && !is_namespaced(objects) {
            return Err(format!(
                "resource {api_version}/{kind} is cluster wide. Cannot search for it inside of a namespace"
            ));
        }
        if has_text(query.label_selector.as_ref()) {
            return Err(unanswerable("a list with a `label_selector`"));
        }
        if has_text(query.field_selector.as_ref()) {
            return Err(unanswerable("a list with a `field_selector`"));
        }
        let mask = Mask::new(query.field_masks.iter().flatten());
        let items: Vec<Value> = objects
            .into_iter()
            .flatten()
            .filter(|((place, _), _)| namespace.is_none_or(|namespace| namespace == place))
            .map(|(_, object)| {
                let mut item = object.clone();
                forget_bookkeeping(&mut item);
                mask.prune_object(&mut item);
                item
            })
            .collect();
        Ok(json!({
            "apiVersion": api_version,
            "kind": format!("{kind}List"),
            "metadata": {},
            "items": items,
        }))
    }

    fn objects(&self, api_version: &str, kind: &str) -> Result<Option<&Objects>, String> {
        let kind = (api_version.to_owned(), kind.to_owned());
        Ok(self.kinds()?.get(&kind))
    }

    fn kinds(&self) -> Result<&BTreeMap<Kind, Objects>, String> {
        self.kinds.as_deref().ok_or_else(|| "kube::Client was not initialized properly".to_owned())
    }
}

#[derive(Deserialize)]
struct Get {
    api_version: String,
    kind: String,
    name: String,
    namespace: Option<String>,
    #[expect(dead_code, reason = "a file needs no cache, but Kubewarden refuses a call without this key")]
    disable_cache: bool,
    field_masks: Option<BTreeSet<String>>,
}

#[derive(Deserialize)]
struct List {
    api_version: String,
    kind: String,
    label_selector: Option<String>,
    field_selector: Option<String>,
    field_masks: Option<BTreeSet<String>>,
}

#[derive(Deserialize)]
struct ListByNamespace {
    namespace: String,
    #[serde(flatten)]
    list: List,
}

fn parse<Query: DeserializeOwned>(payload: &[u8]) -> Result<Query, String> {
    serde_json::from_slice(payload).map_err(|error| error.to_string())
}

fn check_grant(granted: &[ContextAwareResource], api_version: &str, kind: &str) -> Result<(), String> {
    if granted.iter().any(|resource| resource.api_version == api_version && resource.kind == kind) {
        return Ok(());
    }
    Err(format!(
        "Policy has not been granted access to Kubernetes {api_version}/{kind} resources. \
         The violation has been reported."
    ))
}

fn cannot_find(query: &Get) -> String {
    let Get { api_version, kind, name, namespace, .. } = query;
    format!("Cannot find {api_version}/{kind} named '{name}' inside of namespace '{namespace:?}'")
}

/// The key of an object: its kind, then its namespace and name.
fn address(object: &Value) -> (Kind, (String, String)) {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    ((text("/apiVersion"), text("/kind")), (text("/metadata/namespace"), text("/metadata/name")))
}

fn is_record_storage((api_version, kind): &Kind) -> bool {
    api_version == "v1" && matches!(kind.as_str(), "Secret" | "ConfigMap")
}

fn unanswerable(question: &str) -> String {
    format!("a cluster file cannot answer {question}; only a real cluster can")
}

fn has_text(selector: Option<&String>) -> bool {
    selector.is_some_and(|selector| !selector.is_empty())
}

fn is_namespaced(objects: Option<&Objects>) -> bool {
    objects.is_some_and(|objects| objects.keys().any(|(namespace, _)| !namespace.is_empty()))
}

/// Kubewarden empties these two in lists to save memory, and leaves the empty fields behind.
fn forget_bookkeeping(item: &mut Value) {
    let Some(Value::Object(metadata)) = item.get_mut("metadata") else {
        return;
    };
    metadata.insert("managedFields".to_owned(), json!([]));
    if let Value::Object(annotations) = metadata.entry("annotations").or_insert_with(|| json!({})) {
        annotations.remove(LAST_APPLIED);
    }
}

#[cfg(test)]
mod tests;
