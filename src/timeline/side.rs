//! Helm's steps in one operation, in its order.
use std::collections::BTreeSet;

use helm::operation::Operation;
use helm::{DeletePolicy, Event};
use stable_hooks_policy::name::Name;

use super::contents::{Contents, Hook, Resource};
use super::model::{Act, Deleted, Entry, Lane, LaneOf, Need, Phase, Side, Stage};

impl Side {
    pub(crate) fn new(contents: &Contents, baseline: Option<&Contents>) -> Self {
        let operation = contents.operation;
        let baseline = baseline.filter(|_| operation != Operation::Install);
        let pre = hooks_at(contents, operation.pre());
        let post = hooks_at(contents, operation.post());
        let own = baseline.map(Contents::manifest).unwrap_or_default();
        let left = baseline.map(Contents::left_by_hooks).unwrap_or_default();
        let stays = |hook: &&&Hook| !hook.deletes(DeletePolicy::HookSucceeded);
        let ran: BTreeSet<_> = pre.iter().filter(stays).map(|hook| &hook.object).collect();
        let manifest = contents.manifest();
        let before_pre = |object: &Name| match (own.contains(object), left.contains(object)) {
            (true, _) => Some(Deleted::Resource),
            (false, true) => Some(Deleted::LastRun),
            (false, false) => None,
        };
        let before_post = |object: &Name| match (manifest.contains(object), ran.contains(object)) {
            (true, _) => Some(Deleted::Resource),
            (false, true) => Some(Deleted::LastRun),
            // A pruned object is gone by then.
            (false, false) => left.contains(object).then_some(Deleted::LastRun).filter(|_| !own.contains(object)),
        };
        let resources = contents.resources.iter().map(|resource| entry(&resource.object, &resource.template, None));
        let phases = [
            (Stage::PreHooks, by_weight(&pre, before_pre)),
            (Stage::PreHooksDeleted, deleted_after(&pre)),
            (Stage::Resources, by_kind(resources)),
            (Stage::Pruned, by_kind(pruned(baseline, &manifest, &pre))),
            (Stage::PostHooks, by_weight(&post, before_post)),
            (Stage::PostHooksDeleted, deleted_after(&post)),
        ];
        let phases = phases.into_iter().filter(|(_, lanes)| !lanes.is_empty());
        let phases = phases.map(|(stage, lanes)| Phase { stage, lanes }).collect();
        let act = Act::Helm { operation, revision: contents.revision };
        let mut side = Self { act, phases, needs: Vec::new() };
        side.needs = needs(pre.iter().chain(&post), &side);
        side
    }
}

fn hooks_at(contents: &Contents, event: Event) -> Vec<&Hook> {
    let times = |hook: &Hook| hook.events.iter().filter(|at| **at == event).count();
    contents.hooks.iter().flat_map(|hook| std::iter::repeat_n(hook, times(hook))).collect()
}

pub(super) fn entry(object: &Name, template: &str, deletes: Option<Deleted>) -> Entry {
    Entry { object: object.clone(), template: template.to_owned(), deletes, leaves: None, findings: Vec::new() }
}

fn by_weight(hooks: &[&Hook], there: impl Fn(&Name) -> Option<Deleted>) -> Vec<Lane> {
    let entries = hooks.iter().map(|hook| {
        let deletes = there(&hook.object).filter(|_| hook.deletes(DeletePolicy::BeforeHookCreation));
        (LaneOf::Weight(hook.weight), entry(&hook.object, &hook.template, deletes))
    });
    lanes(entries)
}

/// In reverse order, as Helm does it.
fn deleted_after(hooks: &[&Hook]) -> Vec<Lane> {
    let deleted = hooks.iter().rev().filter(|hook| hook.deletes(DeletePolicy::HookSucceeded));
    lanes(deleted.map(|hook| (LaneOf::Weight(hook.weight), entry(&hook.object, &hook.template, None))))
}

pub(super) fn by_kind(entries: impl Iterator<Item = Entry>) -> Vec<Lane> {
    lanes(entries.map(|entry| (LaneOf::Kind(entry.object.kind.clone()), entry)))
}

pub(super) fn lanes(entries: impl Iterator<Item = (LaneOf, Entry)>) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = Vec::new();
    for (of, entry) in entries {
        match lanes.last_mut() {
            Some(lane) if lane.of == of => lane.entries.push(entry),
            _ => lanes.push(Lane { of, entries: vec![entry] }),
        }
    }
    lanes
}

/// The objects that were in the manifest and are not any more. An annotation that keeps one counts on the live object,
/// which is the hook's if there is one.
fn pruned(baseline: Option<&Contents>, manifest: &BTreeSet<&Name>, pre: &[&Hook]) -> impl Iterator<Item = Entry> {
    let gone = baseline.into_iter().flat_map(|baseline| &baseline.resources);
    gone.filter(|resource| !manifest.contains(&resource.object)).filter_map(|resource| {
        let Resource { object, template, is_kept } = resource;
        match pre.iter().rfind(|hook| hook.object == *object) {
            Some(hook) if hook.is_kept || hook.deletes(DeletePolicy::HookSucceeded) => None,
            Some(hook) => Some(entry(object, &hook.template, Some(Deleted::MadeByHook))),
            None => (!is_kept).then(|| entry(object, template, None)),
        }
    })
}

/// The needs of the hooks, as far as this revision brings the objects.
fn needs<'h>(hooks: impl Iterator<Item = &'h &'h Hook>, side: &Side) -> Vec<Need> {
    let brings = |stage: Stage| stage.is_hooks() || stage == Stage::Resources;
    let brought: BTreeSet<_> =
        side.entries().filter(|(stage, _)| brings(*stage)).map(|(_, entry)| &entry.object).collect();
    // One that runs at both events is there twice.
    let mut seen = BTreeSet::new();
    let each_once = hooks.filter(|hook| seen.insert(&hook.object));
    let needed = each_once.flat_map(|hook| hook.needs.iter().map(|(object, field)| (&hook.object, object, field)));
    needed
        .filter(|(_, object, _)| brought.contains(object))
        .map(|(hook, object, field)| {
            let (hook, object) = (hook.clone(), object.clone());
            Need { hook, object, field: field.clone(), late: false }
        })
        .collect()
}
