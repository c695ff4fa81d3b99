use crate::argocd::Phase;
use crate::finding::ReleaseProblem;
use crate::rules::declare::declare_rule;
use crate::sync::{Desired, Syncs};

declare_rule! {
    /// ## What it does
    ///
    /// Warns, under `chart --argocd`, about a hook Job or Pod whose events belong to more than one phase of a sync, where
    /// Argo CD makes it anew in each of them.
    ///
    /// ## Why is this bad?
    ///
    /// Argo CD runs pre-install and pre-upgrade hooks as PreSync, post-install and post-upgrade hooks as PostSync, and both
    /// at every sync: there is no install and no upgrade. A migration with events of both sides runs before and after each
    /// sync.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: post-install,pre-upgrade
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
    ///     helm.sh/hook: post-install,post-upgrade
    /// ```
    ///
    /// ## References
    ///
    /// - Argo CD, "Helm": how Helm's hooks are mapped
    summary: "under Argo CD: the hook belongs to more than one phase, and runs in each of them at every sync",
    check: Syncs(check),
}

fn check(syncs: &Syncs<'_>) -> Vec<ReleaseProblem> {
    syncs.new.objects.iter().filter_map(problem).collect()
}

fn problem(hook: &Desired) -> Option<ReleaseProblem> {
    let phases: Vec<_> = hook.phases().into_iter().map(Phase::as_str).collect();
    if phases.len() < 2 || !hook.is_made_anew() || !hook.is_waited_for() {
        return None;
    }
    let phases = phases.join(" and again in ");
    let message = format!("has {}, which Argo CD runs in {phases}, at every sync.", hook.hook_text());
    let remedy = format!(
        "write {} where all that it needs is there before the sync, else {}.",
        hook.hook_of(Phase::PreSync),
        hook.hook_of(Phase::PostSync)
    );
    Some(hook.problem(hook.hook_field(), message, remedy))
}
