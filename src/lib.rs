//! The command line of stable-hooks: the same policy that runs in the cluster, on your machine.
//!
//! `cli` reads arguments, `input` files, `engine` asks the policy (compiled in, or a wasm file in
//! `stable-hooks-host`), `output` and `timeline` write. The crate `stable-hooks-policy` decides, and nothing else does.
//!
//! Without the feature `cli` there are no arguments, files, threads and programs: what is left reads texts, judges them and
//! writes what came out.

#![cfg_attr(not(feature = "cli"), deny(clippy::disallowed_methods))]
#![cfg_attr(not(feature = "cli"), expect(dead_code, unused_imports, reason = "the command line calls what writes"))]

mod at_once;
mod changes;
#[cfg(feature = "cli")]
pub mod cli;
pub mod cluster;
mod comparison;
pub mod engine;
mod escaped;
pub mod fix;
#[cfg(feature = "cli")]
mod flips;
mod forecast;
#[cfg(feature = "cli")]
mod git;
#[cfg(feature = "cli")]
pub mod helm;
#[cfg(feature = "cli")]
mod house;
pub mod input;
#[cfg(feature = "cli")]
pub mod invocation;
mod judge;
mod judged;
#[cfg(feature = "cli")]
pub mod kubectl;
mod origin;
mod orphans;
mod output;
pub mod playground;
#[cfg(feature = "cli")]
mod private;
#[cfg(feature = "cli")]
mod program;
#[cfg(feature = "cli")]
pub mod reach;
pub mod records;
pub mod render;
pub mod settings;
#[cfg(feature = "cli")]
mod sweep;
mod syncs;
mod timeline;
#[cfg(feature = "cli")]
mod value;
mod words;
