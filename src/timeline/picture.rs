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
    /// Where a page says the heading and the findings, the picture does not.
    pub(super) fn new(number: usize, timeline: &Timeline, stands_alone: bool) -> Self {
        let layout = Layout::new(timeline);
        let columns = Columns::of(timeline, &layout);
        let heading = stands_alone.then(|| heading(timeline));
        let top = MARGIN + if heading.is_some() { TITLE } else { 0 };
        let body = Body::lay_out(timeline, &layout, &columns, top + HEAD);
        let below = body.end + MARGIN / 2;
        let (findings, end) = if stands_alone { columns.findings(timeline, below) } else { (Vec::new(), below) };
        Self {
            number,
            description: description(timeline),
            heading,
            width: columns.width,
            height: end + MARGIN,
            labels: columns.labels(timeline, top),
            steady: body.steady(),
            crossings: body.crossings(timeline, &layout),
            needs: need_paths(timeline, &layout, &columns, &|row, side| body.cell(row, side)),
            bands: body.bands,
            cells: body.rows.into_iter().flatten().collect(),
            findings,
        }
    }
}

/// The bands and the cells, each with its place.
struct Body {
    bands: Vec<Band>,
    /// One for each row of the layout; that of a stage has no cells.
    rows: Vec<Vec<PictureCell>>,
    end: i32,
}

impl Body {
    fn lay_out(timeline: &Timeline, layout: &Layout<'_>, columns: &Columns, top: i32) -> Self {
        let mut body = Self { bands: Vec::new(), rows: Vec::new(), end: top };
        for (place, row) in layout.rows.iter().enumerate() {
            let cells = columns.row(timeline, layout, place, row, body.end);
            let height = if let Row::Stage { before, after, .. } = row {
                body.bands.push(columns.band(body.end, (before.as_deref(), after.as_deref())));
                columns::BAND
            } else {
                row_height(&cells)
            };
            body.rows.push(cells);
            body.end += height;
        }
        if layout.rows.is_empty() {
            body.end += ROW;
        }
        body
    }

    fn cell(&self, row: usize, side: Column) -> Option<&PictureCell> {
        self.rows.get(row)?.iter().find(|cell| cell.side == side)
    }

    fn steady(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for cells in &self.rows {
            if let [before, after] = cells.as_slice() {
                let (from, to) = (before.x + before.reach() + 5, after.x - after.reach() - 5);
                lines.push(Line { from, to, y: before.y });
            }
        }
        lines
    }

    fn crossings(&self, timeline: &Timeline, layout: &Layout<'_>) -> Vec<Curve> {
        let mut curves = Vec::new();
        for crossing in &layout.crossings {
            let (before, after) = crossing.rows;
            let ends = self.cell(before, Column::Before).zip(self.cell(after, Column::After));
            let Some((from, to)) = ends else { continue };
            let (object, target) = (crossing.object, crossing.target(&timeline.after));
            curves.push(Curve {
                path: curve(from, to),
                class: if crossing.is_trouble { "crossing trouble" } else { "crossing" },
                text: format!("{} {}: → {target}", object.kind, timeline.name(object)),
            });
        }
        curves
    }
}

/// As high as the longer list of details needs it.
fn row_height(cells: &[PictureCell]) -> i32 {
    let lines = cells.iter().map(|cell| cell.details.len()).max().unwrap_or_default();
    ROW + columns::LINE * count(lines)
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
