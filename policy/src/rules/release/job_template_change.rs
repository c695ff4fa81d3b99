use serde_json::Value;

use crate::finding::{FieldPath, Problem};
use crate::identity::Identity;
use crate::object::Kind;
use crate::release::{Live, Operation, Release, ResourceDocument};
use crate::rules::{Level, RuleLevel};
use crate::shown::Shown;

declare_rule! {
    /// ## What it does
    ///
    /// Denies an upgrade that changes the pod template of a plain Job, where the record of the last revision shows
    /// the old one. With the live Job alone it warns, for a live template carries defaults: only the fields that the
    /// record sets are compared.
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
    "job-template-change",
    default: RuleLevel::Check(Level::Deny),
    summary: "a plain Job of the same name has another pod template than before: half an upgrade",
    check: Release(check),
}

fn check(release: &Release<'_>) -> Vec<Problem> {
    if release.operation == Operation::Install {
        return Vec::new();
    }
    let jobs = release.record.resources.iter().filter(|resource| resource.key.judged_kind() == Some(Kind::Job));
    jobs.filter(|job| !job.is_opted_out && release.record.hook(&job.key).is_none())
        .filter_map(|job| {
            let problem = change(release, job)?;
            Some(if job.is_selected { problem } else { problem.warn_at_most() })
        })
        .collect()
}

fn change(release: &Release<'_>, job: &ResourceDocument<'_>) -> Option<Problem> {
    let new = template(job.object.as_ref()?)?;
    if let Some(baseline) = &release.baseline {
        let old = baseline.resource(&job.key)?.object.as_ref().and_then(template)?;
        // Neither record carries defaults, so a field that is gone is a change too; what is gone itself is made anew.
        let is_gone = *release.live(&job.key) == Live::Absent;
        let field = first_difference(new, old).or_else(|| first_difference(old, new)).filter(|_| !is_gone)?;
        return Some(describe(job, &field, "the last good revision"));
    }
    let live = release.live(&job.key).object()?;
    if !matches!(release.live_identity(&job.key)?, Identity::Resource(owner) if release.is_own(owner)) {
        return None;
    }
    let field = first_difference(new, template(live.raw())?)?;
    Some(describe(job, &field, "the live Job").warn_at_most())
}

fn template(job: &Value) -> Option<&Value> {
    job.get("spec")?.get("template")
}

/// Where what is set differs from what was there; what was there besides counts as a default.
fn first_difference(new: &Value, old: &Value) -> Option<String> {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => new.iter().find_map(|(key, value)| {
            if value.is_null() {
                return None;
            }
            let inner = old.get(key).map_or_else(|| Some(String::new()), |old| first_difference(value, old))?;
            Some(format!(".{}{inner}", Shown(key)))
        }),
        (Value::Array(new), Value::Array(old)) if new.len() == old.len() => new
            .iter()
            .zip(old)
            .enumerate()
            .find_map(|(index, (new, old))| first_difference(new, old).map(|inner| format!("[{index}]{inner}"))),
        (new, old) => (new != old).then(String::new),
    }
}

fn describe(job: &ResourceDocument<'_>, field: &str, before: &str) -> Problem {
    Problem::new(
        FieldPath::spec("template"),
        format!(
            "is a plain Job whose pod template differs from {before} (first in spec.template{field}; {}). A \
             Job's pod template cannot be changed: Helm would update what comes before it, then fail.",
            job.template
        ),
        format!(
            "In {}, give the Job a new name in each release (with the revision or the image tag in it).",
            job.template.place()
        ),
    )
    .about(job.key.object_ref())
}
