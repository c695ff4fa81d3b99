use std::borrow::Cow;
use std::collections::BTreeSet;

use helm::record::decode_base64;
use serde_json::Value;

use crate::finding::{FieldPath, Outcome, ReleaseProblem};
use crate::name::Name;
use crate::references::{RefKind, Reference, Source, value_sources};
use crate::rules::declare::{Reach, declare_rule};
use crate::rules::earlier::brought_along;
use crate::shown::Shown;
use crate::subject::release::{HookDocument, Release};

declare_rule! {
    /// ## What it does
    ///
    /// Warns about a hook that runs before the release's resources are touched and reads values of a ConfigMap or a Secret
    /// that this same operation changes afterwards. Only the keys that the hook reads count. Values are compared, never
    /// shown; of a Secret no key is named but those that the hook names itself.
    ///
    /// It needs the record of the revision before: in the cluster `releases.baseline: record`; `release`; `chart` with
    /// `--against`, `--against-ref` or `--release`; `forecast --chart`. The command line renders a second time where it finds
    /// something, and leaves out what differs there too: it is made of the time, or random.
    ///
    /// ## Why is this bad?
    ///
    /// Helm runs the hook first and applies the ConfigMap afterwards. The migration runs with yesterday's configuration: the
    /// old database, the old password, the scripts of the last version. Nothing fails, and nobody sees it. Where the key is
    /// new, the pod cannot start.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: ConfigMap
    /// metadata:
    ///   name: orders
    /// data:
    ///   DATABASE: old
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: pre-upgrade
    /// spec:
    ///   template: {spec: {containers: [{envFrom: [{configMapRef: {name: orders}}]}]}}
    /// # upgrade
    /// ---
    /// apiVersion: v1
    /// kind: ConfigMap
    /// metadata:
    ///   name: orders
    /// data:
    ///   DATABASE: new
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: pre-upgrade
    /// spec:
    ///   template: {spec: {containers: [{envFrom: [{configMapRef: {name: orders}}]}]}}
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: ConfigMap
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    ///     helm.sh/hook-weight: "-10"
    /// data:
    ///   DATABASE: old
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    /// spec:
    ///   template: {spec: {containers: [{envFrom: [{configMapRef: {name: orders-migrations}}]}]}}
    /// # upgrade
    /// ---
    /// apiVersion: v1
    /// kind: ConfigMap
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    ///     helm.sh/hook-weight: "-10"
    /// data:
    ///   DATABASE: new
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    /// spec:
    ///   template: {spec: {containers: [{envFrom: [{configMapRef: {name: orders-migrations}}]}]}}
    /// ```
    ///
    /// ## References
    ///
    /// - archestra issue 5321, Argo CD issue 9891: a migration with the configuration of the last version
    summary: "a hook reads a ConfigMap or Secret that this same release changes only after it",
    check: Release(check, Reach::Everything),
}

/// So many keys are named.
const NAMED: usize = 3;

fn check(release: &Release<'_>) -> Vec<ReleaseProblem> {
    let mut problems = Vec::new();
    for hook in release.hooks_now().filter(|hook| release.runs_before_resources(hook)) {
        // A volume and a variable can read the same.
        let mut said = BTreeSet::new();
        for source in hook.object.iter().flat_map(value_sources) {
            let Reference { kind, name, .. } = source.reference;
            let key = Name::core(kind.as_str(), &hook.key.namespace, name);
            let Some(change) = Change::of(release, &key, &source) else { continue };
            if said.insert((key.clone(), change.keys.clone())) {
                problems.extend(change.describe(release, hook, &key, &source));
            }
        }
    }
    problems
}

/// What this revision changes of what a hook reads.
struct Change {
    keys: Vec<String>,
    /// The pod cannot start before they are there.
    are_missing: bool,
}

impl Change {
    /// `None` where nothing is known to change. What a revision that has failed left behind is not known.
    fn of(release: &Release<'_>, key: &Name, source: &Source<'_>) -> Option<Self> {
        if release.record.hook(key).is_some() || release.has_baseline_failed {
            return None;
        }
        let (new, old) = (release.record.resource(key)?, release.baseline.as_ref()?.resource(key)?);
        if new.is_the_same_as(old) {
            return None;
        }
        let (new, old) = (new.read()?, old.read()?);
        let all = || keys(&new).map(str::to_owned).collect::<BTreeSet<_>>();
        let read =
            if source.keys.is_empty() { all() } else { source.keys.iter().map(|key| (*key).to_owned()).collect() };
        let (mut changed, mut missing) = (Vec::new(), Vec::new());
        for key in read {
            match (value(&new, source.reference.kind, &key), value(&old, source.reference.kind, &key)) {
                (Some(_), None) if !source.keys.is_empty() && !source.is_optional => missing.push(key),
                (Some(new), old) if Some(&new) != old.as_ref() => changed.push(key),
                (Some(_) | None, _) => {}
            }
        }
        let are_missing = !missing.is_empty();
        let keys = if are_missing { missing } else { changed };
        (!keys.is_empty()).then_some(Self { keys, are_missing })
    }

    fn describe(
        &self,
        release: &Release<'_>,
        hook: &HookDocument<'_>,
        key: &Name,
        source: &Source<'_>,
    ) -> Option<ReleaseProblem> {
        let template = release.record.resource(key)?.template;
        let (wanted, field) = (key.seen_from(&hook.key.namespace), &source.reference.field);
        let (operation, event) = (release.operation.as_str(), release.operation.pre().as_str());
        let keys = self.named(source);
        let message = if self.are_missing {
            format!(
                "reads {keys} of {wanted} ({field}), which the revision before does not have and this {operation} adds only \
                 after a {event} hook: its pod cannot start, and the {operation} waits until its timeout."
            )
        } else {
            format!(
                "reads {keys} of {wanted} ({field}), which this {operation} changes only after a {event} hook: the hook runs \
                 with what the revision before has there."
            )
        };
        let remedy = brought_along(release, hook, key, template);
        let problem = hook.problem(FieldPath::annotation(helm::HOOK), message, remedy).about(key, field);
        Some(if self.are_missing { problem.ending_in(Outcome::Hangs) } else { problem })
    }

    /// A Secret's own keys are part of what it holds.
    fn named(&self, source: &Source<'_>) -> String {
        if source.reference.kind == RefKind::Secret && source.keys.is_empty() {
            return "data".to_owned();
        }
        let mut named: Vec<_> = self.keys.iter().take(NAMED).map(|key| Shown(key).to_string()).collect();
        let more = self.keys.len().saturating_sub(NAMED);
        if more > 0 {
            named.push(format!("{more} more"));
        }
        named.join(", ")
    }
}

/// The keys of a ConfigMap or a Secret.
fn keys(object: &Value) -> impl Iterator<Item = &str> {
    let fields = ["data", "stringData", "binaryData"].into_iter();
    fields.filter_map(|field| object.get(field)?.as_object()).flatten().map(|(key, _)| key.as_str())
}

/// What a container gets of that key.
fn value<'v>(object: &'v Value, kind: RefKind, key: &str) -> Option<Cow<'v, [u8]>> {
    let text = |field: &str| object.get(field)?.get(key)?.as_str();
    let (plain, encoded) = if kind == RefKind::Secret { ("stringData", "data") } else { ("data", "binaryData") };
    if let Some(text) = text(plain) {
        return Some(Cow::Borrowed(text.as_bytes()));
    }
    // What is no base64 the API server refuses.
    text(encoded).and_then(|text| decode_base64(text.as_bytes())).map(Cow::Owned)
}
