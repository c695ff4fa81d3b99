//! A manifest stream as Helm takes it apart: at lines that start with three dashes, whatever stands around them.

use std::collections::BTreeMap;
use std::mem;

use serde_json::Value;
use stable_hooks_policy::helm::manifest::{self, Limits};
use stable_hooks_policy::helm::order::hook_order;
use stable_hooks_policy::helm::record::RecordHook;
use stable_hooks_policy::helm::{self, DeletePolicies, Events};
use stable_hooks_policy::object::{Kind, Object};
use stable_hooks_policy::references::{RefKind, pod_account};
use stable_hooks_policy::shown::Shown;
use stable_hooks_policy::yaml::{self, Head, YamlError};

use super::{Remark, Subject};

const SEPARATOR: &[u8] = b"---";
const NOTHING: &[u8] = b"";

pub(super) struct Stream<'a> {
    pub(super) documents: Vec<Document<'a>>,
    /// The objects of all documents, the items of lists too.
    pub(super) objects: Vec<Entry>,
    /// Their places by name: a search for each object would make a long stream quadratic.
    by_name: BTreeMap<String, Vec<usize>>,
    /// The places of the release's workloads, by the name of the account that their pods run as.
    by_account: BTreeMap<String, Vec<usize>>,
}

/// The text between two separators, byte for byte.
pub(super) struct Document<'a> {
    /// What goes before: nothing, or the dashes.
    pub(super) separator: &'a [u8],
    pub(super) text: &'a [u8],
    /// Where its object begins, or what is wrong with it; from 1.
    line: usize,
    /// Why it could not be read.
    defect: Option<String>,
}

/// What is wrong with a document, and in which of its lines.
struct Defect {
    line: usize,
    reason: String,
}

/// One object of the stream.
#[derive(Clone)]
pub(super) struct Entry {
    /// The place of its document in the stream.
    pub(super) document: usize,
    /// Helm does not look for hooks inside of a list.
    pub(super) is_in_list: bool,
    pub(super) template: String,
    pub(super) head: Head,
    /// With labels and annotations as Helm reads them: all strings.
    pub(super) object: Value,
}

impl<'a> Stream<'a> {
    pub(super) fn read(text: &'a [u8]) -> Self {
        let (by_name, by_account) = (BTreeMap::new(), BTreeMap::new());
        let mut stream = Self { documents: Vec::new(), objects: Vec::new(), by_name, by_account };
        let (mut separator, mut start, mut end, mut line, mut first_line) = (NOTHING, 0, 0, 1, 1);
        for part in text.split_inclusive(|byte| *byte == b'\n') {
            if part.starts_with(SEPARATOR) {
                stream.add(separator, text.get(start..end).unwrap_or_default(), first_line);
                separator = SEPARATOR;
                start = end + SEPARATOR.len();
                first_line = line;
            }
            end += part.len();
            line += 1;
        }
        stream.add(separator, text.get(start..end).unwrap_or_default(), first_line);
        stream
    }

    fn add(&mut self, separator: &'a [u8], text: &'a [u8], line: usize) {
        let (start, defect) = match self.objects_of(text) {
            Ok((start, objects)) => {
                for entry in objects {
                    self.add_object(entry);
                }
                (start, None)
            }
            Err(Defect { line, reason }) => (line, Some(reason)),
        };
        self.documents.push(Document { separator, text, line: line + start - 1, defect });
    }

    fn add_object(&mut self, entry: Entry) {
        let place = self.objects.len();
        self.by_name.entry(entry.head.name.clone()).or_default().push(place);
        if let Some(account) = pod_account(&entry.object).filter(|_| entry.is_resource()) {
            self.by_account.entry(account.to_owned()).or_default().push(place);
        }
        self.objects.push(entry);
    }

    /// The objects, and in which line the first begins.
    fn objects_of(&self, text: &[u8]) -> Result<(usize, Vec<Entry>), Defect> {
        let text = str::from_utf8(text).map_err(|_| Defect { line: 1, reason: "not UTF-8 text".to_owned() })?;
        let malformed = |error: YamlError| {
            let reason = format!("malformed YAML at column {}: {}", error.column, error.problem);
            Defect { line: error.line, reason }
        };
        let Some((start, value)) = yaml::parse(text, &yaml::Limits::default()).map_err(malformed)? else {
            return Ok((1, Vec::new()));
        };
        if value.is_null() {
            return Ok((1, Vec::new()));
        }
        if Head::of(&value).kind.is_empty() {
            return Err(Defect { line: start, reason: "no Kubernetes object, it has no kind".to_owned() });
        }
        let limits = Limits { documents: usize::MAX, ..Limits::default() };
        let entry = |found: manifest::Document<'_>| Entry {
            document: self.documents.len(),
            is_in_list: found.item.is_some(),
            template: found.path.to_owned(),
            object: as_helm_reads(found.item.unwrap_or_else(|| value.clone()), &found.head),
            head: found.head,
        };
        Ok((start, manifest::documents(text, &manifest::Wanted::everything(), &limits).map(entry).collect()))
    }

    pub(super) fn text(&self, document: usize) -> &'a str {
        self.documents.get(document).and_then(|document| str::from_utf8(document.text).ok()).unwrap_or_default()
    }

    /// What could not be read, for the report.
    pub(super) fn unreadable(&self) -> impl Iterator<Item = Remark> {
        self.documents.iter().filter_map(|document| {
            let text = format!("the document stays as it is: {}", document.defect.as_ref()?);
            Some(Remark { line: document.line, subject: Subject::Unreadable, text })
        })
    }

    /// The objects of that name, of any kind, each with its place.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = (usize, &Entry)> {
        let places = self.by_name.get(name).into_iter().flatten();
        places.filter_map(|place| Some((*place, self.objects.get(*place)?)))
    }

    /// Objects without a name get one of their own from the API server.
    pub(super) fn holds_twice(&self, entry: &Entry) -> bool {
        let name = &entry.head.name;
        !name.is_empty() && self.named(name).filter(|(_, other)| other.has_key_of(entry)).count() > 1
    }

    /// A workload of the release whose pods run as that ServiceAccount, for as long as the release lives.
    pub(super) fn workload_of(&self, account: &Entry) -> Option<&Entry> {
        let name = &account.head.name;
        let mut workloads = self.by_account.get(name)?.iter().filter_map(|place| self.objects.get(*place));
        let kind = RefKind::ServiceAccount.as_str();
        workloads.find(|workload| account.is_called("", kind, &workload.head.namespace, name))
    }

    pub(super) fn remark(&self, entry: &Entry, text: String) -> Remark {
        let line = self.documents.get(entry.document).map_or(1, |document| document.line);
        Remark { line, subject: entry.subject(), text }
    }
}

/// Where Go wants strings it makes some of numbers and booleans.
fn as_helm_reads(mut object: Value, head: &Head) -> Value {
    for (field, strings) in [("labels", &head.labels), ("annotations", &head.annotations)] {
        let map = object.get_mut("metadata").and_then(|metadata| metadata.get_mut(field));
        if let Some(Value::Object(map)) = map {
            map.clear();
            map.extend(strings.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))));
        }
    }
    object
}

impl Entry {
    /// The object, if it is one that the policy judges.
    pub(super) fn judged(&self) -> Option<Object> {
        let version = self.head.api_version.rsplit('/').next().unwrap_or_default();
        Some(Object::new(Kind::parse(self.head.group(), version, &self.head.kind)?, self.object.clone()))
    }

    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        self.head.annotations.get(key).map(String::as_str)
    }

    /// The events at which Helm runs it; `None` for what is no hook.
    pub(super) fn events(&self) -> Option<Events> {
        if self.is_in_list {
            return None;
        }
        Events::parse(self.annotation(helm::HOOK)?).ok()
    }

    /// What Helm creates with the release, neither a hook nor dropped.
    pub(super) fn is_resource(&self) -> bool {
        self.is_in_list || self.annotation(helm::HOOK).is_none()
    }

    pub(super) fn delete_policies(&self) -> DeletePolicies {
        self.annotation(helm::HOOK_DELETE_POLICY).map(DeletePolicies::parse).unwrap_or_default()
    }

    /// What the other is called too, as far as the stream says: the release's own namespace is not in it.
    pub(super) fn is_called(&self, group: &str, kind: &str, namespace: &str, name: &str) -> bool {
        let is_near = self.head.namespace.is_empty() || namespace.is_empty() || self.head.namespace == namespace;
        self.head.name == name && self.head.kind == kind && self.head.group() == group && is_near
    }

    pub(super) fn has_key_of(&self, other: &Self) -> bool {
        self.is_called(other.head.group(), &other.head.kind, &other.head.namespace, &other.head.name)
    }

    /// Helm runs it before the other, both being hooks of one event.
    pub(super) fn runs_before(&self, other: &Self) -> bool {
        hook_order(&self.rank(), &other.rank()).is_lt()
    }

    fn rank(&self) -> RecordHook {
        let weight = self.annotation(helm::HOOK_WEIGHT).and_then(helm::weight).unwrap_or_default();
        let (kind, name) = (self.head.kind.clone(), self.head.name.clone());
        RecordHook { kind, name, weight, ..RecordHook::default() }
    }

    pub(super) fn set_annotation(&mut self, key: &str, value: &str) {
        self.head.annotations.insert(key.to_owned(), value.to_owned());
        self.object = as_helm_reads(mem::take(&mut self.object), &self.head);
    }

    fn subject(&self) -> Subject {
        Subject::Object { object: self.shown(), template: self.template.clone() }
    }

    pub(super) fn shown(&self) -> String {
        let Head { kind, namespace, name, .. } = &self.head;
        let slash = if namespace.is_empty() { "" } else { "/" };
        let name = if name.is_empty() { "(no name)" } else { name };
        format!("{} {}{slash}{}", Shown(kind), Shown(namespace), Shown(name))
    }
}
