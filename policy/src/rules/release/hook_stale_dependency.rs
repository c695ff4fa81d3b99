use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

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
    /// that this same operation changes afterwards. Only the keys that the hook reads count: of a
    /// volume that is mounted by `subPath` alone those files. Values are compared, never
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
    // Many hooks can read one object, which is compared once.
    let (mut places, mut differences) = (BTreeMap::new(), Vec::new());
    for hook in release.hooks_now().filter(|hook| release.runs_before_resources(hook)) {
        let (mut found_places, mut found) = (BTreeMap::new(), Vec::new());
        for source in hook.object.iter().flat_map(value_sources) {
            let Reference { kind, name, .. } = source.reference;
            let key = Name::core(kind.as_str(), &hook.key.namespace, name);
            let next = differences.len();
            let place = *places.entry(key.clone()).or_insert(next);
            if place == next {
                differences.push(Difference::of(release, &key, kind));
            }
            let Some(difference) = differences.get(place).filter(|difference| !difference.is_none()) else { continue };
            let next = found.len();
            let place = *found_places.entry(key.clone()).or_insert(next);
            if place == next {
                found.push(Found::new(key));
            }
            if let Some(found) = found.get_mut(place) {
                found.add(source, difference);
            }
        }
        for found in found {
            problems.extend(found.describe(release, hook));
        }
    }
    problems
}

/// The keys of an object whose values this revision changes, and those that it adds.
#[derive(Default)]
struct Difference {
    changed: BTreeSet<String>,
    added: BTreeSet<String>,
}

impl Difference {
    /// Nothing is known of what a revision that has failed left behind.
    fn of(release: &Release<'_>, key: &Name, kind: RefKind) -> Self {
        let mut difference = Self::default();
        if release.record.hook(key).is_some() || release.has_baseline_failed {
            return difference;
        }
        let old = release.baseline.as_ref().and_then(|baseline| baseline.resource(key));
        let (Some(new), Some(old)) = (release.record.resource(key), old) else { return difference };
        if new.is_the_same_as(old) {
            return difference;
        }
        let (Some(new), Some(old)) = (new.read(), old.read()) else { return difference };
        for key in keys(&new) {
            let (new, old) = (value(&new, kind, key), value(&old, kind, key));
            if new.is_some() && new != old {
                let keys = if old.is_some() { &mut difference.changed } else { &mut difference.added };
                keys.insert(key.to_owned());
            }
        }
        difference
    }

    fn is_none(&self) -> bool {
        self.changed.is_empty() && self.added.is_empty()
    }
}

/// What a hook reads of one object, of that which changes.
struct Found {
    key: Name,
    /// That which names it first.
    field: String,
    reads_all: bool,
    keys: BTreeSet<String>,
    /// Without these the pod does not start.
    missing: BTreeSet<String>,
}

impl Found {
    fn new(key: Name) -> Self {
        let (field, keys, missing) = Default::default();
        Self { key, field, reads_all: false, keys, missing }
    }

    fn add(&mut self, source: Source<'_>, difference: &Difference) {
        let Source { reference, keys, needs_keys, .. } = source;
        let was_empty = self.keys.is_empty() && self.missing.is_empty();
        if keys.is_empty() && !self.reads_all {
            self.reads_all = true;
            self.keys.extend(difference.changed.iter().chain(&difference.added).cloned());
        }
        for key in keys {
            if difference.added.contains(key) && needs_keys {
                self.missing.insert(key.to_owned());
            } else if difference.added.contains(key) || difference.changed.contains(key) {
                self.keys.insert(key.to_owned());
            }
        }
        if was_empty {
            self.field = reference.field;
        }
    }

    fn describe(&self, release: &Release<'_>, hook: &HookDocument<'_>) -> Option<ReleaseProblem> {
        let key = &self.key;
        let template = release.record.resource(key)?.template;
        let (wanted, field) = (key.seen_from(&hook.key.namespace), &self.field);
        let (operation, event) = (release.operation.as_str(), release.operation.pre().as_str());
        let is_missing = !self.missing.is_empty();
        let read = if is_missing { &self.missing } else { &self.keys };
        // A Secret's own keys are part of what it holds; those that the hook names are not.
        let is_secret = !is_missing && self.reads_all && key.kind == RefKind::Secret.as_str();
        let keys = match (read.len(), is_secret) {
            (0, _) => return None,
            (_, true) => "data".to_owned(),
            (_, false) => named(read),
        };
        let then = if is_missing {
            format!(
                "which the revision before does not have and this {operation} adds only after a {event} hook: its pod could \
                 not start, and the {operation} would wait until its timeout."
            )
        } else {
            format!(
                "which this {operation} changes only after a {event} hook: the hook runs with what was there before."
            )
        };
        let message = format!("reads {keys} of {wanted} ({field}), {then}");
        let remedy = brought_along(release, hook, key, template);
        let problem = hook.problem(FieldPath::annotation(helm::HOOK), message, remedy).about(key, field);
        Some(if is_missing { problem.ending_in(Outcome::Hangs) } else { problem })
    }
}

fn named(keys: &BTreeSet<String>) -> String {
    let mut named: Vec<_> = keys.iter().take(NAMED).map(|key| Shown(key).to_string()).collect();
    let more = keys.len().saturating_sub(NAMED);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    named.join(", ")
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
