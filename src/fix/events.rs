//! The hooks that may get the install or upgrade event that they lack: those whose needs are met at that event too.

use std::collections::BTreeMap;

use helm::{DeletePolicy, Event, Events};

use super::edit::{Edit, apply};
use super::needs::Needs;
use super::stream::{Entry, Stream};

/// The hooks that lack an event, by their places among the objects: the events that each may have, or why not.
pub(super) type Completions = BTreeMap<usize, Result<Events, String>>;

/// Completes the hooks at these places.
///
/// Hooks may need each other, so all are taken for complete until one turns out not to be, and then looked at again.
pub(super) fn complete(stream: &Stream<'_>, places: &[usize]) -> Completions {
    let mut completions = Completions::new();
    for place in places {
        let completion = stream.objects.get(*place).and_then(|hook| completion(stream, hook));
        completions.extend(completion.map(|completion| (*place, completion)));
    }
    let possible = completions.iter().filter(|(_, completion)| completion.is_ok()).map(|(place, _)| *place);
    let needs = Needs::of(stream, possible.collect());
    loop {
        let refused = completions.iter().filter_map(|(place, completion)| {
            let completed = completion.as_ref().ok()?;
            Some((*place, Err(obstacle(stream, &completions, *place, &needs, *completed)?)))
        });
        let refused: Completions = refused.collect();
        if refused.is_empty() {
            return completions;
        }
        completions.extend(refused);
    }
}

/// The events of a hook that lacks some, if its text can be changed: another hook may count on that edit, so it must not
/// fail later.
fn completion(stream: &Stream<'_>, hook: &Entry<'_>) -> Option<Result<Events, String>> {
    let events = hook.events()?;
    let completed = events.completed();
    if completed == events {
        return None;
    }
    let edit = Edit { key: helm::HOOK, value: completed.to_string() };
    Some(apply(stream.text(hook.document), &edit).map(|_| completed).map_err(str::to_owned))
}

fn obstacle(
    stream: &Stream<'_>,
    completions: &Completions,
    place: usize,
    needs: &Needs,
    completed: Events,
) -> Option<String> {
    let hook = stream.objects.get(place)?;
    if stream.holds_twice(hook) {
        return Some("the stream has an object of that name more than once".to_owned());
    }
    if let Some(user) = stream.user_of(hook) {
        return Some(format!("{user}, and Helm makes a hook's account anew at each of its events"));
    }
    let events = hook.events()?;
    for event in completed.iter().filter(|event| !events.contains(*event)) {
        for need in needs.of_hook(place) {
            for (other, entry) in needs.meant(stream, need) {
                let completed = completions.get(&other).and_then(|completion| completion.as_ref().ok()).copied();
                if other != place && !is_there(entry, completed.or_else(|| entry.events()), hook, event) {
                    return Some(need.describe(event, entry));
                }
            }
        }
    }
    None
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
