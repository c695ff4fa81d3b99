//! The columns of a picture, what stands in them, and how much room that takes.

use stable_hooks_policy::shown::Visible;
use textwrap::core::display_width;

use super::buses::{count, widths};
use super::parts::{Band, Label, Mark, PictureCell, PictureFinding, Written};
use crate::judged::{Finding, Level};
use crate::timeline::layout::{Cell, Column, Layout, Row, fold_text, kinds};
use crate::timeline::model::{Deleted, Side, Timeline};

/// The width of a character of the names, in tenths of a pixel: those fonts are 0.6 of their size wide.
const CHARACTER: i32 = 78;
/// The same for the smaller text, which is not so even.
const SMALL: i32 = 66;
pub(super) const MARGIN: i32 = 24;
/// Between a mark and its text.
pub(super) const GAP: i32 = 20;
/// Between the two columns of marks.
const GUTTER: i32 = 150;
pub(super) const HEAD: i32 = 44;
pub(super) const TITLE: i32 = 36;
pub(super) const BAND: i32 = 44;
pub(super) const ROW: i32 = 28;
pub(super) const LINE: i32 = 16;
/// The widest that a column of names may be, in characters.
const WIDEST: usize = 56;
const NARROWEST: usize = 24;

/// The columns from left to right.
pub(super) struct Columns {
    before: Option<i32>,
    after: i32,
    /// The width of the names, in characters.
    pub(super) room: usize,
    pub(super) width: i32,
}

impl Columns {
    pub(super) fn of(timeline: &Timeline, layout: &Layout<'_>) -> Self {
        let mut longest = 0;
        for (place, row) in layout.rows.iter().enumerate() {
            for column in Column::ALL {
                let Some(cell) = column.of(row.cells()) else { continue };
                longest = longest.max(text_length(timeline, cell));
                for (_, text) in details(timeline, layout, column, place, cell) {
                    longest = longest.max(small_in_characters(display_width(&text)));
                }
            }
        }
        let room = longest.clamp(NARROWEST, WIDEST);
        let names = text_width(room);
        let [left, right] = widths(layout);
        let before = timeline.before.is_some().then_some(MARGIN + left + names + GAP);
        let after = before.map_or(2 * MARGIN, |before| before + GUTTER);
        Self { before, after, room, width: after + GAP + names + right + MARGIN }
    }

    pub(super) fn x(&self, side: Column) -> i32 {
        side.of((self.before.unwrap_or(self.after), self.after))
    }

    pub(super) fn text_x(&self, side: Column) -> i32 {
        self.x(side) + side.of((-GAP, GAP))
    }

    pub(super) fn labels(&self, timeline: &Timeline, y: i32) -> Vec<Label> {
        let label = |name: Column, side: &Side| Label {
            x: self.text_x(name),
            y: y + 18,
            side: name,
            text: capitalized(side.act.name()),
            revision: side.act.revision(),
        };
        let before = timeline.before.iter().map(|side| label(Column::Before, side));
        before.chain([label(Column::After, &timeline.after)]).collect()
    }

    pub(super) fn band(&self, y: i32, titles: (Option<&str>, Option<&str>)) -> Band {
        let title = |side: Column| {
            let text = side.of(titles)?.to_owned();
            Some(Written { x: self.text_x(side), y: y + 27, class: side.to_string(), text })
        };
        Band { y: y + 6, titles: Column::ALL.into_iter().filter_map(title).collect() }
    }

    pub(super) fn row(
        &self,
        timeline: &Timeline,
        layout: &Layout<'_>,
        place: usize,
        row: &Row<'_>,
        y: i32,
    ) -> Vec<PictureCell> {
        let cells = Column::ALL.into_iter().filter_map(|side| match row {
            Row::Stage { .. } => None,
            Row::Entry { before, after } => {
                let cell = side.of((*before, *after))?;
                Some(self.cell(timeline, side, cell, details(timeline, layout, side, place, cell), y))
            }
            Row::Folded { stage, before, after, is_rest } => {
                let entries = side.of((before, after));
                let text = fold_text(entries.len(), *is_rest);
                let mark = if stage.is_deletion() { Mark::Cross } else { Mark::Dot };
                (!entries.is_empty()).then(|| self.folded(side, text, kinds(entries), mark, y))
            }
        });
        cells.collect()
    }

    fn cell(
        &self,
        timeline: &Timeline,
        side: Column,
        cell: Cell<'_>,
        details: Vec<(&'static str, String)>,
        y: i32,
    ) -> PictureCell {
        let (entry, kind) = (cell.entry, clipped(&cell.entry.object.kind, 28));
        let full = timeline.name(&entry.object);
        let weight = weight_text(timeline, cell);
        let length = weight_length(weight.as_deref());
        let name = clipped(&full, self.room.saturating_sub(display_width(&kind) + 1 + length).max(8));
        PictureCell {
            side,
            class: if cell.is_deletion() { "cell deleted" } else { "cell" },
            x: self.x(side),
            y: y + ROW / 2,
            text_x: self.text_x(side),
            details: self.details(side, details, y),
            mark: match entry.findings.as_slice() {
                [] if cell.is_deletion() => Mark::Cross,
                [] => Mark::Dot,
                numbers => self.pill(timeline, side, numbers),
            },
            length: text_width(display_width(&kind) + 1 + display_width(&name) + length),
            weight,
            kind,
            name,
            full,
        }
    }

    /// One mark for all of them; more than three are too many to name.
    fn pill(&self, timeline: &Timeline, side: Column, numbers: &[usize]) -> Mark {
        let listed: Vec<_> = numbers.iter().take(3).map(usize::to_string).collect();
        let rest = if numbers.len() > 3 { "…" } else { "" };
        let text = format!("{}{rest}", listed.join(" "));
        let denied = numbers.iter().find(|number| timeline.denied(**number));
        let class = if denied.is_some() { "deny" } else { "warn" };
        let first = denied.or(numbers.first()).copied().unwrap_or_default();
        let width = 13 + 7 * count(text.chars().count());
        // A wide one grows away from the name.
        let left = self.x(side) + side.of((-10, 10 - width));
        Mark::Pill { class, text, left, width, first }
    }

    fn folded(&self, side: Column, text: String, kinds: String, mark: Mark, y: i32) -> PictureCell {
        PictureCell {
            side,
            class: "cell folded",
            x: self.x(side),
            y: y + ROW / 2,
            text_x: self.text_x(side),
            weight: None,
            length: text_width(display_width(&text)),
            full: format!("{text}: {kinds}"),
            kind: text,
            name: String::new(),
            details: self.details(side, vec![("detail", kinds)], y),
            mark,
        }
    }

    fn details(&self, side: Column, texts: Vec<(&'static str, String)>, y: i32) -> Vec<Written> {
        let most = small_characters(text_width(self.room));
        let text = |(line, (class, text)): (usize, (&str, String))| Written {
            x: self.text_x(side),
            y: y + ROW + 7 + LINE * count(line),
            class: format!("{class} {side}"),
            text: clipped(&text, most),
        };
        texts.into_iter().enumerate().map(text).collect()
    }

    /// The findings below each other, from `top` on down; and where they end.
    pub(super) fn findings(&self, timeline: &Timeline, top: i32) -> (Vec<PictureFinding>, i32) {
        let (mut findings, mut end) = (Vec::new(), top);
        for (finding, number) in timeline.findings.iter().zip(1..) {
            let (x, y) = (MARGIN + 10, end + 14);
            let lines = self.message(finding, x + 20, y + 22);
            end = y + 26 + LINE * count(lines.len());
            let (class, rule) = (level_class(finding.level), finding.rule_text().to_owned());
            findings.push(PictureFinding { number, class, x, y, rule, lines });
        }
        (findings, end)
    }

    fn message(&self, finding: &Finding, x: i32, top: i32) -> Vec<Written> {
        let text = format!("{} {}", finding.object, Visible(&finding.message.replace('\n', " ")));
        let mut lines = Vec::new();
        for (line, text) in textwrap::wrap(&text, small_characters(self.width - x - MARGIN)).into_iter().enumerate() {
            let (class, y) = ("message".to_owned(), top + LINE * count(line));
            lines.push(Written { x, y, class, text: text.into_owned() });
        }
        lines
    }
}

/// The lines below an object: what is deleted for it, and what comes too late for it.
fn details(
    timeline: &Timeline,
    layout: &Layout<'_>,
    column: Column,
    place: usize,
    cell: Cell<'_>,
) -> Vec<(&'static str, String)> {
    let deletes = cell.entry.deletes.map(|deletes| {
        let class = if deletes == Deleted::LastRun { "detail" } else { "detail trouble" };
        (class, deletes.to_string())
    });
    let leaves = cell.entry.leaves.map(|leaves| ("detail trouble", leaves.to_string()));
    let late = layout.needs_in(column, place).filter(|line| line.need.late);
    deletes.into_iter().chain(leaves).chain(late.map(|line| ("detail trouble", line.need.text(timeline)))).collect()
}

pub(in crate::timeline) fn level_class(level: Level) -> &'static str {
    match level {
        Level::Deny => "deny",
        Level::Warn | Level::Fix => "warn",
    }
}

/// The width of that many characters of a name.
pub(super) fn text_width(characters: usize) -> i32 {
    count(characters).saturating_mul(CHARACTER) / 10
}

/// How many characters of the smaller text there is room for.
fn small_characters(width: i32) -> usize {
    usize::try_from(width.saturating_mul(10) / SMALL).unwrap_or_default()
}

/// How many characters of a name are as wide as that many of the smaller text.
fn small_in_characters(characters: usize) -> usize {
    usize::try_from(count(characters).saturating_mul(SMALL) / CHARACTER + 1).unwrap_or_default()
}

fn weight_text(timeline: &Timeline, cell: Cell<'_>) -> Option<String> {
    cell.weight.map(|weight| format!("{} {weight}", timeline.after.act.rank()))
}

/// With the two spaces before it.
fn weight_length(weight: Option<&str>) -> usize {
    weight.map_or(0, |weight| weight.len() + 2)
}

fn text_length(timeline: &Timeline, cell: Cell<'_>) -> usize {
    let object = &cell.entry.object;
    display_width(&object.kind)
        + 1
        + display_width(&timeline.name(object))
        + weight_length(weight_text(timeline, cell).as_deref())
}

/// The text, cut to at most that many columns.
fn clipped(text: &str, most: usize) -> String {
    if display_width(text) <= most {
        return text.to_owned();
    }
    let (mut kept, mut width) = (String::new(), 0);
    for character in text.chars() {
        width += display_width(character.encode_utf8(&mut [0; 4]));
        if width >= most {
            break;
        }
        kept.push(character);
    }
    kept + "…"
}

fn capitalized(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}
