//! The command line of stable-hooks: the same policy that runs in the cluster, on your machine.
//!
//! `cli` reads arguments, `input` files, `engine` asks the policy (compiled in, or a wasm file in
//! `stable-hooks-host`), `report` writes. What is decided is decided in the crate `stable-hooks-policy`.

pub mod cli;
pub mod cluster;
pub mod engine;
pub mod fix;
mod forecast;
pub mod helm;
pub mod input;
mod judged;
pub mod kubectl;
mod output;
mod private;
pub mod records;
pub mod render;
mod timeline;
