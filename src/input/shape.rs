//! The shapes that a value of a file has: an object, a request, a review around one, or a list of them.

use serde_json::Value;

use super::document::Content;
use super::error::{Mistyped, Reason};

/// A value of a file: something to judge, or several.
pub(super) enum Shape {
    Content(Content),
    List(Vec<Value>),
}

impl Shape {
    pub(super) fn of(mut value: Value) -> Result<Self, Reason> {
        if let Value::Array(items) = value {
            return Ok(Self::List(items));
        }
        if value.get("kind").is_some_and(Value::is_object) && has_text(&value, "operation") {
            return Ok(Self::Content(Content::Request(value)));
        }
        let kind = match value.get("kind") {
            Some(Value::String(kind)) => kind.clone(),
            Some(Value::Null | Value::Object(_)) | None => return Err(Reason::Unrecognized),
            Some(other) => return Err(Mistyped::text("kind", other).into()),
        };
        if kind == "AdmissionReview" {
            return match value.get_mut("request").map(Value::take) {
                Some(request @ Value::Object(_)) => Ok(Self::Content(Content::Request(request))),
                _ if value.get("response").is_some() => Err(Reason::Response),
                _ => Err(Reason::NoRequest),
            };
        }
        // Go writes an empty list as null.
        if let Some(item_kind) = item_kind(&kind)
            && let Some(items) = value.get_mut("items")
            && (items.is_array() || items.is_null())
        {
            let mut items = match items.take() {
                Value::Array(items) => items,
                _ => Vec::new(),
            };
            for item in &mut items {
                complete(item, Some(item_kind), value.get("apiVersion"));
            }
            return Ok(Self::List(items));
        }
        check_types(&value)?;
        if kind.is_empty() || !has_text(&value, "apiVersion") {
            return Err(Reason::Unrecognized);
        }
        Ok(Self::Content(Content::Manifest(value)))
    }
}

pub(super) fn has_text(value: &Value, field: &str) -> bool {
    value.get(field).and_then(Value::as_str).is_some_and(|text| !text.is_empty())
}

/// Objects are told apart by these fields; the API server would not even read an object where one has another type.
fn check_types(object: &Value) -> Result<(), Mistyped> {
    let is_text = |field: &'static str, value: Option<&Value>| match value {
        None | Some(Value::Null | Value::String(_)) => Ok(()),
        Some(other) => Err(Mistyped::text(field, other)),
    };
    is_text("apiVersion", object.get("apiVersion"))?;
    let metadata = match object.get("metadata") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(metadata)) => metadata,
        Some(other) => return Err(Mistyped::new("metadata", other, "an object")),
    };
    is_text("metadata.name", metadata.get("name"))?;
    is_text("metadata.namespace", metadata.get("namespace"))?;
    is_text("metadata.uid", metadata.get("uid"))
}

/// The kind of the items of a list, if it is one: of a `JobList` `Job`, of a `List` none.
pub(super) fn item_kind(kind: &str) -> Option<&str> {
    kind.strip_suffix("List")
}

/// The API server leaves apiVersion and kind out of the items of a list of one kind, such as a `JobList`.
pub(super) fn complete(item: &mut Value, kind: Option<&str>, api_version: Option<&Value>) {
    if let (Some(item), Some(kind), Some(api_version)) = (item.as_object_mut(), kind, api_version)
        && !kind.is_empty()
        && !item.contains_key("kind")
        && !item.contains_key("apiVersion")
    {
        item.insert("kind".to_owned(), kind.into());
        item.insert("apiVersion".to_owned(), api_version.clone());
    }
}
