use serde_json::Value;

use crate::finding::{FieldPath, Outcome, ReleaseProblem};
use crate::identity::Identity;
use crate::object::Kind;
use crate::pod_template::{JobField, Old};
use crate::rules::declare::{Reach, declare_rule};
use crate::subject::release::{Live, Release, ResourceDocument};
use helm::operation::Operation;

declare_rule! {
    /// ## What it does
    ///
    /// Denies an upgrade that changes the pod template of a plain Job, or another of its fields that cannot be changed
    /// (`completions`, `completionMode`, `selector`, `backoffLimitPerIndex`, `podFailurePolicy`, `successPolicy`,
    /// `managedBy`), where the record of the last revision shows the old one. With the live Job alone it warns, for a
    /// live template holds what others have set: only the fields that the record sets are compared. It also warns where
    /// the old Job has a TTL (`ttlSecondsAfterFinished`), or that revision failed, and no view of the cluster shows
    /// that the Job is there; and about a Job that nothing calls a migration.
    ///
    /// Templates that the API server takes for the same are the same: its defaults are filled in, an empty list is no
    /// list, and `0.5Gi` is `512Mi`.
    ///
    /// ## Why is this bad?
    ///
    /// A Job's pod template cannot be changed. Helm updates what comes before the Job, then fails: half an upgrade.
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
    /// spec:
    ///   template: {spec: {containers: [{name: migrate, image: "orders:1"}]}}
    /// # upgrade
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    /// spec:
    ///   template: {spec: {containers: [{name: migrate, image: "orders:2"}]}}
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```yaml
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations-1
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    /// spec:
    ///   template: {spec: {containers: [{name: migrate, image: "orders:1"}]}}
    /// # upgrade
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations-2
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    /// spec:
    ///   template: {spec: {containers: [{name: migrate, image: "orders:2"}]}}
    /// ```
    ///
    /// ## References
    ///
    /// - Kubernetes, "Jobs": the pod template of a Job
    summary: "a plain Job of the same name has another pod template than before, or another field that cannot be changed: half an upgrade",
    check: Release(check, Reach::WarnsOfOthers),
}

fn check(release: &Release<'_>) -> Vec<ReleaseProblem> {
    if release.operation == Operation::Install {
        return Vec::new();
    }
    let jobs = release.record.resources.iter().filter(|resource| resource.key.judged_kind() == Some(Kind::Job));
    jobs.filter(|job| release.record.hook(&job.key).is_none()).filter_map(|job| change(release, job)).collect()
}

fn change(release: &Release<'_>, job: &ResourceDocument<'_>) -> Option<ReleaseProblem> {
    let new = spec(job.object.as_ref()?)?;
    if let Some(baseline) = &release.baseline {
        let old_job = baseline.resource(&job.key)?.object.as_ref()?;
        // A Job that is gone is made anew.
        let is_gone = *release.live(&job.key) == Live::Absent;
        let field = Old::Applied.difference_for_life(new, spec(old_job)?).filter(|_| !is_gone)?;
        let before = "the revision before";
        let may_be_gone = release.ttl_may_have_removed(&job.key, Some(old_job));
        return Some(if may_be_gone {
            warn(job, &field, before, GONE)
        } else if release.has_baseline_failed && !release.is_seen(&job.key) {
            warn(job, &field, before, NOT_MADE)
        } else if is_suspended(old_job) && matches!(field, JobField::Template(_)) {
            warn(job, &field, before, SUSPENDED)
        } else {
            deny(job, &field, before)
        });
    }
    let live = release.live(&job.key).object()?;
    if !matches!(release.live_identity(&job.key)?, Identity::Resource(owner) if release.is_own(owner)) {
        return None;
    }
    let field = Old::Live.difference_for_life(new, spec(live.raw())?)?;
    Some(deny(job, &field, "the live Job").warn_at_most())
}

fn spec(job: &Value) -> Option<&Value> {
    job.get("spec")
}

fn is_suspended(job: &Value) -> bool {
    job.pointer("/spec/suspend").and_then(Value::as_bool) == Some(true)
}

fn deny(job: &ResourceDocument<'_>, field: &JobField, before: &str) -> ReleaseProblem {
    describe(job, field, before, "Helm would update what comes before it, then fail.")
}

const GONE: &str = "where the Job is still there, Helm would update what comes before it, then fail; where its TTL \
                    (spec.ttlSecondsAfterFinished) has removed it, Helm makes it anew.";

const NOT_MADE: &str = "where that revision, which failed, has made the Job, Helm would update what comes before it, then \
                        fail; where it has not, Helm makes it now.";

const SUSPENDED: &str = "while it is suspended and has never run, the API server takes another place for its pods \
                         (nodeSelector, tolerations, affinity), and refuses all else.";

fn warn(job: &ResourceDocument<'_>, field: &JobField, before: &str, then: &str) -> ReleaseProblem {
    describe(job, field, before, then).warn_at_most()
}

fn describe(job: &ResourceDocument<'_>, field: &JobField, before: &str, then: &str) -> ReleaseProblem {
    let (path, message) = match field {
        JobField::Template(path) => (
            "template",
            format!(
                "is a plain Job whose pod template differs from {before} (first in spec.template{path}). A Job's pod \
                 template cannot be changed: {then}"
            ),
        ),
        JobField::OfTheJob(field) => (
            *field,
            format!(
                "is a plain Job whose spec.{field} differs from {before}. That field of a Job cannot be changed: {then}"
            ),
        ),
    };
    let remedy = job.template.remedy(
        "give the Job a new name in each release, with the image tag in it; or with the revision, which is always 1 under \
         Argo CD.",
    );
    job.problem(FieldPath::spec(path), message, remedy).ending_in(Outcome::Fails)
}
