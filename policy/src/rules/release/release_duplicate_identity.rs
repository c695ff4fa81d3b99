use crate::finding::{FieldPath, Outcome, ReleaseProblem};
use crate::rules::declare::{Reach, declare_rule};
use crate::subject::release::{HookDocument, Release};
use helm::Event;

declare_rule! {
    /// ## What it does
    ///
    /// Denies a record that holds one object twice: as a hook and in the manifest. It only warns where the hook runs
    /// before the manifest is applied and hook-succeeded removes it again by then.
    ///
    /// ## Why is this bad?
    ///
    /// Helm creates the hook, then finds it in the way of the resource of the same name ("already exists"), or
    /// takes one for the other and deletes the resource at the next upgrade, before its hook is created.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: ServiceAccount
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    /// ---
    /// apiVersion: v1
    /// kind: ServiceAccount
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: ServiceAccount
    /// metadata:
    ///   name: orders
    /// ---
    /// apiVersion: v1
    /// kind: ServiceAccount
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    /// ```
    ///
    /// ## References
    ///
    /// - Flux helm-controller issue 1449: a ServiceAccount as hook and as template
    summary: "one object is both a hook and in the manifest of the same record",
    check: Release(check, Reach::WarnsOfOthers),
}

fn check(release: &Release<'_>) -> Vec<ReleaseProblem> {
    let hooks = release.hooks().iter().filter(|hook| hook.is_part_of_the_release());
    let twice = hooks.filter_map(|hook| Some((hook, release.record.resource(&hook.key)?)));
    twice
        .map(|(hook, resource)| {
            let problem = hook.problem(
                FieldPath::annotation(helm::HOOK),
                format!(
                    "is in this release twice: as a hook (\"{}\") and as a resource ({}). When the hook runs, Helm \
                     creates the one and finds it in the way of the other, or deletes the one in the other's place.",
                    hook.events_text(),
                    resource.template
                ),
                hook.template.remedy("give the hook another name."),
            );
            let is_in_the_way = release.runs_before_resources(hook) && release.exists_before(&hook.key) == Some(true);
            let is_harmless = is_gone_in_time(hook) && !is_in_the_way;
            let is_made_anew = is_in_the_way && hook.is_deleted_before_creation() && !hook.is_deleted_after_success();
            let problem = if is_made_anew { problem.ending_in(Outcome::MadeAnew) } else { problem };
            if is_harmless { problem.warn_at_most() } else { problem }
        })
        .collect()
}

/// The hook has run and been removed before the manifest is applied: a trick that charts use. It works where nothing of
/// that name is there before.
fn is_gone_in_time(hook: &HookDocument<'_>) -> bool {
    let pre = [Event::PreInstall, Event::PreUpgrade, Event::PreRollback];
    let release_events = hook.events.iter().filter(|event| !event.is_test_or_delete());
    hook.is_deleted_after_success() && release_events.into_iter().all(|event| pre.contains(event))
}
