//! A table, below it each cause once with its releases, and the sum.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use stable_hooks_policy::cause::{grouped, once, subject};
use stable_hooks_policy::shown::{Shown, Visible};
use textwrap::core::display_width;

use crate::forecast::{Forecast, Outlook, Summary};
use crate::judged::Finding;
use crate::output::human::{fill, head, paragraph, write_help};

/// How many objects of a cause are named: each release has its own.
const MOST_NAMES: usize = 3;

const HEAD: [&str; 5] = ["OUTLOOK", "NAMESPACE", "RELEASE", "CHART", "WHY"];

pub(super) fn write(out: &mut dyn Write, forecasts: &[Forecast]) -> io::Result<()> {
    write_table(out, forecasts)?;
    let judged = forecasts.iter().filter_map(|forecast| Some((forecast, forecast.judged.as_ref().ok()?)));
    let found = judged.flat_map(|(forecast, judged)| judged.findings.iter().map(move |finding| (forecast, finding)));
    for cause in grouped(found.collect(), &|(_, finding)| finding.cause()) {
        writeln!(out)?;
        write_cause(out, &cause)?;
    }
    let troubles = forecasts.iter().filter_map(|forecast| Some((forecast, forecast.judged.as_ref().err()?)));
    for releases in grouped(troubles.collect(), &|(_, trouble)| trouble.reason.clone()) {
        let Some((_, trouble)) = releases.first() else { continue };
        let style = style(Outlook::NotForecastable);
        writeln!(out, "\n{style}{}{style:#}", Outlook::NotForecastable.as_str())?;
        paragraph(out, &trouble.reason)?;
        write_releases(out, releases.iter().map(|(forecast, _)| *forecast))?;
    }
    writeln!(out, "{}{}", if forecasts.is_empty() { "" } else { "\n" }, Summary::of(forecasts))
}

/// One cause, and the releases whose upgrade would meet it.
fn write_cause(out: &mut dyn Write, found: &[(&Forecast, &Finding)]) -> io::Result<()> {
    let Some((_, finding)) = found.first() else { return Ok(()) };
    if finding.rule.is_none() {
        fill(out, "", &format!("{} {}", head(finding), Visible(&finding.message.replace('\n', " "))))?;
    } else {
        fill(out, "", &head(finding))?;
        let objects: Vec<_> = found.iter().map(|(_, finding)| &finding.object).collect();
        let each = if objects.len() > 1 { "each " } else { "" };
        paragraph(out, &format!("{}: {each}{}", subject(once(objects), MOST_NAMES), finding.message))?;
        write_help(out, finding)?;
    }
    write_releases(out, found.iter().map(|(forecast, _)| *forecast))
}

/// Each of them once, though several of its objects may have been found.
fn write_releases<'f>(out: &mut dyn Write, forecasts: impl Iterator<Item = &'f Forecast>) -> io::Result<()> {
    let name = |forecast: &&Forecast| format!("{}/{}", Shown(&forecast.namespace), Shown(&forecast.name));
    let releases = grouped(forecasts.collect(), &name);
    let names: Vec<_> = releases.iter().filter_map(|release| release.first()).map(name).collect();
    let releases = if names.len() == 1 { "release" } else { "releases" };
    paragraph(out, &format!("{} {releases}: {}", names.len(), names.join(", ")))
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

fn style(outlook: Outlook) -> Style {
    let color = match outlook {
        Outlook::Flips | Outlook::Denied => AnsiColor::Red,
        Outlook::NotForecastable => AnsiColor::Magenta,
        Outlook::Warned => AnsiColor::Yellow,
        Outlook::Stable => AnsiColor::Green,
    };
    Style::new().fg_color(Some(color.into()))
}
