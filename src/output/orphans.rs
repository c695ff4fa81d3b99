//! How hooks that no record names are written.

mod human;
mod json;
mod markdown;

use std::io::{self, Write};

#[cfg(feature = "cli")]
use clap::ValueEnum;

use crate::orphans::{Left, Summary};

/// How hooks that no record names are written.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(ValueEnum))]
pub(crate) enum Format {
    /// For people: a table, then the commands
    #[default]
    Human,
    /// JSON, version 1: docs/output.md
    Json,
    /// Markdown, for a comment or an issue
    Markdown,
}

impl Format {
    /// Writes hooks that are in order; they may not be all.
    pub(crate) fn write(
        self,
        out: &mut dyn Write,
        left: &[Left],
        summary: Summary,
        is_complete: bool,
    ) -> io::Result<()> {
        match self {
            Self::Human => human::write(out, left, summary),
            Self::Json => json::write(out, left, summary),
            Self::Markdown => markdown::write(out, left, summary, is_complete),
        }
    }
}
