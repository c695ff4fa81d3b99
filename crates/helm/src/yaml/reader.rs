//! Events of the YAML parser, made into JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::mem;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError};
use serde_json::{Map, Value};

use super::error::{Problem, YamlError};
use super::scalar;

/// As deep as `serde_json` reads, so that YAML and JSON are judged alike and recursion over a value is safe.
const MAX_DEPTH: usize = 127;

const INDENT: &str = "                                                                ";

/// In the words of `serde_json` and of the YAML parser.
const TOO_DEEP: &str = "recursion limit exceeded";

/// Where in an object that stands.
pub(super) const FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The field that Go takes a key for.
pub(super) fn field_of(key: &str) -> Option<&'static str> {
    FIELDS.into_iter().find(|field| field.eq_ignore_ascii_case(key))
}

/// Limits of one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many collections may be nested. More than the default of 127 is not possible.
    pub depth: usize,
    /// The bytes that anchors and aliases may copy, as `measure` counts them.
    pub copied: usize,
    /// The bytes that may be read again after lines were indented.
    pub reread: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: MAX_DEPTH, copied: 16 << 20, reread: 64 << 20 }
    }
}

/// Reads a text of at most one document, and says in which line that starts.
pub fn parse(text: &str, limits: &Limits) -> Result<Option<(usize, Value)>, YamlError> {
    read(text, limits, Extent::Whole)
}

/// Reads as [`parse`] does and finds the same defects, and keeps of an object only what its [`Head`](super::Head) is made of.
pub fn skim(text: &str, limits: &Limits) -> Result<Option<(usize, Value)>, YamlError> {
    read(text, limits, Extent::Skimmed)
}

/// How much of a document is read.
#[derive(Clone, Copy)]
pub(super) enum Extent {
    Whole,
    /// All of it, and not all is kept.
    Skimmed,
    /// Until this says that it is enough.
    Until(fn(&Builder) -> bool),
}

pub(super) fn read(text: &str, limits: &Limits, extent: Extent) -> Result<Option<(usize, Value)>, YamlError> {
    let mut text = Cow::Borrowed(text);
    let mut reread = 0;
    loop {
        match build(&text, limits, extent) {
            Ok(found) => return Ok(found),
            Err(Failure::Node(error)) => return Err(error),
            Err(Failure::Syntax(error)) => match indent(&text, &error) {
                Some(indented) if reread < limits.reread => {
                    reread += text.len();
                    text = Cow::Owned(indented);
                }
                _ => return Err(YamlError::from(&error)),
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

fn build(text: &str, limits: &Limits, extent: Extent) -> Result<Option<(usize, Value)>, Failure> {
    let mut builder = Builder::new(limits, matches!(extent, Extent::Skimmed));
    let mut start = 1;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(Failure::Syntax)?;
        let (line, column) = (span.start.line(), span.start.col() + 1);
        let fail = |problem| Failure::Node(YamlError { line, column, problem });
        if builder.open.is_empty() && event.is_node() {
            if builder.document.is_some() {
                return Err(fail(Problem::MoreThanOne));
            }
            start = line;
        }
        builder.event(event).map_err(|defect| fail(Problem::Malformed(defect.into())))?;
        if matches!(extent, Extent::Until(enough) if enough(&builder)) {
            builder.close();
            break;
        }
    }
    Ok(builder.document.map(|value| (start, value)))
}

/// Why a node cannot become JSON.
type Defect = &'static str;

enum Failure {
    Syntax(ScanError),
    Node(YamlError),
}

pub(super) struct Builder {
    limits: Limits,
    document: Option<Value>,
    /// The collections that have begun and not ended.
    open: Vec<Open>,
    /// By the parser's number of the anchor; 0 is none.
    anchors: BTreeMap<usize, Anchored>,
    copied: usize,
    /// Only what a head is made of is kept.
    skims: bool,
}

struct Open {
    collection: Collection,
    anchor: usize,
    /// Nothing asks for what is in it.
    is_skimmed: bool,
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
    fn new(limits: &Limits, skims: bool) -> Self {
        let limits = Limits { depth: limits.depth.min(MAX_DEPTH), ..*limits };
        Self { limits, document: None, open: Vec::new(), anchors: BTreeMap::new(), copied: 0, skims }
    }

    /// The entries of the outermost mapping, while no collection inside of it is open.
    pub(super) fn top_level(&self) -> Option<&Map<String, Value>> {
        match self.open.as_slice() {
            [Open { collection: Collection::Mapping { entries, .. }, .. }] => Some(entries),
            _ => None,
        }
    }

    /// Takes what was read of the outermost mapping as the whole document.
    fn close(&mut self) {
        if let Some(Open { collection: Collection::Mapping { entries, .. }, .. }) = self.open.pop() {
            self.document = Some(Value::Object(entries));
        }
    }

    fn event(&mut self, event: Event<'_>) -> Result<(), Defect> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                if let Some(Open { collection: Collection::Mapping { key, .. }, .. }) = self.open.last_mut()
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
                Some(Open { collection, anchor, .. }) => self.finish(collection.into_value(), anchor),
                None => Ok(()),
            },
            Event::Alias(anchor) => self.alias(anchor),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, collection: Collection, anchor: usize) -> Result<(), Defect> {
        if self.open.len() >= self.limits.depth {
            return Err(TOO_DEEP);
        }
        // An alias may ask for all of what has an anchor.
        let is_skimmed = anchor == 0 && self.drops_next();
        self.open.push(Open { collection, anchor, is_skimmed });
        Ok(())
    }

    /// Nothing asks for the value that comes next. What is merged is looked at before it goes.
    fn drops_next(&self) -> bool {
        self.skims
            && match self.open.as_slice() {
                [Open { collection: Collection::Mapping { key: Key::Named(name), .. }, anchor: 0, .. }] => {
                    field_of(name).is_none()
                }
                [.., Open { collection, is_skimmed: true, .. }] => {
                    !matches!(collection, Collection::Mapping { key: Key::Merge, .. })
                }
                _ => false,
            }
    }

    fn finish(&mut self, value: Value, anchor: usize) -> Result<(), Defect> {
        if anchor != 0 {
            let (size, depth) = measure(&value);
            self.spend(size)?;
            let value = value.clone();
            self.anchors.insert(anchor, Anchored { value, size, depth });
        }
        self.add(value)
    }

    fn alias(&mut self, anchor: usize) -> Result<(), Defect> {
        // The parser knows the anchor, so a missing one has not ended yet.
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Err("alias inside of what it stands for");
        };
        if self.open.len() + anchored.depth > self.limits.depth {
            return Err(TOO_DEEP);
        }
        let (value, size) = (anchored.value.clone(), anchored.size);
        self.spend(size)?;
        self.add(value)
    }

    fn spend(&mut self, size: usize) -> Result<(), Defect> {
        self.copied = self.copied.saturating_add(size);
        if self.copied > self.limits.copied {
            return Err("anchors and aliases that copy too much");
        }
        Ok(())
    }

    fn add(&mut self, value: Value) -> Result<(), Defect> {
        let is_dropped = self.drops_next();
        match self.open.last_mut().map(|open| &mut open.collection) {
            None => self.document = Some(value),
            Some(Collection::Sequence(items)) if !is_dropped => items.push(value),
            Some(Collection::Sequence(_)) => {}
            Some(Collection::Mapping { entries, key }) => match mem::replace(key, Key::Awaited) {
                Key::Awaited => *key = Key::Named(name(value)?),
                Key::Named(_) if is_dropped => {}
                Key::Named(name) => {
                    entries.insert(name, value);
                }
                Key::Merge => merge(entries, value)?,
            },
        }
        Ok(())
    }
}

impl Collection {
    fn into_value(self) -> Value {
        match self {
            Self::Sequence(items) => Value::Array(items),
            Self::Mapping { entries, .. } => Value::Object(entries),
        }
    }
}

fn name(key: Value) -> Result<String, Defect> {
    match key {
        Value::String(name) => Ok(name),
        Value::Bool(name) => Ok(name.to_string()),
        Value::Number(name) => Ok(name.to_string()),
        Value::Null => Err("null as a key"),
        Value::Array(_) | Value::Object(_) => Err("a collection as a key"),
    }
}

fn merge(entries: &mut Map<String, Value>, value: Value) -> Result<(), Defect> {
    let sources = match value {
        Value::Array(sources) => sources,
        source => vec![source],
    };
    // The first of several sources wins.
    for source in sources.into_iter().rev() {
        let Value::Object(source) = source else {
            return Err("a merge key without a mapping or a list of mappings");
        };
        entries.extend(source);
    }
    Ok(())
}

/// The sizes of a value and a key on a 64-bit machine: the command line and the wasm must refuse the same documents.
const NODE: usize = 32;
const KEY: usize = 24;

/// The bytes that a copy takes, roughly, and how many collections are nested.
fn measure(value: &Value) -> (usize, usize) {
    let sum = |(size, depth): (usize, usize), (item, below): (usize, usize)| (size + item, depth.max(below + 1));
    match value {
        Value::String(text) => (NODE + text.len(), 0),
        Value::Array(items) => items.iter().map(measure).fold((NODE, 1), sum),
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| {
                let (size, depth) = measure(value);
                (size + KEY + key.len(), depth)
            };
            entries.iter().map(entry).fold((NODE, 1), sum)
        }
        _ => (NODE, 0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::Head;
    use super::{Limits, parse, skim};
    use crate::testing::test;
    use crate::yaml::Problem;

    fn value(text: &str) -> Value {
        parse(text, &Limits::default()).unwrap().unwrap().1
    }

    #[test]
    fn reads_one_document_and_where_it_starts() {
        assert_eq!(parse("# a\n\nb: c\n", &Limits::default()), Ok(Some((3, json!({"b": "c"})))));
        assert_eq!(parse("# a\n", &Limits::default()), Ok(None));
        let error = parse("a: b\n---\nc: d\n", &Limits::default()).unwrap_err();
        assert_eq!((error.line, error.problem), (3, Problem::MoreThanOne));
    }

    #[test]
    fn aliases_and_merges_are_resolved() {
        assert_eq!(value("a: &a {k: v}\nb: {k: w, <<: *a}\n"), json!({"a": {"k": "v"}, "b": {"k": "v"}}));
        assert_eq!(value("a: 1\n! <<: {b: 2}\n! '<<': {c: 3}\n"), json!({"a": 1, "b": 2, "c": 3}));
        assert_eq!(value("a: 1\na: 2\n1: yes\n"), json!({"a": 2, "1": true}));
    }

    #[test]
    fn a_document_that_is_skimmed_has_its_head_and_its_defects() {
        for text in [
            "kind: A\nmetadata: {name: a, labels: {b: c}}\nspec: {d: [e, {f: g}], h: 5}\n",
            "x: &x {kind: A}\nspec: {y: &y {name: a}}\n<<: *x\nmetadata: *y\n",
            "spec: {<<: [{a: b}, {c: d}], e: {<<: {f: g}}}\nkind: A\nkind: B\n",
            "&root {kind: A, spec: {a: b}}",
            "Kind: A\nspec: {a: b}\nMetadata: {Annotations: {c: d}}\n",
            "[{kind: A}]",
            "a",
            "# nothing\n",
            "spec: {<<: 5}",
            "spec: {<<: [{a: b}, c]}",
            "spec: {a: {[b]: c}}",
            "spec: {a: {~: c}}",
            "spec: [{a: *b}]",
            "a: &a [*a]",
            "spec: [\n",
        ] {
            let [whole, skimmed] = [parse, skim].map(|read| read(text, &Limits::default()));
            let head = |read: Result<Option<(usize, Value)>, _>| {
                read.map(|found| found.map(|(line, value)| (line, Head::of(&value), value.is_object())))
            };
            assert_eq!(head(whole), head(skimmed), "{text}");
        }
        let limits = Limits { depth: 3, copied: 100, ..Limits::default() };
        for text in ["a: [[[5]]]", "a: &a [xxxxxxxx, yyyyyyyy]\nb: [*a]\n"] {
            assert_eq!(parse(text, &limits).unwrap_err(), skim(text, &limits).unwrap_err());
        }
        let text = "kind: A\nspec: {a: b}\nc: d\n";
        assert_eq!(skim(text, &Limits::default()), Ok(Some((1, json!({"kind": "A"})))));
    }

    #[test]
    fn quoted_lines_need_no_indent_unless_that_costs_too_much() {
        let text = "a:\n  b: \"x\ny\"\n";
        assert_eq!(value(text), json!({"a": {"b": "x y"}}));
        assert!(parse(text, &Limits { reread: 0, ..Limits::default() }).is_err());
    }

    #[test]
    fn errors_name_a_place_and_quote_nothing() {
        for text in ["hunter2: [", "a: *hunter2", "a: \"\\hunter2\"", "a:\n\thunter2", "@hunter2"] {
            let error = parse(text, &Limits::default()).unwrap_err().to_string();
            assert!(error.starts_with("line ") && !error.contains("hunter2"), "{error}");
        }
    }
}
