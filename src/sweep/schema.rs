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
