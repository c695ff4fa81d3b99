//! The lines that run beside each other, and the room that they take.

use std::collections::BTreeMap;

use crate::timeline::layout::tracks::tracks;
use crate::timeline::layout::{Column, Layout, NeedLine};

/// Between two lines.
pub(super) const TRACK: i32 = 9;
/// Between the names and the first line.
pub(super) const FIRST: i32 = 24;

/// The hooks that need an object, by its row and by whether it comes too late for them.
pub(super) type Buses<'a> = BTreeMap<(usize, bool), Vec<&'a NeedLine<'a>>>;

pub(super) fn buses<'a>(lines: &'a [NeedLine<'a>]) -> (Buses<'a>, Vec<usize>) {
    let mut buses = Buses::new();
    for line in lines {
        buses.entry((line.object, line.need.late)).or_default().push(line);
    }
    let spans: Vec<_> = buses.iter().map(|((object, _), lines)| span(*object, lines)).collect();
    let tracks = tracks(&spans);
    (buses, tracks)
}

/// The first and the last row that the lines to an object touch.
fn span(object: usize, lines: &[&NeedLine<'_>]) -> (usize, usize) {
    let (mut top, mut bottom) = (object, object);
    for line in lines {
        top = top.min(line.hook);
        bottom = bottom.max(line.hook);
    }
    (top, bottom)
}

/// The room that the lines of each side take.
pub(super) fn widths(layout: &Layout<'_>) -> [i32; 2] {
    Column::ALL.map(|column| {
        let (_, tracks) = buses(layout.needs(column));
        tracks.iter().max().map_or(0, |last| FIRST + TRACK * (count(*last) + 1))
    })
}

pub(super) fn count(items: usize) -> i32 {
    i32::try_from(items).unwrap_or(i32::MAX)
}
