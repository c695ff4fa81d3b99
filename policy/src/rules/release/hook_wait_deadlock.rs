use std::collections::BTreeMap;

use crate::finding::{FieldPath, Outcome, ReleaseProblem, Remedy};
use crate::name::Name;
use crate::object::Kind;
use crate::references::{awaited_jobs, has_replicas};
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
    /// before each `post-` hook, always; `chart --argocd` does not look for it yet.
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
    /// - openfga helm-charts issues 100 and 131
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

/// One of these is in what waits; a backslash can spell it in another way.
const WAITS: [&str; 4] = ["wait", "until", "while", "\\"];

fn check(release: &Release<'_>) -> Vec<ReleaseProblem> {
    if !release.hooks_now().any(|hook| is_still_to_come(release, hook)) {
        return Vec::new();
    }
    let (mut places, mut waits) = (BTreeMap::new(), Vec::new());
    for workload in release.record.resources.iter().filter(|workload| is_awaited(&workload.key)) {
        if !WAITS.iter().any(|word| workload.mentions(word)) || keeps_its_pods(release, workload) {
            continue;
        }
        let Some(object) = workload.read().filter(has_replicas) else { continue };
        for (field, name) in awaited_jobs(&object) {
            let [group, kind] = ["batch", "Job"].map(str::to_owned);
            let job = Name { group, kind, name: name.to_owned(), namespace: workload.key.namespace.clone() };
            let Some(hook) = release.record.hook(&job).filter(|hook| is_still_to_come(release, hook)) else { continue };
            let next = waits.len();
            let place = *places.entry(job).or_insert(next);
            if place == next {
                waits.push(Wait { release, hook, workload, field, others: 0 });
            } else if let Some(wait) = waits.get_mut(place) {
                wait.others += usize::from(wait.workload.key != workload.key);
            }
        }
    }
    waits.into_iter().map(Wait::describe).collect()
}

/// A Job that runs after the resources only, and of which no earlier run is left that would end the wait.
fn is_still_to_come(release: &Release<'_>, hook: &HookDocument<'_>) -> bool {
    hook.key.judged_kind() == Some(Kind::Job)
        && release.runs_after_resources(hook)
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

/// Pods that wait for a hook.
struct Wait<'a> {
    release: &'a Release<'a>,
    hook: &'a HookDocument<'a>,
    /// The first that waits for it, and in which field.
    workload: &'a ResourceDocument<'a>,
    field: String,
    /// So many more wait for it.
    others: usize,
}

impl Wait<'_> {
    fn describe(self) -> ReleaseProblem {
        let Self { release, hook, workload, field, others } = &self;
        let operation = release.operation.as_str();
        let of_many = if *others > 0 { format!(", one of {} workloads,", others + 1) } else { String::new() };
        let exists = release.exists_before(&hook.key);
        let unless = if exists.is_none() { ", and no Job of an earlier run is left" } else { "" };
        let message = format!(
            "runs only after Helm has applied the release, and {}{of_many} waits for it ({field}). Where the {operation} waits \
             for its pods (with --wait, and by default under Flux and Argo CD){unless}, pods and hook wait for each other until the \
             timeout, and the {operation} fails.",
            workload.key.seen_from(&hook.key.namespace),
        );
        let problem = hook
            .problem(FieldPath::annotation(helm::HOOK), message, self.remedy())
            .about(&workload.key, field)
            .ending_in(Outcome::Hangs);
        let is_known_to_wait = release.told.is_some_and(|told| told.waits);
        let is_certain = is_known_to_wait && exists == Some(false);
        if is_certain { problem } else { problem.warn_at_most() }
    }

    /// Before the pods, where all that it needs can be there by then.
    fn remedy(&self) -> Remedy {
        let Self { release, hook, workload, others, .. } = self;
        let waiting = workload.key.seen_from(&hook.key.namespace);
        let waiting = if *others > 0 { format!("{waiting} and the others") } else { waiting };
        let with = match Needs::of(release, hook) {
            Needs::Nothing => "",
            Needs::Configuration => ", with an account and configuration of its own as earlier hooks",
            Needs::Resources => {
                return workload.template.remedy(format!(
                    "let {waiting} not wait for the hook, but start again until the migration is done: the hook needs what \
                     only the release brings."
                ));
            }
        };
        let events = hook.events().map(|events| events.before_resources().to_string());
        hook.template.remedy(format!(
            "write {}: \"{}\"{with}, so that it runs before the pods start. Or let {waiting} not wait for it.",
            helm::HOOK,
            events.unwrap_or_default(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use helm::operation::{Operation, Told};
    use helm::record::{Record, RecordHook};

    use super::check;
    use crate::cluster::NoCluster;
    use crate::settings::Settings;
    use crate::subject::release::{Release, Stored};
    use crate::testing::test;

    #[test]
    fn an_operation_that_is_known_to_wait_is_denied() {
        let hook = RecordHook {
            name: "migrate".to_owned(),
            kind: "Job".to_owned(),
            events: vec!["post-install".to_owned()],
            manifest: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate}\n".to_owned(),
            ..RecordHook::default()
        };
        let manifest = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: orders}\nspec: {template: {spec: \
                        {initContainers: [{image: k8s-wait-for, args: [job, migrate]}]}}}\n";
        let record = Record { hooks: vec![hook], manifest: manifest.to_owned(), ..Record::default() };
        let settings = Settings::default();
        let may_deny = |waits| {
            let told = Told { runs_no_hooks: false, takes_ownership: false, waits, timeout: Duration::from_mins(5) };
            let stored = Stored { record: &record, namespace: "", operation: Operation::Install, told: Some(told) };
            let problems = check(&Release::prepare(&stored, None, &settings, &NoCluster).0);
            problems.iter().map(|found| !found.problem.warn_at_most).collect::<Vec<_>>()
        };
        assert_eq!((may_deny(true), may_deny(false)), (vec![true], vec![false]));
    }
}
