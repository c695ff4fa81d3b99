//! What a tool cannot know from what it is given: counted, and no failure. `docs/limits.md` is for users.

use super::Trial;
use super::compare::{Disagreement, Wrong};
use super::pair::{Layout, Operation, Way};
use super::record::Side;
use super::said::Tool;

/// Why the tool could not know better.
#[must_use]
pub fn limit(trial: &Trial, disagreement: &Disagreement) -> Option<&'static str> {
    let (pair, tool) = (&trial.pair, disagreement.tool);
    let (_, after) = trial.reality.sides(pair, disagreement.object);
    let reads_a_record = matches!(tool, Tool::Release | Tool::Live | Tool::Records);
    let is_literal = pair
        .object(pair.last().chart, disagreement.object)
        .is_some_and(|object| matches!(object.way, Way::Hook | Way::If(_) | Way::Ternary(_)));
    let has_failed_before = pair.steps.iter().any(|step| step.operation == Operation::FailingUpgrade);
    match disagreement.what {
        Wrong::Missed
            if reads_a_record
                && after == Some(Side::Absent)
                && (tool == Tool::Live || !is_literal || pair.layout != Layout::Chart) =>
        {
            Some("a record does not hold what Helm dropped, its values, or the templates of its subcharts")
        }
        Wrong::Missed if tool == Tool::Live && has_failed_before => {
            Some("live objects are hooks already where the upgrade before has failed in the middle of their flip")
        }
        Wrong::Missed if tool == Tool::Live && pair.last().operation == Operation::Rollback => {
            Some("live objects do not say that the revision before a rollback has a resource of theirs as a hook")
        }
        Wrong::False if tool == Tool::Live && has_failed_before => {
            Some("what a failed upgrade left behind looks like a hook that is taken over")
        }
        _ => None,
    }
}
