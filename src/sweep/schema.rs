//! What a chart's `values.schema.json` says of one value.

use serde_json::Value;

use crate::reach::Chart;
use crate::value::{Step, ValuePath};

/// References may lead in a circle.
const MOST_REFERENCES: usize = 32;

/// The schemas that a value has to meet, or may meet: the chart's own, and those of the subcharts that it belongs to.
pub(super) fn at<'c>(chart: &'c Chart, path: &ValuePath) -> Vec<&'c Value> {
    let mut found = within(&chart.schema, &path.0);
    if let Some((Step::Key(first), rest)) = path.0.split_first() {
        let below = chart.subcharts().iter().filter(|subchart| subchart.key == *first);
        found.extend(below.flat_map(|subchart| at(&subchart.chart, &ValuePath(rest.to_vec()))));
    }
    found
}

/// The value may stand there, as far as can be told of texts: a render with another one would be refused.
pub(super) fn may_be(schemas: &[&Value], value: &Value) -> bool {
    let Some(text) = value.as_str() else { return true };
    let says = |schema: &&&Value| ["type", "enum", "const", "minLength"].iter().any(|key| schema.get(key).is_some());
    let mut saying = schemas.iter().filter(says).peekable();
    saying.peek().is_none() || saying.any(|schema| allows(schema, text))
}

fn allows(schema: &Value, text: &str) -> bool {
    let is_of_type = match schema.get("type") {
        Some(Value::String(one)) => one == "string",
        Some(Value::Array(types)) => types.iter().any(|one| one == "string"),
        Some(_) | None => true,
    };
    let listed = schema.get("enum").and_then(Value::as_array);
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or_default();
    is_of_type
        && listed.is_none_or(|listed| listed.iter().any(|one| one == text))
        && schema.get("const").is_none_or(|one| one == text)
        && text.chars().count() as u64 >= least
}

fn within<'c>(root: &'c Value, steps: &[Step]) -> Vec<&'c Value> {
    let mut schemas = alternatives(root, root, MOST_REFERENCES);
    for step in steps {
        let below = schemas.iter().filter_map(|schema| match step {
            Step::Key(key) => schema
                .get("properties")
                .and_then(|fields| fields.get(key))
                .or_else(|| schema.get("additionalProperties")),
            Step::Item(_) => schema.get("items"),
        });
        schemas = below.flat_map(|schema| alternatives(root, schema, MOST_REFERENCES)).collect();
    }
    schemas
}

/// The schema and all that it is made of.
fn alternatives<'c>(root: &'c Value, schema: &'c Value, most: usize) -> Vec<&'c Value> {
    let Some(most) = most.checked_sub(1).filter(|_| schema.is_object()) else { return Vec::new() };
    let reference = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
    let referred = reference.and_then(|pointer| root.pointer(pointer));
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
    let below = referred.into_iter().chain(lists).flat_map(|below| alternatives(root, below, most));
    [schema].into_iter().chain(below).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::may_be;

    #[test]
    fn a_text_that_a_schema_refuses_is_not_tried() {
        for (schemas, value, expected) in [
            (json!([]), json!(""), true),
            (json!([{"description": "a"}]), json!(""), true),
            (json!([{"enum": ["a", "b"]}]), json!(""), false),
            (json!([{"enum": ["a", "b"]}]), json!("b"), true),
            (json!([{"const": "a"}]), json!("b"), false),
            (json!([{"type": "string", "minLength": 1}]), json!(""), false),
            (json!([{"type": "string"}]), json!(""), true),
            (json!([{"type": ["null", "string"]}]), json!(""), true),
            (json!([{"type": "boolean"}]), json!("a"), false),
            // One of them is enough.
            (json!([{"anyOf": []}, {"enum": ["a"]}, {"type": "string"}]), json!(""), true),
            (json!([{"enum": ["a"]}]), json!(1), true),
        ] {
            let schemas: Vec<&Value> = schemas.as_array().unwrap().iter().collect();
            assert_eq!(may_be(&schemas, &value), expected, "{schemas:?} {value}");
        }
    }
}
