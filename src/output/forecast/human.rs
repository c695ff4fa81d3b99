//! A table, the findings below it, and the sum.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use stable_hooks_policy::shown::{Shown, Visible};
use textwrap::core::display_width;

use crate::forecast::{Forecast, Outlook, Summary};
use crate::output::human::{fill, paragraph, write_findings};

const HEAD: [&str; 5] = ["OUTLOOK", "NAMESPACE", "RELEASE", "CHART", "WHY"];

pub(super) fn write(out: &mut dyn Write, forecasts: &[Forecast]) -> io::Result<()> {
    write_table(out, forecasts)?;
    for forecast in forecasts.iter().filter(|forecast| forecast.outlook() != Outlook::Stable) {
        writeln!(out)?;
        write_forecast(out, forecast)?;
    }
    writeln!(out, "{}{}", if forecasts.is_empty() { "" } else { "\n" }, Summary::of(forecasts))
}

fn write_table(out: &mut dyn Write, forecasts: &[Forecast]) -> io::Result<()> {
    let rows: Vec<_> = forecasts.iter().map(|forecast| (forecast.outlook(), cells(forecast))).collect();
    let mut widths = HEAD.map(str::len);
    for (_, cells) in &rows {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = display_width(cell).max(*width);
        }
    }
    if !rows.is_empty() {
        write_row(out, &HEAD.map(str::to_owned), &widths, Style::new())?;
    }
    rows.iter().try_for_each(|(outlook, cells)| write_row(out, cells, &widths, style(*outlook)))
}

fn cells(forecast: &Forecast) -> [String; 5] {
    let [namespace, name, chart] =
        [&forecast.namespace, &forecast.name, &forecast.chart].map(|text| Shown(text).to_string());
    let why = Visible(&forecast.why()).to_string();
    [forecast.outlook().as_str().to_owned(), namespace, name, chart, why]
}

/// Colours the first column, and leaves no blanks behind the last.
fn write_row(out: &mut dyn Write, cells: &[String], widths: &[usize], style: Style) -> io::Result<()> {
    let padded = |(cell, width): (&String, &usize)| {
        let padding = " ".repeat(width.saturating_sub(display_width(cell)));
        format!("{cell}{padding}")
    };
    let line = cells.iter().zip(widths).map(padded).collect::<Vec<_>>().join("  ");
    // The words of an outlook are ASCII: as many bytes as columns.
    let first = widths.first().copied().unwrap_or_default();
    let (outlook, rest) = line.split_at_checked(first).unwrap_or((&line, ""));
    writeln!(out, "{style}{outlook}{style:#}{}", rest.trim_end())
}

fn write_forecast(out: &mut dyn Write, forecast: &Forecast) -> io::Result<()> {
    let outlook = forecast.outlook();
    let (style, word) = (style(outlook).bold(), outlook.as_str());
    let (namespace, name) = (Shown(&forecast.namespace), Shown(&forecast.name));
    fill(out, "", &format!("{style}{word}{style:#} {namespace}/{name}, revision {}", forecast.revision))?;
    match &forecast.judged {
        Ok(judged) => write_findings(out, judged),
        Err(trouble) => paragraph(out, &trouble.reason),
    }
}

fn style(outlook: Outlook) -> Style {
    let color = match outlook {
        Outlook::Flips | Outlook::Denied => AnsiColor::Red,
        Outlook::NotForecastable => AnsiColor::Magenta,
        Outlook::Warned => AnsiColor::Yellow,
        Outlook::Stable => AnsiColor::Green,
    };
    Style::new().fg_color(Some(color.into()))
}
