use serde_json::Value;

use crate::argocd;
use crate::finding::{FieldPath, Outcome, ReleaseProblem};
use crate::rules::declare::declare_rule;
use crate::sync::{Desired, Manifest, Syncs};

declare_rule! {
    /// ## What it does
    ///
    /// Denies, under `chart --argocd`, a Job that Argo CD patches instead of making it anew, and whose pod template
    /// changes, or another field that a Job keeps for life: from the text before to this one, or at every render. That is
    /// a plain Job, and a hook whose delete policy leaves it there (`hook-failed` alone). It warns where a TTL may have
    /// removed the Job.
    ///
    /// ## Why is this bad?
    ///
    /// A Job's pod template cannot be changed. The sync fails ("field is immutable") after it has changed other objects,
    /// and with HookFailed among the delete policies Argo CD then deletes the Job.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    /// spec:
    ///   template: {spec: {containers: [{name: migrate, image: "orders:1"}]}}
    /// # next
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    /// spec:
    ///   template: {spec: {containers: [{name: migrate, image: "orders:2"}]}}
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```yaml
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations-1
    /// spec:
    ///   template: {spec: {containers: [{name: migrate, image: "orders:1"}]}}
    /// # next
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations-2
    /// spec:
    ///   template: {spec: {containers: [{name: migrate, image: "orders:2"}]}}
    /// ```
    ///
    /// ## References
    ///
    /// - Argo CD, "Sync Options": Force and Replace
    /// - Kubernetes, "Jobs": the pod template of a Job
    summary: "under Argo CD: a Job that is patched, not made anew, has another pod template: the sync fails",
    check: Syncs(check),
}

fn check(syncs: &Syncs<'_>) -> Vec<ReleaseProblem> {
    let mut problems = Vec::new();
    for job in syncs.new.objects.iter().filter(|job| job.is_job() && !syncs.new.has_twice(&job.name)) {
        // The next render of this text is the later one.
        let at_every_render = syncs.again.and_then(|again| change(job, again, When::EveryRender));
        let since = || syncs.old.and_then(|old| change(job, old, When::Since));
        problems.extend(at_every_render.or_else(since));
    }
    problems
}

/// Between which two renders the Job changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Since,
    EveryRender,
}

fn change(job: &Desired, other: &Manifest, when: When) -> Option<ReleaseProblem> {
    // An object that changes its part is argocd-flip's.
    let other_one = other.get(&job.name).filter(|other| other.is_hook() == job.is_hook())?;
    let field = job.failing_patch(other_one).filter(|_| !other.has_twice(&job.name))?;
    let differs = match when {
        When::Since => "differs from the text that was synced before",
        When::EveryRender => "differs at every render",
    };
    let part = match &job.hook {
        Some((key, _)) => format!("is a hook ({key}) without before-hook-creation"),
        None => "is a plain Job".to_owned(),
    };
    let has_ttl = other_one.object.pointer("/spec/ttlSecondsAfterFinished").is_some_and(Value::is_number);
    let still = if has_ttl { "unless its TTL has removed it, " } else { "" };
    let then = if job.is_deleted_after_failure() { ", and Argo CD then deletes it (hook-failed)" } else { "" };
    let message = format!(
        "{part}, and {field} {differs}. Argo CD patches the Job that is there, and that field of a Job cannot be changed: \
         {still}the sync fails{then}."
    );
    let remedy = if job.is_hook() {
        format!("write {}: \"before-hook-creation\".", helm::HOOK_DELETE_POLICY)
    } else {
        format!(
            "give the Job a name that changes with its image; or write {}: \"Force=true,Replace=true\", and Argo CD makes it anew.",
            argocd::SYNC_OPTIONS
        )
    };
    let problem = job.problem(FieldPath::spec("template"), message, remedy).ending_in(Outcome::Fails);
    Some(if has_ttl { problem.warn_at_most() } else { problem })
}
