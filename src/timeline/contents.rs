//! The contents of a record, as far as a timeline shows them.
use std::collections::BTreeSet;

use helm::manifest::{self, Wanted};
use helm::operation::Operation;
use helm::order::{hook_order, kind_order};
use helm::record::{Record, RecordHook};
use helm::yaml::{self, Head};
use helm::{DeletePolicies, DeletePolicy, Event};
use serde_json::Value;
use stable_hooks_policy::name::Name;
use stable_hooks_policy::references::{Reference, Services, named_services, references};
use stable_hooks_policy::shown::Shown;

use crate::records::object_ref;

/// One revision, read once: it is a side of its own, and what the next is compared with.
pub(crate) struct Contents {
    pub(super) operation: Operation,
    pub(super) revision: u64,
    /// Where its objects live.
    pub(crate) namespace: String,
    /// In the order in which Helm runs those of one event.
    pub(super) hooks: Vec<Hook>,
    /// In the order in which Helm creates them.
    pub(super) resources: Vec<Resource>,
}

pub(super) struct Hook {
    pub(super) object: Name,
    pub(super) template: String,
    pub(super) weight: i64,
    /// As they are in the record: one that is there twice runs twice.
    pub(super) events: Vec<Event>,
    policies: DeletePolicies,
    pub(super) is_kept: bool,
    /// The objects that its pods need, each with the field that says so.
    pub(super) needs: Vec<(Name, String)>,
}

pub(super) struct Resource {
    pub(super) object: Name,
    pub(super) template: String,
    pub(super) is_kept: bool,
}

impl Contents {
    pub(crate) fn of(record: &Record, operation: Operation) -> Self {
        let limits = manifest::Limits { documents: usize::MAX, ..manifest::Limits::default() };
        let everything = Wanted::everything();
        let documents = manifest::documents(&record.manifest, &everything, &limits);
        let mut resources: Vec<_> = documents
            .map(|found| Resource {
                object: object_ref(&found.head, record),
                template: Shown(found.path).to_string(),
                is_kept: helm::is_kept(&found.head),
            })
            .collect();
        resources.sort_by(|a, b| kind_order(&a.object.kind, &b.object.kind));
        let services = Name::services(resources.iter().map(|resource| &resource.object));
        let mut hooks: Vec<_> = record.hooks.iter().collect();
        hooks.sort_by(|a, b| hook_order(a, b));
        let hooks = hooks.into_iter().map(|hook| Hook::read(hook, record, &services)).collect();
        Self { operation, revision: record.version, namespace: Shown(&record.namespace).to_string(), hooks, resources }
    }

    /// As Helm treats it where it is told to run no hooks.
    pub(crate) fn without_hooks(self) -> Self {
        Self { hooks: Vec::new(), ..self }
    }

    /// Whether the hook has run until this operation is over. What an install ran is known; later ones ran everything.
    fn has_run(&self, hook: &Hook) -> bool {
        let now = [self.operation.pre(), self.operation.post()];
        self.operation != Operation::Install || hook.events.iter().any(|event| now.contains(event))
    }

    /// The objects that its hooks have left in the cluster.
    pub(super) fn left_by_hooks(&self) -> BTreeSet<&Name> {
        let left = self.hooks.iter().filter(|hook| self.has_run(hook) && !hook.deletes(DeletePolicy::HookSucceeded));
        left.map(|hook| &hook.object).collect()
    }

    pub(super) fn manifest(&self) -> BTreeSet<&Name> {
        self.resources.iter().map(|resource| &resource.object).collect()
    }
}

impl Hook {
    fn read(hook: &RecordHook, record: &Record, services: &Services<'_>) -> Self {
        let limits = yaml::Limits::default();
        let object = yaml::parse(&hook.manifest, &limits).ok().flatten().map_or(Value::Null, |(_, object)| object);
        let head = Head { kind: hook.kind.clone(), name: hook.name.clone(), ..Head::of(&object) };
        let key = object_ref(&head, record);
        let named = named_services(&object, &key.namespace, services);
        let needed = |reference: Reference<'_>| {
            let shown = |text: &str| Shown(text).to_string();
            let namespace = reference.namespace.map_or_else(|| key.namespace.clone(), shown);
            let kind = reference.kind.as_str().to_owned();
            let object = Name { group: String::new(), kind, namespace, name: shown(reference.name) };
            (object, reference.field)
        };
        let needs = references(&object).into_iter().chain(named).map(needed).collect();
        let policies = &hook.delete_policies;
        Self {
            needs,
            object: key,
            template: Shown(&hook.path).to_string(),
            weight: hook.weight,
            events: hook.events.iter().filter_map(|event| Event::parse(event)).collect(),
            policies: if policies.is_empty() {
                DeletePolicies::default()
            } else {
                DeletePolicies::parse(&policies.join(","))
            },
            is_kept: helm::is_kept(&head),
        }
    }

    pub(super) fn deletes(&self, policy: DeletePolicy) -> bool {
        // Helm never deletes a definition: all its objects would go with it.
        self.policies.contains(policy) && self.object.kind != "CustomResourceDefinition"
    }
}
