//! Where everything of a timeline stands in a picture.

mod buses;
mod columns;
mod needs;
mod parts;

use stable_hooks_policy::shown::Visible;

use super::layout::{Column, Layout, Row};
use super::model::Timeline;
use crate::judged::Level;
use buses::count;
pub(super) use columns::level_class;
use columns::{Columns, HEAD, MARGIN, ROW, TITLE};
use needs::need_paths;
pub(super) use parts::{Band, Curve, Label, Line, Mark, PictureCell, PictureFinding};

pub(super) struct Picture {
    /// From 1, for names that must not be there twice in a page.
    pub(super) number: usize,
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
                bands.push(columns.band(y, (before.as_deref(), after.as_deref())));
                rows.push(Vec::new());
                y += columns::BAND;
                continue;
            }
            let cells = columns.row(timeline, &layout, place, row, y);
            let lines = cells.iter().map(|cell| cell.details.len()).max().unwrap_or_default();
            rows.push(cells);
            y += ROW + columns::LINE * count(lines);
        }
        let at = |row: usize, side: Column| {
            rows.get(row).and_then(|cells: &Vec<PictureCell>| cells.iter().find(|cell| cell.side == side))
        };
        let steady = rows.iter().filter_map(|cells| match cells.as_slice() {
            [before, after] => {
                Some(Line { from: before.x + before.reach() + 5, to: after.x - after.reach() - 5, y: before.y })
            }
            _ => None,
        });
        let steady = steady.collect();
        let crossings = layout.crossings.iter().filter_map(|crossing| {
            let (from, to) = (at(crossing.rows.0, Column::Before)?, at(crossing.rows.1, Column::After)?);
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
        let (findings, end) = if stands_alone { columns.findings(timeline, y) } else { (Vec::new(), y) };
        Self {
            number,
            description: description(timeline),
            heading,
            width: columns.width,
            height: end + MARGIN,
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
    let counted = [(denied, "denied"), (warned, "warned about")].into_iter().filter(|(count, _)| *count > 0);
    let counted: Vec<_> = counted.map(|(count, what)| format!("{count} {what}")).collect();
    let found = if counted.is_empty() { "Nothing was found".to_owned() } else { counted.join(", ") };
    format!("What runs when, from top to bottom. {found}.")
}

/// From a mark to a mark, with an arrow's head at the end.
fn curve(from: &PictureCell, to: &PictureCell) -> String {
    let (x1, x2) = (from.x + from.reach() + 3, to.x - to.reach() - 4);
    let (y1, y2, middle) = (from.y, to.y, i32::midpoint(x1, x2));
    format!("M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}M{} {}L{x2} {y2}L{} {}", x2 - 7, y2 - 5, x2 - 7, y2 + 5)
}

impl PictureCell {
    /// How far the mark reaches into the gutter.
    fn reach(&self) -> i32 {
        match &self.mark {
            Mark::Dot | Mark::Cross => 5,
            Mark::Pill { width, .. } => width - 10,
        }
    }
}
