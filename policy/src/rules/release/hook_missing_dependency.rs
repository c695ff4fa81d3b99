use std::collections::BTreeSet;

use crate::finding::{FieldPath, Outcome, ReleaseProblem};
use crate::name::Name;
use crate::references::{Reference, named_services, references};
use crate::rules::declare::{Reach, declare_rule};
use crate::rules::earlier::{brought_along, later};
use crate::subject::release::{HookDocument, Live, Release, Template};
use helm::operation::Operation;
use helm::{Event, Events};

declare_rule! {
    /// ## What it does
    ///
    /// Denies a record with a hook that needs a ServiceAccount, Secret, ConfigMap or PersistentVolumeClaim which this
    /// release creates only after the hook, and which does not exist yet, or which Helm prunes before the hook runs. It
    /// warns about a secret to pull images with, when the object is nowhere to be found, when nobody can tell whether it
    /// exists, and when the hook names a Service of this release as a host and the Service does not exist yet, such as
    /// that of a bundled database; not about an image with `certgen` in its name, which makes certificates for its hosts.
    ///
    /// ## Why is this bad?
    ///
    /// The Job never gets a pod, or its pod never starts. Helm waits for the hook until its timeout, and the release
    /// fails. A pod that connects to a Service which is not there yet waits for it, or fails.
    ///
    /// Argo CD runs pre-install and pre-upgrade hooks before each sync, post-install and post-upgrade hooks after it. A
    /// `post-install,pre-upgrade` hook, which under Helm finds all that it needs, runs there at the first sync too before
    /// anything exists, and the sync does not end. With `helm --wait`, and under Argo CD, a hook after the resources runs
    /// only when the application is ready without it.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: ServiceAccount
    /// metadata:
    ///   name: orders-migrations
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    /// spec:
    ///   template:
    ///     spec:
    ///       serviceAccountName: orders-migrations
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: ServiceAccount
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    ///     helm.sh/hook-weight: "-10"
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    /// spec:
    ///   template:
    ///     spec:
    ///       serviceAccountName: orders-migrations
    /// ```
    ///
    /// ## References
    ///
    /// - Helm issue 7447: a hook Job hangs because its ServiceAccount is not there yet
    summary: "a hook of this operation needs an object that this release creates only later",
    check: Release(check, Reach::WarnsOfOthers),
}

fn check(release: &Release<'_>) -> Vec<ReleaseProblem> {
    let services = Name::services(release.record.resources.iter().map(|resource| &resource.key));
    let mut problems = Vec::new();
    for hook in release.hooks_now() {
        let Some(object) = &hook.object else { continue };
        for reference in references(object) {
            problems.extend(missing_object(release, hook, &reference));
        }
        if release.runs_before_resources(hook) {
            // The same Service is the same problem, however many variables name it.
            let mut seen = BTreeSet::new();
            for reference in named_services(object, &hook.key.namespace, &services) {
                let namespace = reference.namespace.unwrap_or(&hook.key.namespace);
                let key = Name::core(reference.kind.as_str(), namespace, reference.name);
                if seen.insert(key.clone()) {
                    problems.extend(missing_service(release, hook, &key, &reference.field));
                }
            }
        }
    }
    problems
}

fn missing_object(release: &Release<'_>, hook: &HookDocument<'_>, reference: &Reference<'_>) -> Option<ReleaseProblem> {
    let key = Name::core(reference.kind.as_str(), &hook.key.namespace, reference.name);
    // The order decides among hooks that run now: hook-order.
    if release.record.hook(&key).is_some_and(|needed| release.runs_now(needed)) {
        return None;
    }
    let template = release.record.resource(&key).map(|resource| resource.template);
    match (template, release.exists_before(&key)) {
        (Some(template), exists) if release.runs_before_resources(hook) && exists != Some(true) => {
            let problem = Late { release, hook, key: &key, template, field: &reference.field, exists }.needed();
            // Without a secret to pull with, the kubelet tries all the same.
            let is_certain = exists == Some(false) && !reference.field.contains("imagePullSecrets");
            Some(if is_certain { problem } else { problem.warn_at_most() })
        }
        (None, _) if *release.live(&key) == Live::Absent => {
            Some(is_nowhere(release, hook, &key, &reference.field).warn_at_most())
        }
        (None, Some(true)) if release.runs_after_resources(hook) && release.prunes(&key) => {
            Some(is_pruned(hook, &key, &reference.field))
        }
        (None, Some(false)) if release.record.hook(&key).is_some() => {
            Some(is_nowhere(release, hook, &key, &reference.field).warn_at_most())
        }
        (Some(_) | None, _) => None,
    }
}

fn missing_service(release: &Release<'_>, hook: &HookDocument<'_>, key: &Name, field: &str) -> Option<ReleaseProblem> {
    let template = release.record.resource(key)?.template;
    let exists = release.exists_before(key);
    if exists == Some(true) {
        return None;
    }
    Some(Late { release, hook, key, template, field, exists }.named().warn_at_most())
}

/// An object that the release creates only after the hook that names it.
struct Late<'a> {
    release: &'a Release<'a>,
    hook: &'a HookDocument<'a>,
    key: &'a Name,
    /// That of the object.
    template: Template<'a>,
    field: &'a str,
    /// Whether it was there before; `None` where that is not known.
    exists: Option<bool>,
}

impl Late<'_> {
    /// The hook's pod cannot start without it.
    fn needed(&self) -> ReleaseProblem {
        let Self { release, hook, key, template, field, exists } = self;
        let unless = if exists.is_none() { " Whether it is there already could not be looked up." } else { "" };
        let message = format!(
            "needs {} ({field}), which this release creates only after a {} hook.{unless} {}, and the {} would fail.",
            key.seen_from(&hook.key.namespace),
            release.operation.pre().as_str(),
            hook.without(key),
            release.operation.as_str()
        );
        let remedy = brought_along(release, hook, key, *template);
        let problem = hook.problem(FieldPath::annotation(helm::HOOK), message, remedy);
        problem.about(key, field).ending_in(Outcome::Hangs)
    }

    /// Whether the hook connects to it, a Service, and when, only its program knows.
    fn named(&self) -> ReleaseProblem {
        let Self { release, hook, key, field, exists, .. } = self;
        let unless = if exists.is_none() { ", unless it was created before, which could not be looked up" } else { "" };
        let message = format!(
            "names {} ({field}), which this release creates only after it{unless}. A {} hook that connects to it would wait \
             or fail, and the {} with it.",
            key.seen_from(&hook.key.namespace),
            release.operation.pre().as_str(),
            release.operation.as_str()
        );
        let remedy = hook.template.remedy(format!(
            "write {}: \"{}\" if it connects to it{}.",
            helm::HOOK,
            later(hook),
            under_helm_alone(release, hook)
        ));
        hook.problem(FieldPath::annotation(helm::HOOK), message, remedy).about(key, field)
    }
}

/// What an install needs only once: upgrades may go on to run the hook before the new version starts.
fn under_helm_alone(release: &Release<'_>, hook: &HookDocument<'_>) -> String {
    match hook.events().filter(|events| events.contains(Event::PreUpgrade)) {
        Some(events) if release.operation == Operation::Install => {
            let moved = events.moved(Event::PreInstall, Event::PostInstall);
            format!("; or \"{moved}\" where Argo CD never deploys it")
        }
        Some(_) | None => String::new(),
    }
}

fn is_pruned(hook: &HookDocument<'_>, key: &Name, field: &str) -> ReleaseProblem {
    let wanted = key.seen_from(&hook.key.namespace);
    hook.problem(
        FieldPath::annotation(helm::HOOK),
        format!(
            "needs {wanted} ({field}), a resource of the release that this revision does not have any more: Helm deletes it \
             before this hook runs, whose pod cannot start then."
        ),
        format!("Keep {wanted} in every revision, or name another in {field}."),
    )
    .about(key, field)
    .ending_in(Outcome::Hangs)
}

/// Why what this operation does not make is not there.
fn why_absent(release: &Release<'_>, key: &Name) -> &'static str {
    match release.live(key) {
        Live::Absent => "not in the cluster",
        Live::Found(_) | Live::Unknown => "that nothing of the release has made so far",
    }
}

fn is_nowhere(release: &Release<'_>, hook: &HookDocument<'_>, key: &Name, field: &str) -> ReleaseProblem {
    let wanted = key.seen_from(&hook.key.namespace);
    let (what, remedy) = match release.record.hook(key) {
        Some(needed) => {
            let events = Events::of(needed.events.iter().chain(&hook.events).copied());
            let events = events.map(|events| events.to_string()).unwrap_or_default();
            let operation = release.operation.as_str();
            (
                format!("a hook that the {operation} does not run, and {}", why_absent(release, key)),
                needed.template.remedy(format!("write {}: \"{events}\" for {wanted}.", helm::HOOK)),
            )
        }
        None => (
            "neither in this release nor in the cluster".to_owned(),
            format!("Create {wanted} before the release, or correct the name.").into(),
        ),
    };
    hook.problem(
        FieldPath::annotation(helm::HOOK),
        format!("needs {wanted} ({field}), which is {what}: its pod cannot start."),
        remedy,
    )
}
