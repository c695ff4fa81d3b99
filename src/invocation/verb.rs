//! Helm's verbs that change a release.

use std::ffi::OsStr;

/// A verb of Helm's that changes a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Install,
    Upgrade,
    Rollback,
}

impl Verb {
    pub const ALL: [Self; 3] = [Self::Install, Self::Upgrade, Self::Rollback];

    #[must_use]
    pub fn of(word: &OsStr) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| word == verb.as_str())
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Upgrade => "upgrade",
            Self::Rollback => "rollback",
        }
    }
}
