//! What became of a release's hooks from one record to the next.

use std::collections::{BTreeMap, BTreeSet};

use helm::manifest::{self, Wanted};
use helm::order::hook_order;
use helm::record::{Limits, Record, RecordHook};
use helm::yaml::{self, Head};
use helm::{Event, Events};
use serde_json::Value;
use stable_hooks_policy::name::Name;

use super::stored::StoredRecord;
use super::templates::object_ref;
use crate::changes::{Detail, ShownChange, changes};
use crate::judged::{HookRun, Since};

/// One object that a hook creates.
struct HookObject<'r> {
    object: Name,
    hook: &'r RecordHook,
    document: Document<'r>,
}

/// An object as a record has it; its text alone where that cannot be read.
#[derive(PartialEq)]
enum Document<'r> {
    Read(Value),
    Text(&'r str),
}

/// A hook as the record itself names it, which it does also where the manifest cannot be read.
type Key<'r> = (&'r str, &'r str);

impl StoredRecord {
    /// The hooks in the order in which this record's operation runs them, then those that it does not run, then those that the
    /// record before had; each with what became of it. None where a record cannot be read.
    pub(crate) fn hooks_since(&self, before: &Self, limits: Limits, detail: Detail) -> Vec<HookRun> {
        let (Some(new), Some(old)) = (self.decoded(limits), before.decoded(limits)) else { return Vec::new() };
        let (mut hooks, old_hooks) = (hooks(&new), hooks(&old));
        if let Some(operation) = self.operation() {
            let at = |hook: &HookObject<'_>, event: Event| hook.events().any(|known| known == event);
            // A stable sort: in the order of their weights they are already.
            hooks.sort_by_key(|hook| (!at(hook, operation.pre()), !at(hook, operation.post())));
        }
        let (resources, old_resources) = (resources(&new), resources(&old));
        let mut olds = BTreeMap::<_, Vec<_>>::new();
        for old in &old_hooks {
            olds.entry(&old.object).or_default().push(&old.document);
        }
        let [names, old_names] =
            [&hooks, &old_hooks].map(|hooks| hooks.iter().map(|hook| &hook.object).collect::<BTreeSet<_>>());
        // One that cannot be read says not of which group or namespace it is, so it goes by the record's words.
        let unmatched: Vec<_> = hooks.iter().filter(|hook| !old_names.contains(&hook.object)).collect();
        let old_unmatched: Vec<_> = old_hooks.iter().filter(|hook| !names.contains(&hook.object)).collect();
        let unread = unread(&unmatched, &old_unmatched);
        let mut runs = Vec::new();
        for hook in &hooks {
            let since = match olds.get(&hook.object).map(Vec::as_slice) {
                Some(olds) if olds.contains(&&hook.document) => Since::Unchanged,
                Some([old, ..]) => hook.changes(old, detail).map_or(Since::Unread, Since::Changed),
                Some([]) | None if unread.contains(&hook.key()) => Since::Unread,
                Some([]) | None => match old_resources.get(&hook.object) {
                    Some(old) => hook.changes(old, detail).map_or(Since::Unread, Since::FromResource),
                    None => Since::New,
                },
            };
            runs.push(hook.run(since));
        }
        for hook in old_unmatched.into_iter().filter(|hook| !unread.contains(&hook.key())) {
            let is_resource = resources.contains_key(&hook.object);
            runs.push(hook.run(if is_resource { Since::ToResource } else { Since::Gone }));
        }
        runs
    }
}

/// What only one of the two records has by its name, and both by the record's words, where one of the two cannot be read.
fn unread<'r>(news: &[&HookObject<'r>], olds: &[&HookObject<'r>]) -> BTreeSet<Key<'r>> {
    let keys = |hooks: &[&HookObject<'r>]| hooks.iter().map(|hook| hook.key()).collect::<BTreeSet<_>>();
    let texts = |hooks: &[&HookObject<'r>]| {
        let texts = hooks.iter().filter(|hook| matches!(hook.document, Document::Text(_)));
        texts.map(|hook| hook.key()).collect::<BTreeSet<_>>()
    };
    let (new_texts, old_texts) = (texts(news), texts(olds));
    let both = &keys(news) & &keys(olds);
    both.into_iter().filter(|key| new_texts.contains(key) || old_texts.contains(key)).collect()
}

impl<'r> HookObject<'r> {
    fn key(&self) -> Key<'r> {
        (&self.hook.kind, &self.hook.name)
    }

    fn events(&self) -> impl Iterator<Item = Event> {
        self.hook.events.iter().filter_map(|event| Event::parse(event))
    }

    /// The fields that changed; `None` where one of the two cannot be read.
    fn changes(&self, old: &Document<'_>, detail: Detail) -> Option<Vec<ShownChange>> {
        let (Document::Read(old), Document::Read(new)) = (old, &self.document) else { return None };
        let changes = changes(&self.object.kind, old, new);
        Some(changes.into_iter().map(|change| change.shown(detail)).collect())
    }

    fn run(&self, since: Since) -> HookRun {
        HookRun {
            at: Events::of(self.events()).map(|events| events.to_string()).unwrap_or_default(),
            rank: "weight",
            weight: self.hook.weight,
            object: self.object.clone(),
            since,
        }
    }
}

/// The objects of a record's hooks, in the order in which Helm runs those of one event. A list is its items.
fn hooks(record: &Record) -> Vec<HookObject<'_>> {
    let limits = yaml::Limits::default();
    let mut hooks: Vec<_> = record.hooks.iter().collect();
    hooks.sort_by(|a, b| hook_order(a, b));
    let mut objects = Vec::new();
    for hook in hooks {
        let mut items = if hook.kind.ends_with("List") { manifest::items(&hook.manifest, &limits) } else { Vec::new() };
        // A `null` or a list between them makes no object.
        items.retain(|(_, item)| item.is_object());
        if items.is_empty() {
            let head = yaml::head(&hook.manifest, &limits).unwrap_or_default();
            let head = Head { kind: hook.kind.clone(), name: hook.name.clone(), ..head };
            let read = yaml::parse(&hook.manifest, &limits).ok().flatten().filter(|(_, object)| object.is_object());
            let document = read.map_or(Document::Text(&hook.manifest), |(_, object)| Document::Read(object));
            objects.push(HookObject { object: name(&head, &document, record), hook, document });
        }
        for (head, item) in items {
            let document = Document::Read(item);
            objects.push(HookObject { object: name(&head, &document, record), hook, document });
        }
    }
    objects
}

/// What has no name before it is created goes by the beginning of it.
fn name(head: &Head, document: &Document<'_>, record: &Record) -> Name {
    let prefix = match document {
        Document::Read(object) if head.name.is_empty() => object.pointer("/metadata/generateName"),
        Document::Read(_) | Document::Text(_) => None,
    };
    let Some(prefix) = prefix.and_then(Value::as_str) else { return object_ref(head, record) };
    object_ref(&Head { name: format!("{prefix}*"), ..head.clone() }, record)
}

/// The resources of a record, the first of each name.
fn resources(record: &Record) -> BTreeMap<Name, Document<'_>> {
    let limits = manifest::Limits { documents: usize::MAX, ..manifest::Limits::default() };
    let everything = Wanted::everything();
    let mut resources = BTreeMap::new();
    for found in manifest::documents(&record.manifest, &everything, &limits) {
        let document = found.object(&limits.yaml).map_or(Document::Text(found.text), Document::Read);
        resources.entry(object_ref(&found.head, record)).or_insert(document);
    }
    resources
}
