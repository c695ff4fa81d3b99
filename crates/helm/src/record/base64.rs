//! Base64 as Go reads it.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use memchr::memchr2;

/// Go does not look at the bits that the last character has too many.
pub(crate) const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// As Go's `StdEncoding`, which passes over line ends.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    if memchr2(b'\r', b'\n', text).is_some() {
        let text: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
        return BASE64.decode(text).ok();
    }
    BASE64.decode(text).ok()
}
