//! Which hooks may get the install or upgrade event that they lack: those whose needs are met at that event too.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use helm::{DeletePolicy, Event, Events};
use serde_json::Value;
use stable_hooks_policy::references::{RefKind, Reference, references, texts, value_sources};
use stable_hooks_policy::shown::Shown;

use super::edit::{Edit, apply};
use super::stream::{Entry, Stream};

/// For each hook that lacks an event, by its place among the objects: the events it may have, or what stands against it.
pub(super) type Completions = BTreeMap<usize, Result<Events, String>>;

/// Something of the stream that a hook needs, or may need.
struct Need {
    /// What it is called.
    name: String,
    why: Why,
}

enum Why {
    /// A field refers to it.
    Reference { kind: RefKind, namespace: String, field: String },
    /// A text of the hook has a word that may be a host.
    Text { field: String },
    /// A value of a ConfigMap or a Secret has one, which `field` names.
    Value { kind: RefKind, source: String, key: String, field: String },
}

/// Completes the hooks at these places.
///
/// Hooks may need each other, so all are taken for complete until one turns out not to be, and then looked at again.
pub(super) fn complete(stream: &Stream<'_>, places: &[usize]) -> Completions {
    let lacking = |place: &usize| {
        let hook = stream.objects.get(*place)?;
        let (events, completed) = (hook.events()?, hook.events()?.completed());
        // What another hook counts on must not fail later.
        let edit = Edit { key: helm::HOOK, value: completed.to_string() };
        let possible = apply(stream.text(hook.document), &edit).map(|_| completed).map_err(str::to_owned);
        (completed != events).then_some((*place, possible))
    };
    let mut completions: Completions = places.iter().filter_map(lacking).collect();
    let mut sources = Sources::default();
    let mut needs = BTreeMap::new();
    for place in completions.iter().filter(|(_, completion)| completion.is_ok()).map(|(place, _)| *place) {
        if let Some(hook) = stream.objects.get(place) {
            needs.insert(place, needs_of(stream, &mut sources, hook));
        }
    }
    loop {
        let refused = completions.iter().filter_map(|(place, completion)| {
            let (hook, needs) = (stream.objects.get(*place)?, needs.get(place)?);
            let completed = completion.as_ref().ok()?;
            Some((*place, Err(obstacle(stream, &completions, hook, needs, *completed)?)))
        });
        let refused: Completions = refused.collect();
        if refused.is_empty() {
            return completions;
        }
        completions.extend(refused);
    }
}

fn obstacle(
    stream: &Stream<'_>,
    completions: &Completions,
    hook: &Entry<'_>,
    needs: &[Need],
    completed: Events,
) -> Option<String> {
    if stream.holds_twice(hook) {
        return Some("the stream has an object of that name more than once".to_owned());
    }
    if let Some(workload) = stream.workload_of(hook) {
        let workload = workload.shown();
        return Some(format!("{workload} runs as it, and Helm makes a hook's account anew at each of its events"));
    }
    let added = completed.iter().filter(|event| hook.events().is_some_and(|events| !events.contains(*event)));
    added.into_iter().find_map(|event| {
        let found = needs.iter().find_map(|need| Some((need, missing(stream, completions, hook, need, event)?)));
        found.map(|(need, missing)| need.describe(event, missing))
    })
}

/// An object that may be meant and is created only later. What is not in the stream is not created later in it.
fn missing<'s>(
    stream: &'s Stream<'s>,
    completions: &Completions,
    hook: &Entry<'_>,
    need: &Need,
    event: Event,
) -> Option<&'s Entry<'s>> {
    let is_missing = |(place, entry): &(usize, &Entry<'_>)| {
        let events = completions.get(place).and_then(|completion| completion.as_ref().ok()).copied();
        !is_there(entry, events.or_else(|| entry.events()), hook, event)
    };
    let missing = match &need.why {
        Why::Reference { kind, namespace, .. } => {
            let mut named = stream.named(&need.name);
            named.find(|found| found.1.is_called("", kind.as_str(), namespace, &need.name) && is_missing(found))
        }
        // A host can be written with any namespace, and the stream need not say which is the release's.
        Why::Text { .. } | Why::Value { .. } => stream.connected(&need.name).find(is_missing),
    };
    missing.map(|(_, entry)| entry)
}

/// The object is there when the hook runs at that event.
fn is_there(entry: &Entry<'_>, events: Option<Events>, hook: &Entry<'_>, event: Event) -> bool {
    let earlier = match event {
        Event::PostInstall => Some(Event::PreInstall),
        Event::PostUpgrade => Some(Event::PreUpgrade),
        _ => None,
    };
    let Some(events) = events else {
        return entry.is_resource() && earlier.is_some();
    };
    let stays = !entry.delete_policies().contains(DeletePolicy::HookSucceeded);
    events.contains(event) && entry.runs_before(hook) || stays && earlier.is_some_and(|event| events.contains(event))
}

impl Need {
    fn describe(&self, event: Event, missing: &Entry<'_>) -> String {
        let (event, missing) = (event.as_str(), missing.shown());
        let later = "this stream creates only later";
        match &self.why {
            Why::Reference { kind, field, .. } => {
                format!("at {event} it would need {} {} ({field}), which {later}", kind.as_str(), Shown(&self.name))
            }
            Why::Text { field } => {
                format!("at {event} it may need {missing}, which {field} names and {later}")
            }
            // Which word of a Secret that is would tell what is in it.
            Why::Value { kind: RefKind::Secret, source, field, .. } => {
                format!("at {event} it may need what Secret {} ({field}) names and {later}", Shown(source))
            }
            Why::Value { kind, source, key, field } => {
                let (kind, source, key) = (kind.as_str(), Shown(source), Shown(key));
                format!("at {event} it may need {missing}, which {kind} {source} ({field}) names in {key} and {later}")
            }
        }
    }
}

/// What of the stream a hook needs, or in doubt may need.
fn needs_of(stream: &Stream<'_>, sources: &mut Sources, hook: &Entry<'_>) -> Vec<Need> {
    let Some(object) = stream.object(hook) else { return Vec::new() };
    let namespace = &hook.head.namespace;
    let mut needs = Vec::new();
    for Reference { kind, name, field, .. } in references(&object) {
        if stream.named(name).next().is_some() {
            let why = Why::Reference { kind, namespace: namespace.clone(), field };
            needs.push(Need { name: name.to_owned(), why });
        }
    }
    let mut seen = BTreeSet::new();
    for (field, text) in texts(&object) {
        for_each_connected(stream, text, |name| {
            if seen.insert(name.to_owned()) {
                needs.push(Need { name: name.to_owned(), why: Why::Text { field: field.clone() } });
            }
        });
    }
    for Reference { kind, name: source, field, .. } in value_sources(&object) {
        let named = stream.named(source).filter(|(_, entry)| entry.is_called("", kind.as_str(), namespace, source));
        for (place, entry) in named {
            for (name, key) in sources.names_in(stream, place, entry, kind) {
                if seen.insert(name.clone()) {
                    let (source, key, field) = (source.to_owned(), key.clone(), field.clone());
                    needs.push(Need { name: name.clone(), why: Why::Value { kind, source, key, field } });
                }
            }
        }
    }
    needs
}

/// The names of the stream's objects that ConfigMaps and Secrets hold: each is read once, however many hooks use it.
#[derive(Default)]
struct Sources(BTreeMap<usize, BTreeMap<String, String>>);

impl Sources {
    /// Each name, and the field that holds it.
    fn names_in(
        &mut self,
        stream: &Stream<'_>,
        place: usize,
        entry: &Entry<'_>,
        kind: RefKind,
    ) -> &BTreeMap<String, String> {
        self.0.entry(place).or_insert_with(|| {
            let mut names = BTreeMap::new();
            let object = stream.object(entry).unwrap_or_default();
            for_each_value(&object, kind, |field, text| {
                for_each_connected(stream, text, |name| {
                    names.entry(name.to_owned()).or_insert_with(|| field.to_owned());
                });
            });
            names
        })
    }
}

/// The values of a ConfigMap or a Secret, each with its field.
fn for_each_value(object: &Value, kind: RefKind, mut found: impl FnMut(&str, &str)) {
    let fields = match kind {
        RefKind::Secret => [("data", true), ("stringData", false)],
        _ => [("binaryData", true), ("data", false)],
    };
    for (field, is_encoded) in fields {
        for (key, value) in object.get(field).and_then(Value::as_object).into_iter().flatten() {
            let text = value.as_str().map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed);
            let decoded = is_encoded.then(|| BASE64.decode(text.replace(['\r', '\n'], "")).unwrap_or_default());
            let text = decoded.as_deref().map_or(text.as_ref().into(), String::from_utf8_lossy);
            found(&format!("{field}.{key}"), &text);
        }
    }
}

/// Each word of a text that is the name of something in the stream to connect to.
fn for_each_connected(stream: &Stream<'_>, text: &str, mut found: impl FnMut(&str)) {
    let text = text.to_ascii_lowercase();
    let words = text.split(|character: char| !matches!(character, 'a'..='z' | '0'..='9' | '-'));
    for word in words.filter(|word| !word.is_empty()) {
        if stream.connected(word).next().is_some() {
            found(word);
        }
    }
}
