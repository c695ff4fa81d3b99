//! Argo CD's steps in one sync, in its order.
use std::collections::BTreeSet;

use stable_hooks_policy::argocd::Phase as SyncPhase;
use stable_hooks_policy::references::Services;
use stable_hooks_policy::shown::Shown;
use stable_hooks_policy::sync::{Desired, Manifest};

use super::model::{Act, Deleted, Entry, LaneOf, Left, Need, Phase, Side, Stage};
use super::side::{by_kind, entry, lanes};

impl Side {
    /// The sync of a text, over the text that was synced before.
    pub(crate) fn of_sync(name: &'static str, manifest: &Manifest, before: Option<&Manifest>) -> Self {
        let [pre, sync, post] = SyncPhase::ALL.map(|phase| manifest.applied_in(phase));
        let entries = |objects: &[&Desired], phase: SyncPhase| {
            let entries = objects.iter().map(|object| (lane(object), brought(object, phase, before)));
            lanes(entries)
        };
        let hooks = pre.iter().chain(&sync).chain(&post).filter(|object| object.is_deleted_after_success());
        let mut known = BTreeSet::new();
        let deleted = hooks.filter(|hook| known.insert(&hook.name));
        let deleted = deleted.map(|hook| (LaneOf::Weight(hook.wave), shown(hook, None)));
        let phases = [
            (Stage::PreHooks, entries(&pre, SyncPhase::PreSync)),
            // Argo CD deletes first.
            (Stage::Pruned, by_kind(pruned(manifest, before))),
            (Stage::Resources, entries(&sync, SyncPhase::Sync)),
            (Stage::PostHooks, entries(&post, SyncPhase::PostSync)),
            (Stage::PostHooksDeleted, lanes(deleted)),
        ];
        let phases = phases.into_iter().filter(|(_, lanes)| !lanes.is_empty());
        let phases = phases.map(|(stage, lanes)| Phase { stage, lanes }).collect();
        Self { act: Act::Sync(name), phases, needs: needs(manifest, &manifest.services()) }
    }
}

/// A wave is said of hooks, and where it is not the usual one.
fn lane(object: &Desired) -> LaneOf {
    if object.is_hook() || object.wave != 0 {
        LaneOf::Weight(object.wave)
    } else {
        LaneOf::Kind(Shown(&object.name.kind).to_string())
    }
}

fn shown(object: &Desired, deletes: Option<Deleted>) -> Entry {
    entry(&object.name.shown(), &Shown(&object.template).to_string(), deletes)
}

/// What the sync does to an object in that phase.
fn brought(object: &Desired, phase: SyncPhase, before: Option<&Manifest>) -> Entry {
    let is_repeated = object.phases().first() != Some(&phase);
    let old = before.and_then(|before| before.get(&object.name)).filter(|old| old.is_left());
    let was_hook = old.is_some_and(Desired::is_hook);
    let (deletes, leaves) = match old {
        _ if object.has_generated_name() => (None, None),
        Some(old) if object.failing_patch(old).is_some() => (None, Some(Left::Fails)),
        Some(_) if !object.is_hook() && was_hook => (None, Some(Left::Hook)),
        Some(_) if object.is_deleted_before_creation() && !was_hook && !is_repeated => (Some(Deleted::Resource), None),
        _ if object.is_deleted_before_creation() && (is_repeated || old.is_some()) => (Some(Deleted::LastRun), None),
        Some(_) if object.is_hook() && object.is_waited_for() && was_hook => (None, Some(Left::LastRun)),
        Some(_) if object.is_hook() && object.is_waited_for() => (None, Some(Left::Resource)),
        None if is_repeated && object.is_waited_for() => (None, Some(Left::LastRun)),
        Some(_) | None => (None, None),
    };
    Entry { leaves, ..shown(object, deletes) }
}

/// The resources that are not in git any more.
fn pruned<'a>(manifest: &'a Manifest, before: Option<&'a Manifest>) -> impl Iterator<Item = Entry> + 'a {
    let gone = before.into_iter().flat_map(|before| &before.objects);
    let is_gone = |old: &Desired| manifest.get(&old.name).is_none_or(|new| new.is_hook() && new.phases().is_empty());
    let gone = gone.filter(|old| !old.is_hook() && !old.phases().is_empty() && !old.is_never_pruned());
    let gone = gone.filter(move |old| is_gone(old));
    gone.map(|old| shown(old, None))
}

/// The needs of what Argo CD waits for, as far as the text brings the objects.
fn needs(manifest: &Manifest, services: &Services<'_>) -> Vec<Need> {
    let mut needs = Vec::new();
    for object in manifest.objects.iter().filter(|object| !object.phases().is_empty()) {
        for (name, reference) in object.needs(services) {
            if manifest.get(&name).is_some_and(|needed| !needed.phases().is_empty()) {
                needs.push(Need {
                    hook: object.name.shown(),
                    object: name.shown(),
                    field: reference.field,
                    late: false,
                });
            }
        }
    }
    needs
}
