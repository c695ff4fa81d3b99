use crate::finding::{FieldPath, ReleaseProblem};
use crate::object::Kind;
use crate::rules::declare::{Reach, declare_rule};
use crate::subject::release::Release;
use helm::DeletePolicy;

declare_rule! {
    /// ## What it does
    ///
    /// Warns about a migration Job whose delete policy removes it, and its logs, when it is done. It says nothing where
    /// `helm.sh/hook-output-log-policy` makes Helm 3.18 or later print the logs first, on the same outcome: the record says
    /// whether the Helm that wrote it knows that annotation.
    ///
    /// ## Why is this bad?
    ///
    /// When somebody asks what the migration did, its pods and their logs are gone.
    ///
    /// Helm prints the logs of the hook that has failed, or when all hooks of the event have succeeded: a Job that succeeded
    /// before another one failed is deleted unprinted. Flux drops what Helm prints, and Argo CD does not read the
    /// annotation.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    ///     helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```yaml
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    ///     helm.sh/hook-delete-policy: before-hook-creation
    /// ```
    ///
    /// ## References
    ///
    /// - Helm, "Chart Hooks": hook deletion policies
    summary: "a delete policy that removes a migration's logs",
    check: Release(check, Reach::Migrations),
}

fn check(release: &Release<'_>) -> Vec<ReleaseProblem> {
    let jobs = release.record.hooks.iter().filter(|hook| hook.key.judged_kind() == Some(Kind::Job));
    jobs.filter_map(|hook| {
        let policies = hook.policies.as_ref()?;
        let (removes, ends) = [
            (DeletePolicy::HookSucceeded, "once the hooks of its event have succeeded"),
            (DeletePolicy::HookFailed, "as soon as it fails, when they are needed most"),
        ]
        .into_iter()
        .find(|(policy, _)| policies.contains(*policy) && !hook.prints_logs(*policy))?;
        let removes = removes.as_str();
        // Helm fails where it is to delete what has no name.
        let first = if hook.key.name.is_empty() { "give it a name and " } else { "" };
        let asks = helm::HOOK_OUTPUT_LOG_POLICY;
        let in_vain = if hook.asks_for_logs_in_vain() {
            format!(" Its {asks} does nothing with the Helm that made this record: 3.18 is the first that knows it.")
        } else {
            String::new()
        };
        let print = if hook.can_print_logs() {
            format!(
                " Or write {asks}: \"hook-succeeded,hook-failed\": the helm command prints the logs then (3.18 or later)."
            )
        } else {
            String::new()
        };
        Some(hook.problem(
            FieldPath::annotation(helm::HOOK_DELETE_POLICY),
            format!("has {removes} in its delete policy: the Job and the migration's logs are deleted {ends}.{in_vain}"),
            hook.template.remedy(format!("{first}write {}: \"before-hook-creation\".{print}", helm::HOOK_DELETE_POLICY)),
        ))
    })
    .collect()
}
