use std::collections::BTreeMap;

use crate::finding::{FieldPath, ReleaseProblem, Remedy};
use crate::name::Name;
use crate::references::{RefKind, has_replicas, has_token, pod, references};
use crate::rules::declare::{Reach, declare_rule};
use crate::subject::release::{HookDocument, Release, ResourceDocument};

declare_rule! {
    /// ## What it does
    ///
    /// Warns about a ServiceAccount, Secret, ConfigMap or PersistentVolumeClaim that is a hook and that a workload of the
    /// manifest needs, where
    ///
    /// - hook-succeeded stands in its delete policy,
    /// - Helm makes it only after the workload, and it is not there yet,
    /// - or it is a ServiceAccount or a claim that Helm deletes and makes anew on each upgrade.
    ///
    /// A Secret or a ConfigMap that is made anew is the same to pods, an account is to those without its token
    /// (`automountServiceAccountToken: false`), and what is `optional` is not needed.
    ///
    /// ## Why is this bad?
    ///
    /// With hook-succeeded the object is gone as soon as the hooks of its event have succeeded: those of pre-install before
    /// the workload is there. Pods that start later wait for it, tomorrow's replacements of pods that run too.
    ///
    /// Helm does not wait for pods by itself. With `--wait`, as Flux does, it waits for them before it runs a
    /// `post-install` hook, and a workload that needs this hook is never ready.
    ///
    /// Pods that run as an account keep a token of the one that was there when they started, which no longer works.
    /// A claim that Helm deletes stays as long as a pod uses it, then it goes, and takes the data with it unless its volume
    /// is retained.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: Secret
    /// metadata:
    ///   name: orders-database
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    ///     helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
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
    ///           envFrom: [{secretRef: {name: orders-database}}]
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: Secret
    /// metadata:
    ///   name: orders-database
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    ///     helm.sh/hook-delete-policy: before-hook-creation
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
    ///           envFrom: [{secretRef: {name: orders-database}}]
    /// ```
    ///
    /// A ServiceAccount or a claim that a workload uses is best a plain resource, and the hooks have one of their own.
    ///
    /// ## References
    ///
    /// - raystack charts issue 69: a Secret that hook-succeeded deletes
    /// - tuist issue 11920: tokens of a recreated ServiceAccount
    /// - Helm, "Chart Hooks": hook deletion policies
    summary: "a hook object that a workload of the manifest needs: deleted, made anew on each upgrade, or made only later",
    check: Release(check, Reach::Everything),
}

/// The way in which a workload does without the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    DeletedAfterSuccess,
    /// The operation makes it after the workloads.
    MadeLater,
    MadeAnew,
}

/// A hook object that a workload may need.
struct Candidate<'a> {
    hook: &'a HookDocument<'a>,
    /// None where it stays as it is.
    loss: Option<Loss>,
    /// The first workload that needs it, by its place, and the field that names it.
    user: Option<(usize, String)>,
}

fn check(release: &Release<'_>) -> Vec<ReleaseProblem> {
    let (mut candidates, mut places) = (Vec::<Candidate<'_>>::new(), BTreeMap::new());
    for hook in release.hooks() {
        if hook.key.group.is_empty() && KINDS.iter().any(|kind| hook.key.kind == kind.as_str()) {
            let place = *places.entry(hook.key.clone()).or_insert(candidates.len());
            match candidates.get_mut(place) {
                // Of two hooks of one name one may stay.
                Some(namesake) => namesake.loss = None,
                None => candidates.push(Candidate { hook, loss: loss(release, hook), user: None }),
            }
        }
    }
    if candidates.iter().all(|candidate| candidate.loss.is_none()) {
        return Vec::new();
    }
    find_users(release, &mut candidates, &places);
    let mut problems = Vec::new();
    for Candidate { hook, loss, user } in &candidates {
        if let (Some(loss), Some((place, field))) = (loss, user)
            && let Some(user) = release.record.resources.get(*place)
        {
            problems.push(Lost { release, hook, user, field }.through(*loss));
        }
    }
    problems
}

const KINDS: [RefKind; 4] =
    [RefKind::ServiceAccount, RefKind::Secret, RefKind::ConfigMap, RefKind::PersistentVolumeClaim];

fn loss(release: &Release<'_>, hook: &HookDocument<'_>) -> Option<Loss> {
    // What is a resource too is there in the end; release-duplicate-identity says the rest.
    if !hook.is_part_of_the_release() || release.record.resource(&hook.key).is_some() {
        return None;
    }
    if hook.is_deleted_after_success() {
        return Some(Loss::DeletedAfterSuccess);
    }
    let is_later = release.runs_after_resources(hook) && !release.runs_before_resources(hook);
    let waits = release.told.is_none_or(|told| told.waits);
    if is_later && waits && release.exists_before(&hook.key) == Some(false) {
        return Some(Loss::MadeLater);
    }
    // Another Secret or ConfigMap of the same contents is the same to pods.
    let has_identity = matches!(hook.key.kind.as_str(), "ServiceAccount" | "PersistentVolumeClaim");
    let is_anew = has_identity && hook.runs_at_upgrades() && hook.is_deleted_before_creation();
    (is_anew && hook.read().is_none_or(|object| has_token(&object))).then_some(Loss::MadeAnew)
}

/// The kinds of workloads, each with whether Helm waits for it with `--wait`.
const WORKLOADS: [(&str, bool); 8] = [
    ("Deployment", true),
    ("StatefulSet", true),
    ("DaemonSet", true),
    ("ReplicaSet", true),
    ("ReplicationController", true),
    ("Pod", true),
    ("Job", false),
    ("CronJob", false),
];

/// With more names a search for each would cost more than reading the workloads.
const MOST_SEARCHES: usize = 20;

/// One walk, however many objects there are.
fn find_users(release: &Release<'_>, candidates: &mut [Candidate<'_>], places: &BTreeMap<Name, usize>) {
    let is_lost = |candidate: &&Candidate<'_>| candidate.loss.is_some();
    let many = candidates.iter().filter(is_lost).count() > MOST_SEARCHES;
    for (place, resource) in release.record.resources.iter().enumerate() {
        let Some((_, is_waited_for)) = WORKLOADS.iter().find(|(kind, _)| resource.key.kind == *kind) else { continue };
        // An escape can spell a name in another way.
        let is_named = |candidate: &Candidate<'_>| resource.mentions(&candidate.hook.key.name);
        if !many && !resource.mentions("\\") && !candidates.iter().filter(is_lost).any(is_named) {
            continue;
        }
        let Some(object) = resource.read() else { continue };
        for reference in references(&object) {
            let key = Name::core(reference.kind.as_str(), &resource.key.namespace, reference.name);
            let Some(candidate) = places.get(&key).and_then(|place| candidates.get_mut(*place)) else { continue };
            let is_harmed = match candidate.loss {
                // Without a secret to pull with, the kubelet tries all the same.
                Some(Loss::MadeLater) => {
                    *is_waited_for && has_replicas(&object) && !reference.field.contains("imagePull")
                }
                Some(Loss::MadeAnew) => reference.kind != RefKind::ServiceAccount || pod(&object).is_none_or(has_token),
                Some(Loss::DeletedAfterSuccess) => true,
                None => false,
            };
            if is_harmed && candidate.user.is_none() {
                candidate.user = Some((place, reference.field));
            }
        }
    }
}

/// A hook object, and a workload that loses it.
struct Lost<'a> {
    release: &'a Release<'a>,
    hook: &'a HookDocument<'a>,
    user: &'a ResourceDocument<'a>,
    field: &'a str,
}

impl Lost<'_> {
    fn through(&self, loss: Loss) -> ReleaseProblem {
        let Self { release, hook, field, .. } = self;
        let user = self.user.key.seen_from(&hook.key.namespace);
        let (path, message) = match loss {
            Loss::DeletedAfterSuccess => (
                helm::HOOK_DELETE_POLICY,
                format!(
                    "is a hook that {user} needs ({field}), and has hook-succeeded in its delete policy: Helm deletes it once \
                     the hooks of its event have succeeded, and pods that start after that do not find it."
                ),
            ),
            Loss::MadeLater => (
                helm::HOOK,
                format!(
                    "is a hook that {user} needs ({field}), and Helm makes it only after {user}. With --wait, as Flux does, \
                     Helm waits first for the pods, which cannot start without it, and the {} would fail.",
                    release.operation.as_str()
                ),
            ),
            Loss::MadeAnew if hook.key.kind == RefKind::PersistentVolumeClaim.as_str() => (
                helm::HOOK,
                format!(
                    "is a hook that {user} mounts ({field}): Helm deletes the claim on each upgrade. As soon as no pod uses it \
                     any more it is gone, and its data too unless the volume is retained."
                ),
            ),
            Loss::MadeAnew => (
                helm::HOOK,
                format!(
                    "is a hook that {user} runs as: Helm recreates it on each upgrade, and the tokens of running pods stop \
                     working."
                ),
            ),
        };
        hook.problem(FieldPath::annotation(path), message, self.remedy(loss))
    }

    fn remedy(&self, loss: Loss) -> Remedy {
        let hook = self.hook;
        let template = hook.template;
        match hook.key.kind.as_str() {
            "ServiceAccount" => template.remedy(
                "give the hooks an account of their own, or make this one a plain resource under a new name, if no \
                 pre-install hook runs as it.",
            ),
            "PersistentVolumeClaim" => template.remedy(
                "make it a plain resource under a new name, if no pre-install hook mounts it, and take the data along; or \
                 create the claim outside of the release.",
            ),
            _ => {
                let events = hook.events().map(|events| events.before_resources().to_string()).unwrap_or_default();
                let mut annotations = Vec::new();
                if events != hook.events_text() {
                    annotations.push(format!("{}: \"{events}\"", helm::HOOK));
                }
                if loss == Loss::DeletedAfterSuccess {
                    annotations.push(format!("{}: \"before-hook-creation\"", helm::HOOK_DELETE_POLICY));
                }
                template.remedy(format!("write {}.", annotations.join(" and ")))
            }
        }
    }
}
