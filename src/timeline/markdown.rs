//! Markdown, for a comment: what runs when as a table, one column of marks for each side, and below it the findings.

use std::collections::BTreeSet;
use std::io::{self, Write};

use stable_hooks_policy::cause::grouped;

use super::layout::{Cell, Column, Layout, Row, fold_text, kinds};
use super::model::Timeline;
use crate::judged::Summary;
use crate::output::markdown::{Comment, FINDINGS, Section, cause, cell, head, outcome, prose};

/// Writes the timelines one below the other.
pub(crate) fn write_markdown(out: &mut dyn Write, timelines: &[Timeline], summary: &Summary) -> io::Result<()> {
    let outcome = outcome(summary);
    let clean = if timelines.is_empty() { "there is nothing to show." } else { "what runs when; nothing is wrong." };
    let sum = if timelines.is_empty() { "There is nothing to show." } else { "What runs when, and what is wrong." };
    let mut comment = Comment::new(head("stable-hooks", outcome, summary.is_partial, sum, clean));
    for timeline in timelines {
        let layout = Layout::new(timeline);
        comment.add(&Page { timeline, layout: &layout }.table());
        if !timeline.findings.is_empty() || !timeline.notes.is_empty() {
            comment.add(&findings(timeline));
        }
    }
    let legend = "● happens, ◆ happens, and a finding says what is wrong, ✕ is deleted".to_owned();
    let legend = (!timelines.is_empty()).then_some(legend);
    out.write_all(comment.finish(legend.as_slice(), ("part", "parts")).as_bytes())
}

struct Page<'a> {
    timeline: &'a Timeline,
    layout: &'a Layout<'a>,
}

impl Page<'_> {
    fn table(&self) -> Section {
        let (before, after) = self.timeline.labels();
        let columns: Vec<_> = before.iter().chain([&after]).map(|label| cell(&prose(label))).collect();
        let rule = ":-:|".repeat(columns.len());
        let head = format!("#### {}\n\n| {} | |\n|{rule}---|", prose(&self.timeline.title()), columns.join(" | "));
        let rows = self.layout.rows.iter().enumerate();
        let mut items: Vec<_> = rows.map(|(place, row)| self.row(before.is_some(), place, row)).collect();
        if items.is_empty() {
            items.push(Self::marked(before.is_some(), [None, None], "nothing runs, and nothing is created"));
        }
        Section { head, items, called: ("row", "rows") }
    }

    fn row(&self, has_before: bool, place: usize, row: &Row<'_>) -> String {
        match row {
            Row::Stage { stage, before, after } => {
                let rank = self.timeline.after.act.rank();
                let by = if stage.is_hooks() { format!(", by {rank}") } else { String::new() };
                let title = prose(&one_or_both(before.as_deref(), after.as_deref()));
                Self::marked(has_before, [None, None], &format!("**{title}**{by}"))
            }
            Row::Entry { before, after } => {
                let marks = [before, after].map(|cell| cell.map(Self::mark));
                Self::marked(has_before, marks, &self.text(place, *before, *after))
            }
            Row::Folded { stage, before, after, is_rest } => {
                let [left, right] =
                    [before, after].map(|entries| (!entries.is_empty()).then(|| fold_text(entries.len(), *is_rest)));
                let mark = if stage.is_deletion() { '✕' } else { '●' };
                let marks = [left.as_ref().map(|_| mark), right.as_ref().map(|_| mark)];
                let listed = kinds(if after.is_empty() { before } else { after });
                let count = one_or_both(left.as_deref(), right.as_deref());
                Self::marked(has_before, marks, &format!("{count}: {}", prose(&listed)))
            }
        }
    }

    fn marked(has_before: bool, marks: [Option<char>; 2], text: &str) -> String {
        let [before, after] = marks.map(|mark| mark.map(String::from).unwrap_or_default());
        let before = if has_before { format!("| {before} ") } else { String::new() };
        format!("\n{before}| {after} | {} |", cell(text))
    }

    fn mark(cell: Cell<'_>) -> char {
        let happens = if cell.entry.findings.is_empty() { '●' } else { '◆' };
        if cell.is_deletion() { '✕' } else { happens }
    }

    fn text(&self, place: usize, before: Option<Cell<'_>>, after: Option<Cell<'_>>) -> String {
        let Some(cell) = after.or(before) else { return String::new() };
        let [left, right] =
            [before, after].map(|cell| cell.and_then(|cell| cell.weight).map(|weight| weight.to_string()));
        let weight = one_or_both(left.as_deref(), right.as_deref());
        let object = &cell.entry.object;
        let mut words = vec![weight, prose(&format!("{} {}", object.kind, self.timeline.name(object)))];
        let numbers: BTreeSet<_> = [before, after].iter().flatten().flat_map(|cell| &cell.entry.findings).collect();
        words.extend(numbers.into_iter().map(|number| format!("**\\[{number}\\]**")));
        let leaves = self.layout.crossings.iter().filter(|crossing| crossing.rows.0 == place);
        words.extend(leaves.map(|crossing| format!("→ {}", prose(&crossing.target(&self.timeline.after)))));
        words.retain(|word| !word.is_empty());
        let mut lines = vec![words.join(" ")];
        lines.extend(self.details(place, (before, after)).iter().map(|detail| prose(detail)));
        lines.join("<br>")
    }

    /// What is deleted for an object, and what it needs; what only one of two sides has says which.
    fn details(&self, place: usize, cells: (Option<Cell<'_>>, Option<Cell<'_>>)) -> Vec<String> {
        let of = |column: Column| Some(self.details_of(column, place, column.of(cells)?));
        match (of(Column::Before), of(Column::After)) {
            (Some(before), Some(after)) => {
                let (left, right) = self.timeline.labels();
                let only = |label: &str, these: &[String], others: &[String]| -> Vec<String> {
                    let only = these.iter().filter(|detail| !others.contains(detail));
                    only.map(|detail| format!("{label}: {detail}")).collect()
                };
                let both: Vec<_> = after.iter().filter(|detail| before.contains(detail)).cloned().collect();
                let left = only(&left.unwrap_or_default(), &before, &after);
                [both, left, only(&right, &after, &before)].concat()
            }
            (Some(details), None) | (None, Some(details)) => details,
            (None, None) => Vec::new(),
        }
    }

    fn details_of(&self, column: Column, place: usize, cell: Cell<'_>) -> Vec<String> {
        let deletes = cell.entry.deletes.map(|deletes| deletes.to_string());
        let needs = self.layout.needs_in(column, place).map(|line| line.need.text(self.timeline));
        let leaves = cell.entry.leaves.map(|leaves| leaves.to_string());
        deletes.into_iter().chain(leaves).chain(needs).collect()
    }
}

/// The findings by their numbers, each cause once, and what could not be judged.
fn findings(timeline: &Timeline) -> Section {
    let numbered = timeline.findings.iter().enumerate().collect();
    let causes = grouped(numbered, &|(_, finding)| finding.cause()).into_iter().map(|found| {
        let labels: Vec<_> = found.iter().map(|(place, _)| format!("\\[{}\\]", place + 1)).collect();
        let findings: Vec<_> = found.iter().map(|(_, finding)| *finding).collect();
        cause(&format!("{} ", labels.join(" ")), &findings, None, None)
    });
    let notes = timeline.notes.iter().map(|note| format!("- **warn** {}", prose(note)));
    let items = causes.chain(notes).map(|item| format!("\n\n{item}")).collect();
    Section { head: "Why, and what to change:".to_owned(), items, called: FINDINGS }
}

fn one_or_both(before: Option<&str>, after: Option<&str>) -> String {
    match (before, after) {
        (Some(before), Some(after)) if before != after => format!("{before} → {after}"),
        (Some(text), _) | (None, Some(text)) => text.to_owned(),
        (None, None) => String::new(),
    }
}
