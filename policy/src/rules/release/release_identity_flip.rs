use helm::operation::Operation;
use helm::record::ApplyMethod;

use crate::finding::{FieldPath, Outcome, ReleaseProblem};
use crate::identity::Identity;
use crate::name::Name;
use crate::object::Kind;
use crate::rules::declare::{Reach, declare_rule};
use crate::rules::steady::steady_in;
use crate::subject::release::{HookDocument, Live, Release, ResourceDocument};

declare_rule! {
    /// ## What it does
    ///
    /// Denies a release record in which a Job or ServiceAccount changes sides: a hook in the record that the last
    /// revision (or the cluster) has as a resource, or the reverse. Every hook with an install, upgrade or rollback
    /// event counts, whether it runs now or not: Helm prunes by name, not by event.
    ///
    /// A resource that becomes a test or a hook of the deletion is only warned about: Helm deletes it all the same.
    ///
    /// The setting `releases.scope` says whose flip is denied. A hook document with `helm.sh/resource-policy: keep`
    /// is only warned about, for Helm does not prune it; so is a rollback, a flip that was accepted, and a hook that
    /// becomes a resource where nothing may be left of the hook: never run, deleted by hook-succeeded or its TTL, or seen
    /// to be gone.
    ///
    /// Accepted under Helm 4, a resource that becomes a hook also needs before-hook-creation (or no delete policy at all):
    /// otherwise Helm turns the object over by an UPDATE, which `identity-flip` denies in the middle of the operation.
    ///
    /// ## Why is this bad?
    ///
    /// A resource that becomes a hook: Helm deletes the live object, runs the hook, then prunes what the hook has
    /// created, because the new manifest no longer lists it. The upgrade reports success, and the Job and its
    /// ServiceAccount are gone. A hook that becomes a resource: Helm stops with "invalid ownership metadata", or
    /// adopts an object that it can then not update.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    /// # upgrade
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: pre-upgrade
    /// ```
    ///
    /// ## Use instead
    ///
    /// For a chart that is not installed yet. A release that is installed would flip once more under the old name: give
    /// the hook a new name there, or accept that revision once.
    ///
    /// ```yaml
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    /// # upgrade
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    /// ```
    ///
    /// ## References
    ///
    /// - Helm issues 11608 and 12799: a resource that becomes a hook is deleted
    summary: "a Job or ServiceAccount is a hook in one of baseline and record and a resource in the other, or lives as the other",
    check: Release(check, Reach::Scope),
}

fn check(release: &Release<'_>) -> Vec<ReleaseProblem> {
    let mut problems = Vec::new();
    for hook in &release.record.hooks {
        if let Some(before) = resource_before(release, hook) {
            let problem = becomes_hook(release, hook, &before);
            // A test, or a hook of the deletion, is no migration: its author may want it gone.
            let problem = if hook.is_part_of_the_release() { problem } else { problem.warn_at_most() };
            problems.push(problem);
        }
    }
    for resource in &release.record.resources {
        // An object that is both in this record is release-duplicate-identity's.
        if let Some(before) = hook_before(release, &resource.key)
            && release.record.hook(&resource.key).is_none()
        {
            problems.push(becomes_resource(release, resource, &before));
        }
    }
    problems
}

/// The place where the hook's key was a resource; `None` where it was none, still is one, or has another owner.
fn resource_before(release: &Release<'_>, hook: &HookDocument<'_>) -> Option<String> {
    let key = &hook.key;
    let in_record = release.record.resource(key).is_some();
    if let Some(baseline) = &release.baseline {
        if baseline.resource(key).is_some() && baseline.hook(key).is_none() && !in_record {
            return Some("a resource of the revision before".to_owned());
        }
        if baseline.hook(key).is_some() {
            return None;
        }
    }
    match release.live_identity(key)? {
        // An item of a list that is a hook looks like anybody's resource.
        Identity::Resource(owner) if hook.is_in_list && !release.is_own(owner) => None,
        Identity::Resource(owner) if !in_record && !release.is_foreign(owner) => {
            Some(if release.is_own(owner) { "live as a resource".to_owned() } else { format!("live as {owner}") })
        }
        _ => None,
    }
}

/// Where the key was a hook.
struct HookBefore {
    text: String,
    remains: Remains,
}

/// The object of a former hook, as Helm meets it.
enum Remains {
    /// Why it may be gone, in words: then nothing is in the way of a resource.
    MayBeGone(&'static str),
    /// It lives as a resource of this release, and the revision before does not list it.
    OwnResource,
    IsLeft,
}

fn hook_before(release: &Release<'_>, key: &Name) -> Option<HookBefore> {
    // An operation in between, which failed, has made it or left it: an upgrade adopts it, as a rollback does not.
    let is_own = matches!(release.live_identity(key), Some(Identity::Resource(owner)) if release.is_own(owner));
    let is_job = key.judged_kind() == Some(Kind::Job);
    let is_adopted = release.operation != Operation::Rollback || release.apply_method == ApplyMethod::ServerSide;
    if is_own && (is_adopted || !is_job) {
        return None;
    }
    if let Some(baseline) = &release.baseline {
        let was_hook = baseline.hook(key).filter(|hook| hook.is_part_of_the_release());
        if let Some(hook) = was_hook.filter(|_| baseline.resource(key).is_none()) {
            let text = format!("a hook of the revision before (\"{}\")", hook.events_text());
            let remains = match why_gone(release, hook) {
                _ if is_own => Remains::OwnResource,
                Some(why) => Remains::MayBeGone(why),
                None => Remains::IsLeft,
            };
            return Some(HookBefore { text, remains });
        }
        if baseline.resource(key).is_some() {
            return None;
        }
    }
    match release.live_identity(key)? {
        Identity::Hook(hook) if !hook.is_test_or_delete_only() => {
            Some(HookBefore { text: format!("live as {hook}"), remains: Remains::IsLeft })
        }
        _ => None,
    }
}

/// Why nothing is left of a hook of the revision before, if all went well.
fn why_gone(release: &Release<'_>, hook: &HookDocument<'_>) -> Option<&'static str> {
    match release.live(&hook.key) {
        Live::Absent => Some("Nothing of that name lives now"),
        Live::Unknown if hook.is_deleted_after_success() => {
            Some("With hook-succeeded Helm deletes it when it has succeeded")
        }
        Live::Unknown if release.has_never_run(hook) => Some("No operation so far has run it"),
        Live::Unknown | Live::Found(_) if release.ttl_may_have_removed(&hook.key, hook.object.as_ref()) => {
            Some("Its TTL (spec.ttlSecondsAfterFinished) removes it some time after its end")
        }
        Live::Unknown | Live::Found(_) => None,
    }
}

fn becomes_hook(release: &Release<'_>, hook: &HookDocument<'_>, before: &str) -> ReleaseProblem {
    let remedy = hook.template.remedy(if release.lists(&hook.key) {
        format!(
            "leave {} out of every render; or give the hook a new name and, on every render, {}: {}.",
            helm::HOOK,
            helm::HOOK,
            steady_in(release, hook)
        )
    } else {
        "give the hook another name.".to_owned()
    });
    let Harm { text, outcome, is_harmless } = harm_of_hook(release, hook);
    let message = format!("is {before} and becomes a hook (\"{}\"). {text}", hook.events_text());
    let problem = hook.problem(FieldPath::annotation(helm::HOOK), message, remedy).ending_in(outcome);
    if is_harmless { problem.warn_at_most() } else { problem }
}

/// The effect of Helm on a resource that becomes a hook, and what is left of it.
struct Harm {
    text: String,
    outcome: Outcome,
    is_harmless: bool,
}

impl Harm {
    fn new(text: impl Into<String>, outcome: Outcome) -> Self {
        Self { text: text.into(), outcome, is_harmless: false }
    }

    fn none(text: impl Into<String>, outcome: Outcome) -> Self {
        Self { is_harmless: true, ..Self::new(text, outcome) }
    }
}

fn harm_of_hook(release: &Release<'_>, hook: &HookDocument<'_>) -> Harm {
    let is_absent = *release.live(&hook.key) == Live::Absent;
    let is_deleted_first = hook.is_deleted_before_creation() || is_absent;
    let is_removed = hook.is_deleted_after_success();
    // The annotation keeps it from being pruned, and from nothing else.
    let is_kept = hook.is_kept && !is_removed;
    let (runs_before, runs_after) = (release.runs_before_resources(hook), release.runs_after_resources(hook));
    if !release.lists(&hook.key) {
        return harm_to_a_stranger(release, hook);
    }
    if runs_before && !is_deleted_first {
        return met_before_the_resources(release, hook, is_kept);
    }
    match (runs_before, runs_after) {
        (true, _) if is_kept => Harm::none(
            "Helm would delete it and run the hook; what that makes stays, because of helm.sh/resource-policy: keep.",
            Outcome::MadeAnew,
        ),
        (true, true) if is_removed => Harm::new(
            "Helm would delete it, run the hook twice, delete what each run has made, and report success: it is gone.",
            Outcome::Gone,
        ),
        (true, true) => Harm::new(
            "Helm would delete it, run the hook, delete what that has made, and run it once more: the object is another one \
             in the end.",
            Outcome::MadeAnew,
        ),
        (true, false) if is_absent => {
            Harm::new("Helm would run the hook, delete what that has made, and report success: it is gone.", gone(hook))
        }
        (true, false) => {
            Harm::new("Helm would delete it, run the hook, delete that, and report success: it is gone.", gone(hook))
        }
        (false, _) if is_absent => {
            Harm::none("Nothing of that name lives now, so Helm has nothing to delete.", Outcome::Stays)
        }
        (false, true) if release.keeps(&hook.key) && !is_deleted_first => kept(met(release, hook)),
        (false, true) if release.keeps(&hook.key) => Harm::new(
            "Helm would delete it, which helm.sh/resource-policy: keep has kept so far, when it comes to the hook: the \
             object is another one in the end.",
            if is_removed { Outcome::Gone } else { Outcome::MadeAnew },
        ),
        (false, true) if is_removed => Harm::new(
            "Helm would delete it, which the new manifest does not list any more, run the hook, and delete that too: it is \
             gone.",
            Outcome::Gone,
        ),
        (false, true) => Harm::new(
            "Helm would delete it, which the new manifest does not list any more, and then create the hook's: the object is \
             another one in the end.",
            Outcome::MadeAnew,
        ),
        (false, false) if release.keeps(&hook.key) => Harm::none(
            "It stays, because of helm.sh/resource-policy: keep, and is no part of the release any more.",
            Outcome::Stays,
        ),
        (false, false) => Harm::new(
            "Helm would delete it, which the new manifest does not list any more, and this operation runs no hook that \
             creates it again: it is gone.",
            gone(hook),
        ),
    }
}

/// An object that Helm does not prune: nobody's, another tool's, or one that an uninstallation has left.
fn harm_to_a_stranger(release: &Release<'_>, hook: &HookDocument<'_>) -> Harm {
    if !release.runs_now(hook) {
        return Harm::none("This operation does not run the hook, and leaves the object alone.", Outcome::Stays);
    }
    if !hook.is_deleted_before_creation() {
        return met(release, hook);
    }
    let outcome = if hook.is_deleted_after_success() { Outcome::Gone } else { Outcome::MadeAnew };
    Harm::new("Helm would delete it, and make the hook's in its place.", outcome)
}

/// The hook finds the live object where it is, and the release's manifest does not list it any more.
fn met_before_the_resources(release: &Release<'_>, hook: &HookDocument<'_>, is_kept: bool) -> Harm {
    let met = met(release, hook);
    if is_kept {
        return kept(met);
    }
    if met.outcome == Outcome::Fails {
        return met;
    }
    Harm::new(
        format!("{} It would delete it then, for the new manifest does not list it any more.", met.text),
        gone(hook),
    )
}

fn kept(met: Harm) -> Harm {
    Harm { text: format!("{} It stays, because of helm.sh/resource-policy: keep.", met.text), ..met }
}

/// What Helm makes of a live object that it does not delete before it creates the hook's.
fn met(release: &Release<'_>, hook: &HookDocument<'_>) -> Harm {
    match release.apply_method {
        ApplyMethod::ClientSide => {
            Harm::new("Helm would find it in the hook's way and stop (\"already exists\").", Outcome::Fails)
        }
        ApplyMethod::ServerSide if hook.is_waited_for() => Harm::new(
            "Helm would take it for the hook's run, which does not happen, or stop where its pod template has changed.",
            Outcome::DoesNotRun,
        ),
        ApplyMethod::ServerSide => Harm::none("Helm would apply the hook over it.", Outcome::Stays),
    }
}

/// The next upgrade makes it again where it runs the hook and leaves what that has made.
fn gone(hook: &HookDocument<'_>) -> Outcome {
    let is_left = hook.runs_at_upgrades() && !hook.is_deleted_after_success();
    if is_left { Outcome::GoneUntilTheNextUpgrade } else { Outcome::Gone }
}

fn becomes_resource(release: &Release<'_>, resource: &ResourceDocument<'_>, before: &HookBefore) -> ReleaseProblem {
    let is_job = resource.key.judged_kind() == Some(Kind::Job);
    let from_then_on = if is_job { ", whose pod template can then not be changed" } else { "" };
    let (harm, outcome) = match before.remains {
        Remains::MayBeGone(why) => (
            format!(
                "{why}: then Helm creates it as a resource. If an object of the hook is left, Helm stops with \"invalid \
                 ownership metadata\"."
            ),
            Outcome::TakenOver,
        ),
        Remains::OwnResource => (
            "The live Job is the release's own, but the revision before does not list it: Helm patches it as one that it \
             does not know, and fails (\"field is immutable\")."
                .to_owned(),
            Outcome::Fails,
        ),
        // A rollback does not ask whose the object is.
        Remains::IsLeft
            if release.operation == Operation::Rollback || release.told.is_some_and(|told| told.takes_ownership) =>
        {
            (format!("Helm takes over an object that it did not make{from_then_on}."), Outcome::TakenOver)
        }
        Remains::IsLeft => (
            format!(
                "Helm stops with \"invalid ownership metadata\"; or (with --take-ownership, or under Flux) takes over an \
                 object that it did not make{from_then_on}."
            ),
            Outcome::TakenOver,
        ),
    };
    let message = format!("is {} and becomes a resource. {harm}", before.text);
    let remedy = resource.template.remedy(format!(
        "keep {} on every render, with no condition around it; or give the resource a new name.",
        helm::HOOK
    ));
    let problem = resource.problem(FieldPath::annotation(helm::HOOK), message, remedy).ending_in(outcome);
    if matches!(before.remains, Remains::MayBeGone(_)) { problem.warn_at_most() } else { problem }
}
