//! How what was judged is written: one result after the other, so that a long run needs no memory for them.

pub(crate) mod forecast;
mod github;
mod human;
mod json;
pub(crate) mod markdown;
pub(crate) mod orphans;
pub(crate) mod policy_report;
mod results;
mod sarif;
mod table;
mod tally;
mod values;
pub(crate) mod writer;

use crate::judged::Judging;
#[cfg(feature = "cli")]
use clap::ValueEnum;
pub(crate) use human::write_cause;
use writer::Writer;

/// How a run is written.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(ValueEnum))]
pub(crate) enum Format {
    /// For people, 80 columns wide
    #[default]
    Human,
    /// JSON, version 1: docs/output.md
    Json,
    /// Markdown, for a comment on a pull request
    Markdown,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
    /// A `PolicyReport` of wgpolicyk8s.io/v1alpha2
    #[cfg_attr(feature = "cli", value(name = "policyreport", help = "A PolicyReport of wgpolicyk8s.io/v1alpha2"))]
    PolicyReport,
    /// A Report of openreports.io/v1alpha1
    #[cfg_attr(feature = "cli", value(name = "openreports"))]
    OpenReports,
}

impl Format {
    pub(crate) fn writer(self, judging: Judging) -> Box<dyn Writer> {
        match self {
            Self::Human => Box::new(human::Human::new(judging)),
            Self::Json => Box::new(json::Json::default()),
            Self::Markdown => Box::new(markdown::Markdown::new(judging)),
            Self::Sarif => Box::new(sarif::Sarif::default()),
            Self::Github => Box::new(github::Github),
            Self::PolicyReport => Box::new(policy_report::PolicyReport::new(policy_report::Api::PolicyReport)),
            Self::OpenReports => Box::new(policy_report::PolicyReport::new(policy_report::Api::OpenReports)),
        }
    }
}
