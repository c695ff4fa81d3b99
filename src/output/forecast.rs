//! How a forecast is written.

mod html;
mod human;
mod json;
mod markdown;
pub(crate) mod reports;

use std::io::{self, Write};

#[cfg(feature = "cli")]
use clap::ValueEnum;

use super::policy_report::Api;
use crate::forecast::Forecast;

/// How a forecast is written.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(ValueEnum))]
pub(crate) enum Format {
    /// For people: a table, then the findings
    #[default]
    Human,
    /// JSON, version 1: docs/output.md
    Json,
    /// Markdown, for a comment on a pull request
    Markdown,
    /// A page that loads nothing
    Html,
    /// A `PolicyReport` of wgpolicyk8s.io/v1alpha2 for each release
    #[cfg_attr(
        feature = "cli",
        value(name = "policyreport", help = "A PolicyReport of wgpolicyk8s.io/v1alpha2 for each release")
    )]
    PolicyReport,
    /// A Report of openreports.io/v1alpha1 for each release
    #[cfg_attr(feature = "cli", value(name = "openreports"))]
    OpenReports,
}

impl Format {
    /// Writes forecasts that are in order; they may not be all.
    pub(crate) fn write(self, out: &mut dyn Write, forecasts: &[Forecast], is_complete: bool) -> io::Result<()> {
        match self {
            Self::Human => human::write(out, forecasts),
            Self::Json => json::write(out, forecasts),
            Self::Markdown => markdown::write(out, forecasts, is_complete),
            Self::Html => html::write(out, forecasts),
            Self::PolicyReport => reports::write(Api::PolicyReport, out, forecasts),
            Self::OpenReports => reports::write(Api::OpenReports, out, forecasts),
        }
    }

    /// The kind of reports that it writes, if it does.
    #[cfg(feature = "cli")]
    pub(crate) fn api(self) -> Option<Api> {
        match self {
            Self::PolicyReport => Some(Api::PolicyReport),
            Self::OpenReports => Some(Api::OpenReports),
            Self::Human | Self::Json | Self::Markdown | Self::Html => None,
        }
    }
}
