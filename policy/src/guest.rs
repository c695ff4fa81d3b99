//! The waPC exports.

use wapc_guest::{CallResult, register_function};

use crate::wire;

/// Called by the host once for each instance.
#[expect(unsafe_code, reason = "waPC finds this function by its name")]
#[unsafe(no_mangle)]
extern "C" fn wapc_init() {
    register_function("validate", |payload| answer(wire::validate(payload)));
    register_function("validate_settings", |payload| answer(wire::validate_settings(payload)));
    register_function("protocol_version", |_| answer(wire::protocol_version()));
}

#[expect(clippy::unnecessary_wraps, reason = "the signature is waPC's; an error would reach the user as code 500")]
fn answer(response: Vec<u8>) -> CallResult {
    Ok(response)
}
