use crate::finding::{FieldPath, Outcome, ReleaseProblem};
use crate::name::Name;
use crate::references::references;
use crate::rules::declare::{Reach, declare_rule};
use crate::rules::steady::in_time;
use crate::subject::release::{HookDocument, Release};

declare_rule! {
    /// ## What it does
    ///
    /// Denies a record with a hook that needs an object which is itself a hook, but runs later, at the same event or at the
    /// next one, and does not exist yet; or a hook of the event before, which Helm deletes when it has succeeded.
    ///
    /// ## Why is this bad?
    ///
    /// Helm runs the hooks of an event one by one, by weight, then by name, then by kind (not, as its documentation
    /// says, by kind before name), and waits for each. A Job that needs what comes after it waits until the timeout.
    /// With hook-succeeded, Helm deletes the hooks of an event when all of them have run.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: ServiceAccount
    /// metadata:
    ///   name: orders-migrate-account
    ///   annotations:
    ///     helm.sh/hook: pre-install
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrate
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install
    /// spec:
    ///   template:
    ///     spec:
    ///       serviceAccountName: orders-migrate-account
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: ServiceAccount
    /// metadata:
    ///   name: orders-migrate-account
    ///   annotations:
    ///     helm.sh/hook: pre-install
    ///     helm.sh/hook-weight: "-10"
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrate
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install
    /// spec:
    ///   template:
    ///     spec:
    ///       serviceAccountName: orders-migrate-account
    /// ```
    ///
    /// ## References
    ///
    /// - Helm issue 12414: a hook's ServiceAccount is created after the Job of the same weight
    summary: "what a hook needs is itself a hook that runs later, or one that Helm has deleted by then",
    check: Release(check, Reach::WarnsOfOthers),
}

fn check(release: &Release<'_>) -> Vec<ReleaseProblem> {
    let mut problems = Vec::new();
    for hook in release.hooks_now() {
        for reference in hook.object.iter().flat_map(references) {
            let key = Name::core(reference.kind.as_str(), &hook.key.namespace, reference.name);
            let Some(needed) = release.record.hook(&key).filter(|needed| release.runs_now(needed)) else { continue };
            let exists = release.exists_before(&key);
            let (problem, is_certain) = if exists != Some(true) && runs_first(release, hook, needed) {
                let problem = if release.runs_before_resources(needed) == release.runs_before_resources(hook) {
                    runs_later(hook, needed, &reference.field)
                } else {
                    runs_at_the_later_event(release, hook, needed, &reference.field)
                };
                // It is only warned about where it may be there from the last run.
                (problem, exists == Some(false))
            } else if is_deleted_between(release, hook, needed) {
                (is_deleted(release, hook, needed, &reference.field), true)
            } else {
                continue;
            };
            let problem = problem.about(&needed.key, &reference.field).ending_in(Outcome::Hangs);
            problems.push(if is_certain { problem } else { problem.warn_at_most() });
        }
    }
    problems
}

/// Helm has not come to what is needed when it runs the hook for the first time.
fn runs_first(release: &Release<'_>, hook: &HookDocument<'_>, needed: &HookDocument<'_>) -> bool {
    match (release.runs_before_resources(hook), release.runs_before_resources(needed)) {
        (true, false) => true,
        (false, true) => false,
        (true, true) | (false, false) => release.record.runs_before(&hook.key, &needed.key),
    }
}

/// Helm has made it at the event before, and deleted it when that was over; nothing makes it again in time.
fn is_deleted_between(release: &Release<'_>, hook: &HookDocument<'_>, needed: &HookDocument<'_>) -> bool {
    let is_made_again = release.runs_after_resources(needed) && release.record.runs_before(&needed.key, &hook.key);
    let is_removed = needed.is_deleted_after_success();
    release.runs_after_resources(hook) && release.runs_before_resources(needed) && is_removed && !is_made_again
}

fn is_deleted(
    release: &Release<'_>,
    hook: &HookDocument<'_>,
    needed: &HookDocument<'_>,
    field: &str,
) -> ReleaseProblem {
    let wanted = needed.key.seen_from(&hook.key.namespace);
    hook.problem(
        FieldPath::annotation(helm::HOOK),
        format!(
            "needs {wanted} ({field}), a {} hook that Helm deletes when it has succeeded ({}: \"hook-succeeded\"). As a {} \
             hook it would find nothing of that name, and wait until the timeout.",
            release.operation.pre().as_str(),
            helm::HOOK_DELETE_POLICY,
            release.operation.post().as_str(),
        ),
        needed.template.remedy(format!("write {}: \"before-hook-creation\" for {wanted}.", helm::HOOK_DELETE_POLICY)),
    )
}

fn runs_at_the_later_event(
    release: &Release<'_>,
    hook: &HookDocument<'_>,
    later: &HookDocument<'_>,
    field: &str,
) -> ReleaseProblem {
    let (pre, post) = (release.operation.pre().as_str(), release.operation.post().as_str());
    let wanted = later.key.seen_from(&hook.key.namespace);
    hook.problem(
        FieldPath::annotation(helm::HOOK),
        format!(
            "needs {wanted} ({field}), a hook that runs after it: at {post}, and this one at {pre}. {}.",
            hook.without(&later.key)
        ),
        in_time(later, hook),
    )
}

fn runs_later(hook: &HookDocument<'_>, later: &HookDocument<'_>, field: &str) -> ReleaseProblem {
    let wanted = later.key.seen_from(&hook.key.namespace);
    let weight = hook.weight.saturating_sub(10);
    let by_name = if later.weight == hook.weight { ", and at equal weights Helm goes by name" } else { "" };
    hook.problem(
        FieldPath::annotation(helm::HOOK_WEIGHT),
        format!(
            "needs {wanted} ({field}), a hook that runs after it: weight {} against {}{by_name}. {}.",
            later.weight,
            hook.weight,
            hook.without(&later.key)
        ),
        later.template.remedy(format!("write {}: \"{weight}\" for {wanted}.", helm::HOOK_WEIGHT)),
    )
}
