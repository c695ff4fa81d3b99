//! The port to the cluster: what lives there, asked one object at a time.

use serde_json::Value;

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

/// What a lookup found.
#[derive(Debug, Clone, PartialEq)]
pub enum Lookup {
    Found(Value),
    NotFound,
    /// Nobody can tell, and why; the reason is fixed text, for the host's may hold anything.
    Unavailable(&'static str),
}

/// Something that knows what lives in the cluster; it never fails.
pub trait Cluster {
    fn get(&self, query: &Query<'_>) -> Lookup;
}

/// Why nothing can be looked up where there is no cluster at hand.
pub const NO_VIEW: &str = "there is no view of the cluster";

/// No cluster at hand.
pub struct NoCluster;

impl Cluster for NoCluster {
    fn get(&self, _: &Query<'_>) -> Lookup {
        Lookup::Unavailable(NO_VIEW)
    }
}
