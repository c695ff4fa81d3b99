//! The subject of a rule: a change of an object, or a release.

pub(crate) mod change;
pub(crate) mod release;
