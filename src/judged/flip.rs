//! What flips an object: a version of its chart, or a value.

use std::fmt;

use serde::{Serialize, Serializer};
use stable_hooks_policy::name::Name;

use super::place::{Level, Place};

/// An object that changes sides in the upgrades between some versions of a chart, all alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Flip {
    pub(crate) object: Name,
    pub(crate) level: Level,
    pub(crate) was: &'static str,
    pub(crate) becomes: &'static str,
    /// Empty where each of the newer versions flips it by itself, and so in the upgrades from all older ones.
    pub(crate) from: VersionRuns,
    /// What brought the release to the version before: `install`, or `upgrade` where only that makes the flip.
    pub(crate) after: &'static str,
    pub(crate) to: VersionRuns,
}

/// Versions of a chart, the oldest first, in runs with no other version between.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VersionRuns(pub(crate) Vec<Vec<String>>);

/// A changed value of a chart, as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct ValueChange {
    /// As Helm's `--set` takes it.
    pub(crate) path: String,
    pub(crate) from: String,
    pub(crate) to: String,
    /// Where the chart has it among its own values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<Place>,
}

impl Flip {
    /// The columns of a table for people.
    pub(crate) const COLUMNS: [&str; 5] = ["object", "from", "to", "was", "becomes"];

    pub(crate) fn cells(&self) -> [String; 5] {
        let Self { object, from, after, to, was, becomes, .. } = self;
        let from = if from.0.is_empty() { "itself or older".to_owned() } else { from.to_string() };
        let upgraded = if *after == "upgrade" { ", if upgraded" } else { "" };
        [object.to_string(), format!("{from}{upgraded}"), to.to_string(), (*was).to_owned(), (*becomes).to_owned()]
    }
}

impl fmt::Display for VersionRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (run, number) in self.0.iter().zip(0..) {
            let comma = if number == 0 { "" } else { ", " };
            match run.as_slice() {
                [first, .., last] => write!(f, "{comma}{first} – {last}")?,
                run => write!(f, "{comma}{}", run.concat())?,
            }
        }
        Ok(())
    }
}

impl Serialize for VersionRuns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().flatten())
    }
}
