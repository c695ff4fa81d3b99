//! JSON texts one after another: a single one, several, or one a line. A long list is read item by item.

use std::io::BufRead;
use std::mem;
use std::sync::Arc;

use serde_json::Deserializer;
use serde_json::value::RawValue;

use super::error::{InputError, Reason};
use super::lines::{Cursor, Lines, Text};
use super::list::{self, Next, Tail, Unfinished};
use super::piece::{Inner, JsonText, LongList};
use super::shape::item_kind;
use super::yaml::read_yaml;

/// A longer text that begins like a list is read item by item.
const LONG: usize = 64 * 1024;

/// The JSON texts of a piece, of which only as much is held as one text needs, or one item of a long list.
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
    /// The same for what is looked at for a list.
    enough_for_list: usize,
    list: Option<Arc<LongList>>,
    /// The next item is the first one of its list.
    is_first_item: bool,
}

impl Json {
    /// The piece may begin with a marker, blanks and comments, which YAML would need.
    pub(super) fn new(text: Text) -> Self {
        let used = if text.bytes.starts_with(b"---") { 3 } else { 0 };
        let line = text.line;
        Self {
            text,
            used,
            line,
            column: used,
            is_first: true,
            enough: 0,
            enough_for_list: LONG,
            list: None,
            is_first_item: true,
        }
    }

    pub(super) fn next<R: BufRead>(&mut self, lines: &mut Lines<R>) -> Option<Inner> {
        loop {
            if let Some(item) = self.next_item(lines) {
                return Some(item);
            }
            self.step(|cursor| {
                cursor.skip_blank();
            });
            let left = self.rest().len();
            if left == 0 && !lines.has_more() {
                return None;
            }
            // In an indented text no line but the first starts with a brace.
            let is_time = !lines.has_more() || (lines.is_at_a_brace() && left >= self.enough);
            if left == 0 || !is_time {
                self.look_for_a_list();
                if self.list.is_none() {
                    self.read_on(lines);
                }
                continue;
            }
            let (line, column) = (self.line, self.column);
            let mut values = Deserializer::from_slice(self.rest()).into_iter::<&RawValue>();
            match values.next()? {
                Ok(value) => {
                    let text = value.get().to_owned();
                    let end = values.byte_offset();
                    self.take(end);
                    self.begin_anew();
                    return Some(Inner::Json(JsonText { text, line, column, list: None }));
                }
                Err(error) if error.is_eof() && lines.has_more() => {
                    self.enough = left * 2;
                    self.read_on(lines);
                }
                Err(error) => {
                    let error = InputError::json(&error, line, column);
                    return Some(self.as_yaml(lines).unwrap_or(Inner::Unreadable(error)));
                }
            }
        }
    }

    /// Opens the list that begins here, if it is long and its first item needs nothing that stands behind the items.
    fn look_for_a_list(&mut self) {
        let left = self.rest().len();
        if left < self.enough_for_list {
            return;
        }
        match list::begins(self.rest()) {
            Ok(Some(head)) => {
                let (line, column) = (self.line, self.column);
                self.take(head.length);
                self.begin_anew();
                (self.list, self.is_first_item) = (Some(Arc::new(LongList { head, line, column })), true);
            }
            Ok(None) => self.enough_for_list = usize::MAX,
            Err(Unfinished) => self.enough_for_list = left * 2,
        }
    }

    /// The next item of the long list; `None` where there is no list, or where it has ended.
    fn next_item<R: BufRead>(&mut self, lines: &mut Lines<R>) -> Option<Inner> {
        let list = self.list.take()?;
        loop {
            match list::next(self.rest(), self.is_first_item) {
                Next::Item(begin, end) => {
                    self.take(begin);
                    let (line, column) = (self.line, self.column);
                    let item = self.rest().get(..end - begin).unwrap_or_default();
                    let text = String::from_utf8_lossy(item).into_owned();
                    self.take(end - begin);
                    (self.list, self.is_first_item) = (Some(Arc::clone(&list)), false);
                    return Some(Inner::Json(JsonText { text, line, column, list: Some(list) }));
                }
                Next::End(end) => {
                    self.take(end);
                    return self.end(&list, lines).err().map(Inner::Unreadable);
                }
                Next::More if self.read_much(lines) => {}
                Next::More => return Some(Inner::Unreadable(self.without_end(&list, lines))),
                Next::Broken(at, error) => {
                    self.take(at);
                    let (line, column) = (self.line, self.column);
                    self.recover(lines);
                    let error = error.map(|error| InputError::json(&error, line, column));
                    return Some(Inner::Unreadable(error.unwrap_or_else(|| InputError::unseparated(line, column))));
                }
            }
        }
    }

    /// Reads what stands behind the items.
    fn end<R: BufRead>(&mut self, list: &LongList, lines: &mut Lines<R>) -> Result<(), InputError> {
        loop {
            match list::tail(self.rest(), list.head.is_bare) {
                Tail::End(kind, end) => {
                    self.take(end);
                    let kind = kind.as_deref().or(list.head.kind.as_deref());
                    let is_list = list.head.is_bare || kind.is_some_and(|kind| item_kind(kind).is_some());
                    return if is_list { Ok(()) } else { Err(Reason::NotAList.at(list.line)) };
                }
                Tail::More if self.read_much(lines) => {}
                Tail::More => return Err(self.without_end(list, lines)),
                Tail::Broken => {
                    self.recover(lines);
                    return Err(Reason::NotAList.at(list.line));
                }
            }
        }
    }

    fn without_end<R: BufRead>(&mut self, list: &LongList, lines: &mut Lines<R>) -> InputError {
        self.recover(lines);
        InputError::unended(list.line, list.column)
    }

    /// A YAML flow mapping starts like JSON does.
    fn as_yaml<R: BufRead>(&mut self, lines: &mut Lines<R>) -> Option<Inner> {
        if self.is_first {
            while lines.has_more() {
                lines.move_to(&mut self.text);
            }
            if let Ok(Some(_)) = read_yaml(&self.text) {
                self.used = 0;
                return Some(Inner::Yaml(mem::take(&mut self.text)));
            }
        }
        self.recover(lines);
        None
    }

    /// After a broken text, goes on at the next line that starts an object.
    /// Lines inside an indented text do not; counting from its first line keeps the object after one that breaks off.
    fn recover<R: BufRead>(&mut self, lines: &mut Lines<R>) {
        self.begin_anew();
        self.step(|cursor| {
            cursor.take_line();
            while cursor.rest.first().is_some_and(|byte| *byte != b'{') {
                cursor.take_line();
            }
        });
        if self.used < self.text.bytes.len() {
            return;
        }
        while lines.has_more() && !lines.is_at_a_brace() {
            lines.skip();
        }
        (self.line, self.column) = (lines.number, 0);
    }

    fn begin_anew(&mut self) {
        (self.is_first, self.enough, self.enough_for_list) = (false, 0, LONG);
    }

    fn read_on<R: BufRead>(&mut self, lines: &mut Lines<R>) {
        // Moved seldom, so that many short texts cost no more than one long one; a first text is kept for YAML.
        if !self.is_first && self.used > self.text.bytes.len() / 2 {
            self.text.bytes.drain(..self.used);
            self.used = 0;
        }
        lines.move_to(&mut self.text);
    }

    /// Reads so much that what did not end is not tried over and over; false where there is no more.
    fn read_much<R: BufRead>(&mut self, lines: &mut Lines<R>) -> bool {
        let left = self.rest().len();
        let enough = left + left.max(LONG);
        let has_more = lines.has_more();
        while lines.has_more() && self.rest().len() < enough {
            self.read_on(lines);
        }
        has_more
    }

    fn rest(&self) -> &[u8] {
        self.text.bytes.get(self.used..).unwrap_or_default()
    }

    fn take(&mut self, count: usize) {
        self.step(|cursor| {
            cursor.take(count);
        });
    }

    /// Moves over a part of the text.
    fn step(&mut self, over: impl FnOnce(&mut Cursor<'_>)) {
        let mut cursor = Cursor { rest: self.rest(), line: self.line, column: self.column };
        over(&mut cursor);
        let left = cursor.rest.len();
        (self.line, self.column) = (cursor.line, cursor.column);
        self.used = self.text.bytes.len() - left;
    }
}
