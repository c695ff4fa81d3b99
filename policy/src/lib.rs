//! The policy: one pure, total function from (request, settings) to a verdict.
//!
//! ```text
//!  guest.rs (waPC)           the command line
//!      |  payload bytes          |  files, standard input
//!      v                         v
//!  RequestError <-- Request::parse        Settings::parse --> SettingsErrors     fallible edge
//!      |               |                      |
//!      |               v                      |
//!      |        selector: is this a migration?                                  pure, total
//!      |        identity::classify(object) -> Identity
//!      |               v
//!      |        rules::check_all(&Context) -> Findings      one file per rule
//!      |               v
//!      |        normalize::plan(&Findings) -> Option<Patch>  metadata.annotations only
//!      |               v
//!      |        verdict::decide(Findings, Option<Patch>) -> Verdict
//!      v               v
//!   deny 400    ValidationResponse (wire.rs)                                    adapters
//! ```
//!
//! `evaluate.rs` is that middle column as code; start reading there.

#![deny(clippy::disallowed_methods)]

pub mod argocd;
pub mod cluster;
pub mod docs;
pub mod evaluate;
pub mod finding;
#[cfg(all(target_arch = "wasm32", not(test)))]
mod guest;
pub mod identity;
mod judge;
pub mod name;
pub mod object;
mod patch;
mod pod_template;
pub mod references;
pub mod request;
pub mod rule;
pub mod rules;
pub mod selector;
pub mod settings;
pub mod shown;
mod subject;
#[cfg(test)]
mod testing;
pub mod verdict;
pub mod wire;

pub use evaluate::evaluate;
pub use request::{Request, RequestError};
pub use rule::RuleId;
pub use settings::{Settings, SettingsErrors};
pub use verdict::{Decision, Verdict};
