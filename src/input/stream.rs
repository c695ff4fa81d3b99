//! Cuts a file into its documents and reads one at a time.

use serde_json::Value;
use stable_hooks_policy::yaml;

use super::error::{InputError, Reason};
use super::json::Json;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A value and the line where it starts.
pub(super) type Located = (usize, Value);

/// What is left to read, and where that is.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub rest: &'a [u8],
    /// From 1.
    pub line: usize,
    /// Bytes before `rest` in its line.
    pub column: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at_checked(count).unwrap_or((self.rest, &[]));
        self.rest = rest;
        let mut lines = taken.rsplit(|byte| *byte == b'\n');
        let last = lines.next().map_or(0, <[u8]>::len);
        let breaks = lines.count();
        self.column = if breaks == 0 { self.column + last } else { last };
        self.line += breaks;
        taken
    }

    pub(super) fn take_line(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        self.take(end.map_or(self.rest.len(), |at| at + 1))
    }

    /// Moves over white space, comments and YAML directives.
    pub(super) fn skip_blank(&mut self) {
        loop {
            self.take(self.rest.len() - self.rest.trim_ascii_start().len());
            if [&b"#"[..], b"%YAML", b"%TAG"].iter().any(|start| self.rest.starts_with(start)) {
                self.take_line();
            } else {
                return;
            }
        }
    }
}

/// Whether a YAML document starts (`---`) or ends (`...`) at this line. At column 0 a marker is one even inside a block scalar.
fn is_marker(line: &[u8]) -> bool {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    let after = line.strip_prefix(b"---").or_else(|| line.strip_prefix(b"..."));
    after.is_some_and(|after| after.first().is_none_or(u8::is_ascii_whitespace))
}

/// The values of a file: those of its YAML documents and of its JSON texts. Empty documents are left out.
pub(super) struct Values<'a> {
    file: Cursor<'a>,
    /// The JSON texts of the piece that is being read.
    json: Option<Json<'a>>,
}

impl<'a> Values<'a> {
    pub(super) fn new(file: &'a [u8]) -> Self {
        Self { file: Cursor { rest: file, line: 1, column: 0 }, json: None }
    }

    /// The file up to the next marker line. A JSON text never holds one, so this comes before JSON and YAML are told apart.
    fn piece(&mut self) -> Option<Cursor<'a>> {
        let start = self.file;
        let mut length = self.file.take_line().len();
        while !self.file.rest.is_empty() {
            let mut next = self.file;
            let line = next.take_line();
            if is_marker(line) {
                break;
            }
            length += line.len();
            self.file = next;
        }
        let piece = start.rest.get(..length).filter(|piece| !piece.is_empty())?;
        let piece = piece.strip_prefix(BYTE_ORDER_MARK).unwrap_or(piece);
        Some(Cursor { rest: piece.strip_prefix(b"...").unwrap_or(piece), ..start })
    }

    fn read(&mut self, piece: Cursor<'a>) -> Option<Result<Located, InputError>> {
        let mut body = piece;
        if body.rest.starts_with(b"---") {
            body.take(3);
        }
        body.skip_blank();
        match body.rest.first()? {
            b'{' | b'[' => {
                let mut json = Json::new(body);
                let first = json.next();
                // A YAML flow mapping starts like JSON does.
                if let Some(Err(_)) = first
                    && let Ok(Some(value)) = read_yaml(piece)
                {
                    return Some(Ok(value));
                }
                self.json = Some(json);
                first
            }
            _ => read_yaml(piece).transpose(),
        }
    }
}

impl Iterator for Values<'_> {
    type Item = Result<Located, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut next = self.json.as_mut().and_then(Iterator::next);
            if next.is_none() {
                self.json = None;
                let piece = self.piece()?;
                next = self.read(piece);
            }
            match next {
                None | Some(Ok((_, Value::Null))) => {}
                Some(next) => return Some(next),
            }
        }
    }
}

fn read_yaml(piece: Cursor<'_>) -> Result<Option<Located>, InputError> {
    let text = str::from_utf8(piece.rest).map_err(|error| {
        let mut cursor = piece;
        cursor.take(error.valid_up_to());
        let utf16 = piece.rest.starts_with(b"\xFF\xFE") || piece.rest.starts_with(b"\xFE\xFF");
        InputError { line: cursor.line, reason: if utf16 { Reason::Utf16 } else { Reason::Encoding } }
    })?;
    let found = yaml::parse(text, &yaml::Limits::default()).map_err(|error| InputError::yaml(error, piece.line))?;
    Ok(found.map(|(line, value)| (piece.line + line - 1, value)))
}
