//! For people at a terminal: time runs down, one column of marks for each side, and lines for what does not keep its row.

mod gutter;
mod style;

use std::collections::BTreeSet;
use std::io::{self, Write};

use anstyle::Style;
use stable_hooks_policy::cause::grouped;
use stable_hooks_policy::shown::Visible;
use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter};

use super::layout::{Cell, Column, Layout, Row, fold_text, kinds};
use super::model::{Deleted, Timeline};
use crate::output::write_cause;
use gutter::Gutter;
use style::{BOLD, CALM, DENY, WARN};

const INDENT: &str = "  ";

/// Writes the timelines one below the other, that many columns wide.
pub(crate) fn write_human(out: &mut dyn Write, timelines: &[Timeline], width: usize) -> io::Result<()> {
    for timeline in timelines {
        Page { layout: &Layout::new(timeline), timeline, width }.write(out)?;
    }
    if !timelines.is_empty() {
        writeln!(out, "{CALM}● happens  ◆ happens, and a finding says what is wrong  ✕ is deleted{CALM:#}")?;
    }
    Ok(())
}

struct Page<'a> {
    timeline: &'a Timeline,
    layout: &'a Layout<'a>,
    width: usize,
}

impl Page<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let timeline = self.timeline;
        for line in textwrap::wrap(&timeline.title(), self.width) {
            writeln!(out, "{BOLD}{line}{BOLD:#}")?;
        }
        let (before, after) = timeline.labels();
        let gutter = Gutter::new(self.layout, before.as_deref().map(display_width));
        writeln!(out)?;
        match before {
            Some(before) => {
                let gap = gutter.width.saturating_sub(display_width(&before));
                writeln!(out, "{INDENT}{before}{:gap$}{after}", "")?;
            }
            None => writeln!(out, "{INDENT}{after}")?,
        }
        if self.layout.rows.is_empty() {
            writeln!(out, "{INDENT}nothing runs, and nothing is created")?;
        }
        for (place, row) in self.layout.rows.iter().enumerate() {
            self.write_row(out, &gutter, place, row)?;
        }
        writeln!(out)?;
        let numbered = timeline.findings.iter().enumerate().collect();
        for cause in grouped(numbered, &|(_, finding)| finding.cause()) {
            let labels: Vec<_> = cause.iter().map(|(place, _)| format!("[{}]", place + 1)).collect();
            let findings: Vec<_> = cause.iter().map(|(_, finding)| *finding).collect();
            write_cause(out, &format!("{} ", labels.join(" ")), &findings, None)?;
        }
        for note in &timeline.notes {
            let options = Options::new(self.width).initial_indent(INDENT).subsequent_indent("    ");
            writeln!(out, "{}", textwrap::fill(&format!("{WARN}warn{WARN:#} {}", Visible(note)), options))?;
        }
        if timeline.findings.is_empty() && timeline.notes.is_empty() { Ok(()) } else { writeln!(out) }
    }

    fn write_row(&self, out: &mut dyn Write, gutter: &Gutter, place: usize, row: &Row<'_>) -> io::Result<()> {
        let (marks, text) = match row {
            Row::Stage { stage, before, after } => {
                let title = match (before, after) {
                    (Some(before), Some(after)) if before != after => format!("{before} → {after}"),
                    (Some(title), _) | (None, Some(title)) => title.clone(),
                    (None, None) => String::new(),
                };
                let rank = self.timeline.after.act.rank();
                let by = if stage.is_hooks() { format!(", by {rank}") } else { String::new() };
                let above = place.checked_sub(1).map(|above| gutter.below(above)).unwrap_or_default();
                writeln!(out, "{}", format!("{INDENT}{above}").trim_end())?;
                ([None, None], format!("{BOLD}{title}{BOLD:#}{CALM}{by}{CALM:#}"))
            }
            Row::Entry { before, after } => {
                ([before, after].map(|cell| cell.map(|cell| self.mark(cell))), self.text(place, *before, *after))
            }
            Row::Folded { stage, before, after, is_rest } => {
                let sides =
                    [before, after].map(|entries| (!entries.is_empty()).then(|| fold_text(entries.len(), *is_rest)));
                let text = match &sides {
                    [Some(before), Some(after)] if before != after => format!("{before} → {after}"),
                    [Some(text), _] | [None, Some(text)] => text.clone(),
                    [None, None] => String::new(),
                };
                let listed = kinds(if after.is_empty() { before } else { after });
                (
                    sides.map(|side| side.map(|_| (CALM, if stage.is_deletion() { '✕' } else { '●' }))),
                    format!("{text}{CALM}: {listed}{CALM:#}"),
                )
            }
        };
        let is_title = matches!(row, Row::Stage { .. });
        let indent = gutter.width + if is_title { 5 } else { 7 };
        // A name must survive copying: only where it is too long for a line, it is broken.
        let room = Options::new(self.width.saturating_sub(indent).max(20))
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation);
        let details = room.clone().initial_indent("    ").subsequent_indent("      ");
        let wrapped = text.lines().enumerate().flat_map(|(line, text)| {
            let options = if line == 0 { room.clone().subsequent_indent("  ") } else { details.clone() };
            textwrap::wrap(text, options)
        });
        for (line, text) in wrapped.enumerate() {
            let marked = if line == 0 { gutter.row(place, marks) } else { gutter.below(place) };
            let gap = if is_title { 1 } else { 3 };
            writeln!(out, "{INDENT}{marked}{:gap$}{text}", "")?;
        }
        Ok(())
    }

    fn mark(&self, cell: Cell<'_>) -> (Style, char) {
        let findings = &cell.entry.findings;
        let style = match findings.iter().any(|number| self.timeline.denied(*number)) {
            true => DENY,
            false if findings.is_empty() => Style::new(),
            false => WARN,
        };
        let happens = if findings.is_empty() { '●' } else { '◆' };
        (style, if cell.is_deletion() { '✕' } else { happens })
    }

    fn text(&self, place: usize, before: Option<Cell<'_>>, after: Option<Cell<'_>>) -> String {
        let Some(cell) = after.or(before) else { return String::new() };
        let weights = [before, after].map(|cell| cell.and_then(|cell| cell.weight));
        let weight = match weights {
            [Some(before), Some(after)] if before != after => format!("{CALM}{before} → {after}{CALM:#} "),
            [Some(weight), _] | [None, Some(weight)] => format!("{CALM}{weight}{CALM:#} "),
            [None, None] => String::new(),
        };
        let mut words = vec![format!("{weight}{} {}", cell.entry.object.kind, self.timeline.name(&cell.entry.object))];
        let numbers: BTreeSet<_> = [before, after].iter().flatten().flat_map(|cell| &cell.entry.findings).collect();
        words.extend(numbers.into_iter().map(|number| {
            let style = if self.timeline.denied(*number) { DENY } else { WARN };
            format!("{style}[{number}]{style:#}")
        }));
        let leaves = self.layout.crossings.iter().filter(|crossing| crossing.rows.0 == place);
        words.extend(leaves.map(|crossing| {
            let style = if crossing.is_trouble { DENY } else { CALM };
            format!("{style}→ {}{style:#}", crossing.target(&self.timeline.after))
        }));
        let sides = Column::ALL.map(|column| Some(self.details(column, place, column.of((before, after))?)));
        let mut lines = vec![words.join(" ")];
        lines.extend(merged(sides, self.timeline));
        lines.join("\n")
    }

    /// The lines below an object: what is deleted for it, and what it needs.
    fn details(&self, column: Column, place: usize, cell: Cell<'_>) -> Vec<(Style, String)> {
        let mut lines = Vec::new();
        if let Some(deletes) = cell.entry.deletes {
            let style = if deletes == Deleted::LastRun { CALM } else { DENY };
            lines.push((style, deletes.to_string()));
        }
        if let Some(leaves) = cell.entry.leaves {
            lines.push((WARN, leaves.to_string()));
        }
        let (late, calm): (Vec<_>, Vec<_>) = self.layout.needs_in(column, place).partition(|line| line.need.late);
        lines.extend(late.into_iter().map(|line| (DENY, line.need.text(self.timeline))));
        if !calm.is_empty() {
            let calm: Vec<_> = calm.into_iter().map(|line| line.need.object_text(self.timeline)).collect();
            lines.push((CALM, format!("needs {}", calm.join(", "))));
        }
        lines
    }
}

/// The lines of both sides; a line that only one of them has says which.
fn merged(sides: [Option<Vec<(Style, String)>>; 2], timeline: &Timeline) -> Vec<String> {
    let line = |side: &str, (style, text): &(Style, String)| format!("{style}{side}{text}{style:#}");
    match &sides {
        [Some(before), Some(after)] => {
            let (left, right) = timeline.labels();
            let left = left.unwrap_or_default();
            let both = after.iter().filter(|found| before.contains(found)).map(|found| line("", found));
            let only = |side: String, these: &[(Style, String)], others: &[(Style, String)]| -> Vec<String> {
                let only = these.iter().filter(|found| !others.contains(found));
                only.map(|found| line(&format!("{side}: "), found)).collect()
            };
            both.chain(only(left, before, after)).chain(only(right, after, before)).collect()
        }
        [Some(lines), None] | [None, Some(lines)] => lines.iter().map(|found| line("", found)).collect(),
        [None, None] => Vec::new(),
    }
}
