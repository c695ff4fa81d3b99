//! Notes on what could not be judged: words for people, and a kind for programs.

use serde::{Deserialize, Serialize};

/// Something that was not judged, or not completely.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub kind: NoteKind,
    pub message: String,
}

/// Why it was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteKind {
    /// There is no cluster to look into.
    NoView,
    /// A live object or an earlier record could not be looked up.
    NotLookedUp,
    /// The object, or something of the record, could not be read.
    NotRead,
    /// The release has no earlier record.
    NoBaseline,
    /// Another tool than Helm has written the record.
    OtherTool,
    /// An object wants to switch off what is no rule, or none that it can switch off.
    NotIgnored,
}

impl Note {
    pub(crate) fn new(kind: NoteKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}
