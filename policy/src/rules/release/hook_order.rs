use crate::finding::{FieldPath, Problem, needs};
use crate::helm;
use crate::references::references;
use crate::release::{HookDocument, Key, Release};
use crate::rules::{Level, RuleLevel};

declare_rule! {
    /// ## What it does
    ///
    /// Denies a record with a hook that needs an object which is itself a hook of the same event, but runs later,
    /// and does not exist yet.
    ///
    /// ## Why is this bad?
    ///
    /// Helm runs the hooks of an event one by one, by weight, then by name, then by kind (not, as its documentation
    /// says, by kind before name), and waits for each. A Job that needs what comes after it waits until the timeout.
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
    "hook-order",
    default: RuleLevel::Check(Level::Deny),
    summary: "what a hook needs is itself a hook of the same event that runs later",
    check: Release(check),
}

fn check(release: &Release<'_>) -> Vec<Problem> {
    let running: Vec<_> = release.hooks_now().collect();
    let mut problems = Vec::new();
    for (place, hook) in running.iter().enumerate().filter(|(_, hook)| !hook.is_opted_out) {
        for reference in hook.object.iter().flat_map(references) {
            let key = Key::core(reference.kind.as_str(), &hook.key.namespace, reference.name);
            if release.record.hook(&key).is_none() {
                continue;
            }
            let exists = release.exists_before(&key);
            let first = running.iter().enumerate().find(|(_, other)| other.key == key);
            let Some((_, later)) = first.filter(|(at, _)| *at > place && exists != Some(true)) else { continue };
            // Where nobody can tell whether it is there from the last run, nothing is denied.
            let is_certain = exists == Some(false) && hook.is_selected;
            let problem = describe(hook, later, &reference.field);
            problems.push(if is_certain { problem } else { problem.warn_at_most() });
        }
    }
    problems
}

fn describe(hook: &HookDocument<'_>, later: &HookDocument<'_>, field: &str) -> Problem {
    let wanted = hook.weight.saturating_sub(10);
    Problem::new(
        FieldPath::annotation(helm::HOOK_WEIGHT),
        format!(
            "{}, a hook that runs after it: weight {} against {}, and at equal weights Helm goes by name. It would \
             wait until the timeout (templates {} and {}).",
            needs(&later.key, field),
            later.weight,
            hook.weight,
            hook.template,
            later.template
        ),
        format!("In {}, write {}: \"{wanted}\" for {}.", later.template, helm::HOOK_WEIGHT, later.key),
    )
    .about(hook.key.object_ref())
}
