//! Cuts a file into its documents and reads one at a time.

use std::io::BufRead;

use helm::manifest;
use helm::yaml;
use serde_json::Value;

use super::error::{InputError, Reason};
use super::json::Json;
use super::lines::{BYTE_ORDER_MARK, Cursor, Lines, Text};

/// A value and where it was found.
pub(super) struct Located {
    /// Where it starts, from 1.
    pub(super) line: usize,
    /// The template that Helm says it made the value of; empty if that is not said.
    pub(super) template: String,
    pub(super) value: Value,
}

/// The values of a file: those of its YAML documents and of its JSON texts. Empty documents are left out.
pub(super) struct Values<R> {
    lines: Lines<R>,
    /// The JSON texts of the piece that is being read.
    json: Option<Json>,
}

/// What a piece is, as its first character that is neither blank nor comment says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Json,
    Yaml,
    /// Nothing but blanks, comments and directives.
    Empty,
}

impl<R: BufRead> Values<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { lines: Lines::new(reader), json: None }
    }

    /// Reads the file up to the next marker line, or up to where JSON begins.
    /// A JSON text never holds a marker line, so this comes before JSON and YAML are told apart.
    fn piece(&mut self) -> Option<(Text, Kind)> {
        if self.lines.is_at_end() {
            return None;
        }
        let mut piece = Text { bytes: Vec::new(), line: self.lines.number };
        let mut kind = Kind::Empty;
        let mut before = 0;
        loop {
            self.lines.move_to(&mut piece);
            if before == 0 {
                piece.strip_prefix(BYTE_ORDER_MARK);
                piece.strip_prefix(b"...");
            }
            if kind == Kind::Empty {
                kind = kind_of(piece.bytes.get(before..).unwrap_or_default());
            }
            if kind == Kind::Json || self.lines.peek().is_none() {
                return Some((piece, kind));
            }
            before = piece.bytes.len();
        }
    }
}

fn kind_of(line: &[u8]) -> Kind {
    let rest = line.strip_prefix(b"---").unwrap_or(line);
    let mut cursor = Cursor { rest, line: 1, column: 0 };
    cursor.skip_blank();
    match cursor.rest.first() {
        None => Kind::Empty,
        Some(b'{' | b'[') => Kind::Json,
        Some(_) => Kind::Yaml,
    }
}

impl<R: BufRead> Iterator for Values<R> {
    type Item = Result<Located, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut next = self.json.as_mut().and_then(|json| json.next(&mut self.lines));
            if next.is_none() {
                self.json = None;
                match self.piece() {
                    None => return self.lines.take_failure().map(Err),
                    Some((piece, Kind::Json)) => {
                        self.json = Some(Json::new(piece));
                        continue;
                    }
                    Some((_, Kind::Empty)) => continue,
                    Some((piece, Kind::Yaml)) => next = read_yaml(&piece).transpose(),
                }
            }
            match next {
                Some(Err(error)) => return Some(Err(error)),
                Some(Ok(located)) if !located.value.is_null() => return Some(Ok(located)),
                None | Some(Ok(_)) => {}
            }
        }
    }
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
