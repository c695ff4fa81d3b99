use std::collections::BTreeSet;

use serde_json::Value;

use crate::argocd::Phase;
use crate::finding::{FieldPath, Outcome, ReleaseProblem};
use crate::references::{RefKind, Reference};
use crate::rules::declare::declare_rule;
use crate::sync::{Desired, Moment, Role, Syncs};

declare_rule! {
    /// ## What it does
    ///
    /// Denies, under `chart --argocd`, a Job or a Pod (no Deployment or other workload) that needs a ServiceAccount, Secret, ConfigMap or
    /// PersistentVolumeClaim which Argo CD creates only in a later phase or a later wave of the same sync, or never. It warns about a
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
    check: Syncs(check),
}

fn check(syncs: &Syncs<'_>) -> Vec<ReleaseProblem> {
    let services = syncs.new.services();
    let mut problems = Vec::new();
    for job in &syncs.new.objects {
        let Some(moment) = job.first_moment() else { continue };
        let mut known = BTreeSet::new();
        for (key, reference) in job.needs(&services) {
            let is_there = syncs.old.and_then(|old| old.get(&key)).is_some_and(Desired::is_left);
            // One field is enough to find it, and of two documents with one name either may come first.
            if !known.insert(key.clone()) || is_there || syncs.new.has_twice(&key) {
                continue;
            }
            let Some(needed) = syncs.new.get(&key).filter(|needed| needed.role != Role::Skipped) else { continue };
            let late = Late { job, moment, needed, reference: &reference, is_first: syncs.old.is_none() };
            match needed.first_moment() {
                Some(later) if later > moment && reference.kind == RefKind::Service => problems.push(late.named(later)),
                Some(later) if later > moment => problems.push(late.needed(later)),
                None if reference.kind != RefKind::Service => problems.push(late.never_made()),
                Some(_) | None => {}
            }
        }
    }
    problems
}

/// An object that the sync creates only after the Job that names it, or never.
struct Late<'a> {
    job: &'a Desired,
    moment: Moment,
    needed: &'a Desired,
    reference: &'a Reference<'a>,
    /// Nothing was synced before.
    is_first: bool,
}

impl Late<'_> {
    /// The Job's pod cannot start without it.
    fn needed(&self, later: Moment) -> ReleaseProblem {
        let message = format!("needs {}: {}.", self.what_comes_later(later), self.harm());
        let ways: Vec<_> = self.earlier_object(later).into_iter().chain(self.later_job(later)).collect();
        self.problem(message, format!("{}.", ways.join("; or "))).ending_in(Outcome::Hangs)
    }

    /// Whether the Job connects to it, a Service, only its program knows.
    fn named(&self, later: Moment) -> ReleaseProblem {
        let message = format!("names {}. If it connects to that, {}.", self.what_comes_later(later), self.harm());
        let way = self.later_job(later).or_else(|| self.earlier_object(later)).unwrap_or_default();
        self.problem(message, format!("{way}, if it connects to it.")).warn_at_most()
    }

    /// A hook that no sync runs is not made either.
    fn never_made(&self) -> ReleaseProblem {
        let (wanted, field) = (self.wanted(), &self.reference.field);
        let message = format!(
            "needs {wanted} ({field}), which no sync makes ({}): {}, unless it is there already.",
            self.needed.hook_text(),
            self.harm()
        );
        let remedy = format!("write {} for {wanted}.", self.needed.hook_of(Phase::PreSync));
        self.problem(message, remedy).ending_in(Outcome::Hangs)
    }

    fn problem(&self, message: String, remedy: String) -> ReleaseProblem {
        let Self { job, needed, reference, .. } = self;
        let field = if job.is_hook() { job.hook_field() } else { FieldPath::spec("template") };
        let problem = job.problem(field, message, remedy).about(&needed.name, &reference.field);
        // Without a secret to pull with, the kubelet tries all the same.
        if reference.field.contains("imagePullSecrets") { problem.warn_at_most() } else { problem }
    }

    fn wanted(&self) -> String {
        self.needed.name.seen_from(&self.job.name.namespace)
    }

    fn what_comes_later(&self, later: Moment) -> String {
        let (wanted, field) = (self.wanted(), &self.reference.field);
        let [later, moment] = [at(later, self.moment), at(self.moment, later)];
        format!("{wanted} ({field}), which Argo CD creates only in {later}, after {moment}")
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
    fn earlier_object(&self, (phase, _): Moment) -> Option<String> {
        let Self { job, needed, moment: (now, wave), reference, .. } = self;
        let (wanted, earlier) = (self.wanted(), wave.saturating_sub(10));
        let way = match (phase == *now, needed.is_hook()) {
            (true, _) => format!("write {}: \"{earlier}\" for {wanted}", needed.wave_key),
            (false, true) => {
                let (hook, key) = (needed.hook_of(Phase::PreSync), needed.wave_key);
                format!("write {hook}, {key}: \"{earlier}\" for {wanted}")
            }
            // As a hook a claim would be deleted, and its data with it; a Service leads to what is no hook.
            (false, false) if matches!(reference.kind, RefKind::PersistentVolumeClaim | RefKind::Service) => {
                return None;
            }
            (false, false) => {
                let (hook, key) = (job.hook_of(*now), job.wave_key);
                format!("make {wanted} a hook too, under a new name: {hook}, {key}: \"{earlier}\"")
            }
        };
        Some(way)
    }

    /// The Job comes last: after the sync, or in a later wave. What is no hook cannot come after the sync.
    fn later_job(&self, (phase, wave): Moment) -> Option<String> {
        let Self { job, moment: (now, _), .. } = self;
        let (key, later) = (job.wave_key, wave.saturating_add(10));
        match (phase == *now, job.is_hook()) {
            (true, _) => Some(format!("write {key}: \"{later}\" for it")),
            (false, false) => None,
            (false, true) => {
                let hook = job.hook_of(Phase::PostSync);
                let wave = if phase == Phase::PostSync { format!(" and {key}: \"{later}\"") } else { String::new() };
                Some(format!("run it after the sync, with {hook}{wave}"))
            }
        }
    }
}

/// A moment in words, as far as it differs from another.
fn at((phase, wave): Moment, (other, _): Moment) -> String {
    if phase == other { format!("wave {wave} of {}", phase.as_str()) } else { phase.as_str().to_owned() }
}
