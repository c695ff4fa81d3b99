//! Cuts a file into pieces, each of which can be read by itself.

use std::io::BufRead;

use super::json::Json;
use super::lines::{BYTE_ORDER_MARK, Cursor, Lines, Text};
use super::piece::{Inner, Piece};

/// The pieces of a file, of which one is held at a time.
pub struct Pieces<R> {
    lines: Lines<R>,
    /// The JSON texts of the piece that is being read.
    json: Option<Json>,
}

/// The kind of a piece, as its first character says that is neither blank nor in a comment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Json,
    Yaml,
    /// Nothing but blanks, comments and directives.
    Empty,
}

impl<R: BufRead> Pieces<R> {
    /// Cuts what that reads.
    pub fn new(reader: R) -> Self {
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
            let is_first = piece.bytes.is_empty();
            self.lines.move_to(&mut piece);
            if is_first {
                piece.strip_prefix(BYTE_ORDER_MARK);
                piece.strip_prefix(b"...");
            }
            if kind == Kind::Empty {
                kind = kind_of(piece.bytes.get(before..).unwrap_or_default());
            }
            if kind == Kind::Json || !self.lines.has_more() {
                return Some((piece, kind));
            }
            if !self.lines.is_in_a_line() {
                before = piece.bytes.len();
            }
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

impl<R: BufRead> Iterator for Pieces<R> {
    type Item = Piece;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(found) = self.json.as_mut().and_then(|json| json.next(&mut self.lines)) {
                return Some(Piece(found));
            }
            self.json = None;
            let inner = match self.piece() {
                None => Inner::Unreadable(self.lines.take_failure()?),
                Some((piece, Kind::Json)) => {
                    self.json = Some(Json::new(piece));
                    continue;
                }
                Some((_, Kind::Empty)) => continue,
                Some((piece, Kind::Yaml)) => Inner::Yaml(piece),
            };
            return Some(Piece(inner));
        }
    }
}
