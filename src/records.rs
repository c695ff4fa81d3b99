//! Helm's release records as they are stored, each judged as at the moment when Helm began to write it.

#[cfg(feature = "cli")]
pub mod chart;
mod hooks;
pub mod installed;
#[cfg(feature = "cli")]
pub(crate) mod page;
mod stored;
mod templates;

pub use stored::{RecordError, StoredRecord, record_object};
pub(crate) use templates::object_ref;
