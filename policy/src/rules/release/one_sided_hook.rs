use crate::finding::{FieldPath, ReleaseProblem};
use crate::object::Kind;
use crate::rules::declare::{Reach, declare_rule};
use crate::rules::steady::steady_in;
use crate::subject::release::Release;
use helm::Event;

declare_rule! {
    /// ## What it does
    ///
    /// Warns about a migration Job that is a hook on installs only, or on upgrades only. What the last revision has the
    /// Job for counts too, and where its template asks whether this is an install, only what both sides render tells.
    ///
    /// ## Why is this bad?
    ///
    /// On the other side the migration does not run, or another template renders it plain: the next release flips.
    /// Argo CD knows no difference between install and upgrade.
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
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    /// ```
    ///
    /// ## References
    ///
    /// - Argo CD issue 7637: `.Release.IsUpgrade` is never true under Argo CD
    summary: "a migration hook that covers only install or only upgrade",
    check: Release(check, Reach::Migrations),
}

fn check(release: &Release<'_>) -> Vec<ReleaseProblem> {
    let jobs = release.record.hooks.iter().filter(|hook| hook.key.judged_kind() == Some(Kind::Job));
    jobs.filter_map(|hook| {
        let before = release.baseline.as_ref().and_then(|baseline| baseline.hook(&hook.key));
        // Another upgrade does not say what its template renders on an install.
        let is_known = before.is_some() && release.is_baseline_first;
        if !is_known && release.record.conditional_templates.contains(hook.template.0) {
            return None;
        }
        let earlier = before.into_iter().flat_map(|before| &before.events);
        let covered: Vec<_> = earlier.chain(&hook.events).collect();
        let has = |events: [Event; 2]| events.iter().any(|event| covered.contains(&event));
        let installs = has([Event::PreInstall, Event::PostInstall]);
        let upgrades = has([Event::PreUpgrade, Event::PostUpgrade]);
        if installs == upgrades {
            return None;
        }
        let side = if installs { "installs" } else { "upgrades" };
        let events = hook.events()?;
        Some(hook.problem(
            FieldPath::annotation(helm::HOOK),
            format!("is a hook of {side} only ({}: \"{events}\").", helm::HOOK),
            hook.template.remedy(format!("write {}: {}.", helm::HOOK, steady_in(release, hook))),
        ))
    })
    .collect()
}
