//! The objects of its stream that a hook needs, or in doubt may need.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use helm::Event;
use serde_json::Value;
use stable_hooks_policy::references::{RefKind, Reference, Source, references, value_sources};
use stable_hooks_policy::shown::Shown;

use super::mentions::Mentions;
use super::stream::{Entry, Stream};
use super::words::{Texts, for_each_service_of_a_variable, for_each_word};

/// Kubernetes takes no longer name.
const LONGEST_NAME: usize = 253;

/// Something of the stream that a hook needs, or may need.
pub(super) struct Need {
    /// The name of the object.
    name: String,
    why: Why,
}

enum Why {
    /// A field refers to it.
    Reference { kind: RefKind, namespace: String, field: String },
    /// The hook lives in the namespace.
    Namespace,
    /// A text of the hook has it as a word.
    Text { field: String },
    /// A variable that Kubernetes makes tells of the Service.
    Variable { field: String },
    /// A value of a ConfigMap or a Secret has a word that may be a host.
    Value { kind: RefKind, source: String, key: String, field: String },
    /// It may make what `field` refers to, or give it its rights: the name is that of the reference.
    Mention { kind: RefKind, field: String },
    /// It may make what `field` refers to, under a name that begins or ends with its own.
    Maker { kind: RefKind, reference: String, field: String },
}

/// The needs of hooks, and what it takes to say which objects they mean.
pub(super) struct Needs {
    /// The needs of each hook, by its place.
    all: BTreeMap<usize, Vec<Need>>,
    mentions: Mentions,
}

impl Needs {
    pub(super) fn of(stream: &Stream<'_>, hooks: Vec<usize>) -> Self {
        let mut sources = Sources::default();
        let hooks = hooks.into_iter().filter_map(|place| Some((place, stream.objects.get(place)?)));
        let all: BTreeMap<_, _> = hooks.map(|(place, hook)| (place, needs_of(stream, &mut sources, hook))).collect();
        let is_mention = |need: &&Need| matches!(need.why, Why::Mention { .. });
        let wanted = all.values().flatten().filter(is_mention).map(|need| need.name.clone()).collect();
        Self { mentions: Mentions::of(stream, wanted), all }
    }

    pub(super) fn of_hook(&self, place: usize) -> &[Need] {
        self.all.get(&place).map(Vec::as_slice).unwrap_or_default()
    }

    /// The objects that may be meant, each with its place. An object that is not in the stream is not created later in it.
    pub(super) fn meant<'s>(
        &'s self,
        stream: &'s Stream<'s>,
        need: &'s Need,
    ) -> Box<dyn Iterator<Item = (usize, &'s Entry<'s>)> + 's> {
        let Need { name, why } = need;
        let named = stream.named(name);
        match why {
            Why::Reference { kind, namespace, .. } => {
                Box::new(named.filter(|(_, entry)| entry.is_called("", kind.as_str(), namespace, name)))
            }
            Why::Namespace => Box::new(named.filter(|(_, entry)| entry.may_make_namespace())),
            Why::Text { .. } => Box::new(named),
            // A host can be written with any namespace, and the stream need not say which is the release's.
            Why::Variable { .. } | Why::Value { .. } => Box::new(stream.connected(name)),
            Why::Mention { .. } => {
                let places = self.mentions.places(name);
                Box::new(places.filter_map(|place| Some((place, stream.objects.get(place)?))))
            }
            Why::Maker { kind, .. } => Box::new(named.filter(|(_, entry)| entry.may_make(*kind))),
        }
    }
}

impl Need {
    pub(super) fn describe(&self, event: Event, missing: &Entry<'_>) -> String {
        let (event, missing) = (event.as_str(), missing.shown());
        let later = "this stream creates only later";
        match &self.why {
            Why::Reference { kind, field, .. } => {
                format!("at {event} it would need {} {} ({field}), which {later}", kind.as_str(), Shown(&self.name))
            }
            Why::Namespace => {
                format!("at {event} it would need {missing}, which metadata.namespace names and {later}")
            }
            Why::Text { field } | Why::Variable { field } => {
                format!("at {event} it may need {missing}, which {field} names and {later}")
            }
            // Naming the word would tell what is in the Secret.
            Why::Value { kind: RefKind::Secret, source, field, .. } => {
                format!("at {event} it may need what Secret {} ({field}) names and {later}", Shown(source))
            }
            Why::Value { kind, source, key, field } => {
                let (kind, source, key) = (kind.as_str(), Shown(source), Shown(key));
                format!("at {event} it may need {missing}, which {kind} {source} ({field}) names in {key} and {later}")
            }
            Why::Mention { kind, field } => {
                let (kind, name) = (kind.as_str(), Shown(&self.name));
                format!("at {event} it may need {missing}, which names {kind} {name} ({field}) and {later}")
            }
            Why::Maker { kind, reference, field } => {
                let (kind, name) = (kind.as_str(), Shown(reference));
                format!("at {event} it may need {missing}, which may make {kind} {name} ({field}) and {later}")
            }
        }
    }
}

fn needs_of(stream: &Stream<'_>, sources: &mut Sources, hook: &Entry<'_>) -> Vec<Need> {
    let Some(object) = stream.object(hook) else { return Vec::new() };
    let namespace = &hook.head.namespace;
    let mut needs = Vec::new();
    for Reference { kind, name, field, .. } in references(&object) {
        if stream.named(name).next().is_some() {
            let why = Why::Reference { kind, namespace: namespace.clone(), field: field.clone() };
            needs.push(Need { name: name.to_owned(), why });
        }
        let is_in_stream = stream.named(name).any(|(_, entry)| entry.is_called("", kind.as_str(), namespace, name));
        if !is_in_stream && kind != RefKind::ServiceAccount {
            for maker in makers(name).into_iter().filter(|maker| stream.named(maker).next().is_some()) {
                let (reference, field) = (name.to_owned(), field.clone());
                needs.push(Need { name: maker.to_owned(), why: Why::Maker { kind, reference, field } });
            }
        }
        needs.push(Need { name: name.to_owned(), why: Why::Mention { kind, field } });
    }
    if !namespace.is_empty() {
        needs.push(Need { name: namespace.clone(), why: Why::Namespace });
    }
    let mut seen = BTreeSet::new();
    Texts::of_hook(&object).for_each(&object, |field, text| {
        let mut push = |name: &str, why: fn(String) -> Why| {
            if seen.insert(name.to_owned()) {
                needs.push(Need { name: name.to_owned(), why: why(Shown(field).to_string()) });
            }
        };
        for_each_word(&text.to_ascii_lowercase(), |word| {
            if stream.named(word).any(|(_, entry)| !std::ptr::eq(entry, hook)) {
                push(word, |field| Why::Text { field });
            }
        });
        for_each_service_of_a_variable(text, |name| {
            if stream.connected(name).next().is_some() {
                push(name, |field| Why::Variable { field });
            }
        });
    });
    for Source { reference: Reference { kind, name: source, field, .. }, .. } in value_sources(&object) {
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

/// The names that the maker of such an object may have: `db` for the Secret `db-app`, or for the claim `data-db-0`.
fn makers(name: &str) -> Vec<&str> {
    if name.len() > LONGEST_NAME {
        return Vec::new();
    }
    let stem = name.trim_end_matches(|character: char| character.is_ascii_digit());
    let of_ordinal = if stem.len() < name.len() { stem.strip_suffix('-') } else { None };
    let ends = |name| str::match_indices(name, ['-', '.']).map(|(end, _)| end);
    let firsts = ends(name).filter_map(|end| name.get(..end));
    let lasts = of_ordinal.into_iter().flat_map(|stem| ends(stem).filter_map(|end| stem.get(end + 1..)));
    firsts.chain(lasts).collect()
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
    let mut found_here = |name: &str| {
        if stream.connected(name).next().is_some() {
            found(name);
        }
    };
    for_each_word(&text.to_ascii_lowercase(), &mut found_here);
    for_each_service_of_a_variable(text, &mut found_here);
}

#[cfg(test)]
mod tests {
    use super::makers;

    #[test]
    fn a_claim_is_called_after_its_stateful_set_and_a_secret_after_its_cluster() {
        assert_eq!(makers("data-my-db-0"), ["data", "data-my", "data-my-db", "my-db", "db"]);
        assert_eq!(makers("orders-db-app"), ["orders", "orders-db"]);
        assert!(makers("db").is_empty() && makers("0").is_empty());
    }
}
