//! Helm's operations on a release.

use std::time::Duration;

use crate::hook::Event;

/// An operation that Helm is about to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Install,
    Upgrade,
    Rollback,
}

/// How Helm was told to do it. No record says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// `--no-hooks`.
    pub runs_no_hooks: bool,
    /// `--take-ownership`.
    pub takes_ownership: bool,
    /// `--wait`.
    pub waits: bool,
    /// `--timeout`.
    pub timeout: Duration,
}

impl Operation {
    /// The operation of a record that Helm has just begun; `None` for one that is over, a restored backup for example.
    pub fn of_status(status: &str) -> Option<Self> {
        match status {
            "pending-install" => Some(Self::Install),
            "pending-upgrade" => Some(Self::Upgrade),
            "pending-rollback" => Some(Self::Rollback),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Upgrade => "upgrade",
            Self::Rollback => "rollback",
        }
    }

    /// The event before the release's resources are touched.
    pub fn pre(self) -> Event {
        match self {
            Self::Install => Event::PreInstall,
            Self::Upgrade => Event::PreUpgrade,
            Self::Rollback => Event::PreRollback,
        }
    }

    /// The event after that.
    pub fn post(self) -> Event {
        match self {
            Self::Install => Event::PostInstall,
            Self::Upgrade => Event::PostUpgrade,
            Self::Rollback => Event::PostRollback,
        }
    }
}
