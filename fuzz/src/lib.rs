//! What holds for every input: one module for each fuzz target, with a function that takes bytes and panics where it does
//! not hold.
//!
//! libFuzzer calls these functions through `fuzz_targets/`. The tests call them with the committed corpus, without
//! libFuzzer, and ask the wasm the same questions.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a fuzz target fails by panicking"
)]

mod answer;
mod canary;
mod choice;
mod cost;
pub mod fix;
pub mod guest;
pub mod hook;
pub mod playground;
pub mod record;
pub mod request;
pub mod settings;
pub mod stream;
pub mod template;
pub mod words;
pub mod yaml;
