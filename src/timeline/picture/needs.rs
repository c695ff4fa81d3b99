//! The lines from hooks to what they need, on the outer side of each column: one for each object, with a branch for each
//! hook.

use super::buses::count;
use super::buses::{FIRST, TRACK, buses};
use super::columns::{Columns, GAP, text_width};
use super::parts::{Curve, PictureCell};
use crate::timeline::layout::{Column, Layout};
use crate::timeline::model::Timeline;

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
