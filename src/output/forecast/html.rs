//! One page: the sum, the table, and below it the findings of each release that has some.

use std::io::{self, Write};

use askama::Template;
use stable_hooks_policy::shown::{Shown, Visible};

use crate::forecast::{Forecast, Outlook, Summary};
use crate::judged::{Finding, Place};

#[derive(Template)]
#[template(path = "forecast.html")]
struct Page {
    summary: Summary,
    releases: Vec<Release>,
}

struct Release {
    outlook: Outlook,
    namespace: String,
    name: String,
    chart: String,
    revision: u64,
    why: String,
    /// Empty where it could be judged.
    reason: String,
    notes: Vec<Note>,
}

struct Note {
    level: &'static str,
    rule: String,
    place: String,
    text: String,
    help: String,
}

pub(super) fn write(out: &mut dyn Write, forecasts: &[Forecast]) -> io::Result<()> {
    let page = Page { summary: Summary::of(forecasts), releases: forecasts.iter().map(Release::new).collect() };
    writeln!(out, "{}", page.render().map_err(io::Error::other)?)
}

impl Release {
    fn new(forecast: &Forecast) -> Self {
        let (reason, findings) = match &forecast.judged {
            Ok(judged) => (String::new(), judged.findings.as_slice()),
            Err(trouble) => (trouble.reason.clone(), [].as_slice()),
        };
        let [namespace, name, chart] =
            [&forecast.namespace, &forecast.name, &forecast.chart].map(|text| Shown(text).to_string());
        Self {
            outlook: forecast.outlook(),
            namespace,
            name,
            chart,
            revision: forecast.revision,
            why: Visible(&forecast.why()).to_string(),
            reason: Visible(&reason).to_string(),
            notes: findings.iter().map(Note::new).collect(),
        }
    }

    fn has_more(&self) -> bool {
        self.outlook != Outlook::Stable
    }
}

impl Outlook {
    /// As the page's style calls it.
    fn class(self) -> &'static str {
        match self {
            Self::NotForecastable => "not-forecastable",
            outlook => outlook.as_str(),
        }
    }
}

impl Note {
    fn new(finding: &Finding) -> Self {
        let level = finding.level.as_str();
        let visible = |text: &str| Visible(text).to_string();
        let text = if finding.rule.is_none() {
            visible(&finding.message)
        } else {
            format!("{} {}", finding.object, visible(&finding.message))
        };
        Self {
            level,
            rule: visible(finding.rule_text()),
            place: visible(&finding.template.as_ref().map(Place::to_string).unwrap_or_default()),
            text,
            help: finding.help.lines().map(visible).collect::<Vec<_>>().join("\n"),
        }
    }
}
