use std::collections::BTreeSet;

use serde_json::Value;

use crate::finding::{FieldPath, Problem, ReleaseProblem};
use crate::name::Name;
use crate::references::references;
use crate::renders::{Rendered, Renders};
use crate::rules::declare::declare_rule;
use crate::selector::Standing;
use crate::subject::release::Template;

declare_rule! {
    /// ## What it does
    ///
    /// Warns, in `chart` and `forecast`, about a resource that is installed and that the upgrade with the same chart and the
    /// same values does not render: its template asks for `.Release.IsInstall`, or for what `lookup` finds.
    ///
    /// It says nothing of Jobs and Pods, whose end is no loss, and of what only those use; of resources with
    /// `helm.sh/resource-policy: keep`; and of names that are others at each render: where the upgrade has a new object of the
    /// same kind from the same template, the old one is replaced by it.
    ///
    /// ## Why is this bad?
    ///
    /// Helm deletes at an upgrade what the last revision has and the new one does not. A Secret that is made once, with a
    /// random password, is gone after the first upgrade, and the pods that start then do not find it.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: Secret
    /// metadata:
    ///   name: orders
    /// stringData:
    ///   password: x7d9
    /// # upgrade
    /// ---
    /// apiVersion: v1
    /// kind: Service
    /// metadata:
    ///   name: orders
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: Secret
    /// metadata:
    ///   name: orders
    ///   annotations:
    ///     helm.sh/resource-policy: keep
    /// stringData:
    ///   password: x7d9
    /// # upgrade
    /// ---
    /// apiVersion: v1
    /// kind: Service
    /// metadata:
    ///   name: orders
    /// ```
    ///
    /// ## References
    ///
    /// - Helm issue 3442: a resource inside of `.Release.IsInstall` is deleted at the first upgrade
    summary: "a resource that the install renders and the upgrade with the same chart and values does not: Helm deletes it",
    check: Renders(check),
}

fn check(renders: &Renders<'_>) -> Vec<ReleaseProblem> {
    let upgraded = renders.names_of_upgrade();
    let lost: Vec<_> =
        renders.installed.iter().filter(|object| !object.is_hook && !upgraded.contains(&object.name)).collect();
    if lost.is_empty() {
        return Vec::new();
    }
    let installed: BTreeSet<_> = renders.installed.iter().map(|object| &object.name).collect();
    let new = renders.upgrade.iter().filter(|object| !installed.contains(&object.name));
    let replaced: BTreeSet<_> = new.map(place).collect();
    let used = used_by_what_ends(&lost);
    let is_a_loss = |object: &&&Rendered<'_>| {
        !object.is_kept
            && !object.name.is_waited_for()
            && !replaced.contains(&place(object))
            && !used.contains(&object.name)
    };
    lost.iter().filter(is_a_loss).map(|object| describe(object, renders.revision)).collect()
}

/// The template that makes objects of that kind.
fn place<'a>(object: &'a Rendered<'_>) -> [&'a str; 3] {
    [&object.name.group, &object.name.kind, object.template]
}

/// What the Jobs and Pods among these need, and the rights that only their accounts get.
fn used_by_what_ends(lost: &[&Rendered<'_>]) -> BTreeSet<Name> {
    let mut used = BTreeSet::new();
    for ending in lost.iter().filter(|object| object.name.is_waited_for()) {
        for needed in references(&ending.object()) {
            used.insert(Name::core(needed.kind.as_str(), &ending.name.namespace, needed.name));
        }
    }
    if used.is_empty() {
        return used;
    }
    for binding in lost.iter().filter(|object| object.name.kind.ends_with("RoleBinding")) {
        let object = binding.object();
        let subjects = object.get("subjects").and_then(Value::as_array).into_iter().flatten();
        let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_used = |subject: &Value| {
            let [kind, namespace, name] = ["kind", "namespace", "name"].map(|field| text(subject, field));
            let namespace = if namespace.is_empty() { &binding.name.namespace } else { &namespace };
            used.contains(&Name::core(&kind, namespace, &name))
        };
        if subjects.clone().next().is_some() && subjects.clone().all(is_used) {
            let role = object.get("roleRef").unwrap_or(&Value::Null);
            let (kind, name) = (text(role, "kind"), text(role, "name"));
            used.insert(Name { kind, name, ..binding.name.clone() });
            used.insert(binding.name.clone());
        }
    }
    used
}

fn describe(object: &Rendered<'_>, revision: Option<u64>) -> ReleaseProblem {
    let (has_it, keep) = match revision {
        Some(revision) => (
            format!("is in revision {revision}, and the upgrade with the same chart and values does not render it"),
            format!(
                "Or, before the upgrade, annotate the live one with {}=keep, with which Helm leaves it there.",
                helm::RESOURCE_POLICY
            ),
        ),
        None => (
            "is rendered by the install, and not by the upgrade".to_owned(),
            format!("Or annotate it with {}: keep, with which Helm leaves it there.", helm::RESOURCE_POLICY),
        ),
    };
    let message = format!("{has_it}: Helm deletes it then.");
    let remedy = Template(object.template).remedy(format!("render it on upgrades too. {keep}"));
    let standing = if object.is_opted_out { Standing::OptedOut } else { Standing::Other };
    ReleaseProblem::new(&object.name, standing, Problem::new(FieldPath::whole(), message, remedy))
}
