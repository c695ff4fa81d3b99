//! Other values in the place of one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Number, Value, json};

use super::schema;
use crate::reach::{Key, Literal, Reach};
use crate::value::ValuePath;

/// Each costs a render.
const MOST_OTHERS: usize = 8;
/// In the place of what only a user knows.
pub(crate) const EXAMPLE: &str = "example";
/// A sample of a value is no deeper.
const DEEPEST_SAMPLE: usize = 6;

/// What is known of a value.
pub(super) struct Others<'a> {
    pub(super) path: &'a ValuePath,
    pub(super) from: &'a Value,
    /// What templates compare it with.
    pub(super) literals: &'a BTreeSet<Literal>,
    /// The chart's schemas of it.
    pub(super) schemas: &'a [&'a Value],
    pub(super) reach: &'a Reach,
}

impl Others<'_> {
    /// The likeliest first.
    pub(super) fn all(&self) -> Vec<Value> {
        let mut others = Vec::new();
        let all = self.listed().into_iter().chain(self.compared()).chain(self.of_type());
        for value in all.filter(|value| value != self.from) {
            if !others.contains(&value) && schema::may_be(self.schemas, &value) {
                others.push(value);
            }
        }
        others.truncate(MOST_OTHERS);
        others
    }

    /// The values that a schema lists.
    fn listed(&self) -> Vec<Value> {
        let listed = self.schemas.iter().flat_map(|schema| {
            let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
            values.chain(schema.get("const"))
        });
        listed.cloned().collect()
    }

    /// The values with which a template compares it, as far as they fit.
    fn compared(&self) -> Vec<Value> {
        self.literals.iter().flat_map(|literal| self.of_literal(literal)).collect()
    }

    fn of_literal(&self, literal: &Literal) -> Vec<Value> {
        match (literal, self.from) {
            (Literal::Text(text), Value::String(_) | Value::Null) => vec![json!(text)],
            // `has` asks a list for an item.
            (Literal::Text(text), Value::Array(items)) => {
                let item = json!(text);
                let others = items.iter().filter(|known| **known != item).cloned();
                vec![if items.contains(&item) { others.collect() } else { others.chain([item.clone()]).collect() }]
            }
            (Literal::Number(number), Value::Number(_) | Value::Null) => {
                // Below, at and above a limit.
                [number.checked_sub(1), Some(*number), number.checked_add(1)]
                    .into_iter()
                    .flatten()
                    .map(Value::from)
                    .collect()
            }
            (Literal::Bool(value), Value::Bool(_) | Value::Null) => vec![json!(value)],
            (Literal::Text(_) | Literal::Number(_) | Literal::Bool(_), _) => Vec::new(),
        }
    }

    /// What a template takes for the contrary: something for nothing, and nothing for something.
    fn of_type(&self) -> Vec<Value> {
        match self.from {
            Value::Bool(value) => vec![json!(!value)],
            Value::String(text) => match text.as_str() {
                "true" => vec![json!("false"), json!("")],
                "false" => vec![json!("true"), json!("")],
                "" => vec![self.sample()],
                _ => vec![json!("")],
            },
            Value::Number(number) => vec![if *number == Number::from(0) { json!(1) } else { json!(0) }],
            Value::Object(fields) if !fields.is_empty() => vec![json!({})],
            Value::Array(items) if !items.is_empty() => vec![json!([])],
            Value::Object(_) | Value::Array(_) | Value::Null => vec![self.sample()],
        }
    }

    /// Something in the place of nothing, with all that templates ask of it.
    fn sample(&self) -> Value {
        let steps = self.path.0.len();
        let touching = self.reach.reached.iter().filter(|pattern| pattern.touches(self.path));
        let below: BTreeSet<_> =
            touching.filter_map(|pattern| pattern.0.get(steps..)).filter(|keys| !keys.is_empty()).collect();
        let types: BTreeSet<_> = self.schemas.iter().filter_map(|schema| schema.get("type")?.as_str()).collect();
        let below: Vec<_> = below.into_iter().collect();
        match self.from {
            Value::String(_) => json!(EXAMPLE),
            Value::Array(_) => json!([sample(&after_any(&below), DEEPEST_SAMPLE)]),
            Value::Object(_) => map(&below, DEEPEST_SAMPLE),
            _ if types.contains("boolean") => json!(true),
            _ if types.contains("string") => json!(EXAMPLE),
            _ if types.contains("integer") || types.contains("number") => json!(1),
            _ if types.contains("array") => json!([sample(&after_any(&below), DEEPEST_SAMPLE)]),
            _ if below.is_empty() && !types.contains("object") => json!(true),
            _ => map(&below, DEEPEST_SAMPLE),
        }
    }
}

/// The patterns behind an item, whichever it is.
fn after_any<'k>(patterns: &[&'k [Key]]) -> Vec<&'k [Key]> {
    let rest = patterns.iter().filter_map(|keys| keys.split_first());
    rest.filter(|(first, rest)| **first == Key::Any && !rest.is_empty()).map(|(_, rest)| rest).collect()
}

fn sample(below: &[&[Key]], deepest: usize) -> Value {
    if below.is_empty() || deepest == 0 { json!(EXAMPLE) } else { map(below, deepest) }
}

/// A map with all keys that templates ask for.
fn map(below: &[&[Key]], deepest: usize) -> Value {
    let mut named = BTreeMap::<&str, Vec<&[Key]>>::new();
    for (first, rest) in below.iter().filter_map(|keys| keys.split_first()) {
        let Key::Named(name) = first else { continue };
        let below = named.entry(name).or_default();
        below.extend(Some(rest).filter(|rest| !rest.is_empty()));
    }
    let deeper = |below: &[&[Key]]| sample(below, deepest.saturating_sub(1));
    if named.is_empty() {
        return json!({EXAMPLE: deeper(&after_any(below))});
    }
    Value::Object(named.into_iter().map(|(name, below)| (name.to_owned(), deeper(&below))).collect())
}
