use crate::finding::{FieldPath, ReleaseProblem};
use crate::object::Kind;
use crate::rules::declare::{Reach, declare_rule};
use crate::subject::release::Release;
use helm::DeletePolicy;

declare_rule! {
    /// ## What it does
    ///
    /// Warns about a migration Job whose delete policy removes it, and its logs, when it is done.
    ///
    /// ## Why is this bad?
    ///
    /// When somebody asks what the migration did, its pods and their logs are gone.
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
        .find(|(policy, _)| policies.contains(*policy))?;
        let removes = removes.as_str();
        // Helm fails where it is to delete what has no name.
        let first = if hook.key.name.is_empty() { "give it a name and " } else { "" };
        Some(hook.problem(
            FieldPath::annotation(helm::HOOK_DELETE_POLICY),
            format!("has {removes} in its delete policy: the Job and the migration's logs are deleted {ends}."),
            hook.template.remedy(format!("{first}write {}: \"before-hook-creation\".", helm::HOOK_DELETE_POLICY)),
        ))
    })
    .collect()
}
