//! From what is asked to findings: which rules are asked, and what their answers lead to.

pub(crate) mod charts;
pub(crate) mod objects;
pub(crate) mod releases;
