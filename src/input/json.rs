//! JSON texts one after another: a single one, several, or one a line.

use std::io::BufRead;

use serde_json::{Deserializer, Value};

use super::error::InputError;
use super::lines::{Cursor, Lines, Text};
use super::yaml::{Located, read_yaml};

/// The JSON texts of a piece, of which only as much is held as one text needs.
pub(super) struct Json {
    text: Text,
    /// How many bytes of the text are used, and where they end.
    used: usize,
    line: usize,
    column: usize,
    /// Nothing was read yet, so the piece can still turn out to be YAML.
    is_first: bool,
    /// A text that did not end is tried again when twice as much is there: else a long one would be read over and over.
    enough: usize,
}

impl Json {
    /// The piece may begin with a marker, blanks and comments, which YAML would need.
    pub(super) fn new(text: Text) -> Self {
        let used = if text.bytes.starts_with(b"---") { 3 } else { 0 };
        Self { line: text.line, text, used, column: used, is_first: true, enough: 0 }
    }

    pub(super) fn next<R: BufRead>(&mut self, lines: &mut Lines<R>) -> Option<Result<Located, InputError>> {
        loop {
            self.step(|cursor| {
                cursor.skip_blank();
            });
            let left = self.text.bytes.len() - self.used;
            let may_begin = lines.peek().map(|line| line.starts_with(b"{"));
            if left == 0 && may_begin.is_none() {
                return None;
            }
            // In an indented text no line but the first starts with a brace.
            let is_time = may_begin.is_none_or(|begins| begins && left >= self.enough);
            if left == 0 || !is_time {
                self.read_on(lines);
                continue;
            }
            let (line, column) = (self.line, self.column);
            let rest = self.text.bytes.get(self.used..).unwrap_or_default();
            let mut values = Deserializer::from_slice(rest).into_iter::<Value>();
            match values.next()? {
                Ok(value) => {
                    let end = values.byte_offset();
                    self.step(|cursor| {
                        cursor.take(end);
                    });
                    (self.is_first, self.enough) = (false, 0);
                    return Some(Ok(Located { line, template: String::new(), value }));
                }
                Err(error) if error.is_eof() && may_begin.is_some() => {
                    self.enough = left * 2;
                    self.read_on(lines);
                }
                Err(error) => {
                    let error = InputError::json(&error, line, column);
                    return Some(self.as_yaml(lines).unwrap_or(Err(error)));
                }
            }
        }
    }

    /// A YAML flow mapping starts like JSON does.
    fn as_yaml<R: BufRead>(&mut self, lines: &mut Lines<R>) -> Option<Result<Located, InputError>> {
        if self.is_first {
            while lines.peek().is_some() {
                lines.move_to(&mut self.text);
            }
            if let Ok(Some(value)) = read_yaml(&self.text) {
                self.used = self.text.bytes.len();
                return Some(Ok(value));
            }
        }
        self.recover(lines);
        None
    }

    /// After a broken text, goes on at the next line that starts an object.
    /// Lines inside an indented text do not; counting from its first line keeps the object after one that breaks off.
    fn recover<R: BufRead>(&mut self, lines: &mut Lines<R>) {
        (self.is_first, self.enough) = (false, 0);
        self.step(|cursor| {
            cursor.take_line();
            while cursor.rest.first().is_some_and(|byte| *byte != b'{') {
                cursor.take_line();
            }
        });
        if self.used < self.text.bytes.len() {
            return;
        }
        while lines.peek().is_some_and(|line| !line.starts_with(b"{")) {
            lines.skip();
        }
        (self.line, self.column) = (lines.number, 0);
    }

    fn read_on<R: BufRead>(&mut self, lines: &mut Lines<R>) {
        // Moved seldom, so that many short texts cost no more than one long one; a first text is kept for YAML.
        if !self.is_first && self.used > self.text.bytes.len() / 2 {
            self.text.bytes.drain(..self.used);
            self.used = 0;
        }
        lines.move_to(&mut self.text);
    }

    /// Moves over a part of the text.
    fn step(&mut self, over: impl FnOnce(&mut Cursor<'_>)) {
        let rest = self.text.bytes.get(self.used..).unwrap_or_default();
        let mut cursor = Cursor { rest, line: self.line, column: self.column };
        over(&mut cursor);
        (self.line, self.column) = (cursor.line, cursor.column);
        self.used = self.text.bytes.len() - cursor.rest.len();
    }
}
