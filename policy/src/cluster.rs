//! The port to the cluster: what lives there, asked one object at a time.

use std::fmt;

use serde_json::Value;

use crate::note::NoteKind;

/// One object to look up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query<'a> {
    pub api_version: &'a str,
    pub kind: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    /// Only the metadata is wanted.
    pub metadata_only: bool,
}

/// The result of a lookup.
#[derive(Debug, Clone, PartialEq)]
pub enum Lookup {
    Found(Value),
    NotFound,
    Unavailable(Unavailable),
}

/// Why a lookup tells nothing. A host's own words may hold anything, so they are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// There is no cluster at hand.
    NoView,
    NotGranted,
    Forbidden,
    NotJson,
    Failed,
}

impl Unavailable {
    pub(crate) fn note_kind(self) -> NoteKind {
        match self {
            Self::NoView => NoteKind::NoView,
            Self::NotGranted | Self::Forbidden | Self::NotJson | Self::Failed => NoteKind::NotLookedUp,
        }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoView => "there is no view of the cluster",
            Self::NotGranted => "the policy has not been granted access (contextAwareResources)",
            Self::Forbidden => "the policy server has no right to read that kind (RBAC)",
            Self::NotJson => "the host's answer is not JSON",
            Self::Failed => "the host could not look them up",
        })
    }
}

/// Something that knows what lives in the cluster; it never fails.
pub trait Cluster {
    fn get(&self, query: &Query<'_>) -> Lookup;
}

/// No cluster at hand.
pub struct NoCluster;

impl Cluster for NoCluster {
    fn get(&self, _: &Query<'_>) -> Lookup {
        Lookup::Unavailable(Unavailable::NoView)
    }
}
