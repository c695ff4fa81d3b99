//! A long list in JSON, taken apart item by item: one of a whole cluster is larger than what shall be held of it.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Deserializer, Value};

use super::shape::{complete, has_text, item_kind};

/// What stands before the items of a list.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) api_version: Option<Value>,
    /// `kubectl` writes it behind the items.
    pub(super) kind: Option<String>,
    /// It is nothing but its items, in brackets.
    pub(super) is_bare: bool,
    /// How many bytes it takes, with the bracket.
    pub(super) length: usize,
}

/// The first item does not end in the text.
pub(super) struct Unfinished;

/// What comes next in a list.
#[derive(Debug)]
pub(super) enum Next {
    /// An item from there to there.
    Item(usize, usize),
    /// The items end there.
    End(usize),
    /// It takes more of the text to tell.
    More,
    /// There is no item from there on; without an error a comma is missing.
    Broken(usize, Option<serde_json::Error>),
}

/// What stands behind the items.
#[derive(Debug)]
pub(super) enum Tail {
    /// The kind, where it stands there, and where the list ends.
    End(Option<String>, usize),
    /// It takes more of the text to tell.
    More,
    /// There is no JSON, or there are more items.
    Broken,
}

impl Head {
    /// Adds to an item what the list says of all.
    pub(super) fn complete(&self, item: &mut Value) {
        complete(item, self.kind.as_deref().and_then(item_kind), self.api_version.as_ref());
    }

    /// Whether the items can be judged without what stands behind them, as the first one says.
    fn is_enough_for(&self, mut first: Value) -> bool {
        self.complete(&mut first);
        let is_list = self.kind.as_deref().is_none_or(|kind| item_kind(kind).is_some());
        self.is_bare || (is_list && has_text(&first, "kind") && has_text(&first, "apiVersion"))
    }
}

/// Looks for a list that can be read item by item: `Ok(None)` where there is none, an error where it takes more to tell.
pub(super) fn begins(text: &[u8]) -> Result<Option<Head>, Unfinished> {
    let Some(head) = head(text) else { return Ok(None) };
    let items = text.get(head.length..).unwrap_or_default();
    match next(items, true) {
        Next::More => Err(Unfinished),
        Next::Item(begin, end) => {
            let first = items.get(begin..end).and_then(|item| serde_json::from_slice(item).ok());
            Ok(Some(head).filter(|head| first.is_some_and(|first| head.is_enough_for(first))))
        }
        Next::End(_) | Next::Broken(..) => Ok(None),
    }
}

/// Reads up to the first item; `None` where no list begins, or where more than that is missing.
fn head(text: &[u8]) -> Option<Head> {
    if let Some(length) = past(text, 0, b'[') {
        return Some(Head { is_bare: true, length, ..Head::default() });
    }
    let mut at = past(text, 0, b'{')?;
    let mut head = Head::default();
    loop {
        let key: String = value(text, &mut at).ok()?;
        at = past(text, at, b':')?;
        if key == "items" {
            head.length = past(text, at, b'[')?;
            return Some(head);
        }
        let value: Value = value(text, &mut at).ok()?;
        match (key.as_str(), value) {
            ("apiVersion", value) => head.api_version = Some(value),
            ("kind", Value::String(kind)) => head.kind = Some(kind),
            _ => {}
        }
        at = past(text, at, b',')?;
    }
}

/// Reads what comes behind the bracket, or behind an item.
pub(super) fn next(text: &[u8], is_first: bool) -> Next {
    let mut at = blank(text, 0);
    match text.get(at) {
        None => return Next::More,
        Some(b']') => return Next::End(at + 1),
        Some(b',') if !is_first => at = blank(text, at + 1),
        Some(_) if !is_first => return Next::Broken(at, None),
        Some(_) => {}
    }
    let begin = at;
    match value::<&RawValue>(text, &mut at) {
        // A number or a word can go on where the text ends.
        Ok(_) if at == text.len() => Next::More,
        Ok(_) => Next::Item(begin, at),
        Err(error) if error.is_eof() => Next::More,
        Err(error) => Next::Broken(begin, Some(error)),
    }
}

/// Reads from behind the items to the end of the list.
pub(super) fn tail(text: &[u8], is_bare: bool) -> Tail {
    let (mut at, mut kind) = (0, None);
    if is_bare {
        return Tail::End(None, at);
    }
    loop {
        at = blank(text, at);
        match text.get(at) {
            None => return Tail::More,
            Some(b'}') => return Tail::End(kind, at + 1),
            Some(b',') => at += 1,
            Some(_) => return Tail::Broken,
        }
        let field = match key(text, &mut at) {
            Ok(Some(key)) => value(text, &mut at).map(|value: Value| Some((key, value))),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        match field {
            Ok(Some((key, _))) if key == "items" => return Tail::Broken,
            Ok(Some((key, value))) if key == "kind" => kind = value.as_str().map(str::to_owned),
            Ok(Some(_)) => {}
            Err(error) if error.is_eof() => return Tail::More,
            Ok(None) | Err(_) => return Tail::Broken,
        }
    }
}

/// A field's name and the colon behind it, which can be missing.
fn key(text: &[u8], at: &mut usize) -> serde_json::Result<Option<String>> {
    let key: String = value(text, at)?;
    let colon = blank(text, *at);
    *at = colon + 1;
    match text.get(colon) {
        Some(b':') => Ok(Some(key)),
        Some(_) => Ok(None),
        None => value(b"", &mut 0).map(Some),
    }
}

/// The value that begins at that place or behind white space, after which the place is where it ends.
fn value<'a, T: Deserialize<'a>>(text: &'a [u8], at: &mut usize) -> serde_json::Result<T> {
    let rest = text.get(*at..).unwrap_or_default();
    let mut values = Deserializer::from_slice(rest).into_iter();
    match values.next() {
        Some(value) => {
            let value = value?;
            *at += values.byte_offset();
            Ok(value)
        }
        None => serde_json::from_slice(b""),
    }
}

/// The next place where something other than white space stands.
fn blank(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.len() - rest.trim_ascii_start().len()
}

/// Behind that byte, if it comes next.
fn past(text: &[u8], at: usize, byte: u8) -> Option<usize> {
    let at = blank(text, at);
    (text.get(at) == Some(&byte)).then_some(at + 1)
}
