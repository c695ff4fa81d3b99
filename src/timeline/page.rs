//! The picture on its own, and the page around it.

use std::io::{self, Write};

use askama::Template;
use stable_hooks_policy::shown::Visible;

use super::layout::{Cell, Column, Layout, Row, fold_text};
use super::model::{Entry, Timeline};
use super::picture::{Mark, Picture, level_class};

#[derive(Template)]
#[template(path = "timeline.svg")]
struct Image {
    width: i32,
    height: i32,
    title: String,
    pictures: Vec<(i32, Picture)>,
    links: bool,
}

#[derive(Template)]
#[template(path = "timeline.html")]
struct Page {
    title: String,
    timelines: Vec<Section>,
    links: bool,
}

/// A timeline in the page.
struct Section {
    number: usize,
    title: String,
    /// The level of the headings in it.
    heading_level: u8,
    picture: Picture,
    findings: Vec<PageFinding>,
    notes: Vec<String>,
    before: Option<String>,
    after: String,
    rows: Vec<PageRow>,
}

struct PageFinding {
    class: &'static str,
    level: &'static str,
    rule: String,
    object: String,
    message: String,
    help: String,
    /// Where it is in the chart.
    place: Option<String>,
}

/// A row of the table that says the same as the picture.
enum PageRow {
    Stage { before: String, after: String },
    Cells { before: PageCell, after: PageCell },
}

#[derive(Default)]
struct PageCell {
    text: String,
    name: String,
    details: Vec<String>,
    findings: Vec<usize>,
    folded: Vec<String>,
}

/// One picture, the timelines one below the other.
pub(crate) fn write_svg(out: &mut dyn Write, timelines: &[Timeline]) -> io::Result<()> {
    let (mut width, mut height, mut pictures) = (320, 0, Vec::new());
    for (place, timeline) in timelines.iter().enumerate() {
        let picture = Picture::new(place + 1, timeline, true);
        width = width.max(picture.width);
        let top = height;
        height += picture.height;
        pictures.push((top, picture));
    }
    let image = Image { width, height: height.max(64), title: title(timelines), pictures, links: false };
    write(out, &image)
}

pub(crate) fn write_html(out: &mut dyn Write, timelines: &[Timeline]) -> io::Result<()> {
    // The page's own heading names a single one.
    let level = if timelines.len() == 1 { 2 } else { 3 };
    let sections = timelines.iter().zip(1..).map(|(timeline, number)| Section::of(number, timeline, level)).collect();
    write(out, &Page { title: title(timelines), timelines: sections, links: true })
}

fn title(timelines: &[Timeline]) -> String {
    match timelines {
        [] => "Nothing to show".to_owned(),
        [timeline] => timeline.title(),
        _ => "What runs when".to_owned(),
    }
}

impl Section {
    fn of(number: usize, timeline: &Timeline, heading_level: u8) -> Self {
        let layout = Layout::new(timeline);
        let (before, after) = timeline.labels();
        Self {
            number,
            title: timeline.title(),
            heading_level,
            picture: Picture::new(number, timeline, false),
            findings: timeline.findings.iter().map(PageFinding::of).collect(),
            notes: timeline.notes.iter().map(|note| Visible(note).to_string()).collect(),
            before,
            after,
            rows: layout
                .rows
                .iter()
                .enumerate()
                .map(|(place, row)| PageRow::of(timeline, &layout, place, row))
                .collect(),
        }
    }
}

impl PageFinding {
    fn of(finding: &crate::judged::Finding) -> Self {
        let lines = |text: &str| text.lines().map(|line| Visible(line).to_string()).collect::<Vec<_>>().join("\n");
        let class = level_class(finding.level);
        Self {
            class,
            level: if class == "deny" { "denied" } else { "warning" },
            rule: finding.rule_text().to_owned(),
            object: finding.object.to_string(),
            message: lines(&finding.message),
            help: lines(&finding.help),
            place: finding.template.as_ref().map(|place| Visible(&place.to_string()).to_string()),
        }
    }
}

impl PageRow {
    fn of(timeline: &Timeline, layout: &Layout<'_>, place: usize, row: &Row<'_>) -> Self {
        match row {
            Row::Stage { before, after, .. } => {
                let [before, after] = [before, after].map(|title| title.clone().unwrap_or_default());
                Self::Stage { before, after }
            }
            Row::Entry { before, after } => {
                let cell = |column: Column, cell: Option<Cell<'_>>| {
                    cell.map(|cell| PageCell::of(timeline, layout, (column, place), cell)).unwrap_or_default()
                };
                Self::Cells { before: cell(Column::Before, *before), after: cell(Column::After, *after) }
            }
            Row::Folded { before, after, is_rest, .. } => {
                let cell = |entries: &[&Entry]| PageCell {
                    text: if entries.is_empty() { String::new() } else { fold_text(entries.len(), *is_rest) },
                    folded: entries
                        .iter()
                        .map(|entry| format!("{} {}", entry.object.kind, timeline.name(&entry.object)))
                        .collect(),
                    ..PageCell::default()
                };
                Self::Cells { before: cell(before), after: cell(after) }
            }
        }
    }
}

impl PageCell {
    fn of(timeline: &Timeline, layout: &Layout<'_>, (column, place): (Column, usize), cell: Cell<'_>) -> Self {
        let needs = layout.needs_in(column, place);
        let weight = cell.weight.map(|weight| format!("{} {weight}", timeline.after.act.rank()));
        let goes = layout.crossings.iter().filter(|crossing| column.is_before() && crossing.rows.0 == place);
        let goes = goes.map(|crossing| format!("then: {}", crossing.target(&timeline.after)));
        let deletes = cell.entry.deletes.map(|deletes| deletes.to_string());
        let leaves = cell.entry.leaves.map(|leaves| leaves.to_string());
        let details = weight.into_iter().chain(deletes).chain(leaves).chain(goes);
        Self {
            text: cell.entry.object.kind.clone(),
            name: timeline.name(&cell.entry.object),
            details: details.chain(needs.map(|line| line.need.text(timeline))).collect(),
            findings: cell.entry.findings.clone(),
            folded: Vec::new(),
        }
    }
}

fn write(out: &mut dyn Write, template: &impl Template) -> io::Result<()> {
    writeln!(out, "{}", template.render().map_err(io::Error::other)?)
}
