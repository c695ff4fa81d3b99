//! The inputs of the page.

use std::fmt;

use serde::Serialize;

/// An input of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Input {
    Settings,
    Before,
    After,
    Manifest,
    Review,
}

impl Input {
    /// As the command line calls it.
    pub(super) fn file(self) -> &'static str {
        match self {
            Self::Settings => "settings.yaml",
            Self::Before => "install.yaml",
            Self::After => "upgrade.yaml",
            Self::Manifest => "manifest.yaml",
            Self::Review => "review.yaml",
        }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file())
    }
}
