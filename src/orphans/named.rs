//! What a stored record names, of the hooks that live.

use std::collections::BTreeSet;

use helm::manifest::{self, Wanted};
use helm::record::{Record, RecordHook};
use helm::yaml::{self, Head};
use serde_json::Value;

use super::live::Hook;

/// An object of a record. The group is no part of it: a kind moves to another one, and stays the same.
struct Mention {
    kind: String,
    place: Place,
    called: Called,
}

enum Place {
    /// The namespace of the release, where the document says none.
    Namespace(String),
    /// We cannot read it, and Helm could.
    Anywhere,
}

enum Called {
    Name(String),
    /// The API server adds letters of its own to it.
    Prefix(String),
}

/// The hooks that the record, which is stored in that namespace, names: as its hooks or as its resources.
pub(crate) fn named(record: &Record, stored_in: &str, hooks: &[Hook]) -> BTreeSet<usize> {
    // With Flux its objects live elsewhere than the record.
    let home = if record.namespace.is_empty() { stored_in } else { &record.namespace };
    let mut mentions: Vec<_> = record.hooks.iter().flat_map(|hook| of_hook(hook, home)).collect();
    let wanted = Wanted::nothing().with(hooks.iter().map(|hook| hook.name.name.as_str()));
    let mut documents = manifest::documents(&record.manifest, &wanted, &manifest::Limits::default());
    mentions.extend(documents.by_ref().map(|document| Mention::of(&document.head, None, home)));
    let is_whole = documents.unreadable() == 0 && !documents.is_cut_off();
    let is_named = |hook: &Hook| {
        mentions.iter().any(|mention| mention.is(hook)) || (!is_whole && record.manifest.contains(&hook.name.name))
    };
    hooks.iter().enumerate().filter(|(_, hook)| is_named(hook)).map(|(number, _)| number).collect()
}

fn of_hook(hook: &RecordHook, home: &str) -> Vec<Mention> {
    let limits = yaml::Limits::default();
    let Some((_, object)) = yaml::parse(&hook.manifest, &limits).ok().flatten() else {
        let called = Called::Name(hook.name.clone());
        return vec![Mention { kind: hook.kind.clone(), place: Place::Anywhere, called }];
    };
    let mut mentions = vec![Mention::of(&Head::of(&object), Some(&object), home)];
    if hook.kind.ends_with("List") {
        let items = manifest::items(&hook.manifest, &limits);
        mentions.extend(items.iter().map(|(head, item)| Mention::of(head, Some(item), home)));
    }
    mentions
}

impl Mention {
    fn of(head: &Head, object: Option<&Value>, home: &str) -> Self {
        let namespace = if head.namespace.is_empty() { home } else { &head.namespace };
        let prefix = object.and_then(|object| object.pointer("/metadata/generateName")?.as_str());
        let called = match prefix.filter(|prefix| head.name.is_empty() && !prefix.is_empty()) {
            Some(prefix) => Called::Prefix(prefix.to_owned()),
            None => Called::Name(head.name.clone()),
        };
        Self { kind: head.kind.clone(), place: Place::Namespace(namespace.to_owned()), called }
    }

    fn is(&self, hook: &Hook) -> bool {
        let name = &hook.name;
        let is_there = match &self.place {
            // A cluster-wide object has no namespace, whatever the document says.
            Place::Namespace(namespace) => name.namespace.is_empty() || *namespace == name.namespace,
            Place::Anywhere => true,
        };
        let is_called_so = match &self.called {
            Called::Name(own) => *own == name.name,
            Called::Prefix(prefix) => name.name.starts_with(prefix),
        };
        self.kind == name.kind && is_there && is_called_so
    }
}

#[cfg(test)]
mod tests {
    use helm::record::{Record, RecordHook};
    use stable_hooks_policy::name::Name;

    use super::named;
    use crate::orphans::live::Hook;

    fn live(kind: &str, namespace: &str, name: &str) -> Hook {
        let [kind, namespace, name] = [kind, namespace, name].map(str::to_owned);
        Hook { name: Name { kind, namespace, name, ..Name::default() }, ..Hook::default() }
    }

    fn hook(manifest: &str) -> RecordHook {
        let kind = manifest.lines().find_map(|line| line.strip_prefix("kind: ")).unwrap_or("Job").to_owned();
        RecordHook { kind, name: "a".to_owned(), manifest: manifest.to_owned(), ..RecordHook::default() }
    }

    fn record(hooks: &[&str], manifest: &str) -> Record {
        let hooks = hooks.iter().map(|manifest| hook(manifest)).collect();
        Record { namespace: "shop".to_owned(), hooks, manifest: manifest.to_owned(), ..Record::default() }
    }

    fn is_named(record: &Record, hook: Hook) -> bool {
        !named(record, "flux-system", &[hook]).is_empty()
    }

    #[test]
    fn a_hook_is_named_where_the_release_is_or_where_it_says() {
        let record =
            record(&["kind: Job\nmetadata: {name: a}\n", "kind: Pod\nmetadata: {name: b, namespace: data}\n"], "");
        assert!(is_named(&record, live("Job", "shop", "a")));
        assert!(is_named(&record, live("Pod", "data", "b")));
        for other in
            [live("Job", "data", "a"), live("Pod", "shop", "a"), live("Pod", "shop", "b"), live("Job", "shop", "aa")]
        {
            assert!(!is_named(&record, other.clone()), "{other:?}");
        }
        let nowhere = Record { namespace: String::new(), ..record };
        assert!(is_named(&nowhere, live("Job", "flux-system", "a")));
    }

    #[test]
    fn lists_prefixes_and_cluster_wide_objects_are_named() {
        let list =
            "kind: List\nitems:\n- kind: Job\n  metadata: {name: a}\n- kind: Pod\n  metadata: {generateName: b-}\n";
        let record = record(&[list, "kind: ClusterRole\nmetadata: {name: c}\n"], "");
        for named in [live("Job", "shop", "a"), live("Pod", "shop", "b-x7k2p"), live("ClusterRole", "", "c")] {
            assert!(is_named(&record, named.clone()), "{named:?}");
        }
        assert!(!is_named(&record, live("Pod", "shop", "b")));
    }

    #[test]
    fn what_cannot_be_read_counts_as_named() {
        let broken = record(&["kind: Job\nmetadata: [\n"], "");
        assert!(is_named(&broken, live("Job", "elsewhere", "a")) && !is_named(&broken, live("Job", "shop", "b")));
        let broken = record(&[], "kind: [ migrate\n---\nkind: Job\nmetadata: {name: other}\n");
        assert!(is_named(&broken, live("Pod", "data", "migrate")) && !is_named(&broken, live("Pod", "data", "x")));
    }

    #[test]
    fn a_resource_of_the_release_is_named_too() {
        let record =
            record(&[], "---\n# Source: a\nkind: Job\nmetadata:\n  name: a\n---\nkind: Job\nmetadata: {name: b}\n");
        assert!(is_named(&record, live("Job", "shop", "a")) && !is_named(&record, live("Job", "shop", "c")));
        assert_eq!(named(&record, "", &[live("Job", "shop", "x"), live("Job", "shop", "b")]), [1].into());
    }
}
