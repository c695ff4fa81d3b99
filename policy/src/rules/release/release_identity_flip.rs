use helm::Event;
use helm::operation::Operation;
use helm::record::ApplyMethod;

use crate::finding::{FieldPath, Outcome, ReleaseProblem};
use crate::identity::Identity;
use crate::name::Name;
use crate::object::Kind;
use crate::rules::declare::{Reach, declare_rule};
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
    /// ```yaml
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: post-install,pre-upgrade
    /// # upgrade
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: post-install,pre-upgrade
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
            let problem = becomes_resource(resource, &before);
            problems.push(problem);
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
            return Some("a resource of the last good revision".to_owned());
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
            let text = format!("a hook of the last good revision (\"{}\")", hook.events_text());
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

/// Why nothing is left of a hook of the last good revision, if all went well.
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
    let stable = hook.events().map(|events| events.safely_completed().to_string()).unwrap_or_default();
    let remedy = hook.template.remedy(format!(
        "write {}: \"{stable}\" on every render, under a new name (under the old one an installed release flips), or on \
         none.",
        helm::HOOK
    ));
    let (harm, outcome, is_harmless) = harm_of_hook(release, hook);
    let message = format!("is {before} and becomes a hook (\"{}\"). {harm}", hook.events_text());
    let problem = hook.problem(FieldPath::annotation(helm::HOOK), message, remedy).ending_in(outcome);
    if is_harmless { problem.warn_at_most() } else { problem }
}

/// The effect of Helm on a resource that becomes this hook, what is left of it, and whether that is harmless.
fn harm_of_hook(release: &Release<'_>, hook: &HookDocument<'_>) -> (&'static str, Outcome, bool) {
    let is_deleted_first = hook.is_deleted_before_creation();
    let is_absent = *release.live(&hook.key) == Live::Absent;
    let is_removed = hook.is_deleted_after_success();
    // The annotation keeps it from being pruned, and from nothing else.
    let is_kept = hook.is_kept && !is_removed;
    let is_applied_over =
        release.apply_method == ApplyMethod::ServerSide && hook.key.judged_kind() == Some(Kind::ServiceAccount);
    if release.runs_before_resources(hook) {
        return match (is_deleted_first || is_absent, is_kept) {
            (true, false) if release.runs_after_resources(hook) && is_removed => (
                "Helm would delete it, run the hook twice, delete what each run has made, and report success: it is gone.",
                Outcome::Gone,
                false,
            ),
            (true, false) if release.runs_after_resources(hook) => (
                "Helm would delete it, run the hook, delete what that has made, and run it once more: the object is \
                 another one in the end.",
                Outcome::MadeAnew,
                false,
            ),
            (true, false) if is_absent => (
                "Helm would run the hook, delete what that has made, and report success: it is gone.",
                gone(hook),
                false,
            ),
            (true, false) => {
                ("Helm would delete it, run the hook, delete that, and report success: it is gone.", gone(hook), false)
            }
            (true, true) => (
                "Helm would delete it and run the hook; what that makes stays, because of helm.sh/resource-policy: keep.",
                Outcome::MadeAnew,
                true,
            ),
            (false, false) => (
                "Helm would find it in the hook's way (\"already exists\"), or run nothing, and delete it when the release \
                 has left its manifest.",
                match release.apply_method {
                    ApplyMethod::ClientSide => Outcome::Fails,
                    ApplyMethod::ServerSide => gone(hook),
                },
                false,
            ),
            (false, true) if is_applied_over => APPLIED_OVER,
            (false, true) => IN_THE_WAY,
        };
    }
    match (release.runs_after_resources(hook), release.keeps(&hook.key)) {
        _ if is_absent => ("Nothing of that name lives now, so Helm has nothing to delete.", Outcome::Gone, true),
        (true, true) if is_deleted_first => (
            "Helm would delete it, which helm.sh/resource-policy: keep has kept so far, when it comes to the hook: the \
             object is another one in the end.",
            if is_removed { Outcome::Gone } else { Outcome::MadeAnew },
            false,
        ),
        (true, true) if is_applied_over => APPLIED_OVER,
        (true, true) => IN_THE_WAY,
        (true, false) if is_removed => (
            "Helm would delete it, which the new manifest does not list any more, run the hook, and delete that too: it \
             is gone.",
            Outcome::Gone,
            false,
        ),
        (true, false) => (
            "Helm would delete it, which the new manifest does not list any more, and then create the hook's: the object \
             is another one in the end.",
            Outcome::MadeAnew,
            false,
        ),
        (false, true) => (
            "It stays, because of helm.sh/resource-policy: keep, and is no part of the release any more.",
            Outcome::Stays,
            true,
        ),
        (false, false) => (
            "Helm would delete it, which the new manifest does not list any more, and this operation runs no hook that \
             creates it again: it is gone.",
            gone(hook),
            false,
        ),
    }
}

/// The next upgrade makes it again where it runs the hook and leaves what that has made.
fn gone(hook: &HookDocument<'_>) -> Outcome {
    let runs_at_upgrades = [Event::PreUpgrade, Event::PostUpgrade].iter().any(|event| hook.events.contains(event));
    if runs_at_upgrades && !hook.is_deleted_after_success() { Outcome::GoneUntilTheNextUpgrade } else { Outcome::Gone }
}

/// The effect of Helm on a live object that is kept, what is left of it, and whether that is harmless.
const APPLIED_OVER: (&str, Outcome, bool) =
    ("Helm would apply the hook over it; it stays, because of helm.sh/resource-policy: keep.", Outcome::Stays, true);

const IN_THE_WAY: (&str, Outcome, bool) = (
    "Helm would find it in the hook's way (\"already exists\"), or run nothing; it stays, because of \
     helm.sh/resource-policy: keep.",
    Outcome::Stays,
    false,
);

fn becomes_resource(resource: &ResourceDocument<'_>, before: &HookBefore) -> ReleaseProblem {
    let harm = match before.remains {
        Remains::MayBeGone(why) => format!(
            "{why}: then Helm creates it as a resource. If an object of the hook is left, Helm stops with \"invalid \
             ownership metadata\"."
        ),
        Remains::OwnResource => {
            "The live Job is the release's own, but the revision before does not list it: Helm patches it as one that it \
             does not know, and fails (\"field is immutable\")."
                .to_owned()
        }
        Remains::IsLeft => {
            "Helm stops with \"invalid ownership metadata\", or takes over an object that it did not make: a Job can \
             then not be updated any more."
                .to_owned()
        }
    };
    let message = format!("is {} and becomes a resource. {harm}", before.text);
    let remedy = resource.template.remedy(format!("keep {} on every render, with no condition around it.", helm::HOOK));
    let problem = resource.problem(FieldPath::annotation(helm::HOOK), message, remedy).ending_in(Outcome::Fails);
    if matches!(before.remains, Remains::MayBeGone(_)) { problem.warn_at_most() } else { problem }
}
