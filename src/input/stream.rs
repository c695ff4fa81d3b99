//! Cuts a file into its documents and reads one at a time.

use std::io::BufRead;

use super::error::InputError;
use super::json::Json;
use super::lines::{BYTE_ORDER_MARK, Cursor, Lines, Text};
use super::yaml::{Located, read_yaml};

/// The values of a file: those of its YAML documents and of its JSON texts. Empty documents are left out.
pub(super) struct Values<R> {
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
