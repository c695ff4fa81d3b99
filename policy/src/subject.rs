//! What a rule looks at.

pub(crate) mod change;
pub(crate) mod release;
