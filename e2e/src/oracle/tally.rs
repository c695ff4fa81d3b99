//! What came of all pairs, as a table.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use crate::helm::Major;

use super::Trial;
use super::compare::{Outcomes, Wrong};
use super::reality::Failure;
use super::said::Tool;

#[derive(Default)]
pub struct Tally {
    pairs: BTreeMap<Major, usize>,
    failed: BTreeMap<(Major, Failure), usize>,
    tools: BTreeMap<(Tool, Major), Counts>,
    rules: BTreeMap<(String, Tool), Outcomes>,
    /// Failures without a flip: foreseen, and not, with the seed of one that was not.
    foreseen: BTreeMap<(Failure, Tool), (usize, usize, Option<u64>)>,
    limits: BTreeMap<&'static str, usize>,
}

#[derive(Default)]
struct Counts {
    answers: usize,
    flips: usize,
    agreed: usize,
    wrong: BTreeMap<Wrong, usize>,
}

impl Tally {
    pub fn count(&mut self, seed: u64, trial: &Trial) {
        *self.pairs.entry(trial.major).or_default() += 1;
        if let Some(failure) = trial.reality.failure() {
            *self.failed.entry((trial.major, failure)).or_default() += 1;
        }
        for (_, judged) in &trial.said {
            let counts = self.tools.entry((judged.tool, trial.major)).or_default();
            counts.answers += 1;
            counts.flips += judged.flips;
            counts.agreed += judged.agreed;
            for disagreement in &judged.disagreements {
                *counts.wrong.entry(disagreement.what).or_default() += 1;
            }
            for (rule, outcomes) in &judged.rules {
                let sum = self.rules.entry((rule.clone(), judged.tool)).or_default();
                sum.came_true += outcomes.came_true;
                sum.came_false += outcomes.came_false;
                sum.unclear += outcomes.unclear;
            }
            if let Some((failure, is_foreseen)) = judged.failure {
                let (yes, no, example) = self.foreseen.entry((failure, judged.tool)).or_default();
                if is_foreseen {
                    *yes += 1;
                } else {
                    *no += 1;
                    example.get_or_insert(seed);
                }
            }
        }
    }

    pub fn limit(&mut self, limit: &'static str) {
        *self.limits.entry(limit).or_default() += 1;
    }
}

impl Display for Tally {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (major, pairs) in &self.pairs {
            write!(f, "Helm {}: {pairs} pairs; the last operation failed", major.number())?;
            for failure in Failure::ALL {
                let count = self.failed.get(&(*major, failure)).copied().unwrap_or_default();
                write!(f, ", {}: {count}", failure.words())?;
            }
            writeln!(f)?;
        }
        let header = ["tool", "Helm", "answers", "flips", "agreed", "missed", "false", "no answer"];
        let [tool, helm, answers, flips, agreed, missed, wrong, none] = header;
        writeln!(f, "\n{tool:18}{helm:>5}{answers:>9}{flips:>8}{agreed:>8}{missed:>8}{wrong:>8}{none:>11}")?;
        for ((tool, major), counts) in &self.tools {
            let of = |what| counts.wrong.get(&what).copied().unwrap_or_default();
            let Counts { answers, flips, agreed, .. } = counts;
            let (missed, wrong, none) = (of(Wrong::Missed), of(Wrong::False), of(Wrong::CouldNotJudge));
            let (tool, helm) = (tool.name(), major.number());
            writeln!(f, "{tool:18}{helm:>5}{answers:>9}{flips:>8}{agreed:>8}{missed:>8}{wrong:>8}{none:>11}")?;
        }
        writeln!(f, "\n{:30}{:18}{:>10}{:>11}{:>9}", "denied by", "tool", "came true", "came false", "unclear")?;
        for ((rule, tool), Outcomes { came_true, came_false, unclear }) in &self.rules {
            writeln!(f, "{rule:30}{:18}{came_true:>10}{came_false:>11}{unclear:>9}", tool.name())?;
        }
        writeln!(
            f,
            "\n{:30}{:18}{:>10}{:>11}  one that was not",
            "Helm failed without a flip", "tool", "foreseen", "not"
        )?;
        for ((failure, tool), (yes, no, example)) in &self.foreseen {
            let example = example.map(|seed| format!("seed {seed}")).unwrap_or_default();
            writeln!(f, "{:30}{:18}{yes:>10}{no:>11}  {example}", failure.words(), tool.name())?;
        }
        for (limit, count) in &self.limits {
            writeln!(f, "\nof the missed and false ones, {count} could not be known: {limit}")?;
        }
        Ok(())
    }
}
