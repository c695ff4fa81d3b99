//! One YAML document as the JSON that kubectl and Helm make of it (`sigs.k8s.io/yaml`).
//! Keys become strings, the last of duplicate keys wins, and `<<` overrides the keys before it.

mod error;
mod head;
mod reader;
mod scalar;

pub use error::{Problem, YamlError};
pub use head::{Head, head, kind};
pub use reader::{Limits, parse, skim};
