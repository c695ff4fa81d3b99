//! What the policy is measured against: the least that any guest must do with the same bytes.

#![cfg(target_arch = "wasm32")]

use std::io::Read;

use flate2::bufread::MultiGzDecoder;
use serde_json::Value;
use wapc_guest::{CallResult, register_function};

#[expect(unsafe_code, reason = "waPC finds this function by its name")]
#[unsafe(no_mangle)]
extern "C" fn wapc_init() {
    register_function("validate", validate);
    register_function("validate_settings", |_| Ok(br#"{"valid":true}"#.to_vec()));
    register_function("protocol_version", |_| Ok(br#""v1""#.to_vec()));
    register_function("inflate", inflate);
}

/// Reads JSON into a tree, as policies do, and accepts what is in it.
fn validate(payload: &[u8]) -> CallResult {
    let tree: Value = serde_json::from_slice(payload)?;
    Ok(format!("{{\"accepted\":{}}}", tree.is_object()).into_bytes())
}

/// Inflates a gzip in one go and checks that it is text.
fn inflate(packed: &[u8]) -> CallResult {
    let size = packed.last_chunk().map_or(0, |size| u32::from_le_bytes(*size));
    let mut text = Vec::with_capacity(usize::try_from(size)?);
    MultiGzDecoder::new(packed).read_to_end(&mut text)?;
    Ok(std::str::from_utf8(&text)?.len().to_string().into_bytes())
}
