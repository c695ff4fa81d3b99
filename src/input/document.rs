//! An object as it stands in a file.

use serde_json::Value;

/// An object in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The running number of the object in the file, from 1. Broken documents count, empty ones and lists do not.
    pub number: usize,
    /// Where it starts, from 1. For an item of a list, where the list starts.
    pub line: usize,
    /// The template that Helm says it made the object of; empty if that is not said.
    pub template: String,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// An `AdmissionRequest`, taken out of its `AdmissionReview` where it was in one.
    Request(Value),
    /// A Kubernetes object.
    Manifest(Value),
}

/// How a report names what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    /// A request that is alone in its file, by that.
    ByFile,
    ByNumber,
}

impl Naming {
    pub(crate) fn source(self, file: &str, number: usize, is_alone: bool) -> String {
        match self {
            Self::ByFile if is_alone => file.to_owned(),
            Self::ByFile | Self::ByNumber => format!("{file}#{number}"),
        }
    }
}

impl Content {
    pub(crate) fn naming(&self) -> Naming {
        match self {
            Self::Request(_) => Naming::ByFile,
            Self::Manifest(_) => Naming::ByNumber,
        }
    }
}
