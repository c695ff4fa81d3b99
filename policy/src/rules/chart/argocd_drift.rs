use std::collections::BTreeSet;

use serde_json::Value;

use crate::finding::{FieldPath, ReleaseProblem};
use crate::name::Name;
use crate::rules::declare::declare_rule;
use crate::shown::Shown;
use crate::sync::{Desired, Manifest, Role, Syncs};

declare_rule! {
    /// ## What it does
    ///
    /// Warns, under `chart --argocd`, about an object whose name or fields differ between two renders of one chart with the
    /// same values, a minute apart: they are made of the time or of random values. It warns too about a Job with the
    /// release's revision in its name.
    ///
    /// ## Why is this bad?
    ///
    /// Argo CD renders the chart anew whenever it compares. An object with another name each time is never in sync: with
    /// pruning it is deleted and made anew by each sync, and hooks of that kind pile up, for before-hook-creation looks for
    /// the new name. A field that differs keeps the application out of sync, and each sync writes another value: a new
    /// password for a database that has the old one. The revision is always 1 under Argo CD, so that a Job which should be
    /// another one in each release is the same one: its template cannot be changed.
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
    /// # again
    /// ---
    /// apiVersion: v1
    /// kind: Secret
    /// metadata:
    ///   name: orders
    /// stringData:
    ///   password: q2f4
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: Secret
    /// metadata:
    ///   name: orders
    /// stringData:
    ///   password: from-a-value
    /// # again
    /// ---
    /// apiVersion: v1
    /// kind: Secret
    /// metadata:
    ///   name: orders
    /// stringData:
    ///   password: from-a-value
    /// ```
    ///
    /// ## References
    ///
    /// - Argo CD, "Helm": random data
    /// - Argo CD issue 5979: what a sync would change is not shown
    summary: "under Argo CD: a name or a field differs at every render, or a Job's name has the revision in it, which is always 1",
    check: Syncs(check),
}

const SEPARATORS: [char; 3] = ['-', '.', '_'];

/// So many fields are named.
const NAMED: usize = 3;

fn check(syncs: &Syncs<'_>) -> Vec<ReleaseProblem> {
    let Some(again) = syncs.again else { return Vec::new() };
    let mut problems = Vec::new();
    let mut said = BTreeSet::new();
    let is_one = |object: &&Desired| !object.has_generated_name() && !syncs.new.has_twice(&object.name);
    let applied = syncs.new.objects.iter().filter(|object| !object.phases().is_empty());
    for object in applied.filter(is_one) {
        let problem = match again.get(&object.name) {
            None => other_name(object, syncs.new, again),
            Some(other) => other_fields(object, other).or_else(|| numbered(object, again, syncs.as_revision_2?)),
        };
        // Two objects of one template may have names that begin alike.
        problems
            .extend(problem.filter(|problem| said.insert((problem.object.clone(), problem.problem.message.clone()))));
    }
    problems
}

/// An object that is called differently at every render.
fn other_name(object: &Desired, new: &Manifest, again: &Manifest) -> Option<ReleaseProblem> {
    let name = renamed(object, new, again)?;
    let harm = match (object.is_hook(), object.is_deleted_after_success()) {
        (false, _) => {
            "Argo CD is never in sync with it; with pruning each sync deletes it and makes it anew, without pruning they \
                       pile up."
        }
        (true, false) => "Each sync makes one more, and before-hook-creation does not find the last one: they pile up.",
        // Nothing is left of it.
        (true, true) => return None,
    };
    let message = format!("has a name that differs at every render. {harm}");
    let mut problem = object.problem(
        FieldPath::name(),
        message,
        "make the name of what does not change at each render: no time, nothing random.".to_owned(),
    );
    problem.object = name;
    Some(problem)
}

/// Its name as far as it stays the same; `None` where no object of the other render has its place.
fn renamed(object: &Desired, new: &Manifest, other: &Manifest) -> Option<Name> {
    let is_alike = |candidate: &&Desired| {
        let [one, two] = [&object.name, &candidate.name];
        (&one.group, &one.kind, &one.namespace) == (&two.group, &two.kind, &two.namespace)
            && candidate.template == object.template
            && new.get(&candidate.name).is_none()
    };
    let alike = other.objects.iter().filter(is_alike);
    let shared = alike
        .map(|candidate| shared_start(&object.name.name, &candidate.name.name))
        .max_by_key(|shared| shared.len())?;
    Some(Name { name: format!("{shared}*"), ..object.name.clone() })
}

/// What both begin with, up to a separator, and without the numbers at its end: those are the time, too.
fn shared_start<'a>(one: &'a str, other: &str) -> &'a str {
    let letters = one.char_indices().zip(other.chars()).take_while(|((_, a), b)| a == b);
    let separators = letters.filter(|((_, letter), _)| SEPARATORS.contains(letter));
    let end = separators.last().map_or(0, |((at, letter), _)| at + letter.len_utf8());
    let mut shared = one.get(..end).unwrap_or_default();
    while let Some((rest, last)) =
        shared.get(..shared.len().saturating_sub(1)).and_then(|cut| cut.rsplit_once(SEPARATORS))
    {
        if !last.chars().all(|letter| letter.is_ascii_digit()) {
            break;
        }
        shared = one.get(..=rest.len()).unwrap_or_default();
    }
    shared
}

/// An object whose fields differ at every render.
fn other_fields(object: &Desired, other: &Desired) -> Option<ReleaseProblem> {
    let is_secret = object.name.group.is_empty() && object.name.kind == "Secret";
    let harm = match &object.role {
        // argocd-immutable-job says what becomes of it.
        _ if object.failing_patch(other).is_some() => return None,
        Role::Resource => "Argo CD is never in sync with it, and each sync writes another value.",
        Role::Hook(_) if is_secret && object.is_deleted_before_creation() => {
            "Argo CD makes it anew at each sync, with another value."
        }
        // Hooks are not compared.
        Role::Hook(_) | Role::Skipped => return None,
    };
    let mut fields = Vec::new();
    differences("", &object.object, &other.object, &mut fields);
    let (named, rest) = fields.split_at(fields.len().min(NAMED));
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    let first = named.first()?;
    let message = format!("differs at every render (in {}{more}). {harm}", named.join(", "));
    let remedy = format!(
        "take the time and what is random out of {first}: a value that is given, or a Secret that is made once outside of the chart."
    );
    Some(object.problem(FieldPath::whole(), message, remedy))
}

/// A Job that every release should make anew, and Argo CD never does.
fn numbered(object: &Desired, again: &Manifest, as_revision_2: &Manifest) -> Option<ReleaseProblem> {
    if !object.is_job() || object.is_made_anew() || !object.is_left() || as_revision_2.get(&object.name).is_some() {
        return None;
    }
    renamed(object, again, as_revision_2)?;
    Some(object.problem(
        FieldPath::name(),
        "has the release's revision in its name, which is always 1 under Argo CD: each sync finds the Job that has run, so \
         that the migration does not run again, and one with another template fails the sync."
            .to_owned(),
        "give it a name that changes with its image; or make it a hook with before-hook-creation.".to_owned(),
    ))
}

/// The fields that differ, as people write them.
fn differences(path: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            // A key that only one of them has is itself another one at each render.
            if one.len() != other.len() || one.keys().any(|key| !other.contains_key(key)) {
                found.push(if path.is_empty() { "the whole object".to_owned() } else { path.to_owned() });
            }
            for (key, left) in one {
                let Some(right) = other.get(key) else { continue };
                let dot = if path.is_empty() { "" } else { "." };
                differences(&format!("{path}{dot}{}", Shown(key)), left, right, found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (left, right)) in one.iter().zip(other).enumerate() {
                differences(&format!("{path}[{index}]"), left, right, found);
            }
        }
        (one, other) if one == other => {}
        _ => found.push(path.to_owned()),
    }
}
