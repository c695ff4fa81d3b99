//! What happened beside what was said.

use std::collections::BTreeMap;

use super::pair::{Kind, Operation, Pair};
use super::reality::{Failure, Fate, Flip, Reality};
use super::record::Side;
use super::said::{Said, Tool, Verdict, denied, found};

/// The rule that is about objects that change sides.
const FLIP: &str = "release-identity-flip";

/// The rule that is about documents that Helm drops.
const DROPPED: &str = "dropped-hook";

/// These rules warn of habits, not of what will happen.
const HABITS: [&str; 5] =
    ["conditional-hook-template", "hook-log-retention", "one-sided-hook", "shared-hook-object", "plain-migration"];

/// One tool's answer beside what happened.
#[derive(Debug, Clone)]
pub struct Judged {
    pub tool: Tool,
    /// The objects that really flipped, to their harm.
    pub flips: usize,
    /// Of these, those that it denied.
    pub agreed: usize,
    /// For each rule that denied something: what came of it.
    pub rules: BTreeMap<String, Outcomes>,
    /// Why Helm failed, where no flip was the reason, and whether that was foreseen.
    pub failure: Option<(Failure, bool)>,
    pub disagreements: Vec<Disagreement>,
}

/// How often a rule's denial came true.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcomes {
    pub came_true: usize,
    pub came_false: usize,
    pub unclear: usize,
}

/// Where a tool was wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disagreement {
    pub tool: Tool,
    pub what: Wrong,
    pub object: (Kind, &'static str),
    pub rule: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// A flip did harm, and the tool denied nothing of that object.
    Missed,
    /// Helm failed for another reason than a flip, and the tool did not even warn.
    Unforeseen,
    /// What was denied did no harm.
    False,
    /// The tool gave no answer.
    CouldNotJudge,
}

#[must_use]
pub fn compare(pair: &Pair, reality: &Reality, said: &Said) -> Judged {
    let mut judged = Judged {
        tool: said.tool,
        flips: 0,
        agreed: 0,
        rules: BTreeMap::new(),
        failure: None,
        disagreements: Vec::new(),
    };
    let wrong = |what, object, rule: &str| Disagreement { tool: said.tool, what, object, rule: rule.to_owned() };
    if said.verdict == Verdict::CouldNotJudge {
        let object = pair.objects().next().unwrap_or((Kind::Job, ""));
        judged.disagreements.push(wrong(Wrong::CouldNotJudge, object, ""));
        return judged;
    }
    // A rollback is only warned about: it may be the only way out.
    let is_rollback = pair.last().operation == Operation::Rollback;
    let (all_found, all_denied) = (found(said), denied(said));
    for object in pair.objects() {
        let flip = reality.flip(pair, object);
        let key = (object.0.name(), object.1);
        if matches!(flip, Flip::Harmful | Flip::Recreated) {
            judged.flips += 1;
            let counted = if is_rollback || flip == Flip::Recreated { &all_found } else { &all_denied };
            if counted.contains_key(&key) {
                judged.agreed += 1;
            } else {
                judged.disagreements.push(wrong(Wrong::Missed, object, FLIP));
            }
        }
        for rule in all_denied.get(&key).into_iter().flatten() {
            let outcomes = judged.rules.entry((*rule).to_owned()).or_default();
            match came_true(pair, reality, object, rule, flip) {
                Some(true) => outcomes.came_true += 1,
                Some(false) => {
                    outcomes.came_false += 1;
                    judged.disagreements.push(wrong(Wrong::False, object, rule));
                }
                None => outcomes.unclear += 1,
            }
        }
    }
    if let Some(failure) = failure_without_a_flip(pair, reality) {
        let is_foreseen = said.findings.iter().any(|finding| !HABITS.contains(&finding.rule.as_str()));
        judged.failure = Some((failure, is_foreseen));
        if !is_foreseen {
            let object = pair.objects().find(|object| reality.blames(pair, *object)).unwrap_or((Kind::Job, ""));
            judged.disagreements.push(wrong(Wrong::Unforeseen, object, failure.words()));
        }
    }
    judged
}

/// Helm failed at something that our rules know, and no flip was the reason.
fn failure_without_a_flip(pair: &Pair, reality: &Reality) -> Option<Failure> {
    let is_flip = pair.objects().any(|object| reality.flip(pair, object) == Flip::Harmful);
    reality.failure().filter(|failure| *failure != Failure::Other && !is_flip)
}

/// Whether what a rule denied did happen; `None` where it cannot be known.
fn came_true(pair: &Pair, reality: &Reality, object: (Kind, &'static str), rule: &str, flip: Flip) -> Option<bool> {
    let has_failed = reality.failure().is_some();
    let (_, after) = reality.sides(pair, object);
    let has_stayed = after == Some(Side::Hook) && reality.fate(object) == Fate::Kept;
    match rule {
        FLIP | DROPPED => match flip {
            Flip::Harmful | Flip::Recreated => Some(true),
            // The migration did not run: its Job lay in its own way.
            Flip::Harmless if object.0 == Kind::Job && has_stayed => Some(true),
            Flip::Unclear => None,
            // What it did not come to is not known.
            Flip::None | Flip::Harmless if has_failed => None,
            Flip::None | Flip::Harmless => Some(false),
        },
        // `chart` says it of the install too.
        "hook-missing-dependency" | "hook-order" => {
            Some(reality.runs.iter().any(|run| Failure::of(run) == Some(Failure::Timeout)))
                .filter(|fails| *fails || reality.runs.iter().all(|run| run.success))
        }
        // It fails, or with Helm 4 the old object stays as it is and does not run again.
        "hook-never-deleted" => Some(has_failed || has_stayed),
        "job-template-change" => Some(has_failed),
        _ => None,
    }
}
