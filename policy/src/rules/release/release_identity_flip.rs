use crate::finding::{FieldPath, Problem};
use crate::helm;
use crate::identity::Identity;
use crate::release::{ACCEPT_LABEL, HookDocument, Key, Operation, Release};
use crate::rules::{Level, RuleLevel};
use crate::settings::Scope;
use crate::shown::Shown;

declare_rule! {
    /// ## What it does
    ///
    /// Denies a release record in which a Job or ServiceAccount changes sides: a hook in the record that the last
    /// revision (or the cluster) has as a resource, or the reverse. Every hook with an install, upgrade or rollback
    /// event counts, whether it runs now or not: Helm prunes by name, not by event.
    ///
    /// The setting `releases.scope` says whose flip is denied. A hook document with `helm.sh/resource-policy: keep`
    /// is only warned about, for Helm does not prune it; so is a rollback, and a flip that was accepted.
    ///
    /// To accept a flip once: `helm upgrade … --labels stable-hooks/accept-flip=REVISION`, with the number of the
    /// revision that is being created; or the setting `releases.accept`.
    ///
    /// ## Why is this bad?
    ///
    /// A resource that becomes a hook: Helm deletes the live object, runs the hook, then prunes what the hook has
    /// created, because the new manifest no longer lists it. The upgrade reports success, and the Job and its
    /// ServiceAccount are gone. A hook that becomes a resource: Helm stops with "invalid ownership metadata", or
    /// adopts an object that it can then not update.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    /// # upgrade
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: pre-upgrade
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
    ///     helm.sh/hook: post-install,pre-upgrade
    /// # upgrade
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: post-install,pre-upgrade
    /// ```
    ///
    /// ## References
    ///
    /// - Helm issues 11608 and 12799: a resource that becomes a hook is deleted
    "release-identity-flip",
    default: RuleLevel::Check(Level::Deny),
    summary: "a Job or ServiceAccount is a hook in one of baseline and record and a resource in the other, or lives as the other",
    check: Release(check),
}

fn check(release: &Release<'_>) -> Vec<Problem> {
    let hooks = release.record.hooks.iter().filter(|hook| hook.is_part_of_the_release() && !hook.is_opted_out);
    let new_hooks = hooks.filter_map(|hook| {
        let before = resource_before(release, &hook.key)?;
        let problem = becomes_hook(release, hook, &before);
        let problem = if hook.is_kept { problem.warn_at_most() } else { problem };
        scoped(release, &hook.key, hook.is_selected, problem)
    });
    let resources = release.record.resources.iter().filter(|resource| !resource.is_opted_out);
    let lost_hooks = resources.filter_map(|resource| {
        let before = hook_before(release, &resource.key)?;
        // What is both in this record is release-duplicate-identity's.
        if release.record.hook(&resource.key).is_some() {
            return None;
        }
        let problem = becomes_resource(release, &resource.key, resource.template, &before);
        scoped(release, &resource.key, resource.is_selected, problem)
    });
    let problems = new_hooks.chain(lost_hooks);
    if release.is_flip_accepted() { problems.map(Problem::warn_at_most).collect() } else { problems.collect() }
}

/// Where the key was a resource; `None` where it was not, or belongs to somebody else.
fn resource_before(release: &Release<'_>, key: &Key) -> Option<String> {
    let in_record = release.record.resource(key).is_some();
    if let Some(baseline) = &release.baseline {
        if baseline.resource(key).is_some() && baseline.hook(key).is_none() && !in_record {
            return Some("a resource of the last good revision".to_owned());
        }
        if baseline.hook(key).is_some() {
            return None;
        }
    }
    match release.live_identity(key)? {
        Identity::Resource(owner) if !in_record && !release.is_foreign(owner) => Some(format!("live as {owner}")),
        _ => None,
    }
}

/// Where the key was a hook.
fn hook_before(release: &Release<'_>, key: &Key) -> Option<String> {
    if let Some(baseline) = &release.baseline {
        let was_hook = baseline.hook(key).filter(|hook| hook.is_part_of_the_release());
        if let Some(hook) = was_hook.filter(|_| baseline.resource(key).is_none()) {
            return Some(format!("a hook of the last good revision ({})", hook.events_text()));
        }
        if baseline.resource(key).is_some() {
            return None;
        }
    }
    match release.live_identity(key)? {
        Identity::Hook(hook) if !hook.is_test_or_delete_only() => Some(format!("live as {hook}")),
        _ => None,
    }
}

fn becomes_hook(release: &Release<'_>, hook: &HookDocument<'_>, before: &str) -> Problem {
    let events = hook.events_text();
    let stable = hook.events().map(|events| events.safely_completed().to_string()).unwrap_or_default();
    let deletes = match (Release::is_deleted_before_creation(hook), hook.is_kept) {
        (true, false) => {
            "Helm would delete the live object, run the hook, then delete what the hook created, and report success: the \
             object is gone."
        }
        (true, true) => {
            "Helm would delete the live object and run the hook; what that creates stays, because of \
             helm.sh/resource-policy: keep."
        }
        (false, false) => {
            "Helm would find the live object in the hook's way (\"already exists\"), or run nothing, and delete the object \
             when the release has left its manifest."
        }
        (false, true) => {
            "Helm would find the live object in the hook's way (\"already exists\"), or run nothing; the object stays, \
             because of helm.sh/resource-policy: keep."
        }
    };
    let mut remedy = format!(
        "In {}, render the same annotations on install and on upgrade: {}: \"{}\", with no condition on \
         .Release.IsInstall, .Release.IsUpgrade or a value around them; or leave them out on both.",
        hook.template,
        helm::HOOK,
        stable
    );
    remedy.push_str(&acceptance(release));
    let message = format!(
        "is {before} and a hook in revision {} ({}: \"{events}\", template {}). {deletes}",
        release.revision,
        helm::HOOK,
        hook.template
    );
    Problem::new(FieldPath::annotation(helm::HOOK), message, remedy).about(hook.key.object_ref())
}

fn becomes_resource(release: &Release<'_>, key: &Key, template: Shown<'_>, before: &str) -> Problem {
    let message = format!(
        "is {before} and a resource in revision {} (template {template}). Helm stops with \"invalid ownership \
         metadata\", or takes over an object that it did not make: a Job can then not be updated any more.",
        release.revision
    );
    let remedy = format!(
        "In {template}, render the same {} on install and on upgrade, with no condition around it.{}",
        helm::HOOK,
        acceptance(release)
    );
    Problem::new(FieldPath::annotation(helm::HOOK), message, remedy).about(key.object_ref())
}

/// What lets this flip through once: a rollback has no such flag, and where records are stored apart from their
/// objects, as under Flux, nobody runs the command.
fn acceptance(release: &Release<'_>) -> String {
    let (name, namespace, revision) = (Shown(release.name), Shown(release.namespace), release.revision);
    match release.operation {
        Operation::Upgrade if !release.is_stored_apart() => format!(
            "\nIf the change is meant, accept it once:\n  helm upgrade {name} CHART -n {namespace} --labels \
             {ACCEPT_LABEL}={revision}"
        ),
        Operation::Install | Operation::Upgrade | Operation::Rollback => format!(
            "\nIf the change is meant, accept it once with the setting\n  releases.accept: \
             [\"{namespace}/{name}@{revision}\"]"
        ),
    }
}

/// What the scope leaves of a problem.
fn scoped(release: &Release<'_>, key: &Key, is_selected: bool, problem: Problem) -> Option<Problem> {
    match release.settings.releases.scope {
        Scope::All => Some(problem),
        Scope::JobsAndServiceAccounts => key.judged_kind().map(|_| problem),
        Scope::Selected if is_selected => Some(problem),
        Scope::Selected => key.judged_kind().map(|_| problem.warn_at_most()),
    }
}
