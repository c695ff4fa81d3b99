use std::collections::BTreeSet;

use serde_json::Value;

use crate::argocd::{Phase, SYNC_WAVE};
use crate::finding::{Outcome, ReleaseProblem};
use crate::name::Name;
use crate::references::{RefKind, Reference};
use crate::rules::declare::declare_rule;
use crate::sync::{Desired, Manifest, Moment, Syncs};

declare_rule! {
    /// ## What it does
    ///
    /// Denies, under `chart --argocd`, a Job or a Pod that needs a ServiceAccount, Secret, ConfigMap or
    /// PersistentVolumeClaim which Argo CD creates only in a later phase or a later wave of the same sync. It warns about a
    /// secret to pull images with, and where the Job names a Service that comes later, such as that of a bundled database;
    /// not about an image with `certgen` in its name, which makes certificates for the hosts that it is given.
    ///
    /// ## Why is this bad?
    ///
    /// Argo CD runs pre-install and pre-upgrade hooks as PreSync, before all resources, at the very first sync too. The
    /// Job never gets a pod, or its pod never starts, and the sync waits for it for ever: it never comes to what the Job
    /// needs. With `activeDeadlineSeconds` the Job fails then, and the sync with it.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: ServiceAccount
    /// metadata:
    ///   name: orders
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: post-install,pre-upgrade
    /// spec:
    ///   template:
    ///     spec:
    ///       serviceAccountName: orders
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
    /// - Argo CD issue 7536: a pre-upgrade hook runs at the first sync and hangs
    /// - Argo CD, "Helm": how Helm's hooks are mapped
    summary: "under Argo CD: a hook needs an object that only a later phase or wave of the same sync creates",
    check: Chart(check),
}

fn check(syncs: &Syncs<'_>) -> Vec<ReleaseProblem> {
    let services = syncs.new.services();
    let mut problems = Vec::new();
    for job in &syncs.new.objects {
        let Some(moment) = job.first_moment() else { continue };
        let mut known = BTreeSet::new();
        for (key, reference) in job.needs(&services) {
            // One field is enough to find it.
            if !known.insert(key.clone()) {
                continue;
            }
            let Some(needed) = syncs.new.get(&key) else { continue };
            let Some(later) = needed.first_moment().filter(|later| *later > moment) else { continue };
            if syncs.old.is_some_and(|old| leaves(old, &key)) {
                continue;
            }
            let late = Late { job, moment, needed, later, reference: &reference, is_first: syncs.old.is_none() };
            problems.push(if reference.kind == RefKind::Service { late.named() } else { late.needed() });
        }
    }
    problems
}

/// The sync before has made it, and it is still there.
fn leaves(old: &Manifest, key: &Name) -> bool {
    old.get(key).is_some_and(|object| !object.phases().is_empty() && !object.is_deleted_after_success())
}

/// An object that the sync creates only after the Job that names it.
struct Late<'a> {
    job: &'a Desired,
    moment: Moment,
    needed: &'a Desired,
    later: Moment,
    reference: &'a Reference<'a>,
    /// Nothing was synced before.
    is_first: bool,
}

impl Late<'_> {
    /// The Job's pod cannot start without it.
    fn needed(&self) -> ReleaseProblem {
        let Self { job, needed, reference, .. } = self;
        let message = format!("needs {}: {}.", self.what_comes_later(), self.harm());
        let remedy = match reference.kind {
            // As a hook it would be deleted, and its data with it.
            RefKind::PersistentVolumeClaim | RefKind::Service => format!("{}.", self.later_job()),
            RefKind::ServiceAccount | RefKind::Secret | RefKind::ConfigMap => {
                format!("{}; or {}.", self.earlier_object(), self.later_job())
            }
        };
        let problem = job.problem(job.hook_field(), message, remedy);
        let problem = problem.about(&needed.name, &reference.field).ending_in(Outcome::Hangs);
        // Without a secret to pull with, the kubelet tries all the same.
        if reference.field.contains("imagePullSecrets") { problem.warn_at_most() } else { problem }
    }

    /// Whether the Job connects to it, a Service, only its program knows.
    fn named(&self) -> ReleaseProblem {
        let Self { job, needed, reference, .. } = self;
        let message = format!("names {}. If it connects to that, {}.", self.what_comes_later(), self.harm());
        let remedy = format!("{} if it connects to it.", self.later_job());
        let problem = job.problem(job.hook_field(), message, remedy);
        problem.about(&needed.name, &reference.field).warn_at_most()
    }

    fn what_comes_later(&self) -> String {
        let Self { job, needed, later, moment, reference, .. } = self;
        let wanted = needed.name.seen_from(&job.name.namespace);
        format!(
            "{wanted} ({}), which Argo CD creates only in {}, after {}",
            reference.field,
            at(*later, *moment),
            at(*moment, *later)
        )
    }

    fn harm(&self) -> String {
        let sync = if self.is_first { "the first sync" } else { "the sync that brings it" };
        let deadline = self.job.object.pointer("/spec/activeDeadlineSeconds").and_then(Value::as_u64);
        let is_refused = self.job.name.kind == "Pod" && self.needed.name.kind == "ServiceAccount";
        let kind = &self.job.name.kind;
        match deadline {
            _ if is_refused => format!("the API server refuses a Pod without its account, and {sync} fails"),
            Some(seconds) => format!(
                "the {kind} waits for it until its deadline (spec.activeDeadlineSeconds: {seconds}), and {sync} fails"
            ),
            None => format!("the {kind} waits for it, Argo CD waits for the {kind}, and {sync} never ends"),
        }
    }

    /// The object comes first: as a hook of the same phase, or in an earlier wave.
    fn earlier_object(&self) -> String {
        let Self { job, needed, moment: (phase, wave), .. } = self;
        let wanted = needed.name.seen_from(&job.name.namespace);
        let earlier = wave.saturating_sub(10);
        if job.is_hook() {
            let wave = match job.hook {
                Some((helm::HOOK, _)) => helm::HOOK_WEIGHT,
                _ => SYNC_WAVE,
            };
            format!("make {wanted} a hook too, under a new name: {}, {wave}: \"{earlier}\"", job.hook_of(*phase))
        } else {
            format!("write {SYNC_WAVE}: \"{earlier}\" for {wanted}")
        }
    }

    /// The Job comes last: after the sync, or in a later wave.
    fn later_job(&self) -> String {
        let Self { job, later: (phase, wave), .. } = self;
        if job.is_hook() && *phase < Phase::PostSync {
            format!("run it after the sync, with {}", job.hook_of(Phase::PostSync))
        } else {
            format!("write {}: \"{}\" for it", SYNC_WAVE, wave.saturating_add(10))
        }
    }
}

/// A moment in words, as far as it differs from another.
fn at((phase, wave): Moment, (other, _): Moment) -> String {
    if phase == other { format!("wave {wave} of {}", phase.as_str()) } else { phase.as_str().to_owned() }
}
