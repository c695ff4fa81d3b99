use helm::Event;

use crate::finding::{FieldPath, Outcome, ReleaseProblem, Remedy};
use crate::name::Name;
use crate::object::Kind;
use crate::references::awaited_jobs;
use crate::rules::declare::{Reach, declare_rule};
use crate::rules::steady::Needs;
use crate::subject::release::{HookDocument, Release, ResourceDocument};

declare_rule! {
    /// ## What it does
    ///
    /// Finds a Job that is a post hook and that a workload of the same release waits for: an init container, or a container
    /// with a readiness or startup probe, that runs `kubectl wait`, `k8s-wait-for` or a loop of its own until the Job is
    /// done. Where the Job of an earlier run is there, and pods that are not changed, nothing waits.
    ///
    /// It denies only where it is known that the operation waits for its pods, which no record says; in the cluster it
    /// warns.
    ///
    /// ## Why is this bad?
    ///
    /// With `--wait`, which Flux sets by default, Helm waits for the pods before it runs the hook. The pods wait for the hook.
    /// Neither comes, until the timeout: the release fails, and with `--atomic` all of it is undone. Argo CD waits for the pods
    /// before each `post-` hook, always.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: post-install,post-upgrade
    /// ---
    /// apiVersion: apps/v1
    /// kind: Deployment
    /// metadata:
    ///   name: orders
    /// spec:
    ///   template:
    ///     spec:
    ///       initContainers:
    ///         - name: wait
    ///           image: groundnuty/k8s-wait-for:v2.0
    ///           args: [job, orders-migrations]
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
    /// ---
    /// apiVersion: apps/v1
    /// kind: Deployment
    /// metadata:
    ///   name: orders
    /// spec:
    ///   template:
    ///     spec:
    ///       containers:
    ///         - name: orders
    /// ```
    ///
    /// ## References
    ///
    /// - Helm issue 10555: a post-install hook and `--wait` wait for each other
    /// - OpenFGA helm-charts issues 100 and 131
    summary: "a workload waits for a post hook: with --wait the release waits for the pods, and the pods for the hook",
    check: Release(check, Reach::WarnsOfOthers),
}

/// Helm waits until the pods of these are ready.
const AWAITED: [(&str, &str); 6] = [
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("apps", "DaemonSet"),
    ("apps", "ReplicaSet"),
    ("", "ReplicationController"),
    ("", "Pod"),
];

fn check(release: &Release<'_>) -> Vec<ReleaseProblem> {
    let jobs: Vec<_> = release.hooks_now().filter(|hook| is_still_to_come(release, hook)).collect();
    if jobs.is_empty() {
        return Vec::new();
    }
    let mut problems = Vec::new();
    for workload in release.record.resources.iter().filter(|workload| is_awaited(&workload.key)) {
        let is_named = |hook: &&&HookDocument<'_>| workload.mentions(&hook.key.name) || workload.mentions("\\");
        if !jobs.iter().any(|hook| is_named(&hook)) || keeps_its_pods(release, workload) {
            continue;
        }
        let Some(object) = workload.read() else { continue };
        for (field, name) in awaited_jobs(&object) {
            let is_it =
                |hook: &&&HookDocument<'_>| hook.key.name == name && hook.key.namespace == workload.key.namespace;
            problems.extend(jobs.iter().find(is_it).map(|hook| describe(release, hook, workload, &field)));
        }
    }
    problems
}

/// A Job that runs after the resources only, and of which no earlier run is left that would end the wait.
fn is_still_to_come(release: &Release<'_>, hook: &HookDocument<'_>) -> bool {
    hook.key.judged_kind() == Some(Kind::Job)
        && !release.runs_before_resources(hook)
        && release.exists_before(&hook.key) != Some(true)
}

fn is_awaited(key: &Name) -> bool {
    AWAITED.contains(&(&key.group, &key.kind))
}

/// Helm changes nothing about it.
fn keeps_its_pods(release: &Release<'_>, workload: &ResourceDocument<'_>) -> bool {
    let before = release.baseline.as_ref().and_then(|baseline| baseline.resource(&workload.key));
    before.is_some_and(|before| before.is_the_same_as(workload))
}

fn describe(
    release: &Release<'_>,
    hook: &HookDocument<'_>,
    workload: &ResourceDocument<'_>,
    field: &str,
) -> ReleaseProblem {
    let operation = release.operation.as_str();
    let message = format!(
        "runs only after Helm has applied the release, and {} waits for it ({field}). Where the {operation} waits for its pods \
         (with --wait, and by default under Flux and Argo CD), pods and hook wait for each other until the timeout, and \
         the {operation} fails.",
        workload.key.seen_from(&hook.key.namespace),
    );
    let problem = hook
        .problem(FieldPath::annotation(helm::HOOK), message, remedy(release, hook, workload))
        .about(&workload.key, field)
        .ending_in(Outcome::Hangs);
    let is_known_to_wait = release.told.is_some_and(|told| told.waits);
    let is_certain = is_known_to_wait && release.exists_before(&hook.key) == Some(false);
    if is_certain { problem } else { problem.warn_at_most() }
}

/// Before the pods, where all that it needs can be there by then.
fn remedy(release: &Release<'_>, hook: &HookDocument<'_>, workload: &ResourceDocument<'_>) -> Remedy {
    let waiting = workload.key.seen_from(&hook.key.namespace);
    let with = match Needs::of(release, hook) {
        Needs::Nothing => "",
        Needs::Configuration => ", with an account and configuration of its own as earlier hooks",
        Needs::Resources => {
            return workload.template.remedy(format!(
                "let {waiting} not wait for the hook, but start again until the migration is done: the hook needs what only \
                 the release brings."
            ));
        }
    };
    let events = hook.events().map(|events| {
        let events = events.moved(Event::PostInstall, Event::PreInstall).moved(Event::PostUpgrade, Event::PreUpgrade);
        events.moved(Event::PostRollback, Event::PreRollback).to_string()
    });
    hook.template.remedy(format!(
        "write {}: \"{}\"{with}, so that it runs before the pods start. Or let {waiting} not wait for it.",
        helm::HOOK,
        events.unwrap_or_default(),
    ))
}
