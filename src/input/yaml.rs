//! One piece of a file as YAML.

use helm::manifest;
use helm::yaml;
use serde_json::Value;

use super::error::{InputError, Reason};
use super::lines::{Cursor, Text};

/// A value and where it was found.
pub(super) struct Located {
    /// Where it starts, from 1.
    pub(super) line: usize,
    /// The template that Helm says it made the value of; empty if that is not said.
    pub(super) template: String,
    pub(super) value: Value,
}

/// Reads the YAML document of a piece.
pub(super) fn read_yaml(piece: &Text) -> Result<Option<Located>, InputError> {
    let bytes = piece.bytes.as_slice();
    let text = str::from_utf8(bytes).map_err(|error| {
        let mut cursor = Cursor { rest: bytes, line: piece.line, column: 0 };
        cursor.take(error.valid_up_to());
        let utf16 = bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF");
        InputError { line: cursor.line, reason: if utf16 { Reason::Utf16 } else { Reason::Encoding } }
    })?;
    let found = yaml::parse(text, &yaml::Limits::default()).map_err(|error| InputError::yaml(error, piece.line))?;
    let below_marker = text.strip_prefix("---").unwrap_or(text);
    let template = manifest::path(below_marker).to_owned();
    Ok(found.map(|(line, value)| Located { line: piece.line + line - 1, template, value }))
}
