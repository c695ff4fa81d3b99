use crate::finding::{FieldPath, ReleaseProblem};
use crate::name::Name;
use crate::rules::declare::{Reach, declare_rule};
use crate::subject::release::{Release, Template};
use helm::operation::Operation;

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
    summary: "the template of a migration mentions `helm.sh/hook` and `.Release.IsInstall` or `.Release.IsUpgrade`: it may flip at the next upgrade",
    check: Release(check, Reach::Migrations),
}

fn check(release: &Release<'_>) -> Vec<ReleaseProblem> {
    // The next upgrade renders what this one has rendered.
    if release.operation == Operation::Upgrade {
        return Vec::new();
    }
    let is_conditional = |key: &Name, template: Template<'_>| {
        key.judged_kind().is_some() && release.record.conditional_templates.contains(template.0)
    };
    let mut problems = Vec::new();
    for hook in release.record.hooks.iter().filter(|hook| is_conditional(&hook.key, hook.template)) {
        let (message, help) = describe(hook.template);
        problems.push(hook.problem(FieldPath::annotation(helm::HOOK), message, help));
    }
    for resource in release.record.resources.iter().filter(|resource| is_conditional(&resource.key, resource.template))
    {
        let (message, help) = describe(resource.template);
        problems.push(resource.problem(FieldPath::annotation(helm::HOOK), message, help));
    }
    problems
}

fn describe(template: Template<'_>) -> (String, String) {
    let message = format!(
        "is rendered by a template ({}) that mentions {} and also .Release.IsInstall or .Release.IsUpgrade. If the one \
         depends on the other, the next upgrade turns it over.",
        template.place(),
        helm::HOOK
    );
    let help = format!(
        "`stable-hooks chart` tells. If it does, take the condition off the hook annotations in {}: always or never.",
        template.place()
    );
    (message, help)
}
