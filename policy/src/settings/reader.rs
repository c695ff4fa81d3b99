//! Reads a JSON tree field by field and collects every problem with its path.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde_json::{Map, Value};

use crate::shown::Shown;

/// One problem in the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// Where: dotted, with `[index]` for list items.
    pub path: String,
    /// The mistake and what was expected.
    pub problem: String,
}

/// All problems in the settings, in the order of the documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsErrors(Vec<SettingsError>);

impl SettingsErrors {
    pub fn iter(&self) -> impl Iterator<Item = &SettingsError> {
        self.0.iter()
    }
}

impl fmt::Display for SettingsErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the settings are not valid")?;
        for SettingsError { path, problem } in &self.0 {
            write!(f, "\n{path}: {problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SettingsErrors {}

/// Where the problems are collected.
#[derive(Default)]
pub(super) struct Reader(RefCell<Vec<SettingsError>>);

impl Reader {
    pub(super) fn root<'a>(&'a self, value: &'a Value) -> Node<'a> {
        Node { reader: self, path: String::new(), value }
    }

    pub(super) fn finish(self) -> Result<(), SettingsErrors> {
        let errors = self.0.into_inner();
        if errors.is_empty() { Ok(()) } else { Err(SettingsErrors(errors)) }
    }
}

/// A value and where it stands.
pub(super) struct Node<'a> {
    reader: &'a Reader,
    path: String,
    pub(super) value: &'a Value,
}

/// The fields of an object; those that are not asked for are unknown.
pub(super) struct Section<'a> {
    node: &'a Node<'a>,
    map: Option<&'a Map<String, Value>>,
    asked: RefCell<Vec<&'static str>>,
    found: Cell<usize>,
}

impl<'a> Node<'a> {
    fn problem(&self, problem: String) {
        let path = if self.path.is_empty() { "settings".to_owned() } else { self.path.clone() };
        self.reader.0.borrow_mut().push(SettingsError { path, problem });
    }

    /// Records that something else was expected; a string is repeated, for it may be a misspelt word.
    pub(super) fn expected(&self, expected: &str) {
        let found = match self.value {
            Value::Null => "null".to_owned(),
            Value::Bool(_) => "a boolean".to_owned(),
            Value::Number(_) => "a number".to_owned(),
            Value::String(text) => format!("\"{}\"", Shown(text)),
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "an object".to_owned(),
        };
        self.problem(format!("expected {expected}, found {found}"));
    }

    /// As `expected`, for fields that want no string at all.
    fn expected_type(&self, expected: &str) {
        if self.value.is_string() {
            self.problem(format!("expected {expected}, found a string"));
        } else {
            self.expected(expected);
        }
    }

    fn child(&self, name: &str, value: &'a Value) -> Self {
        let path = if self.path.is_empty() || name.starts_with('[') {
            format!("{}{name}", self.path)
        } else {
            format!("{}.{name}", self.path)
        };
        Self { reader: self.reader, path, value }
    }

    /// Reads an object; every field that `read` does not ask for is a problem.
    pub(super) fn section(&self, read: impl FnOnce(&Section<'_>)) {
        let map = match self.value {
            Value::Object(map) => Some(map),
            Value::Null => None,
            _ => return self.expected_type("an object"),
        };
        let section = Section { node: self, map, asked: RefCell::default(), found: Cell::new(0) };
        read(&section);
        section.unknown_fields();
    }

    /// The members of an object whose keys are free.
    pub(super) fn entries(&self) -> Vec<(&'a str, Node<'a>)> {
        if let Value::Object(map) = self.value {
            let entry = |(key, value): (&'a String, _)| (key.as_str(), self.child(&Shown(key).to_string(), value));
            return map.iter().map(entry).collect();
        }
        self.expected_type("an object");
        Vec::new()
    }

    pub(super) fn list(&self) -> Vec<Node<'a>> {
        if let Value::Array(items) = self.value {
            return items.iter().enumerate().map(|(index, item)| self.child(&format!("[{index}]"), item)).collect();
        }
        self.expected_type("a list");
        Vec::new()
    }

    /// A list of strings that all satisfy `valid`.
    pub(super) fn strings(&self, expected: &str, valid: impl Fn(&str) -> bool) -> Vec<String> {
        let mut strings = Vec::new();
        for item in self.list() {
            match item.value.as_str() {
                Some(text) if valid(text) => strings.push(text.to_owned()),
                _ => item.expected(expected),
            }
        }
        strings
    }

    /// A word with a meaning.
    pub(super) fn word<T>(&self, expected: &str, parse: impl FnOnce(&str) -> Option<T>, set: impl FnOnce(T)) {
        match self.value.as_str().and_then(parse) {
            Some(value) => set(value),
            None => self.expected(expected),
        }
    }

    /// A rule's level; YAML makes `false` of an unquoted `off`.
    pub(super) fn level<T>(&self, expected: &str, parse: impl FnOnce(&str) -> Option<T>, set: impl FnOnce(T)) {
        match (self.value, parse) {
            (Value::Bool(false), parse) => parse("off").map_or_else(|| self.expected(expected), set),
            (_, parse) => self.word(expected, parse, set),
        }
    }

    pub(super) fn boolean(&self, set: impl FnOnce(bool)) {
        self.value.as_bool().map_or_else(|| self.expected_type("true or false"), set);
    }

    pub(super) fn integer(&self, set: impl FnOnce(i64)) {
        self.value.as_i64().map_or_else(|| self.expected_type("an integer"), set);
    }

    pub(super) fn count(&self, set: impl FnOnce(u64)) {
        self.value.as_u64().map_or_else(|| self.expected_type("a whole number, 0 or more"), set);
    }

    pub(super) fn seconds(&self, set: impl FnOnce(u64)) {
        self.value.as_u64().map_or_else(|| self.expected_type("a number of seconds, 0 or more"), set);
    }
}

impl<'a> Section<'a> {
    /// Reads one field if it is there; `null` is absent.
    pub(super) fn field(&self, name: &'static str, read: impl FnOnce(&Node<'a>)) {
        self.asked.borrow_mut().push(name);
        if let Some(value) = self.map.and_then(|map| map.get(name)) {
            self.found.set(self.found.get() + 1);
            if !value.is_null() {
                read(&self.node.child(name, value));
            }
        }
    }

    /// As `field`, for one that must be there.
    pub(super) fn required(&self, name: &'static str, read: impl FnOnce(&Node<'a>)) {
        if self.map.and_then(|map| map.get(name)).is_none_or(Value::is_null) {
            self.node.problem(format!("expected a field `{name}`, found none"));
        }
        self.field(name, read);
    }

    fn unknown_fields(&self) {
        let Some(map) = self.map.filter(|map| map.len() > self.found.get()) else { return };
        let asked = self.asked.borrow();
        for (key, value) in map.iter().filter(|(key, _)| !asked.contains(&key.as_str())) {
            let unknown = self.node.child(&Shown(key).to_string(), value);
            unknown.problem(format!("unknown field, expected one of {}", asked.join(", ")));
        }
    }
}
