//! The values of a chart whose change flips something, as a table.

use std::collections::BTreeSet;

use stable_hooks_policy::RuleId;

use crate::judged::{Finding, Level, Place, ValueChange};

/// The columns of a table for people.
pub(super) const COLUMNS: [&str; 6] = ["value", "from", "to", "object", "template", "declared"];

/// One row for each change of a value, in the order of the findings.
pub(super) fn rows(findings: &[Finding]) -> Vec<(Level, [String; 6])> {
    let swept: Vec<_> = findings.iter().filter(|finding| finding.is_of(RuleId::ValueFlipsIdentity)).collect();
    let mut known = BTreeSet::new();
    let mut rows = Vec::new();
    for finding in &swept {
        for change in finding.values.iter().filter(|change| known.insert((*change).clone())) {
            let of_it: Vec<_> = swept.iter().filter(|finding| finding.values.contains(change)).collect();
            rows.push((finding.level, cells(change, &of_it)));
        }
    }
    rows
}

fn cells(change: &ValueChange, findings: &[&&Finding]) -> [String; 6] {
    let ValueChange { path, from, to, place } = change;
    // All lies in the chart's folder, which the title names.
    let folder = place.as_ref().and_then(|place| place.file.strip_suffix("values.yaml")).unwrap_or_default();
    let told = |place: &Place| {
        let told = place.to_string();
        told.strip_prefix(folder).map(str::to_owned).unwrap_or(told)
    };
    let objects: BTreeSet<_> = findings.iter().map(|Finding { object, .. }| (&object.kind, &object.name)).collect();
    let objects = objects.into_iter().map(|(kind, name)| format!("{kind} {name}"));
    let templates: BTreeSet<_> = findings.iter().filter_map(|finding| finding.template.as_ref()).map(told).collect();
    let declared = place.as_ref().map(told).unwrap_or_default();
    [path.clone(), from.clone(), to.clone(), first_of(objects), first_of(templates.into_iter()), declared]
}

fn first_of(mut all: impl Iterator<Item = String>) -> String {
    let first = all.next().unwrap_or_default();
    match all.count() {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
