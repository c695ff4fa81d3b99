//! A table for people: columns as wide as they must be, the first one coloured.

use std::io::{self, Write};

use anstyle::Style;
use textwrap::core::display_width;

/// Writes the head and the rows, each with the style of its first cell; nothing where there is no row.
pub(super) fn write<const COLUMNS: usize>(
    out: &mut dyn Write,
    head: [&str; COLUMNS],
    rows: &[(Style, [String; COLUMNS])],
) -> io::Result<()> {
    let mut widths = head.map(str::len);
    for (_, cells) in rows {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = display_width(cell).max(*width);
        }
    }
    if !rows.is_empty() {
        write_row(out, &head.map(str::to_owned), &widths, Style::new())?;
    }
    rows.iter().try_for_each(|(style, cells)| write_row(out, cells, &widths, *style))
}

/// Leaves no blanks behind the last cell.
fn write_row(out: &mut dyn Write, cells: &[String], widths: &[usize], style: Style) -> io::Result<()> {
    let padded = |(cell, width): (&String, &usize)| {
        let padding = " ".repeat(width.saturating_sub(display_width(cell)));
        format!("{cell}{padding}")
    };
    let line = cells.iter().zip(widths).map(padded).collect::<Vec<_>>().join("  ");
    // The words of the first column are ASCII: as many bytes as columns.
    let first = widths.first().copied().unwrap_or_default();
    let (outlook, rest) = line.split_at_checked(first).unwrap_or((&line, ""));
    writeln!(out, "{style}{outlook}{style:#}{}", rest.trim_end())
}
