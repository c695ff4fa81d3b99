use crate::finding::{FieldPath, Problem, ReleaseProblem};
use crate::name::Name;
use crate::renders::{Flip, Renders, ValueChange};
use crate::rules::declare::declare_rule;
use crate::selector::Standing;
use crate::subject::release::Template;

declare_rule! {
    /// ## What it does
    ///
    /// Warns, in `chart --sweep`, about a value of the chart whose change makes an object flip: with one value it is a hook,
    /// with the other a resource. The two renders are judged by `release-identity-flip`, in both directions.
    ///
    /// It says nothing of an object that flips without that change too: `chart` tells that without `--sweep`.
    ///
    /// ## Why is this bad?
    ///
    /// Nobody expects that of a value. It is changed on a release that is installed, and the upgrade deletes the Job and its
    /// ServiceAccount, or stops.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    /// # value
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: pre-upgrade
    /// ```
    ///
    /// ## Use instead
    ///
    /// Another name in the other mode, or one mode.
    ///
    /// ```yaml
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    /// # value
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations-hook
    ///   annotations:
    ///     helm.sh/hook: pre-upgrade
    /// ```
    ///
    /// ## References
    ///
    /// - Helm issues 11608 and 12799: a resource that becomes a hook is deleted
    summary: "an object that is a hook with one value of the chart and a resource with another (`chart --sweep`)",
    check: Renders(check),
}

fn check(renders: &Renders<'_>) -> Vec<ReleaseProblem> {
    let Some(change) = &renders.change else { return Vec::new() };
    change.flips.iter().map(|(object, flip)| describe(renders, change, object, flip)).collect()
}

fn describe(renders: &Renders<'_>, change: &ValueChange<'_>, object: &Name, flip: &Flip) -> ReleaseProblem {
    let ValueChange { given, path, from, to, .. } = change;
    let given = if given.is_empty() { String::new() } else { format!(", where {given},") };
    let message = match flip {
        Flip::Both { there, back } => format!(
            "flips{given} when an upgrade changes the value `{path}` from {from} to {to}, and from {to} to {from}. From \
             {from} to {to} it {there} From {to} to {from} it {back}"
        ),
        Flip::There(there) => {
            format!("flips{given} when an upgrade changes the value `{path}` from {from} to {to}: it {there}")
        }
        Flip::Back(back) => {
            format!("flips{given} when an upgrade changes the value `{path}` from {to} to {from}: it {back}")
        }
    };
    let remedy = format!(
        "give the object another name in one of the two modes, or have one mode alone. Until then leave `{path}` as it is on \
         a release that is installed."
    );
    let rendered: Vec<_> =
        renders.installed.iter().chain(&renders.upgrade).filter(|rendered| rendered.name == *object).collect();
    let is_opted_out = rendered.iter().any(|rendered| rendered.is_opted_out);
    let standing = if is_opted_out { Standing::OptedOut } else { Standing::Other };
    let of_hook = rendered.iter().find(|rendered| rendered.is_hook).map_or("", |rendered| rendered.template);
    let problem = Problem::new(FieldPath::annotation(helm::HOOK), message, Template(of_hook).remedy(remedy));
    ReleaseProblem::new(object, standing, problem)
}
