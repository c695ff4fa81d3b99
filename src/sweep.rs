//! Which other values a chart is tried with, to find those whose change flips an object.

pub(crate) mod line;
mod others;
mod schema;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use helm::HOOK;
use serde_json::Value;

use crate::reach::{Chart, Decider, Key, Pattern, Reach, Role};
use crate::value::{Change, Step, ValuePath};
pub(crate) use others::EXAMPLE;
use others::Others;

/// A map that a template walks through may have hundreds of entries, all alike.
const MOST_ENTRIES: usize = 20;
const MOST_PATHS: usize = 1000;

/// How much a sweep may cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) renders: usize,
    /// For one render.
    pub(crate) time: Duration,
    /// It is the only chart of the run, and somebody may wait for it.
    pub(crate) is_watched: bool,
}

/// A value that decides about objects, and what else it is tried as.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) path: ValuePath,
    pub(crate) from: Value,
    pub(crate) to: Vec<Value>,
    pub(crate) role: Role,
    /// The templates in which it decides, by their paths from the chart's folder on.
    pub(crate) files: BTreeSet<String>,
}

impl Candidate {
    /// It may bring something that is not there.
    pub(crate) fn is_switched_off(&self) -> bool {
        self.from == Value::Bool(false) || (self.from.is_null() && self.to.contains(&Value::Bool(true)))
    }

    /// Those first that flip most often: renders may run out.
    fn rank(&self) -> impl Ord + use<> {
        let holds_a_hook = self.from.to_string().contains(HOOK);
        let is_of_subcharts = self.files.iter().all(|file| file.starts_with("charts/"));
        (self.role != Role::Hook, !(self.from.is_boolean() || holds_a_hook), is_of_subcharts)
    }

    pub(crate) fn changes(&self) -> impl Iterator<Item = Change> {
        self.to.iter().map(|to| Change { path: self.path.clone(), from: self.from.clone(), to: to.clone() })
    }
}

/// The values of a chart that are worth another try, those first that flip most often: what decides about a hook, then what is
/// switched on or off or is a hook's annotation itself, then what the chart's own templates read.
pub(crate) fn candidates(reach: &Reach, chart: &Chart, values: &Value) -> Vec<Candidate> {
    let mut deciders = BTreeMap::<ValuePath, Decider>::new();
    for (pattern, decider) in &reach.deciders {
        for path in paths(pattern, values).into_iter().take(MOST_PATHS) {
            match deciders.get_mut(&path) {
                Some(known) => known.join(decider),
                None => {
                    deciders.insert(path, decider.clone());
                }
            }
        }
    }
    let mut candidates: Vec<_> = deciders
        .into_iter()
        .map(|(path, Decider { role, literals, files })| {
            let from = path.find(values).clone();
            let schemas = schema::at(chart, &path);
            let to = Others { path: &path, from: &from, literals: &literals, schemas: &schemas, reach }.all();
            Candidate { path, from, to, role, files }
        })
        .filter(|candidate| !candidate.to.is_empty())
        .collect();
    // What a value brings can flip only where another one decides about hooks in the same template.
    let of_hooks: BTreeSet<_> =
        candidates.iter().filter(|one| one.role == Role::Hook).flat_map(|one| one.files.clone()).collect();
    candidates.retain(|candidate| {
        candidate.role == Role::Hook || (candidate.is_switched_off() && !candidate.files.is_disjoint(&of_hooks))
    });
    candidates.sort_by_key(Candidate::rank);
    candidates
}

/// The values that stand at a pattern, and the one that may stand there.
fn paths(pattern: &Pattern, values: &Value) -> Vec<ValuePath> {
    let mut paths = vec![ValuePath::default()];
    for key in &pattern.0 {
        let below = paths.into_iter().flat_map(|path| match (key, path.find(values)) {
            (Key::Named(key), _) => vec![path.then(Step::Key(key.clone()))],
            (Key::Any, Value::Object(fields)) => {
                fields.keys().take(MOST_ENTRIES).map(|key| path.then(Step::Key(key.clone()))).collect()
            }
            (Key::Any, Value::Array(items)) => {
                (0..items.len().min(MOST_ENTRIES)).map(|item| path.then(Step::Item(item))).collect()
            }
            (Key::Any, _) => Vec::new(),
        });
        paths = below.take(MOST_PATHS).collect();
    }
    // A list's item has no keys, and a text no entries: a template that asks for them would not render.
    paths.retain(|path| {
        let above = ValuePath(path.0.split_last().map_or(&[][..], |(_, above)| above).to_vec());
        matches!(
            (above.find(values), path.0.last()),
            (_, None | Some(Step::Item(_))) | (Value::Object(_) | Value::Null, _)
        )
    });
    paths
}
