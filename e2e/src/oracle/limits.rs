//! What a tool cannot know from what it is given: counted, and no failure. `docs/limits.md` is for users.

use super::Trial;
use super::compare::{Disagreement, Wrong};
use super::pair::{Feature, Kind, Layout, Operation, Way};
use super::reality::{Fate, Flip};
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
    let earlier = trial.reality.runs.split_last().map(|(_, earlier)| earlier).unwrap_or_default();
    let has_failed_before = earlier.iter().any(|run| !run.success);
    let first_failed = trial.reality.runs.first().is_some_and(|run| !run.success);
    let lacks_the_account = |chart: usize| {
        let objects = pair.charts.get(chart).map(|chart| chart.objects.as_slice()).unwrap_or_default();
        let named = objects.iter().flat_map(|object| &object.features).filter_map(|feature| match feature {
            Feature::Account(name) => Some(*name),
            _ => None,
        });
        let is_rendered = |name| trial.reality.sides(pair, (Kind::ServiceAccount, name)).1 != Some(Side::Absent);
        let is_made = |name| {
            objects.iter().any(|object| object.kind == Kind::ServiceAccount && object.name == name) && is_rendered(name)
        };
        named.into_iter().any(|name| !is_made(name))
    };
    match disagreement.what {
        Wrong::Unforeseen | Wrong::Missed if tool == Tool::Against && first_failed => {
            Some("an upgrade of one chart to another starts from an install that has succeeded")
        }
        Wrong::Unforeseen if tool == Tool::Release && lacks_the_account(pair.last().chart) => {
            Some("records do not say whether an account exists that the release does not make")
        }
        Wrong::False if disagreement.rule == "dropped-hook" && flips_too(trial, disagreement) => {
            Some("Helm says that it has dropped a document, and not which of those that are missing")
        }
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
        Wrong::False if trial.reality.flip(pair, disagreement.object) == Flip::Harmful => {
            Some("the object is lost by its flip, which is denied too, before it can do the other harm")
        }
        Wrong::False if tool == Tool::Release && was_lost_before(trial, disagreement) => {
            Some("records do not say what lives: an earlier flip has deleted the object")
        }
        Wrong::False if tool == Tool::Live && has_failed_before => {
            Some("what a failed upgrade left behind looks like a hook that is taken over")
        }
        _ => None,
    }
}

/// It was a resource once, and does not live when the last operation begins.
fn was_lost_before(trial: &Trial, disagreement: &Disagreement) -> bool {
    let records = &trial.reality.before.records;
    let is_absent = matches!(trial.reality.fate(disagreement.object), Fate::New | Fate::NeverThere);
    is_absent && records.iter().any(|record| record.side(disagreement.object) == Side::Resource)
}

/// Another object really is lost so.
fn flips_too(trial: &Trial, disagreement: &Disagreement) -> bool {
    let others = trial.pair.objects().filter(|object| *object != disagreement.object);
    let is_lost = |object| {
        let is_gone = trial.reality.sides(&trial.pair, object) == (Side::Resource, Some(Side::Absent));
        match trial.reality.flip(&trial.pair, object) {
            Flip::Harmful => true,
            // Dropped, and its TTL had removed it before.
            Flip::Unclear => is_gone,
            Flip::None | Flip::Harmless | Flip::Recreated => false,
        }
    };
    others.into_iter().any(is_lost)
}
