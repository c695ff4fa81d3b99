use crate::finding::{FieldPath, Problem};
use crate::helm;
use crate::release::Release;
use crate::rules::{Level, RuleLevel};

declare_rule! {
    /// ## What it does
    ///
    /// Warns when the template that rendered a migration mentions `helm.sh/hook` and also `.Release.IsInstall` or
    /// `.Release.IsUpgrade`. Templates of subcharts are not in a record and are not seen.
    ///
    /// ## Why is this bad?
    ///
    /// The hook annotation depends on the operation: the next upgrade renders another identity for the same object.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// # template: {{ if .Release.IsUpgrade }} helm.sh/hook: pre-upgrade {{ end }}
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```yaml
    /// # template: helm.sh/hook: post-install,pre-upgrade
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
    /// - Helm, "Built-in Objects": `Release.IsInstall`, `Release.IsUpgrade`
    "conditional-hook-template",
    default: RuleLevel::Check(Level::Warn),
    summary: "the template of a migration mentions `helm.sh/hook` and `.Release.IsInstall` or `.Release.IsUpgrade`: it will flip later",
    check: Release(check),
}

fn check(release: &Release<'_>) -> Vec<Problem> {
    let hooks = release.record.hooks.iter().filter(|hook| hook.is_selected).map(|hook| (&hook.key, hook.template));
    let resources = release.record.resources.iter().filter(|resource| resource.is_selected);
    let objects = hooks.chain(resources.map(|resource| (&resource.key, resource.template)));
    objects
        .filter(|(key, template)| {
            key.judged_kind().is_some() && release.record.conditional_templates.contains(template.0)
        })
        .map(|(key, template)| {
            Problem::new(
                FieldPath::annotation(helm::HOOK),
                format!(
                    "is rendered by {template}, which makes {} depend on .Release.IsInstall or .Release.IsUpgrade: the \
                     next upgrade would turn it over, and Helm would delete it.",
                    helm::HOOK
                ),
                format!("In {template}, take the condition off the hook annotations: always or never."),
            )
            .about(key.object_ref())
        })
        .collect()
}
