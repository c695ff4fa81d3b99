use std::collections::BTreeMap;

use crate::finding::{FieldPath, ReleaseProblem};
use crate::name::Name;
use crate::object::Kind;
use crate::references::pod_account;
use crate::rules::declare::{Reach, declare_rule};
use crate::subject::release::{HookDocument, Release, ResourceDocument};

declare_rule! {
    /// ## What it does
    ///
    /// Warns about a ServiceAccount that is a hook and that a workload of the manifest runs as.
    ///
    /// ## Why is this bad?
    ///
    /// Helm deletes and creates the hook at each upgrade. Pods that run as the account keep a token of the old one,
    /// which no longer works.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: ServiceAccount
    /// metadata:
    ///   name: orders
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    /// ---
    /// apiVersion: apps/v1
    /// kind: Deployment
    /// metadata:
    ///   name: orders
    /// spec:
    ///   template: {spec: {serviceAccountName: orders}}
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
    /// ---
    /// apiVersion: apps/v1
    /// kind: Deployment
    /// metadata:
    ///   name: orders
    /// spec:
    ///   template: {spec: {serviceAccountName: orders}}
    /// ```
    ///
    /// ## References
    ///
    /// - tuist issue 11920: tokens of a recreated ServiceAccount
    summary: "a hook ServiceAccount that a workload of the manifest runs as: recreated on each upgrade",
    check: Release(check, Reach::Everything),
}

fn check(release: &Release<'_>) -> Vec<ReleaseProblem> {
    let mut accounts = Vec::new();
    for hook in &release.record.hooks {
        let is_account = hook.key.judged_kind() == Some(Kind::ServiceAccount);
        if is_account && hook.runs_at_upgrades() && hook.is_deleted_before_creation() {
            accounts.push(hook);
        }
    }
    if accounts.is_empty() {
        return Vec::new();
    }
    let users = users(release);
    let mut problems = Vec::new();
    for account in accounts {
        let user = users.get(&account.key).and_then(|place| release.record.resources.get(*place));
        problems.extend(user.map(|user| describe(account, user)));
    }
    problems
}

/// The first workload that runs as each account, by its place: one walk, however many accounts there are.
fn users(release: &Release<'_>) -> BTreeMap<Name, usize> {
    let mut users = BTreeMap::new();
    for (place, resource) in release.record.resources.iter().enumerate() {
        // An escape can spell the word in another way.
        if !resource.mentions("serviceAccount") && !resource.mentions("\\") {
            continue;
        }
        let Some(object) = resource.read() else { continue };
        if let Some(account) = pod_account(&object) {
            users.entry(Name::core("ServiceAccount", &resource.key.namespace, account)).or_insert(place);
        }
    }
    users
}

fn describe(account: &HookDocument<'_>, user: &ResourceDocument<'_>) -> ReleaseProblem {
    account.problem(
        FieldPath::annotation(helm::HOOK),
        format!(
            "is a hook that {} runs as: Helm recreates it on each upgrade, and the tokens of running pods stop working.",
            user.key.seen_from(&account.key.namespace)
        ),
        account
            .template
            .remedy("give the hooks an account of their own, or make this one a plain resource under a new name, if no \
                      pre-install hook runs as it."),
    )
}
