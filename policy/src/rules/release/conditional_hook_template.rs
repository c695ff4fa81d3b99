use crate::finding::{FieldPath, Problem, ReleaseProblem};
use crate::name::Name;
use crate::rules::declare::{Reach, declare_rule};
use crate::subject::release::{Contents, Release, Template};
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
    /// # template: helm.sh/hook: pre-install,pre-upgrade
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
    let Contents { hooks, resources, .. } = &release.record;
    let hooks = hooks.iter().map(|hook| (&hook.key, hook.template, hook.standing));
    let resources = resources.iter().map(|resource| (&resource.key, resource.template, resource.standing));
    let conditional = hooks.chain(resources).filter(|(key, template, _)| is_conditional(key, *template));
    conditional.map(|(key, template, standing)| ReleaseProblem::new(key, standing, describe(template))).collect()
}

fn describe(template: Template<'_>) -> Problem {
    let message = format!(
        "is rendered by a template that mentions {} and also .Release.IsInstall or .Release.IsUpgrade. If the one depends \
         on the other, the next upgrade flips it.",
        helm::HOOK
    );
    let remedy = template.remedy(
        "take such a condition off the hook annotations: always or never. `stable-hooks chart` tells whether there is one.",
    );
    Problem::new(FieldPath::annotation(helm::HOOK), message, remedy)
}
