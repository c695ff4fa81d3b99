//! What the playground's worker calls.

use wasm_bindgen::prelude::wasm_bindgen;

/// Answers a question of the page: `stable_hooks::playground` says what is asked and answered.
#[wasm_bindgen]
#[must_use]
pub fn answer(question: &str) -> String {
    stable_hooks::playground::answer(question)
}
