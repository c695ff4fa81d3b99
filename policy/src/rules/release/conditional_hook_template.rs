use crate::finding::{FieldPath, Problem};
use crate::release::{Operation, Release};
use crate::rules::{Level, RuleLevel};

declare_rule! {
    /// ## What it does
    ///
    /// Warns on an install (and on a rollback, which may bring an install's render back) when the template that rendered
    /// a migration mentions `helm.sh/hook` and also `.Release.IsInstall` or `.Release.IsUpgrade`. Templates of subcharts
    /// are not in a record and are not seen. `stable-hooks chart` renders both sides and needs no such guess.
    ///
    /// ## Why is this bad?
    ///
    /// If the hook annotation depends on the operation, the next upgrade renders another identity for the same object.
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
    summary: "the template of a migration mentions `helm.sh/hook` and `.Release.IsInstall` or `.Release.IsUpgrade`: it may flip at the next upgrade",
    check: Release(check),
}

fn check(release: &Release<'_>) -> Vec<Problem> {
    // The next upgrade renders what this one has rendered.
    if release.operation == Operation::Upgrade {
        return Vec::new();
    }
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
                    "is rendered by a template ({}) that mentions {} and also .Release.IsInstall or .Release.IsUpgrade. \
                     If the one depends on the other, the next upgrade turns it over.",
                    template.place(),
                    helm::HOOK
                ),
                format!(
                    "`stable-hooks chart` tells. If it does, take the condition off the hook annotations in {}: always \
                     or never.",
                    template.place()
                ),
            )
            .about(key.object_ref())
        })
        .collect()
}
