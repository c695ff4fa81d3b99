//! Which hooks may get the install or upgrade event that they lack: those whose needs are met at that event too.

use std::collections::BTreeMap;

use stable_hooks_policy::helm::{self, DeletePolicy, Event, Events};
use stable_hooks_policy::references::{Reference, named_services, references};

use super::edit::{Edit, apply};
use super::stream::{Entry, Stream};

/// For each hook that lacks an event, by its place among the objects: the events it may have, or what stands against it.
pub(super) type Completions = BTreeMap<usize, Result<Events, String>>;

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
    loop {
        let refused = completions.iter().filter_map(|(place, completion)| {
            let hook = stream.objects.get(*place)?;
            let completed = completion.as_ref().ok()?;
            Some((*place, Err(obstacle(stream, &completions, hook, *completed)?)))
        });
        let refused: Completions = refused.collect();
        if refused.is_empty() {
            return completions;
        }
        completions.extend(refused);
    }
}

fn obstacle(stream: &Stream<'_>, completions: &Completions, hook: &Entry, completed: Events) -> Option<String> {
    if stream.holds_twice(hook) {
        return Some("the stream has an object of that name more than once".to_owned());
    }
    if let Some(workload) = stream.workload_of(hook) {
        let workload = workload.shown();
        return Some(format!("{workload} runs as it, and Helm makes a hook's account anew at each of its events"));
    }
    let services = services(stream, &hook.head.namespace);
    let needs: Vec<_> = references(&hook.object)
        .into_iter()
        .chain(named_services(&hook.object, &hook.head.namespace, &services))
        .collect();
    let added = completed.iter().filter(|event| hook.events().is_some_and(|events| !events.contains(*event)));
    added.into_iter().find_map(|event| {
        let missing = needs.iter().find(|need| !is_met(stream, completions, hook, need, event))?;
        let (kind, name, field) = (missing.kind.as_str(), missing.name, &missing.field);
        Some(format!(
            "at {} it would need {kind} {name} ({field}), which this stream creates only later",
            event.as_str()
        ))
    })
}

/// What is not in the stream is not created later in it.
fn is_met(stream: &Stream<'_>, completions: &Completions, hook: &Entry, need: &Reference<'_>, event: Event) -> bool {
    let namespace = need.namespace.unwrap_or(&hook.head.namespace);
    let named = |entry: &Entry| entry.is_called("", need.kind.as_str(), namespace, need.name);
    let mut found = stream.named(need.name).filter(|(_, entry)| named(entry)).peekable();
    found.peek().is_none()
        || found.any(|(place, entry)| {
            let events = completions.get(&place).and_then(|completion| completion.as_ref().ok()).copied();
            is_there(entry, events.or_else(|| entry.events()), hook, event)
        })
}

/// The object is there when the hook runs at that event.
fn is_there(entry: &Entry, events: Option<Events>, hook: &Entry, event: Event) -> bool {
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

/// The Services that the release creates, each a namespace and a name.
fn services(stream: &Stream<'_>, namespace: &str) -> Vec<(String, String)> {
    let services = stream.objects.iter().filter(|entry| entry.head.kind == "Service" && entry.head.group().is_empty());
    let home = |entry: &Entry| match entry.head.namespace.as_str() {
        "" => namespace.to_owned(),
        other => other.to_owned(),
    };
    services.map(|entry| (home(entry), entry.head.name.clone())).collect()
}
