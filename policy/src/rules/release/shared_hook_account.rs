use crate::finding::{FieldPath, Problem};
use crate::helm::{self, Event};
use crate::object::Kind;
use crate::references::pod_account;
use crate::release::{HookDocument, Release, ResourceDocument};
use crate::rules::{Level, RuleLevel};

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
    "shared-hook-account",
    default: RuleLevel::Check(Level::Warn),
    summary: "a hook ServiceAccount that a workload of the manifest runs as: recreated on each upgrade",
    check: Release(check),
}

fn check(release: &Release<'_>) -> Vec<Problem> {
    let accounts = release.record.hooks.iter().filter(|hook| {
        let is_account = hook.key.judged_kind() == Some(Kind::ServiceAccount);
        let is_recreated = [Event::PreUpgrade, Event::PostUpgrade].iter().any(|event| hook.events.contains(event));
        is_account && is_recreated && !hook.is_opted_out && Release::is_deleted_before_creation(hook)
    });
    accounts.filter_map(|account| Some(describe(account, user_of(release, account)?))).collect()
}

fn user_of<'r>(release: &'r Release<'_>, account: &HookDocument<'_>) -> Option<&'r ResourceDocument<'r>> {
    release.record.resources.iter().find(|resource| {
        resource.key.namespace == account.key.namespace
            && resource.mentions(&account.key.name)
            && resource.read().is_some_and(|object| pod_account(&object) == Some(account.key.name.as_str()))
    })
}

fn describe(account: &HookDocument<'_>, user: &ResourceDocument<'_>) -> Problem {
    Problem::new(
        FieldPath::annotation(helm::HOOK),
        format!(
            "is a hook ({}) that {} runs as ({}): Helm recreates it on each upgrade, and the tokens of \
             running pods stop working.",
            account.template, user.key, user.template
        ),
        format!(
            "Give the hooks an account of their own, or make this one a plain resource under a new name (in {}).",
            account.template.place()
        ),
    )
    .about(account.key.object_ref())
}
