use crate::finding::{FieldPath, Outcome, ReleaseProblem};
use crate::identity::Identity;
use crate::rules::declare::{Reach, declare_rule};
use crate::subject::release::Release;

declare_rule! {
    /// ## What it does
    ///
    /// Denies a record with a hook that Helm would delete before its creation, when an object of that name lives as
    /// a resource of another release.
    ///
    /// ## Why is this bad?
    ///
    /// Hooks are deleted and created without any check of ownership: Helm deletes the other release's object and
    /// creates its own, and both releases report that they are deployed.
    ///
    /// ## Example
    ///
    /// A live ServiceAccount of release `first` has the name that release `second` renders:
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: ServiceAccount
    /// metadata:
    ///   name: migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    /// # live
    /// ---
    /// apiVersion: v1
    /// kind: ServiceAccount
    /// metadata:
    ///   name: migrations
    ///   annotations:
    ///     meta.helm.sh/release-name: first
    ///     meta.helm.sh/release-namespace: shop
    /// ```
    ///
    /// ## Use instead
    ///
    /// A name with the release's name in it:
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: ServiceAccount
    /// metadata:
    ///   name: second-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    /// # live
    /// ---
    /// apiVersion: v1
    /// kind: ServiceAccount
    /// metadata:
    ///   name: migrations
    ///   annotations:
    ///     meta.helm.sh/release-name: first
    ///     meta.helm.sh/release-namespace: shop
    /// ```
    ///
    /// ## References
    ///
    /// - Helm, `pkg/action/hooks.go`: before-hook-creation
    summary: "a hook with before-hook-creation whose object lives as a resource of another release: Helm would delete it",
    check: Release(check, Reach::WarnsOfOthers),
}

fn check(release: &Release<'_>) -> Vec<ReleaseProblem> {
    let hooks = release.hooks_now().filter(|hook| hook.is_deleted_before_creation());
    let taken = hooks.filter_map(|hook| match release.live_identity(&hook.key)? {
        Identity::Resource(owner) if release.is_foreign(owner) => Some((hook, owner)),
        _ => None,
    });
    taken
        .map(|(hook, owner)| {
            hook.problem(
                FieldPath::annotation(helm::HOOK),
                format!(
                    "lives as {owner}, and is a hook of this release. Helm deletes a hook's object before it creates it, \
                     without asking whose it is: the other release would lose it."
                ),
                hook.template.remedy("give it a name that holds the release's name."),
            )
            .ending_in(Outcome::Lost)
        })
        .collect()
}
