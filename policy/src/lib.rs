//! The policy: one pure, total function from (request, settings) to a verdict.
//!
//! ```text
//!  guest.rs (waPC)           the command line
//!      |  payload bytes          |  files, standard input
//!      v                         v
//!  RequestError <-- Request::parse        Settings::parse --> SettingsErrors     fallible edge
//!                      |                      |
//!         an object    |    a release record  |                                  pure, total
//!             v        |           v
//!   subject::change    |   subject::release: the record, what it is compared with, what lives
//!             v                    v
//!   judge::objects         judge::releases        one loop each over rules/, one file a rule
//!             |   Findings         |
//!             v                    v
//!   verdict::decide(Findings), with patch::plan: metadata.annotations only --> Verdict
//!                      v
//!   deny 400    ValidationResponse (wire.rs)                                     adapters
//! ```
//!
//! `evaluate.rs` is that middle as code; start reading there. What Helm is stands in the crate `helm`.

#![deny(clippy::disallowed_methods)]

pub mod argocd;
pub mod cause;
pub mod cluster;
pub mod docs;
pub mod evaluate;
pub mod finding;
#[cfg(all(target_arch = "wasm32", feature = "guest", not(test)))]
mod guest;
pub mod identity;
pub mod ignore;
mod judge;
pub mod name;
pub mod note;
pub mod object;
mod patch;
mod pod_template;
pub mod references;
pub mod renders;
pub mod request;
pub mod rule;
pub mod rules;
pub mod selector;
pub mod settings;
pub mod shown;
mod subject;
pub mod sync;
#[cfg(test)]
mod testing;
pub mod verdict;
pub mod wire;

pub use evaluate::evaluate;
pub use request::{Request, RequestError};
pub use rule::RuleId;
pub use settings::{Settings, SettingsErrors};
pub use verdict::{Decision, Verdict};
