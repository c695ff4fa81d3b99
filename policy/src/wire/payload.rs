//! The judged parts of a payload are read into memory; the parts that a patch leaves alone are copied as they came.
//!
//! The rest is checked for its syntax only: not how deep it is nested, how large its numbers are, or what half a
//! surrogate pair is to mean. The API server and Kubewarden have parsed all of it before.

use std::collections::BTreeMap;
use std::fmt;

use json_patch::{Patch, PatchOperation};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use Keep::{All, Fields};

/// The parts of a tree that are read.
enum Keep {
    All,
    /// These fields of an object, and no item of a list: none is asked for.
    Fields(&'static [(&'static str, Keep)]),
}

const PAYLOAD: Keep = Fields(&[("request", REQUEST), ("settings", All)]);

const REQUEST: Keep = Fields(&[
    ("uid", All),
    ("kind", All),
    ("subResource", All),
    ("name", All),
    ("namespace", All),
    ("operation", All),
    ("userInfo", Fields(&[("username", All)])),
    ("object", OBJECT),
    ("oldObject", OBJECT),
]);

/// The fields of a Job, a ServiceAccount, or an object that holds a release record.
const OBJECT: Keep = Fields(&[
    ("type", All),
    ("metadata", METADATA),
    ("spec", Fields(&[("ttlSecondsAfterFinished", All)])),
    ("data", Fields(&[("release", All)])),
]);

const METADATA: Keep = Fields(&[
    ("name", All),
    ("generateName", All),
    ("namespace", All),
    ("uid", All),
    ("deletionTimestamp", All),
    ("labels", All),
    ("annotations", All),
    ("ownerReferences", All),
]);

/// The payload without the fields that are never looked at.
pub(super) fn read(payload: &[u8]) -> Result<Value, serde_json::Error> {
    let mut from = serde_json::Deserializer::from_slice(payload);
    let tree = PAYLOAD.deserialize(&mut from)?;
    from.end().map(|()| tree)
}

/// The request's object with the patch applied, which changes annotations only.
pub(super) fn mutated(payload: &[u8], patch: &Patch) -> Result<Box<RawValue>, serde_json::Error> {
    let mut object = At(&["request", "object"]).deserialize(&mut serde_json::Deserializer::from_slice(payload))?;
    let mut metadata = fields_of(&object, "metadata")?;
    let mut annotations = fields_of(&metadata, "annotations")?;
    let changes = patch.iter().map(change).collect::<Result<Vec<_>, _>>()?;
    for (key, value) in &changes {
        match value {
            Some(value) => annotations.insert(key.clone(), value),
            None => annotations.remove(key),
        };
    }
    let annotations = to_raw_value(&annotations)?;
    metadata.insert("annotations".to_owned(), &annotations);
    let metadata = to_raw_value(&metadata)?;
    object.insert("metadata".to_owned(), &metadata);
    to_raw_value(&object)
}

/// An annotation's key and its new value, or that it goes.
fn change(operation: &PatchOperation) -> Result<(String, Option<Box<RawValue>>), serde_json::Error> {
    let value = match operation {
        PatchOperation::Add(add) => Some(to_raw_value(&add.value)?),
        PatchOperation::Remove(_) => None,
        _ => return Err(Error::custom("annotations are only added and removed")),
    };
    let key = operation.path().last().ok_or_else(|| Error::custom("a path to an annotation"))?;
    Ok((key.decoded().into_owned(), value))
}

/// The fields of an object, each as the text that came.
type Texts<'a> = BTreeMap<String, &'a RawValue>;

fn fields_of<'a>(object: &Texts<'a>, field: &str) -> Result<Texts<'a>, serde_json::Error> {
    let text = object.get(field).ok_or_else(|| Error::custom("what is patched was judged"))?;
    serde_json::from_slice(text.get().as_bytes())
}

/// The object at the end of a path. Of fields with the same name the last counts; all of them must be objects.
#[derive(Clone, Copy)]
struct At(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for At {
    type Value = Texts<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Texts<'de>, D::Error> {
        if self.0.is_empty() { Texts::deserialize(from) } else { from.deserialize_map(self) }
    }
}

impl<'de> Visitor<'de> for At {
    type Value = Texts<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut from: M) -> Result<Texts<'de>, M::Error> {
        let mut found = Texts::new();
        while let Some(key) = from.next_key::<String>()? {
            match self.0.split_first() {
                Some((name, rest)) if key == *name => found = from.next_value_seed(At(rest))?,
                _ => {
                    from.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

impl<'de> DeserializeSeed<'de> for &Keep {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        match self {
            All => Value::deserialize(from),
            Fields(fields) => from.deserialize_any(Kept(fields)),
        }
    }
}

/// Reads an object's fields that are to be kept; what is no object keeps its type.
#[derive(Clone, Copy)]
struct Kept(&'static [(&'static str, Keep)]);

impl<'de> Visitor<'de> for Kept {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut from: M) -> Result<Value, M::Error> {
        let (mut map, mut has_others) = (Map::new(), false);
        while let Some(field) = from.next_key_seed(self)? {
            if let Some((name, keep)) = field {
                let value = from.next_value_seed(keep)?;
                map.insert((*name).to_owned(), value);
            } else {
                from.next_value::<IgnoredAny>()?;
                has_others = true;
            }
        }
        // An object of other fields is not an empty one, which counts as absent.
        if has_others && map.is_empty() {
            map.insert(String::new(), Value::Null);
        }
        Ok(Value::Object(map))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut from: S) -> Result<Value, S::Error> {
        while from.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Array(Vec::new()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }
}

impl<'de> DeserializeSeed<'de> for Kept {
    type Value = Option<&'static (&'static str, Keep)>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(Name(self.0))
    }
}

/// A field's name among those to be kept.
struct Name(&'static [(&'static str, Keep)]);

impl Visitor<'_> for Name {
    type Value = Option<&'static (&'static str, Keep)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field's name")
    }

    fn visit_str<E>(self, found: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().find(|(name, _)| *name == found))
    }
}

#[cfg(test)]
mod tests {
    use json_patch::Patch;
    use serde_json::{Value, json};

    use super::{mutated, read};
    use crate::testing::test;

    #[test]
    fn what_nobody_asks_for_is_not_read() {
        let payload = json!({
            "settings": {"any": [1, {"thing": null}]}, "other": {},
            "request": {
                "uid": "1", "options": {}, "userInfo": {"username": "a", "groups": ["b"]}, "oldObject": null,
                "object": {
                    "metadata": {"name": "a", "managedFields": [{}], "labels": {"a": "b"}}, "status": {},
                    "spec": {"template": {}}, "data": [1], "type": false,
                },
            },
        });
        let expected = json!({
            "settings": {"any": [1, {"thing": null}]},
            "request": {
                "uid": "1", "userInfo": {"username": "a"}, "oldObject": null,
                "object": {
                    "metadata": {"name": "a", "labels": {"a": "b"}}, "spec": {"": null},
                    "data": [], "type": false,
                },
            },
        });
        assert_eq!(read(payload.to_string().as_bytes()).unwrap(), expected);
        for other in [json!(null), json!(true), json!(-1), json!(1), json!(1.5), json!("a"), json!([])] {
            assert_eq!(read(other.to_string().as_bytes()).unwrap(), other);
        }
    }

    #[test]
    fn broken_syntax_is_refused_where_nobody_looks_too() {
        for payload in ["", "{", "{}{}", "{\"request\": {\"options\": tru}}", "{\"request\": [1, }"] {
            assert!(read(payload.as_bytes()).is_err(), "{payload}");
        }
    }

    fn patched(object: &str, patch: Value) -> Option<String> {
        let patch: Patch = serde_json::from_value(patch).unwrap();
        let payload = format!("{{\"request\": {{\"object\": {{}}, \"object\": {object}}}}}");
        mutated(payload.as_bytes(), &patch).ok().map(|object| object.get().to_owned())
    }

    #[test]
    fn what_a_patch_leaves_alone_stays_as_it_was_written() {
        let add = json!([{"op": "add", "path": "/metadata/annotations/b~1c", "value": "2"}]);
        let object = r#"{"spec": {"b": 1.10, "a": 1e400, "a": "\u0061"}, "metadata": {"annotations": {"x": 31.245270191439438}, "z":  [ ]}}"#;
        let expected = r#"{"metadata":{"annotations":{"b/c":"2","x":31.245270191439438},"z":[ ]},"spec":{"b": 1.10, "a": 1e400, "a": "\u0061"}}"#;
        assert_eq!(patched(object, add.clone()).unwrap(), expected);
        for hopeless in ["7", "{}", "{\"metadata\": 7}", "{\"metadata\": {\"annotations\": 7}}"] {
            assert_eq!(patched(hopeless, add.clone()), None, "{hopeless}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_make_no_object() {
        let payload = b"{\"request\": {\"object\": {\"metadata\": {\"annotations\": {}}, \"spec\": \"\xff\"}}}";
        assert!(mutated(payload, &Patch(Vec::new())).is_err());
    }
}
