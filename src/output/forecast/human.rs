//! A table, below it each cause once with its releases, and the sum.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use stable_hooks_policy::cause::{grouped, once, subject};
use stable_hooks_policy::shown::{Shown, Visible};

use crate::forecast::{Forecast, Outlook, Summary};
use crate::judged::Finding;
use crate::output::human::{fill, head, paragraph, write_help};
use crate::output::table;

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
    let rows: Vec<_> = forecasts.iter().map(|forecast| (style(forecast.outlook()), cells(forecast))).collect();
    table::write(out, HEAD, &rows)
}

fn cells(forecast: &Forecast) -> [String; 5] {
    let [namespace, name, chart] =
        [&forecast.namespace, &forecast.name, &forecast.chart].map(|text| Shown(text).to_string());
    let why = Visible(&forecast.why()).to_string();
    [forecast.outlook().as_str().to_owned(), namespace, name, chart, why]
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
