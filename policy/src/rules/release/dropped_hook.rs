use crate::finding::{FieldPath, Outcome, ReleaseProblem, Remedy};
use crate::name::Name;
use crate::rules::declare::{Reach, declare_rule};
use crate::shown::Shown;
use crate::subject::release::{Release, Template};
use helm::record::DroppedHook;

declare_rule! {
    /// ## What it does
    ///
    /// Denies a record in which a Job or ServiceAccount of the last good revision is missing, when its template writes a
    /// `helm.sh/hook` with an empty or unknown event. A hook that is lost in this way is only warned about. Events that
    /// come from a value are not seen in a record; `stable-hooks chart` hears from Helm itself what it has dropped.
    ///
    /// ## Why is this bad?
    ///
    /// Helm drops such a document, whole and nearly without a word: it is neither a hook nor a resource. What the last
    /// revision had as a resource is deleted, and the upgrade reports success.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// # template: helm.sh/hook: pre-install,pre-update
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
    ///     helm.sh/hook: pre-install,pre-update
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```yaml
    /// # template: no hook
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
    /// ```
    ///
    /// ## References
    ///
    /// - Helm, `pkg/release/v1/util/manifest_sorter.go`: "skipping unknown hooks"
    summary: "a Job or ServiceAccount is lost because Helm drops a document whose `helm.sh/hook` has an empty or unknown event",
    check: Release(check, Reach::Scope),
}

fn check(release: &Release<'_>) -> Vec<ReleaseProblem> {
    let Some(baseline) = &release.baseline else { return Vec::new() };
    let mut problems = Vec::new();
    for resource in &baseline.resources {
        if let Some(dropped) = dropped(release, &resource.key, resource.template) {
            // The events that the template writes are those of an item of a list.
            if resource.has_events_in_vain() && !dropped.is_told {
                continue;
            }
            let harm = if release.keeps(&resource.key) {
                "It stays, because of helm.sh/resource-policy: keep, and is no part of the release any more."
            } else {
                "Helm would delete it, and create nothing in its place."
            };
            let (message, remedy) = describe(resource.template, &dropped.events, "a resource", harm);
            let problem = resource.problem(FieldPath::annotation(helm::HOOK), message, remedy).ending_in(Outcome::Gone);
            problems.push(if release.keeps(&resource.key) { problem.warn_at_most() } else { problem });
        }
    }
    for hook in baseline.hooks.iter().filter(|hook| hook.is_part_of_the_release()) {
        if let Some(dropped) = dropped(release, &hook.key, hook.template) {
            let harm = "It would not run any more.";
            let (message, remedy) = describe(hook.template, &dropped.events, "a hook", harm);
            problems.push(hook.problem(FieldPath::annotation(helm::HOOK), message, remedy).warn_at_most());
        }
    }
    problems
}

/// The hook that Helm drops from this template, where the object is missing in this record.
fn dropped<'r>(release: &'r Release<'_>, key: &Name, template: Template<'_>) -> Option<&'r DroppedHook> {
    if release.record.holds(key) {
        return None;
    }
    release.record.dropped_hooks.iter().find(|dropped| dropped.template == template.0)
}

fn describe(template: Template<'_>, events: &str, before: &str, harm: &str) -> (String, Remedy) {
    let message = format!(
        "is {before} of the revision before and missing in this one: Helm drops a document with {}: \"{}\", for it has \
         an event that Helm does not know, or an empty one. {harm}",
        helm::HOOK,
        Shown(events)
    );
    (message, template.remedy("correct the events, or leave the annotation out."))
}
