//! One YAML document as the JSON that kubectl and Helm make of it (`sigs.k8s.io/yaml`).
//! Keys become strings, the last of duplicate keys wins, and `<<` overrides the keys before it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::mem;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError};
use serde_json::{Map, Value};

use super::error::{InputError, Reason};
use super::scalar;
use super::stream::Located;

/// As deep as `serde_json` reads, so that YAML and JSON are judged alike and recursion over a value is safe.
const MAX_DEPTH: usize = 127;

/// What anchors and aliases may copy within one document, in bytes as `measure` counts them.
const MAX_COPIED: usize = 16 << 20;

/// What may be read again after lines were indented, in bytes.
const MAX_REREAD: usize = 64 << 20;

const INDENT: &str = "                                                                ";

/// In the words of `serde_json` and of the YAML parser.
const TOO_DEEP: &str = "recursion limit exceeded";

/// Why a node cannot become JSON.
type Problem = &'static str;

/// Reads a text of at most one document that starts at `line` of the file.
pub(super) fn parse(text: &str, line: usize) -> Result<Option<Located>, InputError> {
    let mut text = Cow::Borrowed(text);
    let mut reread = 0;
    loop {
        match build(&text, line) {
            Ok(found) => return Ok(found),
            Err(Failure::Node(error)) => return Err(error),
            Err(Failure::Syntax(error)) => match indent(&text, &error) {
                Some(indented) if reread < MAX_REREAD => {
                    reread += text.len();
                    text = Cow::Owned(indented);
                }
                _ => return Err(InputError::yaml(&error, line)),
            },
        }
    }
}

/// Go reads a quoted text whose further lines are not indented, and charts in use have them.
/// The blanks that start such a line are not part of the text, so some more do no harm.
fn indent(text: &str, error: &ScanError) -> Option<String> {
    if *error.kind() != ErrorKind::InvalidQuotedScalarIndent {
        return None;
    }
    let (before, after) = text.split_at_checked(error.marker().byte_offset()?)?;
    Some([before, INDENT, after].concat())
}

fn build(text: &str, line: usize) -> Result<Option<Located>, Failure> {
    let mut builder = Builder::default();
    let mut start = line;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(Failure::Syntax)?;
        let at = line + span.start.line().saturating_sub(1);
        let fail = |reason| Failure::Node(InputError { line: at, reason });
        if builder.open.is_empty() && event.is_node() {
            if builder.document.is_some() {
                return Err(fail(Reason::MoreThanOne));
            }
            start = at;
        }
        builder.event(event).map_err(|problem| {
            let column = span.start.col() + 1;
            let problem = problem.into();
            fail(Reason::Yaml { column, problem })
        })?;
    }
    Ok(builder.document.map(|value| (start, value)))
}

enum Failure {
    Syntax(ScanError),
    Node(InputError),
}

#[derive(Default)]
struct Builder {
    document: Option<Value>,
    /// The collections that have begun and not ended, each with its anchor.
    open: Vec<(Collection, usize)>,
    /// By the parser's number of the anchor; 0 is none.
    anchors: BTreeMap<usize, Anchored>,
    copied: usize,
}

enum Collection {
    Sequence(Vec<Value>),
    Mapping { entries: Map<String, Value>, key: Key },
}

/// The key whose value comes next.
enum Key {
    Awaited,
    Named(String),
    Merge,
}

struct Anchored {
    value: Value,
    size: usize,
    depth: usize,
}

impl Builder {
    fn event(&mut self, event: Event<'_>) -> Result<(), Problem> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                if let Some((Collection::Mapping { key, .. }, _)) = self.open.last_mut()
                    && matches!(key, Key::Awaited)
                    && scalar::is_merge(&text, plain, tag.as_deref())
                {
                    *key = Key::Merge;
                    return Ok(());
                }
                let value = scalar::resolve(text, plain, tag.as_deref())?;
                self.finish(value, anchor)
            }
            Event::SequenceStart(_, anchor, _) => self.begin(Collection::Sequence(Vec::new()), anchor),
            Event::MappingStart(_, anchor, _) => {
                let (entries, key) = (Map::new(), Key::Awaited);
                self.begin(Collection::Mapping { entries, key }, anchor)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some((Collection::Sequence(items), anchor)) => self.finish(Value::Array(items), anchor),
                Some((Collection::Mapping { entries, .. }, anchor)) => self.finish(Value::Object(entries), anchor),
                None => Ok(()),
            },
            Event::Alias(anchor) => self.alias(anchor),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, collection: Collection, anchor: usize) -> Result<(), Problem> {
        if self.open.len() >= MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        self.open.push((collection, anchor));
        Ok(())
    }

    fn finish(&mut self, value: Value, anchor: usize) -> Result<(), Problem> {
        if anchor != 0 {
            let (size, depth) = measure(&value);
            self.spend(size)?;
            let value = value.clone();
            self.anchors.insert(anchor, Anchored { value, size, depth });
        }
        self.add(value)
    }

    fn alias(&mut self, anchor: usize) -> Result<(), Problem> {
        // The parser knows the anchor, so a missing one has not ended yet.
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Err("alias inside of what it stands for");
        };
        if self.open.len() + anchored.depth > MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        let (value, size) = (anchored.value.clone(), anchored.size);
        self.spend(size)?;
        self.add(value)
    }

    fn spend(&mut self, size: usize) -> Result<(), Problem> {
        self.copied = self.copied.saturating_add(size);
        if self.copied > MAX_COPIED {
            return Err("anchors and aliases that copy too much");
        }
        Ok(())
    }

    fn add(&mut self, value: Value) -> Result<(), Problem> {
        match self.open.last_mut() {
            None => self.document = Some(value),
            Some((Collection::Sequence(items), _)) => items.push(value),
            Some((Collection::Mapping { entries, key }, _)) => match mem::replace(key, Key::Awaited) {
                Key::Awaited => *key = Key::Named(name(value)?),
                Key::Named(name) => {
                    entries.insert(name, value);
                }
                Key::Merge => merge(entries, value)?,
            },
        }
        Ok(())
    }
}

fn name(key: Value) -> Result<String, Problem> {
    match key {
        Value::String(name) => Ok(name),
        Value::Bool(name) => Ok(name.to_string()),
        Value::Number(name) => Ok(name.to_string()),
        Value::Null => Err("null as a key"),
        Value::Array(_) | Value::Object(_) => Err("a collection as a key"),
    }
}

fn merge(entries: &mut Map<String, Value>, value: Value) -> Result<(), Problem> {
    let sources = match value {
        Value::Array(sources) => sources,
        source => vec![source],
    };
    // Of several sources the first wins.
    for source in sources.into_iter().rev() {
        let Value::Object(source) = source else {
            return Err("a merge key without a mapping or a list of mappings");
        };
        entries.extend(source);
    }
    Ok(())
}

/// The bytes that a copy takes, roughly, and how many collections are nested.
fn measure(value: &Value) -> (usize, usize) {
    let node = size_of::<Value>();
    let sum = |(size, depth): (usize, usize), (item, below): (usize, usize)| (size + item, depth.max(below + 1));
    match value {
        Value::String(text) => (node + text.len(), 0),
        Value::Array(items) => items.iter().map(measure).fold((node, 1), sum),
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| {
                let (size, depth) = measure(value);
                (size + size_of::<String>() + key.len(), depth)
            };
            entries.iter().map(entry).fold((node, 1), sum)
        }
        _ => (node, 0),
    }
}
