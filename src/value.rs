//! One value of a chart: where it stands, what stands there instead, and how that is told to people and to Helm.

use std::fmt;

use serde_json::{Map, Value};

/// The longest text that is shown of a value.
const LONGEST_TEXT: usize = 40;

/// One step into a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Step {
    Key(String),
    /// An item of a list, from 0.
    Item(usize),
}

/// Where a value stands among all values of a chart.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ValuePath(pub(crate) Vec<Step>);

/// Another value in the place of one. Null stands for none: Helm takes the two for the same.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    pub(crate) path: ValuePath,
    pub(crate) from: Value,
    pub(crate) to: Value,
}

impl ValuePath {
    /// The path of keys alone.
    #[cfg(test)]
    pub(crate) fn of_keys<'a>(keys: impl IntoIterator<Item = &'a str>) -> Self {
        Self(keys.into_iter().map(|key| Step::Key(key.to_owned())).collect())
    }

    /// This path and one step more.
    #[must_use]
    pub(crate) fn then(&self, step: Step) -> Self {
        Self(self.0.iter().cloned().chain([step]).collect())
    }

    /// The value that stands there; null where there is none.
    #[must_use]
    pub(crate) fn find<'v>(&self, values: &'v Value) -> &'v Value {
        let found = self.0.iter().try_fold(values, |value, step| match step {
            Step::Key(key) => value.get(key),
            Step::Item(at) => value.get(at),
        });
        found.unwrap_or(&Value::Null)
    }

    /// The other path leads to this one, or further.
    #[must_use]
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }
}

impl fmt::Display for ValuePath {
    /// As Helm's `--set` takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) => {
                    let dot = if at == 0 { "" } else { "." };
                    write!(f, "{dot}{}", key.replace('\\', "\\\\").replace('.', "\\.").replace(',', "\\,"))?;
                }
                Step::Item(item) => write!(f, "[{item}]")?,
            }
        }
        Ok(())
    }
}

impl Change {
    /// What a values file has to hold so that Helm, which would have had `values`, has the other value there. Helm lays
    /// maps over one another, keeps the keys that are not named and replaces lists whole.
    #[must_use]
    pub(crate) fn overlay(&self, values: &Value) -> Value {
        overlay(&self.path.0, values, &self.to)
    }

    /// Helm has the value as it shall be; nothing and an empty map are the same to it.
    pub(crate) fn is_in(&self, values: &Value) -> bool {
        let found = self.path.find(values);
        let is_nothing = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
        *found == self.to || (is_nothing(found) && is_nothing(&self.to))
    }

    /// The values with the other value there.
    pub(crate) fn apply(&self, values: &mut Value) {
        let overlay = self.overlay(values);
        merge(values, overlay);
    }
}

fn overlay(steps: &[Step], values: &Value, to: &Value) -> Value {
    match steps.split_first() {
        None => replaced(values, to),
        Some((Step::Key(key), rest)) => {
            let below = overlay(rest, values.get(key).unwrap_or(&Value::Null), to);
            Value::Object(Map::from_iter([(key.clone(), below)]))
        }
        Some((Step::Item(at), rest)) => {
            let mut items = values.as_array().cloned().unwrap_or_default();
            if let Some(item) = items.get_mut(*at) {
                let below = overlay(rest, item, to);
                merge(item, below);
            }
            Value::Array(items)
        }
    }
}

/// The other value in the place of a whole one: the keys that it lacks have to go.
fn replaced(values: &Value, to: &Value) -> Value {
    let (Value::Object(before), Value::Object(after)) = (values, to) else { return to.clone() };
    let mut fields = after.clone();
    for (key, value) in before {
        let after = after.get(key).map_or(Value::Null, |after| replaced(value, after));
        fields.insert(key.clone(), after);
    }
    Value::Object(fields)
}

/// Lays values over others as Helm does: a key that is null goes.
pub(crate) fn merge(values: &mut Value, over: Value) {
    match (values, over) {
        (Value::Object(fields), Value::Object(over)) => {
            for (key, value) in over {
                if value.is_null() {
                    fields.remove(&key);
                } else {
                    merge(fields.entry(key).or_insert(Value::Null), value);
                }
            }
        }
        (values, Value::Object(over)) => {
            *values = Value::Object(Map::new());
            merge(values, Value::Object(over));
        }
        (values, over) => *values = over,
    }
}

/// The leaves in which two sets of values differ, in the order of their paths. A list is one leaf.
#[must_use]
pub(crate) fn differences(before: &Value, after: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    differ(&ValuePath::default(), before, after, &mut changes);
    changes
}

fn differ(path: &ValuePath, before: &Value, after: &Value, changes: &mut Vec<Change>) {
    if before == after {
        return;
    }
    let empty = Map::new();
    let (one, other) = match (before, after) {
        (Value::Object(one), Value::Object(other)) => (one, other),
        (Value::Object(one), Value::Null) if !one.is_empty() => (one, &empty),
        (Value::Null, Value::Object(other)) if !other.is_empty() => (&empty, other),
        _ => {
            changes.push(Change { path: path.clone(), from: before.clone(), to: after.clone() });
            return;
        }
    };
    let mut keys: Vec<_> = one.keys().chain(other.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let value = |fields: &Map<String, Value>| fields.get(key).cloned().unwrap_or_default();
        differ(&path.then(Step::Key(key.clone())), &value(one), &value(other), changes);
    }
}

/// A value in words. Texts and numbers are shown only where they are public: a user's may be secret.
#[must_use]
pub(crate) fn shown(value: &Value, is_public: impl Fn(&Value) -> bool) -> String {
    match value {
        Value::Null => "unset".to_owned(),
        Value::Bool(_) => value.to_string(),
        Value::String(text) if text.is_empty() => value.to_string(),
        Value::String(text) if text.chars().count() <= LONGEST_TEXT && is_public(value) => value.to_string(),
        Value::Number(_) if is_public(value) => value.to_string(),
        Value::Array(items) if items.is_empty() => value.to_string(),
        Value::Object(fields) if fields.is_empty() => value.to_string(),
        Value::String(_) => "a text".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(fields) => format!("a map of {}", fields.len()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{Change, Step, ValuePath, differences, merge, shown};

    fn path(keys: &[&str]) -> ValuePath {
        ValuePath::of_keys(keys.iter().copied())
    }

    #[test]
    fn a_path_is_written_as_helms_flag_takes_it() {
        let path = path(&["jobs", "a.b"]).then(Step::Item(2)).then(Step::Key("on".to_owned()));
        assert_eq!(path.to_string(), "jobs.a\\.b[2].on");
    }

    #[test]
    fn an_overlay_empties_maps_and_repeats_lists() {
        let values = json!({"job": {"annotations": {"a": "1", "b": "2"}}, "jobs": [{"on": true, "n": 1}, 2]});
        let change = |path, to| Change { path, from: Value::Null, to }.overlay(&values);
        assert_eq!(
            change(path(&["job", "annotations"]), json!({"b": "3"})),
            json!({"job": {"annotations": {"a": null, "b": "3"}}})
        );
        let on = path(&["jobs"]).then(Step::Item(0)).then(Step::Key("on".to_owned()));
        assert_eq!(change(on, json!(false)), json!({"jobs": [{"on": false, "n": 1}, 2]}));
        assert_eq!(change(path(&["new", "on"]), json!(true)), json!({"new": {"on": true}}));
    }

    #[test]
    fn what_a_user_wrote_is_not_shown() {
        let own = |value: &Value| value == &json!("hook") || value == &json!(1);
        for (value, words) in [
            (json!("hook"), "\"hook\""),
            (json!("s3cret"), "a text"),
            (json!(""), "\"\""),
            (json!(1), "1"),
            (json!(4711), "a number"),
            (json!(null), "unset"),
            (json!(["s3cret"]), "a list of 1"),
            (json!({"a": "s3cret"}), "a map of 1"),
            (json!({}), "{}"),
        ] {
            assert_eq!(shown(&value, own), words);
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(json!(true)), Just(json!("x")), Just(json!(1)), Just(json!([1, {"a": 1}]))];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop::collection::btree_map("[a-d]", inner, 0..4).prop_map(|fields| json!(fields))
        })
    }

    proptest! {
        #[test]
        fn all_differences_together_lead_from_one_to_the_other(before in values(), after in values()) {
            let (before, after) = (json!({"v": before}), json!({"v": after}));
            let mut changed = before.clone();
            for change in differences(&before, &after) {
                prop_assert_eq!(change.path.find(&before), &change.from);
                prop_assert_eq!(change.path.find(&after), &change.to);
                change.apply(&mut changed);
            }
            let is_of_empty = |left: &Change| left.from == json!({}) || left.to == json!({});
            let left = differences(&changed, &after);
            prop_assert!(left.iter().all(is_of_empty), "{left:?}");
        }

        #[test]
        fn an_overlay_leads_to_the_value(before in values(), to in values()) {
            let values = json!({"a": {"b": before, "c": 1}});
            let change = Change { path: path(&["a", "b"]), from: Value::Null, to: to.clone() };
            let mut merged = values.clone();
            merge(&mut merged, change.overlay(&values));
            prop_assert_eq!(&merged["a"]["b"], &to);
            prop_assert_eq!(&merged["a"]["c"], &json!(1));
        }
    }
}
