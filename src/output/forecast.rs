//! How a forecast is written.

mod html;
mod human;
mod json;

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
    /// A page that loads nothing
    Html,
}

impl Format {
    /// Writes forecasts that are in order.
    pub(crate) fn write(self, out: &mut dyn Write, forecasts: &[Forecast]) -> io::Result<()> {
        match self {
            Self::Human => human::write(out, forecasts),
            Self::Json => json::write(out, forecasts),
            Self::Html => html::write(out, forecasts),
        }
    }
}
