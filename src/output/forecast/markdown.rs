//! Markdown, for a comment: the releases that are not stable in a table, the worst first, below it each cause once.

use std::io::{self, Write};

use stable_hooks_policy::cause::grouped;
use stable_hooks_policy::shown::Shown;

use crate::forecast::{Forecast, Outlook, Summary};
use crate::output::markdown::{Comment, FINDINGS, Section, cause, cell, code, head, paragraph, prose};

/// A cause names so many releases; the table has them all.
const MOST_NAMES: usize = 20;

pub(super) fn write(out: &mut dyn Write, forecasts: &[Forecast], is_complete: bool) -> io::Result<()> {
    let worst = forecasts.iter().map(Forecast::outlook).filter(|outlook| *outlook != Outlook::Stable).min();
    let summary = Summary::of(forecasts);
    let stable = match summary.count(Outlook::Stable) {
        1 => "1 release is stable.".to_owned(),
        count => format!("{count} releases are stable."),
    };
    let outcome = worst.map(Outlook::as_str);
    let head = head("stable-hooks forecast", outcome, !is_complete, &format!("{summary}."), &stable);
    let mut comment = Comment::new(head);
    if worst.is_some() {
        comment.add(&table(forecasts));
        comment.add(&causes(forecasts));
    }
    out.write_all(comment.finish(&[], ("part", "parts")).as_bytes())
}

fn table(forecasts: &[Forecast]) -> Section {
    let unstable = forecasts.iter().filter(|forecast| forecast.outlook() != Outlook::Stable);
    Section {
        head: "| outlook | release | chart | why |\n|---|---|---|---|".to_owned(),
        items: unstable.map(row).collect(),
        called: ("release", "releases"),
    }
}

fn row(forecast: &Forecast) -> String {
    let outlook = forecast.outlook().as_str();
    let [release, chart] = [&name(forecast), &forecast.chart].map(|text| cell(&code(&Shown(text).to_string())));
    format!("\n| **{outlook}** | {release} | {chart} | {} |", cell(&prose(&forecast.why())))
}

/// Each cause with the releases whose upgrade would meet it, then what could not be foretold.
fn causes(forecasts: &[Forecast]) -> Section {
    let judged = forecasts.iter().filter_map(|forecast| Some((forecast, forecast.judged.as_ref().ok()?)));
    let found = judged.flat_map(|(forecast, judged)| judged.findings.iter().map(move |finding| (forecast, finding)));
    let found = grouped(found.collect(), &|(_, finding)| finding.cause()).into_iter().map(|found| {
        let (releases, findings): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        format!("\n\n{}{}", cause("", &findings, None, None), releases_of(releases))
    });
    let troubles = forecasts.iter().filter_map(|forecast| Some((forecast, forecast.judged.as_ref().err()?)));
    let troubles = grouped(troubles.collect(), &|(_, trouble)| trouble.reason.clone()).into_iter().map(|troubles| {
        let reason = troubles.first().map(|(_, trouble)| prose(&trouble.reason)).unwrap_or_default();
        let releases = releases_of(troubles.iter().map(|(forecast, _)| *forecast).collect());
        format!("\n\n- **{}** {reason}{releases}", Outlook::NotForecastable.as_str())
    });
    Section { head: "Why, and what to change:".to_owned(), items: found.chain(troubles).collect(), called: FINDINGS }
}

/// Each of them once, though several of its objects may have been found.
fn releases_of(forecasts: Vec<&Forecast>) -> String {
    let releases = grouped(forecasts, &|forecast| name(forecast));
    let names = releases.iter().filter_map(|release| release.first()).take(MOST_NAMES);
    let names: Vec<_> = names.map(|forecast| code(&Shown(&name(forecast)).to_string())).collect();
    let (count, more) = (releases.len(), releases.len().saturating_sub(MOST_NAMES));
    let plural = if count == 1 { "" } else { "s" };
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    paragraph(&format!("{count} release{plural}: {}{more}", names.join(", ")))
}

fn name(forecast: &Forecast) -> String {
    format!("{}/{}", forecast.namespace, forecast.name)
}
