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
    /// same kind from the same template, and nothing of it needs the old one, the old one is replaced.
    ///
    /// With `--against`, `--against-ref` or `--release` another chart, other values or a record is what is installed: run
    /// `chart` without them as well, to see what the chart's own install has.
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
    if renders.change.is_some() {
        return Vec::new();
    }
    let upgraded = renders.names_of_upgrade();
    let lost: Vec<_> =
        renders.installed.iter().filter(|object| !object.is_hook && !upgraded.contains(&object.name)).collect();
    if lost.is_empty() {
        return Vec::new();
    }
    let installed: BTreeSet<_> = renders.installed.iter().map(|object| &object.name).collect();
    let new = renders.upgrade.iter().filter(|object| !installed.contains(&object.name));
    let replaced: BTreeSet<_> = new.map(place).collect();
    let needed = needed_by(renders.upgrade.iter());
    let used = used_by_what_ends(&lost);
    let is_no_loss = |object: &Rendered<'_>| {
        object.name.is_waited_for() || replaced.contains(&place(object)) || used.contains(&object.name)
    };
    let is_a_loss = |object: &&&Rendered<'_>| !object.is_kept && (needed.contains(&object.name) || !is_no_loss(object));
    lost.iter().filter(is_a_loss).map(|object| describe(object, renders.revision)).collect()
}

/// The template that makes objects of that kind.
fn place<'a>(object: &'a Rendered<'_>) -> [&'a str; 3] {
    [&object.name.group, &object.name.kind, object.template]
}

/// What the pods of these need.
fn needed_by<'r>(objects: impl Iterator<Item = &'r Rendered<'r>>) -> BTreeSet<Name> {
    let mut needed = BTreeSet::new();
    for user in objects {
        for reference in references(&user.object()) {
            needed.insert(Name::core(reference.kind.as_str(), &user.name.namespace, reference.name));
        }
    }
    needed
}

/// What the Jobs and Pods among these need, and the rights that only their accounts get.
fn used_by_what_ends(lost: &[&Rendered<'_>]) -> BTreeSet<Name> {
    let mut used = needed_by(lost.iter().copied().filter(|object| object.name.is_waited_for()));
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
    let keep = format!("{}: keep, with which Helm leaves it there", helm::RESOURCE_POLICY);
    let (has_it, first) = match revision {
        Some(revision) => (
            format!("is in revision {revision}, and the upgrade with the same chart and values does not render it"),
            format!("before the upgrade annotate the live one, and in the template this one, with {keep}"),
        ),
        None => ("is rendered by the install, and not by the upgrade".to_owned(), format!("annotate it with {keep}")),
    };
    let message = format!("{has_it}: Helm deletes it then.");
    let remedy =
        Template(object.template).remedy(format!("{first}. Or render it on upgrades too, as it is on the install."));
    let standing = if object.is_opted_out { Standing::OptedOut } else { Standing::Other };
    ReleaseProblem::new(&object.name, standing, Problem::new(FieldPath::whole(), message, remedy))
}
