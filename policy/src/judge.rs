//! From what is asked to findings: which rules are asked, and what their answers lead to.

pub(crate) mod objects;
pub(crate) mod releases;
pub(crate) mod syncs;
