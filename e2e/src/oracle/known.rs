//! Where our tools are known to be wrong: counted, and not told again.

use super::Trial;
use super::compare::{Disagreement, Wrong};
use super::pair::{Feature, Operation, Stored};
use super::record::Side;
use super::said::Tool;

/// What is known of it.
#[must_use]
pub fn known(trial: &Trial, disagreement: &Disagreement) -> Option<&'static str> {
    let (pair, reality) = (&trial.pair, &trial.reality);
    let object = disagreement.object;
    let (before, after) = reality.sides(pair, object);
    let rendered = [0, 1].into_iter().filter_map(|version| pair.object(version, object));
    let is_in_hook_list = rendered.clone().any(|object| object.has(Feature::InHookList));
    let is_nameless = rendered.clone().any(|object| object.has(Feature::GenerateName));
    let has_ttl = rendered.clone().any(|object| object.has(Feature::Ttl));
    let has_stored = pair.steps.iter().any(|step| !step.settings.is_empty() || step.stored != Stored::ByDefault);
    let is_replaced = pair.last().operation == Operation::Replace;
    match disagreement.what {
        Wrong::CouldNotJudge if disagreement.tool == Tool::ChartRelease => Some("chart --release and flags of values"),
        Wrong::Missed if after == Some(Side::Absent) => Some("dropped for unknown events"),
        _ if is_in_hook_list => Some("a List that is a hook"),
        _ if is_nameless => Some("generateName"),
        _ if is_replaced => Some("install --replace"),
        _ if disagreement.tool == Tool::ChartRelease && has_stored => Some("chart --release and stored values"),
        Wrong::False if disagreement.rule == "job-template-change" && has_ttl => Some("job-template-change with a TTL"),
        Wrong::False if before == Side::Hook => Some("a hook that left nothing turns plain"),
        _ => None,
    }
}
