//! Texts as Go's templates write them with `urlquery`.

use percent_encoding::percent_decode_str;

/// The text; `None` where it is none.
pub(crate) fn unescaped(text: &str) -> Option<String> {
    String::from_utf8(percent_decode_str(&text.replace('+', " ")).collect()).ok()
}
