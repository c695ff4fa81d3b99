//! One YAML document as go-yaml builds it of libyaml's events, and as `sigs.k8s.io/yaml` makes JSON of it.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Map, Value};

use super::libyaml::{Event, Parser};
use super::scalar::{Scalar, resolve};

/// More nodes than that, copied by aliases, are a bomb.
const MOST_NODES: usize = 20_000;

pub(super) struct Document {
    pub(super) value: Value,
    /// Its outermost mapping has a key twice, or a merge key.
    pub(super) repeats_itself: bool,
}

enum Node {
    Scalar { text: String, tag: Option<String>, is_implicit: bool },
    Sequence(Vec<Rc<Node>>),
    Mapping(Vec<(Rc<Node>, Rc<Node>)>),
}

/// The first document, `None` where go-yaml reports an error.
pub(super) fn read(text: &str) -> Option<Document> {
    let mut tree = Tree { events: Parser::new(text), anchors: BTreeMap::new(), depth: 0 };
    let root = loop {
        match tree.events.next()? {
            Event::StreamStart => {}
            Event::DocumentStart => break tree.node()?,
            _ => return Some(Document { value: Value::Null, repeats_itself: false }),
        }
    };
    // The end of the document is read too: what follows it is not.
    tree.events.next()?;
    let mut left = MOST_NODES;
    let value = json(&root, &mut left)?;
    let repeats_itself = matches!(&*root, Node::Mapping(entries) if repeats(entries, &value));
    Some(Document { value, repeats_itself })
}

fn repeats(entries: &[(Rc<Node>, Rc<Node>)], value: &Value) -> bool {
    entries.iter().any(|(key, _)| is_merge(key)) || value.as_object().map(Map::len) != Some(entries.len())
}

struct Tree<'t> {
    events: Parser<'t>,
    /// `None` for what has begun and not ended.
    anchors: BTreeMap<String, Option<Rc<Node>>>,
    depth: usize,
}

impl Tree<'_> {
    fn node(&mut self) -> Option<Rc<Node>> {
        let first = self.events.next()?;
        self.node_of(first)
    }

    fn node_of(&mut self, event: Event) -> Option<Rc<Node>> {
        self.depth += 1;
        let found = match event {
            _ if self.depth > 300 => None,
            Event::Alias { anchor } => self.anchors.get(&anchor).cloned().flatten(),
            Event::Scalar { anchor, tag, text, is_implicit } => {
                let node = Rc::new(Node::Scalar { text, tag, is_implicit });
                self.name(anchor, Some(&node));
                Some(node)
            }
            Event::SequenceStart { anchor } => {
                self.name(anchor.clone(), None);
                let mut items = Vec::new();
                loop {
                    match self.events.next()? {
                        Event::End => break,
                        event => items.push(self.node_of(event)?),
                    }
                }
                Some(self.close(anchor, Node::Sequence(items)))
            }
            Event::MappingStart { anchor } => {
                self.name(anchor.clone(), None);
                let mut entries = Vec::new();
                loop {
                    match self.events.next()? {
                        Event::End => break,
                        event => entries.push((self.node_of(event)?, self.node()?)),
                    }
                }
                Some(self.close(anchor, Node::Mapping(entries)))
            }
            Event::StreamStart | Event::DocumentStart | Event::End => None,
        };
        self.depth -= 1;
        found
    }

    fn name(&mut self, anchor: Option<String>, node: Option<&Rc<Node>>) {
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, node.cloned());
        }
    }

    /// An anchor that was given away inside of its own collection stays with the later one.
    fn close(&mut self, anchor: Option<String>, node: Node) -> Rc<Node> {
        let node = Rc::new(node);
        if let Some(named) = anchor.and_then(|anchor| self.anchors.get_mut(&anchor)).filter(|named| named.is_none()) {
            *named = Some(Rc::clone(&node));
        }
        node
    }
}

fn json(node: &Node, left: &mut usize) -> Option<Value> {
    *left = left.checked_sub(1)?;
    match node {
        Node::Scalar { text, tag, is_implicit } => match resolve(text, tag.as_deref(), *is_implicit)? {
            Scalar::Value(value) => Some(value),
            Scalar::Float(float) => number(float),
        },
        Node::Sequence(items) => items.iter().map(|item| json(item, left)).collect(),
        Node::Mapping(entries) => {
            let mut map = Map::new();
            mapping(entries, &mut map, left)?;
            Some(Value::Object(map))
        }
    }
}

/// As Go writes a float to JSON and reads it again: a whole one is an integer.
fn number(float: f64) -> Option<Value> {
    let text = serde_json::Number::from_f64(float)?;
    let whole = format!("{float}").parse::<i64>();
    Some(whole.map_or(Value::Number(text), Value::from))
}

fn mapping(entries: &[(Rc<Node>, Rc<Node>)], map: &mut Map<String, Value>, left: &mut usize) -> Option<()> {
    for (key, value) in entries {
        if is_merge(key) {
            merge(value, map, left)?;
            continue;
        }
        let Node::Scalar { text, tag, is_implicit } = &**key else { return None };
        let key = match resolve(text, tag.as_deref(), *is_implicit)? {
            Scalar::Value(Value::String(key)) => key,
            Scalar::Value(key @ (Value::Bool(_) | Value::Number(_))) => key.to_string(),
            Scalar::Value(_) | Scalar::Float(_) => return None,
        };
        map.insert(key, json(value, left)?);
    }
    Some(())
}

fn is_merge(key: &Node) -> bool {
    let Node::Scalar { text, tag, is_implicit } = key else { return false };
    text == "<<" && (*is_implicit || tag.as_deref() == Some("tag:yaml.org,2002:merge"))
}

fn merge(value: &Node, map: &mut Map<String, Value>, left: &mut usize) -> Option<()> {
    *left = left.checked_sub(1)?;
    match value {
        Node::Mapping(entries) => mapping(entries, map, left),
        Node::Sequence(items) => items.iter().rev().try_for_each(|item| match &**item {
            Node::Mapping(entries) => mapping(entries, map, left),
            Node::Scalar { .. } | Node::Sequence(_) => None,
        }),
        Node::Scalar { .. } => None,
    }
}
