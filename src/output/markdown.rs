//! Markdown, for a comment on a pull request: the outcome first, the denials before the rest, and no longer than a comment
//! may be.

mod cause;
mod comment;
mod text;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use json_patch::PatchOperation;
use stable_hooks_policy::cause::grouped;

use super::tally::Tally;
use super::values;
use super::writer::Writer;
use crate::judged::{Finding, Flip, HookRun, Judged, Judging, Level, Summary, Verdict, are_ignored};
pub(crate) use cause::{cause, paragraph};
pub(crate) use comment::{Comment, Section};
pub(crate) use text::{cell, code, prose};

pub(crate) const FINDINGS: (&str, &str) = ("finding", "findings");

/// Holds no more than one comment of each rank.
pub(super) struct Markdown {
    tally: Tally,
    ranks: BTreeMap<Rank, Kept>,
    in_order: usize,
}

/// What stands before what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Denied,
    Warned,
    Other,
}

#[derive(Default)]
struct Kept {
    sections: Vec<Section>,
    bytes: usize,
    left_out: usize,
}

impl Markdown {
    pub(super) fn new(judging: Judging) -> Self {
        Self { tally: Tally::new(judging), ranks: BTreeMap::new(), in_order: 0 }
    }
}

impl Writer for Markdown {
    fn result(&mut self, _: &mut dyn Write, judged: &Judged) -> io::Result<()> {
        self.tally.count(judged);
        if !judged.says_something() {
            self.in_order += 1;
            if judged.hooks.is_empty() {
                return Ok(());
            }
        }
        let kept = self.ranks.entry(Rank::of(judged)).or_default();
        if kept.bytes > comment::LONGEST {
            kept.left_out += 1;
        } else {
            let section = section(judged);
            kept.bytes += section.len();
            kept.sections.push(section);
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
        let in_order = match self.in_order {
            1 => format!("{} is in order.", self.tally.counted(1)),
            count => format!("{} are in order.", self.tally.counted(count)),
        };
        let sum = format!("{}.", self.tally.sum(summary));
        let clean = match summary {
            Summary { objects: 0, .. } => "there was nothing to judge.".to_owned(),
            Summary { ignored: 0, .. } => in_order.clone(),
            Summary { ignored, .. } => format!("{in_order} {}.", are_ignored(*ignored)),
        };
        let mut comment = Comment::new(head("stable-hooks", outcome(summary), summary.is_partial, &sum, &clean));
        for kept in self.ranks.values() {
            comment.add_after(&kept.sections);
            comment.leave_out(kept.left_out);
        }
        let lines = (!self.ranks.is_empty() && self.in_order > 0).then_some(in_order);
        out.write_all(comment.finish(lines.as_slice(), ("result", "results")).as_bytes())
    }
}

impl Rank {
    fn of(judged: &Judged) -> Self {
        match judged.verdict {
            Verdict::Deny => Self::Denied,
            _ if judged.findings.iter().any(|finding| finding.level == Level::Warn) => Self::Warned,
            Verdict::Allow | Verdict::Normalize => Self::Other,
        }
    }
}

/// The worst that a run has come to; nothing where there is nothing to say.
pub(crate) fn outcome(summary: &Summary) -> Option<&'static str> {
    let Summary { denied, warned, normalized, .. } = summary;
    let outcomes = [(denied, "denied"), (warned, "warnings"), (normalized, "normalized")];
    outcomes.into_iter().find(|(count, _)| **count > 0).map(|(_, outcome)| outcome)
}

/// The beginning of a comment. Only a run that is whole and has nothing to say is one line.
pub(crate) fn head(title: &str, outcome: Option<&str>, is_partial: bool, sum: &str, clean: &str) -> String {
    const PARTIAL: &str = "not everything could be judged";
    const WHY: &str = "What could not be judged is told on standard error, in the log of this run.";
    match (outcome, is_partial) {
        (None, false) => format!("**{title}**: {clean}"),
        (Some(outcome), false) => format!("### {title}: {outcome}\n\n{sum}"),
        (Some(outcome), true) => format!("### {title}: {outcome}, and {PARTIAL}\n\n{sum} {WHY}"),
        (None, true) => format!("### {title}: {PARTIAL}\n\n{sum} {WHY}"),
    }
}

fn section(judged: &Judged) -> Section {
    let title = match &judged.title {
        Some(title) => prose(title),
        None => prose(&format!("{} {} ({})", judged.operation, judged.object, judged.source)),
    };
    let verdict = match judged.verdict {
        Verdict::Allow => "allow",
        Verdict::Normalize => "normalize",
        Verdict::Deny => "deny",
    };
    let file = |finding: &&Finding| finding.place().map(|place| place.file.clone()).unwrap_or_default();
    let by_file = grouped(judged.findings.iter().collect(), &file);
    let causes = by_file.into_iter().flat_map(|findings| grouped(findings, &|finding| finding.cause()));
    let place = judged.place.line.map(|_| &judged.place);
    let causes = causes.map(|findings| cause("", &findings, Some(&judged.object), place));
    let items = flips(&judged.flips)
        .into_iter()
        .chain(swept(&judged.findings))
        .chain(causes)
        .chain(patch(judged))
        .chain(hooks(&judged.hooks))
        .map(|item| format!("\n\n{item}"))
        .collect();
    Section { head: format!("#### {verdict}: {title}"), items, called: FINDINGS }
}

/// Which upgrades between versions flip what, as a table.
fn flips(flips: &[Flip]) -> Option<String> {
    table(&Flip::COLUMNS, flips.iter().map(Flip::cells))
}

/// Which values flip what, as a table.
fn swept(findings: &[Finding]) -> Option<String> {
    table(&values::COLUMNS, values::rows(findings).into_iter().map(|(_, cells)| cells))
}

/// A table whose first column is code; none without a row.
fn table<const COLUMNS: usize>(
    columns: &[&str; COLUMNS],
    rows: impl Iterator<Item = [String; COLUMNS]>,
) -> Option<String> {
    let head = format!("| {} |\n{}|", columns.join(" | "), "|---".repeat(COLUMNS));
    let rows: Vec<_> = rows
        .map(|cells| {
            let cells = cells.iter().enumerate();
            let cells = cells.map(|(at, text)| cell(&if at == 0 { code(text) } else { prose(text) }));
            format!("\n| {} |", cells.collect::<Vec<_>>().join(" | "))
        })
        .collect();
    (!rows.is_empty()).then(|| format!("{head}{}", rows.concat()))
}

/// What became of each hook, one below the other.
fn hooks(hooks: &[HookRun]) -> Option<String> {
    let mut list = String::from("The hooks, in order:\n");
    for (hook, number) in hooks.iter().zip(1..) {
        let (when, is) = hook.words();
        let _ = write!(list, "\n{number}. {when}: {} {is}", code(&hook.object.to_string()));
        for change in hook.changes() {
            let _ = write!(list, "\n   - {}", code(&change.to_string()));
        }
    }
    (!hooks.is_empty()).then_some(list)
}

/// What a patch changes, but not the values that it writes: a comment is read by many.
fn patch(judged: &Judged) -> Option<String> {
    let operations = judged.patch.0.iter().map(|operation| {
        let verb = match operation {
            PatchOperation::Add(_) => "adds",
            PatchOperation::Replace(_) => "replaces",
            PatchOperation::Remove(_) => "removes",
            PatchOperation::Move(_) => "moves",
            PatchOperation::Copy(_) => "copies",
            PatchOperation::Test(_) => "tests",
        };
        format!("{verb} {}", code(operation.path().as_str()))
    });
    let operations = operations.collect::<Vec<_>>().join(", ");
    (!operations.is_empty()).then(|| format!("- the patch {operations}"))
}
