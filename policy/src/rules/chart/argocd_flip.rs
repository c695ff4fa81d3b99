use crate::finding::{Outcome, ReleaseProblem};
use crate::rules::declare::declare_rule;
use crate::sync::{Desired, Role, Syncs};

declare_rule! {
    /// ## What it does
    ///
    /// Denies, under `chart --argocd` with `--against` or `--against-ref`, a Job or ServiceAccount that changes from a
    /// resource to a hook or back, where the sync then fails; and warns where it succeeds, but the migration does not run,
    /// or the object that was there is deleted.
    ///
    /// ## Why is this bad?
    ///
    /// A resource that becomes a hook is deleted and made anew, a ServiceAccount under its running pods; where the hook's
    /// delete policy leaves what is there, Argo CD takes the old run for the hook's, or cannot change the Job's template,
    /// fails, and with HookFailed deletes the Job. A hook that becomes plain is not compared with git: the application
    /// shows Synced, nothing happens, and with another template each sync fails.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    /// # next
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
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
    ///     helm.sh/hook: pre-install,pre-upgrade
    /// # next
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrate
    /// ```
    ///
    /// ## References
    ///
    /// - Argo CD, "Resource Hooks": hooks are not compared with git
    summary: "under Argo CD: a Job or ServiceAccount changes from resource to hook or back between two texts",
    check: Syncs(check),
}

fn check(syncs: &Syncs<'_>) -> Vec<ReleaseProblem> {
    let Some(old) = syncs.old else { return Vec::new() };
    let mut problems = Vec::new();
    for new in syncs.new.objects.iter().filter(|new| new.name.judged_kind().is_some() && !new.has_generated_name()) {
        // Of two documents with one name Argo CD takes either.
        if syncs.new.has_twice(&new.name) || old.has_twice(&new.name) {
            continue;
        }
        let Some(old) = old.get(&new.name) else { continue };
        problems.extend(match (&old.role, &new.role) {
            (Role::Resource, Role::Hook(_)) if new.phases().is_empty() => Some(leaves_the_sync(new)),
            (Role::Resource, Role::Hook(_)) => becomes_hook(old, new),
            (Role::Hook(_), Role::Resource) if !old.phases().is_empty() => becomes_resource(old, new),
            _ => None,
        });
    }
    problems
}

/// A hook that no sync runs is not applied either, and what is there is in no text any more.
fn leaves_the_sync(new: &Desired) -> ReleaseProblem {
    let message = format!(
        "was a resource in the text before and becomes a hook that no sync runs ({}). Argo CD does not apply it any more, and \
         with pruning it deletes the one that is there.",
        new.hook_text()
    );
    let remedy = format!("leave {} out, as before; or give the hook a new name.", new.hook_key());
    new.problem(new.hook_field(), message, remedy).warn_at_most()
}

fn becomes_hook(old: &Desired, new: &Desired) -> Option<ReleaseProblem> {
    let failing = new.failing_patch(old);
    let is_forced = new.is_forced() && new.is_job() && new.immutable_difference(old).is_some();
    let is_deleted_first = new.is_deleted_before_creation() || is_forced;
    let is_fatal = failing.is_some();
    let harm = if is_deleted_first {
        if new.is_job() {
            "Argo CD deletes the Job, with the logs of its pods, and runs the hook in its place.".to_owned()
        } else {
            "Argo CD deletes it and makes it anew, now and at every sync: the tokens of pods that run as it stop working.".to_owned()
        }
    } else if let Some(field) = failing {
        let then = if new.is_deleted_after_failure() { ", and Argo CD then deletes the Job (hook-failed)" } else { "" };
        format!("Argo CD patches what is there, and {field}, which differs, cannot be changed: the sync fails{then}.")
    } else if new.is_job() {
        let then = if new.is_deleted_after_success() { ", and deletes it after the sync (hook-succeeded)" } else { "" };
        format!("Argo CD takes the Job that has run for the hook's run, which does not happen{then}.")
    } else if new.is_deleted_after_success() {
        "Argo CD deletes it after the sync (hook-succeeded): pods that run as it lose it.".to_owned()
    } else {
        return None;
    };
    let message = format!("was a resource in the text before and becomes a hook ({}). {harm}", new.hook_text());
    let remedy = format!("leave {} out, as before; or give the hook a new name.", new.hook_key());
    let problem = new.problem(new.hook_field(), message, remedy);
    Some(if is_fatal { problem.ending_in(Outcome::Fails) } else { problem.warn_at_most() })
}

fn becomes_resource(old: &Desired, new: &Desired) -> Option<ReleaseProblem> {
    // Nothing of the hook is left, or an account that is the same.
    if old.is_deleted_after_success() || !new.is_job() {
        return None;
    }
    let was = format!("was a hook in the text before ({}) and becomes a resource", old.hook_text());
    let changed = new.immutable_difference(old);
    // Then the Job is deleted and made anew, and runs.
    if changed.is_some() && new.is_forced() {
        return None;
    }
    let harm = match &changed {
        Some(field) => format!(
            "Argo CD patches the Job that is there, and {field}, which differs, cannot be changed: the sync fails after it \
             has changed other objects."
        ),
        None => "Argo CD does not compare a live hook with git: the application shows Synced, no automated sync begins, and \
                 one by hand only takes the annotation off. The Job does not run again."
            .to_owned(),
    };
    let remedy = format!("keep {}; or give the plain Job a new name.", old.hook_text());
    let problem = new.problem(old.hook_field(), format!("{was}. {harm}"), remedy);
    Some(if changed.is_some() { problem.ending_in(Outcome::Fails) } else { problem.warn_at_most() })
}
