//! A manifest stream as Helm takes it apart: at lines that start with three dashes, whatever stands around them.

use std::collections::{BTreeMap, BTreeSet};

use helm::manifest::{self, Limits};
use helm::order::hook_order;
use helm::record::RecordHook;
use helm::yaml::{self, Head, YamlError};
use helm::{DeletePolicies, Events};
use serde_json::Value;
use stable_hooks_policy::identity::{Identity, classify};
use stable_hooks_policy::ignore::{IGNORE, Ignored};
use stable_hooks_policy::object::MIGRATION_LABEL;
use stable_hooks_policy::object::{HOOK_ANNOTATIONS, Kind, Object};
use stable_hooks_policy::references::{RefKind, pod_account};
use stable_hooks_policy::selector::selects;
use stable_hooks_policy::shown::Shown;
use stable_hooks_policy::{RuleId, Settings};

use super::remark::{Remark, Subject};

const SEPARATOR: &[u8] = b"---";
const NOTHING: &[u8] = b"";

/// Every field that holds a ServiceAccount has this in its name, behind an `s` or an `S`.
const ACCOUNT_FIELD: &str = "erviceAccount";
/// The account that a Secret holds a token of.
const TOKEN_OF: &str = "kubernetes.io/service-account.name";

/// The kinds that a program connects to by name, and those that stand behind them; each with its group first.
const CONNECTED: [(&str, &str); 4] = [("", "Service"), ("apps", "StatefulSet"), ("apps", "Deployment"), ("", "Pod")];

/// A stream, as far as the mending of one object asks for the others. Below their heads it is read again where that is
/// needed, so that a long stream takes little more memory than its text.
pub(super) struct Stream<'a> {
    pub(super) documents: Vec<Document<'a>>,
    /// The objects of all documents, the items of lists too.
    pub(super) objects: Vec<Entry<'a>>,
    /// Their places in the order of their names: a search for each object would make a long stream quadratic.
    by_name: Vec<usize>,
    /// The places of what can be connected to, in the order of the names.
    by_host: Vec<usize>,
    /// The ServiceAccounts that the release's objects name as theirs, in order, each with the place of the object.
    by_account: Vec<(String, usize)>,
}

/// The text between two separators, byte for byte.
pub(super) struct Document<'a> {
    /// The dashes before it, or nothing.
    pub(super) separator: &'a [u8],
    pub(super) text: &'a [u8],
    /// Where its object begins, or where it is defective; from 1.
    line: usize,
    /// Why it could not be read.
    defect: Option<String>,
}

/// A defect of a document, and in which of its lines it is.
struct Defect {
    line: usize,
    reason: String,
}

/// One object of the stream.
#[derive(Clone)]
pub(super) struct Entry<'a> {
    /// The place of its document in the stream.
    pub(super) document: usize,
    /// Helm does not look for hooks inside of a list.
    pub(super) is_in_list: bool,
    pub(super) template: &'a str,
    /// Without labels, and with those annotations only that say whether it is a hook, and which.
    pub(super) head: Head,
    /// The ServiceAccount that its pods run as.
    pub(super) account: Option<String>,
    /// `None` for what is neither a Job nor a ServiceAccount, or what the settings ignore.
    pub(super) selection: Option<Selection>,
}

/// Whether the policy takes an object for a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Selection {
    Selected,
    /// Nothing but its labels keeps it from being one.
    Possible,
    Never,
}

/// A word by which objects are found.
type Word<'a> = for<'e> fn(&'e Entry<'a>) -> &'e str;

impl<'a> Stream<'a> {
    pub(super) fn read(text: &'a [u8], settings: &Settings) -> Self {
        let (by_name, by_host, by_account) = Default::default();
        let mut stream = Self { documents: Vec::new(), objects: Vec::new(), by_name, by_host, by_account };
        let (mut separator, mut start, mut end, mut line, mut first_line) = (NOTHING, 0, 0, 1, 1);
        for part in text.split_inclusive(|byte| *byte == b'\n') {
            if part.starts_with(SEPARATOR) {
                stream.add(separator, text.get(start..end).unwrap_or_default(), first_line, settings);
                separator = SEPARATOR;
                start = end + SEPARATOR.len();
                first_line = line;
            }
            end += part.len();
            line += 1;
        }
        stream.add(separator, text.get(start..end).unwrap_or_default(), first_line, settings);
        stream.by_name = stream.places_by(Entry::name, |_| true);
        stream.by_host = stream.places_by(Entry::name, Entry::can_be_connected_to);
        stream.by_account.sort();
        stream
    }

    fn add(&mut self, separator: &'a [u8], text: &'a [u8], line: usize, settings: &Settings) {
        let (start, defect) = match self.add_objects(text, settings) {
            Ok(start) => (start, None),
            Err(Defect { line, reason }) => (line, Some(reason)),
        };
        self.documents.push(Document { separator, text, line: line + start - 1, defect });
    }

    /// Says in which line the first object begins.
    fn add_objects(&mut self, text: &'a [u8], settings: &Settings) -> Result<usize, Defect> {
        let text = str::from_utf8(text).map_err(|_| Defect { line: 1, reason: "not UTF-8 text".to_owned() })?;
        let malformed = |error: YamlError| {
            let reason = format!("malformed YAML at column {}: {}", error.column, error.problem);
            Defect { line: error.line, reason }
        };
        // A large document is built whole only where it may name an account: nothing else below its head is asked for.
        let may_name_account = text.contains(ACCOUNT_FIELD);
        let read = if may_name_account { yaml::parse } else { yaml::skim };
        let Some((start, object)) = read(text, &yaml::Limits::default()).map_err(malformed)? else {
            return Ok(1);
        };
        if object.is_null() {
            return Ok(1);
        }
        let head = Head::of(&object);
        if head.kind.is_empty() {
            return Err(Defect { line: start, reason: "no Kubernetes object, it has no kind".to_owned() });
        }
        let document = self.documents.len();
        if head.kind.ends_with("List") && !head.annotations.contains_key(helm::HOOK) {
            let limits = Limits { documents: usize::MAX, ..Limits::default() };
            for found in manifest::documents(text, &manifest::Wanted::everything(), &limits) {
                let is_in_list = found.item.is_some();
                let object = found.item.unwrap_or_default();
                let account = pod_account(&object).map(str::to_owned);
                self.note_accounts(&found.head, &object, is_in_list);
                let read = (found.head, object);
                self.objects.push(Entry::new(document, is_in_list, found.path, read, account, settings));
            }
            return Ok(start);
        }
        // An escape can spell the field in another way.
        let again = if may_name_account || !text.contains('\\') { None } else { read_object(text) };
        let whole = again.as_ref().unwrap_or(&object);
        let account = pod_account(whole).map(str::to_owned);
        self.note_accounts(&head, whole, false);
        self.objects.push(Entry::new(document, false, template(text), (head, object), account, settings));
        Ok(start)
    }

    /// Notes the accounts that the next object names, where it lives as long as the release.
    fn note_accounts(&mut self, head: &Head, object: &Value, is_in_list: bool) {
        if is_in_list || !head.annotations.contains_key(helm::HOOK) {
            let mut names: BTreeSet<&str> = head.annotations.get(TOKEN_OF).map(String::as_str).into_iter().collect();
            add_accounts(object, &mut names);
            let place = self.objects.len();
            self.by_account.extend(names.into_iter().map(|name| (name.to_owned(), place)));
        }
    }

    /// The places of the wanted objects in the order of a word of theirs; equal ones keep the order of the stream.
    fn places_by(&self, word: Word<'a>, is_wanted: fn(&Entry<'a>) -> bool) -> Vec<usize> {
        let places = self.objects.iter().enumerate().filter(|(_, entry)| is_wanted(entry));
        let mut places: Vec<_> = places.map(|(place, _)| place).collect();
        places.sort_by_key(|place| self.objects.get(*place).map(word));
        places
    }

    /// The places whose object has that word.
    fn find<'s>(
        &'s self,
        places: &'s [usize],
        word: Word<'a>,
        wanted: &str,
    ) -> impl Iterator<Item = (usize, &'s Entry<'a>)> + use<'s, 'a> {
        let word_at = |place: &usize| self.objects.get(*place).map(word).unwrap_or_default();
        let start = places.partition_point(|place| word_at(place) < wanted);
        let count = places.get(start..).unwrap_or_default().partition_point(|place| word_at(place) == wanted);
        let found = places.get(start..start + count).unwrap_or_default();
        found.iter().filter_map(|place| Some((*place, self.objects.get(*place)?)))
    }

    pub(super) fn text(&self, document: usize) -> &'a str {
        self.documents.get(document).and_then(|document| str::from_utf8(document.text).ok()).unwrap_or_default()
    }

    /// The documents that could not be read, for the report.
    pub(super) fn unreadable(&self) -> impl Iterator<Item = Remark> {
        self.documents.iter().filter_map(|document| {
            let text = format!("the document stays as it is: {}", document.defect.as_ref()?);
            Some(Remark { line: document.line, subject: Subject::Unreadable, text })
        })
    }

    /// The whole object of a document, read again.
    pub(super) fn object(&self, entry: &Entry<'_>) -> Option<Value> {
        read_object(self.text(entry.document)).filter(|_| !entry.is_in_list)
    }

    /// Each object of a document, whole, with its place.
    pub(super) fn for_each_object(&self, document: usize, mut found: impl FnMut(usize, &Entry<'a>, &Value)) {
        let first = self.objects.partition_point(|entry| entry.document < document);
        let entries = self.objects.iter().enumerate().skip(first);
        let entries = entries.take_while(|(_, entry)| entry.document == document);
        let text = self.text(document);
        if !entries.clone().any(|(_, entry)| entry.is_in_list) {
            for (place, entry) in entries {
                found(place, entry, &read_object(text).unwrap_or_default());
            }
            return;
        }
        let limits = Limits { documents: usize::MAX, ..Limits::default() };
        let everything = manifest::Wanted::everything();
        let items = manifest::documents(text, &everything, &limits);
        for ((place, entry), item) in entries.zip(items) {
            found(place, entry, &item.item.unwrap_or_default());
        }
    }

    /// The objects of that name, of any kind, each with its place.
    pub(super) fn named<'s>(&'s self, name: &str) -> impl Iterator<Item = (usize, &'s Entry<'a>)> + use<'s, 'a> {
        self.find(&self.by_name, Entry::name, name)
    }

    /// The objects that a program reaches by that name, or by one that it is part of.
    pub(super) fn connected<'s>(&'s self, name: &str) -> impl Iterator<Item = (usize, &'s Entry<'a>)> + use<'s, 'a> {
        self.find(&self.by_host, Entry::name, name)
    }

    /// Objects without a name get one of their own from the API server.
    pub(super) fn holds_twice(&self, entry: &Entry<'_>) -> bool {
        let mut same = self.named(entry.name()).filter(|(_, other)| other.has_key_of(entry));
        !entry.name().is_empty() && same.nth(1).is_some()
    }

    /// The object that uses that ServiceAccount for as long as the release lives, in words.
    pub(super) fn user_of(&self, account: &Entry<'_>) -> Option<String> {
        let (kind, name) = (RefKind::ServiceAccount.as_str(), account.name());
        let start = self.by_account.partition_point(|(other, _)| other.as_str() < name);
        let same = self.by_account.iter().skip(start).take_while(|(other, _)| other == name);
        let mut users = same.filter_map(|(_, place)| self.objects.get(*place));
        let user = users.find(|user| account.is_called("", kind, &user.head.namespace, name))?;
        let verb = if user.account.as_deref() == Some(name) { "runs as" } else { "names" };
        Some(format!("{} {verb} it", user.shown()))
    }

    pub(super) fn remark(&self, entry: &Entry<'_>, text: String) -> Remark {
        let line = self.documents.get(entry.document).map_or(1, |document| document.line);
        Remark { line, subject: entry.subject(), text }
    }
}

/// Each ServiceAccount that a field somewhere in it names: `serviceAccountName`, or `serviceAccountRef` with a `name`.
fn add_accounts<'v>(value: &'v Value, names: &mut BTreeSet<&'v str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| add_accounts(item, names)),
        Value::Object(fields) => {
            for (key, value) in fields {
                if key.contains(ACCOUNT_FIELD) {
                    let name = value.get("name").unwrap_or(value).as_str();
                    names.extend(name.filter(|name| !name.is_empty()));
                }
                add_accounts(value, names);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The template that Helm names above a document, whatever else stands in the line of the separator.
fn template(text: &str) -> &str {
    let text = text.trim_start();
    manifest::path(text.strip_prefix("---").unwrap_or(text).trim_start())
}

/// The object of a text that was read before, with labels and annotations as Helm reads them: all strings.
fn read_object(text: &str) -> Option<Value> {
    let (_, object) = yaml::parse(text, &yaml::Limits::default()).ok()??;
    let head = Head::of(&object);
    Some(as_helm_reads(object, &head))
}

/// Go makes strings of numbers and booleans where it wants strings.
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

/// The object, if it is one that the policy judges.
pub(super) fn judged(head: &Head, object: Value) -> Option<Object> {
    let version = head.api_version.rsplit('/').next().unwrap_or_default();
    Some(Object::new(Kind::parse(head.group(), version, &head.kind)?, object))
}

/// The object need not be whole below its metadata.
fn selection(head: &Head, object: Value, settings: &Settings) -> Option<Selection> {
    let object = judged(head, object).filter(|_| !settings.ignores_namespace(&head.namespace))?;
    let identity = classify(&object);
    let is_test = matches!(&identity, Identity::Hook(hook) if hook.is_test_or_delete_only());
    let is_barred = is_test || object.has_controller() || object.label(MIGRATION_LABEL) == Some("false");
    Some(if selects(settings, &object, &identity) {
        Selection::Selected
    } else if is_barred {
        Selection::Never
    } else {
        Selection::Possible
    })
}

/// Whether the mending of other objects asks for that annotation.
fn is_asked_for(key: &str) -> bool {
    HOOK_ANNOTATIONS.contains(&key) || [helm::RELEASE_NAME, IGNORE].contains(&key)
}

impl<'a> Entry<'a> {
    fn new(
        document: usize,
        is_in_list: bool,
        template: &'a str,
        (mut head, object): (Head, Value),
        account: Option<String>,
        settings: &Settings,
    ) -> Self {
        let selection = selection(&head, as_helm_reads(object, &head), settings);
        head.labels = BTreeMap::new();
        head.annotations.retain(|key, _| is_asked_for(key));
        Self { document, is_in_list, template, head, account, selection }
    }

    fn can_be_connected_to(&self) -> bool {
        CONNECTED.contains(&(self.head.group(), self.head.kind.as_str()))
    }

    fn name(&self) -> &str {
        &self.head.name
    }

    /// Kubernetes itself has the kind: its work is known, and it makes no Secret or ConfigMap of its name.
    pub(super) fn is_built_in(&self) -> bool {
        let group = self.head.group();
        !group.contains('.') || group.ends_with(".k8s.io")
    }

    /// It is the namespace of its name, or may make it.
    pub(super) fn may_make_namespace(&self) -> bool {
        !self.is_built_in() || self.head.kind == "Namespace"
    }

    /// It may make objects of that kind under names that begin or end with its own.
    pub(super) fn may_make(&self, kind: RefKind) -> bool {
        !self.is_built_in() || kind == RefKind::PersistentVolumeClaim && self.head.kind == "StatefulSet"
    }

    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        self.head.annotations.get(key).map(String::as_str)
    }

    /// It switches that rule off for itself.
    pub(super) fn ignores(&self, rule: RuleId) -> bool {
        Ignored::of(self.annotation(IGNORE)).includes(rule)
    }

    /// The events at which Helm runs it; `None` for what is no hook.
    pub(super) fn events(&self) -> Option<Events> {
        if self.is_in_list {
            return None;
        }
        Events::parse(self.annotation(helm::HOOK)?).ok()
    }

    /// A hook for Helm, and nothing else besides.
    pub(super) fn is_helm_hook(&self) -> bool {
        self.events().is_some() && self.annotation(helm::RELEASE_NAME).is_none()
    }

    /// Helm creates it with the release: it is neither a hook nor dropped.
    pub(super) fn is_resource(&self) -> bool {
        self.is_in_list || self.annotation(helm::HOOK).is_none()
    }

    pub(super) fn delete_policies(&self) -> DeletePolicies {
        self.annotation(helm::HOOK_DELETE_POLICY).map(DeletePolicies::parse).unwrap_or_default()
    }

    /// It may have that name, as far as the stream says: the release's own namespace is not in it.
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

    /// Sets it in the head and in the object.
    pub(super) fn set_annotation(&mut self, object: &mut Value, key: &str, value: &str) {
        self.head.annotations.insert(key.to_owned(), value.to_owned());
        let annotations = object.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations"));
        if let Some(Value::Object(annotations)) = annotations {
            annotations.insert(key.to_owned(), value.into());
        }
    }

    fn subject(&self) -> Subject {
        Subject::Object { object: self.shown(), template: self.template.to_owned() }
    }

    pub(super) fn shown(&self) -> String {
        let Head { kind, namespace, name, .. } = &self.head;
        let slash = if namespace.is_empty() { "" } else { "/" };
        let name = if name.is_empty() { "(no name)" } else { name };
        format!("{} {}{slash}{}", Shown(kind), Shown(namespace), Shown(name))
    }
}
