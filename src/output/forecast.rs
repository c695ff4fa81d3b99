//! How a forecast is written.

mod html;
mod human;
mod json;
mod markdown;

use std::io::{self, Write};

#[cfg(feature = "cli")]
use clap::ValueEnum;

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
}

impl Format {
    /// Writes forecasts that are in order; they may not be all.
    pub(crate) fn write(self, out: &mut dyn Write, forecasts: &[Forecast], is_complete: bool) -> io::Result<()> {
        match self {
            Self::Human => human::write(out, forecasts),
            Self::Json => json::write(out, forecasts),
            Self::Markdown => markdown::write(out, forecasts, is_complete),
            Self::Html => html::write(out, forecasts),
        }
    }
}
