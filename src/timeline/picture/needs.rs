//! The lines from hooks to what they need, on the outer side of each column: one for each object, with a branch for each
//! hook.

use std::collections::BTreeMap;

use super::columns::{Columns, GAP, count, text_width};
use super::{Curve, PictureCell};
use crate::timeline::Timeline;
use crate::timeline::layout::tracks::tracks;
use crate::timeline::layout::{Column, Layout, NeedLine};

/// Between two lines.
const TRACK: i32 = 9;
/// Between the names and the first line.
const FIRST: i32 = 24;

/// By the row of the object, the hooks that need it, in time or too late.
type Buses<'a> = BTreeMap<(usize, bool), Vec<&'a NeedLine<'a>>>;

fn buses<'a>(lines: &'a [NeedLine<'a>]) -> (Buses<'a>, Vec<usize>) {
    let mut buses = Buses::new();
    for line in lines {
        buses.entry((line.object, line.need.late)).or_default().push(line);
    }
    let span = |((object, _), lines): (&(usize, bool), &Vec<&NeedLine<'_>>)| {
        let hooks = lines.iter().map(|line| line.hook);
        let (top, bottom) = hooks.fold((*object, *object), |(top, bottom), hook| (top.min(hook), bottom.max(hook)));
        (top, bottom)
    };
    let spans: Vec<_> = buses.iter().map(span).collect();
    let tracks = tracks(&spans);
    (buses, tracks)
}

/// The room that the lines of each side take.
pub(super) fn widths(layout: &Layout<'_>) -> [i32; 2] {
    Column::ALL.map(|column| {
        let (_, tracks) = buses(layout.needs(column));
        tracks.iter().max().map_or(0, |last| FIRST + TRACK * (count(*last) + 1))
    })
}

pub(super) fn need_paths<'c>(
    timeline: &Timeline,
    layout: &Layout<'_>,
    columns: &Columns,
    at: &impl Fn(usize, Column) -> Option<&'c PictureCell>,
) -> Vec<Curve> {
    let paths = Column::ALL.into_iter().flat_map(|side| {
        let outwards = side.of((-1, 1));
        let (buses, tracks) = buses(layout.needs(side));
        let names = columns.x(side) + outwards * (GAP + text_width(columns.room));
        let paths: Vec<_> = buses
            .iter()
            .zip(tracks)
            .flat_map(|(((object, late), lines), track)| {
                let track = names + outwards * (FIRST + TRACK * count(track));
                lines.iter().filter_map(move |line| {
                    let (hook, object) = (at(line.hook, side)?, at(*object, side)?);
                    let text = format!(
                        "{} {} {}",
                        line.need.hook.kind,
                        timeline.name(&line.need.hook),
                        line.need.text(timeline)
                    );
                    let class = if *late { "need trouble" } else { "need" };
                    Some(Curve { path: path(hook, object, track, outwards), class, text })
                })
            })
            .collect();
        paths
    });
    paths.collect()
}

/// Out to the track, along it, and back to the object, where the arrow's head is.
fn path(hook: &PictureCell, object: &PictureCell, track: i32, outwards: i32) -> String {
    let end = |cell: &PictureCell| cell.text_x + outwards * (cell.length + 10);
    let (from, to) = (end(hook), end(object));
    let down = (object.y - hook.y).signum();
    let (bend, radius) = (outwards * 4, down * 4);
    format!(
        "M{from} {y1}H{}Q{track} {y1} {track} {}V{}Q{track} {y2} {} {y2}H{to}\
         M{} {}L{to} {y2}L{} {}",
        track - bend,
        hook.y + radius,
        object.y - radius,
        track - bend,
        to + outwards * 5,
        object.y - 4,
        to + outwards * 5,
        object.y + 4,
        y1 = hook.y,
        y2 = object.y,
    )
}
