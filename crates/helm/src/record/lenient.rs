//! Null-tolerant reading: Go leaves a field empty that is null.

use serde::de::{Deserialize, Deserializer};

/// Go writes an empty list or map as null.
pub fn or_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}
