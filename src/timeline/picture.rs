//! Where everything of a timeline stands in a picture.

mod needs;

use stable_hooks_policy::shown::Visible;
use textwrap::core::display_width;

use super::layout::{Cell, Layout, Row, fold_text, kinds};
use super::{Deleted, Side, Timeline};
use crate::report::Level;
use needs::need_paths;

/// The width of a character of the names, in tenths of a pixel: those fonts are 0.6 of their size wide.
const CHARACTER: i32 = 78;
/// And of the smaller text, which is not so even.
const SMALL: i32 = 66;
const MARGIN: i32 = 24;
/// Between a mark and its text.
const GAP: i32 = 16;
/// Between the two columns of marks.
const GUTTER: i32 = 150;
const HEAD: i32 = 64;
const TITLE: i32 = 36;
const BAND: i32 = 44;
const ROW: i32 = 28;
const LINE: i32 = 16;
/// The widest that a column of names may be, in characters.
const WIDEST: usize = 48;
const NARROWEST: usize = 24;

pub(super) struct Picture {
    /// From 1, for names that must not be there twice in a page.
    pub(super) number: usize,
    pub(super) title: String,
    pub(super) description: String,
    /// Said in the picture, where nothing around it says it.
    pub(super) heading: Option<String>,
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) labels: Vec<Label>,
    pub(super) bands: Vec<Band>,
    /// Where an object is the same on both sides.
    pub(super) steady: Vec<Line>,
    pub(super) crossings: Vec<Curve>,
    pub(super) needs: Vec<Curve>,
    pub(super) cells: Vec<PictureCell>,
    pub(super) findings: Vec<PictureFinding>,
}

/// The name of a side, above its column.
pub(super) struct Label {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) side: &'static str,
    pub(super) text: String,
    pub(super) revision: u64,
}

pub(super) struct Band {
    /// Of the line above it.
    pub(super) y: i32,
    /// Of its titles.
    pub(super) baseline: i32,
    pub(super) titles: Vec<Text>,
}

pub(super) struct Text {
    pub(super) x: i32,
    pub(super) y: i32,
    /// `before`, `after` or what else tells how it looks.
    pub(super) class: String,
    pub(super) text: String,
}

pub(super) struct Line {
    pub(super) from: i32,
    pub(super) to: i32,
    pub(super) y: i32,
}

pub(super) struct Curve {
    pub(super) path: String,
    pub(super) class: &'static str,
    /// In words.
    pub(super) text: String,
}

pub(super) struct PictureCell {
    pub(super) side: &'static str,
    pub(super) class: &'static str,
    /// Of the mark.
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) text_x: i32,
    pub(super) baseline: i32,
    pub(super) kind: String,
    /// As much as there is room for.
    pub(super) name: String,
    /// All of it.
    pub(super) full: String,
    pub(super) weight: Option<i64>,
    pub(super) details: Vec<Text>,
    pub(super) mark: Mark,
    /// Of the text, in pixels.
    length: i32,
}

pub(super) enum Mark {
    Dot,
    Cross,
    /// The findings that bite here.
    Pill {
        class: &'static str,
        text: String,
        width: i32,
        first: usize,
    },
}

pub(super) struct PictureFinding {
    pub(super) number: usize,
    pub(super) class: &'static str,
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) rule: String,
    pub(super) lines: Vec<Text>,
}

/// The columns from left to right.
struct Columns {
    before: Option<i32>,
    after: i32,
    /// Of the names, in characters.
    room: usize,
    width: i32,
}

impl Picture {
    /// With its heading and its findings written in it, or without where a page says them.
    pub(super) fn new(number: usize, timeline: &Timeline, stands_alone: bool) -> Self {
        let layout = Layout::new(timeline);
        let columns = Columns::of(timeline, &layout);
        let heading = stands_alone.then(|| heading(timeline));
        let mut y = MARGIN + if heading.is_some() { TITLE } else { 0 };
        let labels = columns.labels(timeline, y);
        y += HEAD;
        let (mut bands, mut rows) = (Vec::new(), Vec::new());
        for (place, row) in layout.rows.iter().enumerate() {
            if let Row::Stage { before, after, .. } = row {
                bands.push(columns.band(y, before.as_deref(), after.as_deref()));
                rows.push(Vec::new());
                y += BAND;
                continue;
            }
            let cells = columns.row(timeline, &layout, place, row, y);
            let lines = cells.iter().map(|cell| cell.details.len()).max().unwrap_or_default();
            rows.push(cells);
            y += ROW + LINE * count(lines);
        }
        let at = |row: usize, side: &str| {
            rows.get(row).and_then(|cells: &Vec<PictureCell>| cells.iter().find(|cell| cell.side == side))
        };
        let steady = rows.iter().filter_map(|cells| match cells.as_slice() {
            [before, after] => Some(Line { from: before.x + 10, to: after.x - 10, y: before.y }),
            _ => None,
        });
        let steady = steady.collect();
        let crossings = layout.crossings.iter().filter_map(|crossing| {
            let (from, to) = (at(crossing.rows.0, "before")?, at(crossing.rows.1, "after")?);
            let to_stage = crossing.target(&timeline.after);
            Some(Curve {
                path: curve(from, to),
                class: if crossing.is_trouble { "crossing trouble" } else { "crossing" },
                text: format!("{} {}: → {to_stage}", crossing.object.kind, timeline.name(crossing.object)),
            })
        });
        let crossings = crossings.collect();
        let needs = need_paths(timeline, &layout, &columns, &at);
        if layout.rows.is_empty() {
            y += ROW;
        }
        y += MARGIN / 2;
        let mut findings = Vec::new();
        if stands_alone {
            findings = columns.findings(timeline, &mut y);
        }
        Self {
            number,
            title: timeline.title(),
            description: description(timeline),
            heading,
            width: columns.width,
            height: y + MARGIN,
            labels,
            bands,
            steady,
            crossings,
            needs,
            cells: rows.into_iter().flatten().collect(),
            findings,
        }
    }
}

fn heading(timeline: &Timeline) -> String {
    format!("{} in {}", Visible(&timeline.release), Visible(&timeline.namespace))
}

/// The picture in words, as far as a sentence goes.
fn description(timeline: &Timeline) -> String {
    let denied = timeline.findings.iter().filter(|finding| finding.level == Level::Deny).count();
    let warned = timeline.findings.len() - denied;
    format!("What runs when, from top to bottom. Findings: {denied} denied, {warned} warned about.")
}

/// From a mark to a mark, with an arrow's head at the end.
fn curve(from: &PictureCell, to: &PictureCell) -> String {
    let (x1, x2) = (from.x + from.mark.radius() + 3, to.x - to.mark.radius() - 4);
    let (y1, y2, middle) = (from.y, to.y, i32::midpoint(x1, x2));
    format!("M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}M{} {}L{x2} {y2}L{} {}", x2 - 7, y2 - 5, x2 - 7, y2 + 5)
}

impl Mark {
    fn radius(&self) -> i32 {
        match self {
            Self::Dot | Self::Cross => 5,
            Self::Pill { width, .. } => width / 2,
        }
    }
}

impl Columns {
    fn of(timeline: &Timeline, layout: &Layout<'_>) -> Self {
        let longest = layout.rows.iter().flat_map(|row| {
            let (before, after) = row.cells();
            [before, after].into_iter().flatten().map(|cell| text_length(timeline, cell)).max()
        });
        let room = longest.max().unwrap_or_default().clamp(NARROWEST, WIDEST);
        let names = text_width(room);
        let [left, right] = needs::widths(layout);
        let before = timeline.before.is_some().then_some(MARGIN + left + names + GAP);
        let after = before.map_or(MARGIN, |before| before + GUTTER);
        Self { before, after, room, width: after + GAP + names + right + MARGIN }
    }

    fn x(&self, side: &str) -> i32 {
        self.before.filter(|_| side == "before").unwrap_or(self.after)
    }

    fn text_x(&self, side: &str) -> i32 {
        if side == "before" { self.x(side) - GAP } else { self.after + GAP }
    }

    fn labels(&self, timeline: &Timeline, y: i32) -> Vec<Label> {
        let label = |name: &'static str, side: &Side| Label {
            x: self.text_x(name),
            y: y + 18,
            side: name,
            text: capitalized(side.operation.as_str()),
            revision: side.revision,
        };
        let before = timeline.before.iter().map(|side| label("before", side));
        before.chain([label("after", &timeline.after)]).collect()
    }

    fn band(&self, y: i32, before: Option<&str>, after: Option<&str>) -> Band {
        let baseline = y + 27;
        let title = |side: &'static str, text: Option<&str>| {
            let text = text?.to_owned();
            Some(Text { x: self.text_x(side), y: baseline, class: side.to_owned(), text })
        };
        Band { y: y + 6, baseline, titles: title("before", before).into_iter().chain(title("after", after)).collect() }
    }

    fn row(&self, timeline: &Timeline, layout: &Layout<'_>, place: usize, row: &Row<'_>, y: i32) -> Vec<PictureCell> {
        match row {
            Row::Stage { .. } => Vec::new(),
            Row::Entry { before, after } => {
                let sides = [("before", 0, before), ("after", 1, after)];
                let cells = sides.into_iter().filter_map(|(side, needs, cell)| {
                    let needs = layout.needs.get(needs).into_iter().flatten().filter(|line| line.hook == place);
                    let late = needs.filter(|line| line.need.late).map(|line| line.need.text(timeline));
                    Some(self.cell(timeline, side, (*cell)?, late, y))
                });
                cells.collect()
            }
            Row::Folded { before, after, is_rest } => {
                let sides =
                    [("before", before), ("after", after)].into_iter().filter(|(_, entries)| !entries.is_empty());
                sides
                    .map(|(side, entries)| self.folded(side, &fold_text(entries.len(), *is_rest), &kinds(entries), y))
                    .collect()
            }
        }
    }

    fn cell(
        &self,
        timeline: &Timeline,
        side: &'static str,
        cell: Cell<'_>,
        late: impl Iterator<Item = String>,
        y: i32,
    ) -> PictureCell {
        let (entry, kind) = (cell.entry, clipped(&cell.entry.object.kind, 28));
        let full = timeline.name(&entry.object);
        let weight = weight_text(cell.weight);
        let name = clipped(&full, self.room.saturating_sub(display_width(&kind) + 1 + weight).max(8));
        let length = text_width(display_width(&kind) + 1 + display_width(&name) + weight);
        let deletes = entry.deletes.map(|deletes| {
            let class = if deletes == Deleted::LastRun { "detail" } else { "detail trouble" };
            (class, deletes.to_string())
        });
        let details = deletes.into_iter().chain(late.map(|text| ("detail trouble", text)));
        let mark = match entry.findings.as_slice() {
            [] if cell.is_deletion() => Mark::Cross,
            [] => Mark::Dot,
            numbers => pill(timeline, numbers),
        };
        let class = if cell.is_deletion() { "cell deleted" } else { "cell" };
        PictureCell {
            details: self.details(side, details, y),
            weight: cell.weight,
            ..self.blank(side, class, kind, name, full, mark, length, y)
        }
    }

    fn folded(&self, side: &'static str, text: &str, kinds: &str, y: i32) -> PictureCell {
        let length = text_width(display_width(text));
        let details = self.details(side, [("detail", kinds.to_owned())].into_iter(), y);
        let full = format!("{text}: {kinds}");
        let cell = self.blank(side, "cell folded", text.to_owned(), String::new(), full, Mark::Dot, length, y);
        PictureCell { details, ..cell }
    }

    #[expect(clippy::too_many_arguments, reason = "each is a field of what is made")]
    fn blank(
        &self,
        side: &'static str,
        class: &'static str,
        kind: String,
        name: String,
        full: String,
        mark: Mark,
        length: i32,
        y: i32,
    ) -> PictureCell {
        let (x, text_x) = (self.x(side), self.text_x(side));
        let (y, baseline, details) = (y + ROW / 2, y + ROW / 2 + 5, Vec::new());
        PictureCell { side, class, x, y, text_x, baseline, kind, name, full, weight: None, details, mark, length }
    }

    fn details(&self, side: &'static str, texts: impl Iterator<Item = (&'static str, String)>, y: i32) -> Vec<Text> {
        let most = small_characters(text_width(self.room));
        let text = |(line, (class, text)): (usize, (&str, String))| Text {
            x: self.text_x(side),
            y: y + ROW + 7 + LINE * count(line),
            class: format!("{class} {side}"),
            text: clipped(&text, most),
        };
        texts.enumerate().map(text).collect()
    }

    fn findings(&self, timeline: &Timeline, y: &mut i32) -> Vec<PictureFinding> {
        let x = MARGIN + 10;
        let most = small_characters(self.width - x - 20 - MARGIN);
        let finding = |(place, finding): (usize, &crate::report::Finding)| {
            let top = *y + 14;
            let text = format!("{} {}", finding.object, Visible(&finding.message));
            let lines: Vec<_> = textwrap::wrap(&text, most)
                .into_iter()
                .enumerate()
                .map(|(line, text)| Text {
                    x: x + 20,
                    y: top + 22 + LINE * count(line),
                    class: String::new(),
                    text: text.into_owned(),
                })
                .collect();
            *y = top + 26 + LINE * count(lines.len());
            let class = level_class(finding.level);
            PictureFinding { number: place + 1, class, x, y: top, rule: finding.rule.clone(), lines }
        };
        timeline.findings.iter().enumerate().map(finding).collect()
    }
}

pub(super) fn level_class(level: Level) -> &'static str {
    match level {
        Level::Deny => "deny",
        Level::Warn | Level::Fix => "warn",
    }
}

/// One mark for all of them; more than three are too many to name.
fn pill(timeline: &Timeline, numbers: &[usize]) -> Mark {
    let listed: Vec<_> = numbers.iter().take(3).map(usize::to_string).collect();
    let rest = if numbers.len() > 3 { "…" } else { "" };
    let text = format!("{}{rest}", listed.join(" "));
    let denied = numbers.iter().find(|number| timeline.denied(**number));
    let class = if denied.is_some() { "deny" } else { "warn" };
    let first = denied.or(numbers.first()).copied().unwrap_or_default();
    Mark::Pill { class, width: 13 + 7 * count(text.chars().count()), text, first }
}

fn count(items: usize) -> i32 {
    i32::try_from(items).unwrap_or(i32::MAX)
}

/// Of that many characters of a name.
fn text_width(characters: usize) -> i32 {
    count(characters).saturating_mul(CHARACTER) / 10
}

/// How many characters of the smaller text there is room for.
fn small_characters(width: i32) -> usize {
    usize::try_from(width * 10 / SMALL).unwrap_or_default()
}

fn weight_text(weight: Option<i64>) -> usize {
    weight.map_or(0, |weight| format!("  weight {weight}").len())
}

fn text_length(timeline: &Timeline, cell: Cell<'_>) -> usize {
    let object = &cell.entry.object;
    display_width(&object.kind) + 1 + display_width(&timeline.name(object)) + weight_text(cell.weight)
}

/// At most that many columns of it.
fn clipped(text: &str, most: usize) -> String {
    if display_width(text) <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    for character in text.chars() {
        if display_width(&kept) + display_width(character.encode_utf8(&mut [0; 4])) >= most {
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
