//! Forecasts of the next upgrade of each release, the worst first.
use std::collections::BTreeSet;
use std::fmt;

use helm::storage::Storage;
use serde::Serialize;
use stable_hooks_policy::RuleId;

use crate::judged::{Finding, Judged, Level, Verdict, are_ignored};

/// The table names so many objects of a flip; the findings name them all.
const MOST_NAMED: usize = 2;

/// The outlook for a release, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outlook {
    Flips,
    Denied,
    NotForecastable,
    Warned,
    Stable,
}

/// Why a release's next upgrade cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// The trouble in few words.
    pub(crate) what: &'static str,
    /// The whole reason, with what can be done about it.
    pub(crate) reason: String,
    /// A program failed or took too long: another try may go well.
    pub(crate) is_passing: bool,
}

impl Trouble {
    /// It stays until somebody changes something.
    pub(crate) fn new(what: &'static str, reason: String) -> Self {
        Self { what, reason, is_passing: false }
    }
}

/// One release, and what its next upgrade would meet.
#[derive(Debug)]
pub(crate) struct Forecast {
    /// Where its records are.
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) storage: Storage,
    /// The object that holds the record from which the upgrade starts.
    pub(crate) record: String,
    /// Its name and version; empty where that is not known.
    pub(crate) chart: String,
    /// The revision that the next upgrade makes.
    pub(crate) revision: u64,
    pub(crate) judged: Result<Judged, Trouble>,
}

/// How many releases have which outlook.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    releases: usize,
    pub(crate) flips: usize,
    pub(crate) denied: usize,
    pub(crate) not_forecastable: usize,
    pub(crate) warned: usize,
    stable: usize,
    /// Findings that their objects have switched off.
    ignored: usize,
}

impl Outlook {
    pub(crate) const ALL: [Self; 5] = [Self::Flips, Self::Denied, Self::NotForecastable, Self::Warned, Self::Stable];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Flips => "flips",
            Self::Denied => "denied",
            Self::NotForecastable => "not forecastable",
            Self::Warned => "warned",
            Self::Stable => "stable",
        }
    }

    /// The summary's words for that many releases.
    pub(crate) fn said_of(self, count: usize) -> String {
        let words = match self {
            Self::Flips => "will flip",
            Self::Denied => "will be denied",
            Self::NotForecastable => "not forecastable",
            Self::Warned => "with warnings",
            Self::Stable => "stable",
        };
        format!("{count} {words}")
    }
}

impl Forecast {
    /// The worst first, then by name.
    pub(crate) fn order(&self) -> impl Ord + use<> {
        (self.outlook(), self.namespace.clone(), self.name.clone(), self.storage)
    }

    pub(crate) fn outlook(&self) -> Outlook {
        let Ok(judged) = &self.judged else { return Outlook::NotForecastable };
        match judged.verdict {
            Verdict::Deny if flips(judged).next().is_some() => Outlook::Flips,
            Verdict::Deny => Outlook::Denied,
            Verdict::Allow | Verdict::Normalize if judged.findings.is_empty() => Outlook::Stable,
            Verdict::Allow | Verdict::Normalize => Outlook::Warned,
        }
    }

    /// In few words, for a table.
    pub(crate) fn why(&self) -> String {
        let judged = match &self.judged {
            Ok(judged) => judged,
            Err(trouble) => return trouble.what.to_owned(),
        };
        let flips: BTreeSet<_> = flips(judged).map(|finding| &finding.object).collect();
        if flips.is_empty() {
            let rules: BTreeSet<_> = judged.findings.iter().filter_map(|finding| finding.rule.as_deref()).collect();
            return rules.into_iter().collect::<Vec<_>>().join(", ");
        }
        let named = flips.iter().take(MOST_NAMED).map(|object| format!("{} {}", object.kind, object.name));
        let more = flips.len().saturating_sub(MOST_NAMED);
        let more = (more > 0).then(|| format!("{more} more"));
        named.chain(more).collect::<Vec<_>>().join(", ")
    }
}

/// The findings that say that an object changes sides, and deny it.
fn flips(judged: &Judged) -> impl Iterator<Item = &Finding> {
    let is_flip = |finding: &&Finding| finding.level == Level::Deny && finding.is_of(RuleId::ReleaseIdentityFlip);
    judged.findings.iter().filter(is_flip)
}

impl Summary {
    pub(crate) fn of(forecasts: &[Forecast]) -> Self {
        let count = |outlook| forecasts.iter().filter(|forecast| forecast.outlook() == outlook).count();
        Self {
            releases: forecasts.len(),
            flips: count(Outlook::Flips),
            denied: count(Outlook::Denied),
            not_forecastable: count(Outlook::NotForecastable),
            warned: count(Outlook::Warned),
            stable: count(Outlook::Stable),
            ignored: forecasts.iter().flat_map(|forecast| &forecast.judged).map(|judged| judged.ignored.len()).sum(),
        }
    }

    pub(crate) fn count(&self, outlook: Outlook) -> usize {
        match outlook {
            Outlook::Flips => self.flips,
            Outlook::Denied => self.denied,
            Outlook::NotForecastable => self.not_forecastable,
            Outlook::Warned => self.warned,
            Outlook::Stable => self.stable,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> = Outlook::ALL.into_iter().map(|outlook| outlook.said_of(self.count(outlook))).collect();
        let releases = if self.releases == 1 { "release" } else { "releases" };
        write!(f, "{} {releases}: {}", self.releases, parts.join(", "))?;
        if self.ignored > 0 { write!(f, "; {}", are_ignored(self.ignored)) } else { Ok(()) }
    }
}
