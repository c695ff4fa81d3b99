use crate::finding::{FieldPath, Problem, needs};
use crate::helm::{self, Event, Events};
use crate::references::{named_services, references};
use crate::release::{HookDocument, Key, Live, Operation, Release, Template};
use crate::rules::{Level, RuleLevel};

declare_rule! {
    /// ## What it does
    ///
    /// Denies a record with a hook that needs a ServiceAccount, Secret, ConfigMap or PersistentVolumeClaim which this
    /// release creates only after the hook, and which does not exist yet. It warns when the object is nowhere to be
    /// found, when nobody can tell whether it exists, and when the hook names a Service of this release that does
    /// not exist yet, such as a bundled database.
    ///
    /// ## Why is this bad?
    ///
    /// The Job never gets a pod, or its pod never starts. Helm waits for the hook until its timeout, and the release
    /// fails.
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
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: post-install,pre-upgrade
    /// spec:
    ///   template:
    ///     spec:
    ///       serviceAccountName: orders-migrations
    /// ```
    ///
    /// ## References
    ///
    /// - Helm issue 7447: a hook Job hangs because its ServiceAccount is not there yet
    "hook-missing-dependency",
    default: RuleLevel::Check(Level::Deny),
    summary: "a hook of this operation needs an object that this release creates only later",
    check: Release(check),
}

fn check(release: &Release<'_>) -> Vec<Problem> {
    let hooks = release.hooks_now().filter(|hook| !hook.is_opted_out);
    hooks.flat_map(|hook| missing_objects(release, hook).into_iter().chain(missing_services(release, hook))).collect()
}

fn missing_objects(release: &Release<'_>, hook: &HookDocument<'_>) -> Vec<Problem> {
    let references = hook.object.iter().flat_map(references);
    references
        .filter_map(|reference| {
            let key = Key::core(reference.kind.as_str(), &hook.key.namespace, reference.name);
            // Of hooks among themselves the order decides: hook-order.
            if release.record.hook(&key).is_some_and(|needed| release.runs_now(needed)) {
                return None;
            }
            let template = release.record.resource(&key).map(|resource| resource.template);
            match (template, release.exists_before(&key)) {
                (Some(template), exists) if release.runs_before_resources(hook) && exists != Some(true) => {
                    let problem = comes_too_late(release, hook, &key, template, &reference.field, exists);
                    let is_known = exists == Some(false) && hook.is_selected;
                    Some(if is_known { problem } else { problem.warn_at_most() })
                }
                (None, _) if *release.live(&key) == Live::Absent => {
                    Some(is_nowhere(release, hook, &key, &reference.field).warn_at_most())
                }
                (Some(_) | None, _) => None,
            }
        })
        .collect()
}

fn missing_services(release: &Release<'_>, hook: &HookDocument<'_>) -> Vec<Problem> {
    if !release.runs_before_resources(hook) {
        return Vec::new();
    }
    let services = release.record.resources.iter().filter(|resource| resource.key.kind == "Service");
    let names: Vec<_> = services.map(|service| (service.key.namespace.clone(), service.key.name.clone())).collect();
    let hosts = hook.object.iter().flat_map(|object| named_services(object, &hook.key.namespace, &names));
    hosts
        .filter_map(|reference| {
            let namespace = reference.namespace.unwrap_or(&hook.key.namespace);
            let key = Key::core(reference.kind.as_str(), namespace, reference.name);
            let template = release.record.resource(&key)?.template;
            let exists = release.exists_before(&key);
            let problem = || comes_too_late(release, hook, &key, template, &reference.field, exists).warn_at_most();
            (exists != Some(true)).then(problem)
        })
        .collect()
}

fn comes_too_late(
    release: &Release<'_>,
    hook: &HookDocument<'_>,
    key: &Key,
    template: Template<'_>,
    field: &str,
    exists: Option<bool>,
) -> Problem {
    let (pre, post) = (release.operation.pre(), release.operation.post());
    let unless = if exists.is_none() { " or was created before, which could not be looked up: if not," } else { ":" };
    let message = format!(
        "{}, which this release creates only after it ({template}){unless} as a {} hook it would wait until \
         the timeout, and the {} would fail.",
        needs(key, field),
        pre.as_str(),
        release.operation.as_str()
    );
    Problem::new(FieldPath::annotation(helm::HOOK), message, remedy(release, hook, key, template, pre, post))
        .about(hook.key.object_ref())
}

/// Run it when the object is there, or bring the object along as an earlier hook.
fn remedy(
    release: &Release<'_>,
    hook: &HookDocument<'_>,
    key: &Key,
    template: Template<'_>,
    pre: Event,
    post: Event,
) -> String {
    let moved = hook.events().map(|events| events.moved(pre, post).safely_completed().to_string()).unwrap_or_default();
    let earlier = match release.operation {
        Operation::Install | Operation::Upgrade if key.kind != "Service" => format!(
            " Or make {} a hook too in {}: {}: \"{}\", {}: \"{}\".",
            key.kind,
            template.place(),
            helm::HOOK,
            hook.events_text(),
            helm::HOOK_WEIGHT,
            hook.weight.saturating_sub(10)
        ),
        Operation::Install | Operation::Upgrade | Operation::Rollback => String::new(),
    };
    format!("In {}, write {}: \"{moved}\".{earlier}", hook.template.place(), helm::HOOK)
}

fn is_nowhere(release: &Release<'_>, hook: &HookDocument<'_>, key: &Key, field: &str) -> Problem {
    let (what, help) = match release.record.hook(key) {
        Some(needed) => {
            let events = Events::of(needed.events.iter().chain(&hook.events).copied());
            let events = events.map(|events| events.to_string()).unwrap_or_default();
            let operation = release.operation.as_str();
            (
                format!("a hook that the {operation} does not run ({}), and not in the cluster", needed.template),
                format!("In {}, write {}: \"{events}\".", needed.template.place(), helm::HOOK),
            )
        }
        None => (
            "neither in this release nor in the cluster".to_owned(),
            format!("Create {key} before the release, or correct the name."),
        ),
    };
    Problem::new(
        FieldPath::annotation(helm::HOOK),
        format!("needs {key} ({field}, {}), which is {what}: its pod cannot start.", hook.template),
        help,
    )
    .about(hook.key.object_ref())
}
