//! A file line by line, one line ahead: only the line after a document tells that it has ended.

use std::io::{BufRead, Read as _};

use super::error::{InputError, Reason};

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A longer line is read in parts: a whole file can be one.
const LONGEST: u64 = 64 * 1024;

/// The lines of a file, each with its line break.
pub(super) struct Lines<R> {
    reader: R,
    /// The line that comes next, or a part of it; empty at the end of the file.
    ahead: Vec<u8>,
    /// It is a later part of a line.
    continues: bool,
    /// Its number, from 1.
    pub(super) number: usize,
    failure: Option<InputError>,
}

/// Bytes that were read of a file and are not used yet.
#[derive(Default)]
pub(super) struct Text {
    pub(super) bytes: Vec<u8>,
    /// Where the bytes begin.
    pub(super) line: usize,
}

/// The rest of a text, and where it begins.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) rest: &'a [u8],
    /// From 1.
    pub(super) line: usize,
    /// Bytes before `rest` in its line.
    pub(super) column: usize,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        let mut lines = Self { reader, ahead: Vec::new(), continues: false, number: 0, failure: None };
        lines.advance();
        lines
    }

    fn advance(&mut self) {
        self.continues = self.ahead.last().is_some_and(|byte| *byte != b'\n');
        self.number += usize::from(!self.continues);
        self.ahead.clear();
        if let Err(error) = self.reader.by_ref().take(LONGEST).read_until(b'\n', &mut self.ahead) {
            self.ahead.clear();
            self.failure = Some(InputError { line: self.number, reason: Reason::Reading(error.to_string()) });
        }
    }

    /// Why the file ended early; told once.
    pub(super) fn take_failure(&mut self) -> Option<InputError> {
        self.failure.take()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.ahead.is_empty()
    }

    /// Whether the next line, or part of one, belongs to the same document.
    pub(super) fn has_more(&self) -> bool {
        !self.is_at_end() && (self.continues || !is_marker(&self.ahead))
    }

    /// A line begins here, and it begins with a brace.
    pub(super) fn is_at_a_brace(&self) -> bool {
        !self.continues && self.ahead.starts_with(b"{")
    }

    /// What comes next is not the beginning of a line.
    pub(super) fn is_in_a_line(&self) -> bool {
        self.continues
    }

    /// Moves the next line to the end of a text.
    pub(super) fn move_to(&mut self, text: &mut Text) {
        text.bytes.extend_from_slice(&self.ahead);
        self.advance();
    }

    pub(super) fn skip(&mut self) {
        self.advance();
    }
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

impl Text {
    pub(super) fn strip_prefix(&mut self, prefix: &[u8]) {
        if self.bytes.starts_with(prefix) {
            self.bytes.drain(..prefix.len());
        }
    }
}

/// Whether a YAML document starts (`---`) or ends (`...`) at this line. At column 0 a marker is one even inside a block scalar.
fn is_marker(line: &[u8]) -> bool {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    let after = line.strip_prefix(b"---").or_else(|| line.strip_prefix(b"..."));
    after.is_some_and(|after| after.first().is_none_or(u8::is_ascii_whitespace))
}
