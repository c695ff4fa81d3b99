//! One small chart for each construct of the template language, and what the reader finds in it.

mod charts;
mod hooks;
mod totality;

use std::collections::BTreeMap;

use serde_json::json;

use super::{Chart, Reach, Role};

pub(super) fn files<const N: usize>(files: [(&str, &str); N]) -> BTreeMap<String, String> {
    files.map(|(path, text)| (path.to_owned(), text.to_owned())).into()
}

pub(super) fn reach(files: &BTreeMap<String, String>) -> Reach {
    let chart = Chart::of(files);
    let values = chart.values_with(json!({}));
    Reach::of(&chart, &values).unwrap()
}

/// The values that decide about hooks.
pub(super) fn of_hooks(reach: &Reach) -> Vec<String> {
    let hooks = reach.deciders.iter().filter(|(_, decider)| decider.role == Role::Hook);
    hooks.map(|(pattern, _)| pattern.to_string()).collect()
}

/// The values that decide about the hook of one template.
pub(super) fn deciders(template: &str) -> Vec<String> {
    deciders_with(template, "{}")
}

pub(super) fn deciders_with(template: &str, values: &str) -> Vec<String> {
    let files = files([("Chart.yaml", "name: shop"), ("values.yaml", values), ("templates/job.yaml", template)]);
    of_hooks(&reach(&files))
}

#[track_caller]
pub(super) fn decide(template: &str, expected: &[&str]) {
    let found = deciders(template);
    for value in expected {
        assert!(found.iter().any(|found| found == value), "{value} is not among {found:?}: {template}");
    }
    assert!(!found.iter().any(|found| found.starts_with("other")), "{found:?}: {template}");
}
