use crate::finding::{FieldPath, ReleaseProblem};
use crate::object::Kind;
use crate::rules::declare::{Reach, declare_rule};
use crate::subject::release::Release;
use helm::DeletePolicy;

declare_rule! {
    /// ## What it does
    ///
    /// Warns about a migration Job whose delete policy removes it, and its logs, when it has failed. It says nothing where
    /// `helm.sh/hook-output-log-policy` makes Helm 3.18 or later print the logs of a failure first: the record says whether the
    /// Helm that wrote it knows that annotation. It says nothing of `hook-succeeded` either: many charts remove on purpose what
    /// has succeeded.
    ///
    /// ## Why is this bad?
    ///
    /// When somebody asks why the migration failed, its pods and their logs are gone. Flux drops what Helm prints, and Argo CD
    /// does not read that annotation.
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
    ///     helm.sh/hook-delete-policy: before-hook-creation,hook-failed
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
    summary: "a delete policy that removes the logs of a migration that has failed",
    check: Release(check, Reach::Migrations),
}

fn check(release: &Release<'_>) -> Vec<ReleaseProblem> {
    let jobs = release.record.hooks.iter().filter(|hook| hook.key.judged_kind() == Some(Kind::Job));
    jobs.filter_map(|hook| {
        let policies = hook.policies.as_ref()?;
        if !policies.contains(DeletePolicy::HookFailed) || hook.prints_logs(DeletePolicy::HookFailed) {
            return None;
        }
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
                " Or write {asks}: \"hook-failed\": the helm command prints the logs then (3.18 or later)."
            )
        } else {
            String::new()
        };
        Some(hook.problem(
            FieldPath::annotation(helm::HOOK_DELETE_POLICY),
            format!(
                "has {} in its delete policy: the Job and the migration's logs are deleted as soon as it fails, when they are \
                 needed most.{in_vain}",
                DeletePolicy::HookFailed.as_str()
            ),
            hook.template.remedy(format!("{first}write {}: \"before-hook-creation\".{print}", helm::HOOK_DELETE_POLICY)),
        ))
    })
    .collect()
}
