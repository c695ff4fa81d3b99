//! The columns of marks, and the lines between them.

use anstyle::Style;

use super::style::{CALM, DENY};
use crate::timeline::layout::tracks::tracks;
use crate::timeline::layout::{Crossing, Layout};

/// More lines are hard to follow; the row of one that is not drawn still says where the object goes.
const MOST_TRACKS: usize = 8;

pub(super) struct Gutter {
    lines: Vec<Line>,
    /// From one column of marks to the other, the first included.
    pub(super) width: usize,
}

struct Line {
    from: usize,
    to: usize,
    column: usize,
    style: Style,
}

impl Gutter {
    /// Wide enough for that many characters above it; none where there is only one side.
    pub(super) fn new(layout: &Layout<'_>, label: Option<usize>) -> Self {
        let spans: Vec<_> = layout.crossings.iter().map(|crossing| crossing.rows).collect();
        let tracks = tracks(&spans);
        let used = tracks.iter().map(|track| track + 1).max().unwrap_or_default().min(MOST_TRACKS);
        let width = label.map_or(0, |label| (2 * used + 4).max(label + 3));
        let line = |(crossing, track): (&Crossing<'_>, usize)| {
            let style = if crossing.is_trouble { DENY } else { Style::new() };
            // The shortest lines are nearest to the names.
            let column = width.checked_sub(2 * track + 3).filter(|_| track < MOST_TRACKS)?;
            Some(Line { from: crossing.rows.0, to: crossing.rows.1, column, style })
        };
        Self { lines: layout.crossings.iter().zip(tracks).filter_map(line).collect(), width }
    }

    /// The marks of a row, and the lines that begin, end or pass there.
    pub(super) fn row(&self, place: usize, marks: [Option<(Style, char)>; 2]) -> String {
        let begins = self.lines.iter().find(|line| line.from == place);
        let ends = self.lines.iter().find(|line| line.to == place);
        let is_steady = marks.iter().all(Option::is_some);
        let [before, after] = marks.map(|mark| painted([mark.unwrap_or((Style::new(), ' '))].into_iter()));
        if self.width == 0 {
            return after;
        }
        let drawn = (1..self.width).map(|column| {
            let turns = [begins, ends].into_iter().flatten().find(|line| line.column == column);
            let passes = self.lines.iter().find(|line| line.column == column && line.passes(place));
            let leaves = begins.filter(|line| column < line.column);
            let arrives = ends.filter(|line| column > line.column);
            match (turns, passes, leaves.or(arrives)) {
                (Some(line), ..) => (line.style, line.corner(place)),
                (None, Some(line), Some(_)) => (line.style, '┼'),
                (None, Some(line), None) => (line.style, '│'),
                (None, None, Some(line)) if arrives.is_some() && column + 1 == self.width => (line.style, '▶'),
                (None, None, Some(line)) => (line.style, '─'),
                (None, None, None) if is_steady => (CALM, '┄'),
                (None, None, None) => (Style::new(), ' '),
            }
        });
        format!("{before}{}{after}", painted(drawn))
    }

    /// The lines that run on below a row.
    pub(super) fn below(&self, place: usize) -> String {
        let drawn = (0..=self.width).map(|column| {
            let runs = self.lines.iter().find(|line| line.column == column && line.leaves_down(place));
            runs.map_or((Style::new(), ' '), |line| (line.style, '│'))
        });
        painted(drawn)
    }
}

/// Neighbours that look the same are painted in one go.
fn painted(characters: impl Iterator<Item = (Style, char)>) -> String {
    let characters: Vec<_> = characters.collect();
    let runs = characters.chunk_by(|left, right| left.0 == right.0);
    let run = |run: &[(Style, char)]| {
        let style = run.first().map_or(Style::new(), |(style, _)| *style);
        let text: String = run.iter().map(|(_, character)| character).collect();
        format!("{style}{text}{style:#}")
    };
    runs.map(run).collect()
}

impl Line {
    fn passes(&self, place: usize) -> bool {
        (self.from.min(self.to) + 1..self.from.max(self.to)).contains(&place)
    }

    fn leaves_down(&self, place: usize) -> bool {
        (self.from.min(self.to)..self.from.max(self.to)).contains(&place)
    }

    fn corner(&self, place: usize) -> char {
        match (place == self.from, self.from < self.to) {
            (true, true) => '╮',
            (true, false) => '╯',
            (false, true) => '╰',
            (false, false) => '╭',
        }
    }
}
