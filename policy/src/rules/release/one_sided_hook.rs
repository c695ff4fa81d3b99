use crate::finding::{FieldPath, Problem};
use crate::helm::{self, Event};
use crate::object::Kind;
use crate::release::Release;
use crate::rules::{Level, RuleLevel};

declare_rule! {
    /// ## What it does
    ///
    /// Warns about a migration Job that is a hook on installs only, or on upgrades only.
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
    ///     helm.sh/hook: post-install,pre-upgrade
    /// ```
    ///
    /// ## References
    ///
    /// - Argo CD issue 7637: `.Release.IsUpgrade` is never true under Argo CD
    "one-sided-hook",
    default: RuleLevel::Check(Level::Warn),
    summary: "a migration hook that covers only install or only upgrade",
    check: Release(check),
}

fn check(release: &Release<'_>) -> Vec<Problem> {
    let jobs = release.record.hooks.iter().filter(|hook| hook.is_selected && hook.key.judged_kind() == Some(Kind::Job));
    let one_sided = jobs.filter_map(|hook| {
        let has = |events: [Event; 2]| events.iter().any(|event| hook.events.contains(event));
        let installs = has([Event::PreInstall, Event::PostInstall]);
        let upgrades = has([Event::PreUpgrade, Event::PostUpgrade]);
        (installs != upgrades).then_some((hook, if installs { "installs" } else { "upgrades" }))
    });
    one_sided
        .filter_map(|(hook, side)| {
            let events = hook.events()?;
            Some(
                Problem::new(
                    FieldPath::annotation(helm::HOOK),
                    format!("is a hook of {side} only ({}: \"{events}\", template {}).", helm::HOOK, hook.template),
                    format!("In {}, write {}: \"{}\".", hook.template, helm::HOOK, events.safely_completed()),
                )
                .about(hook.key.object_ref()),
            )
        })
        .collect()
}
