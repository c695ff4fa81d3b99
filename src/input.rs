//! The content of a file: reviews, requests and Kubernetes manifests, as YAML, JSON, lists, or one JSON object a line.
//!
//! [`documents`] reads a file one document at a time; a broken one does not stop those after it. [`read_documents`] reads
//! on while it goes, so that a long stream needs no more memory than its largest document.

mod document;
mod error;
mod json;
mod lines;
mod request;
mod stream;
#[cfg(test)]
mod tests;
mod yaml;

use std::io::BufRead;
use std::vec;

use serde_json::Value;

pub use document::{Content, Document};
pub use error::{InputError, Mistyped, Reason};
pub use request::{is_covered, request_of};
use stream::Values;
use yaml::Located;

/// Reads the objects of a file.
#[must_use]
pub fn documents(file: &[u8]) -> Documents<&[u8]> {
    read_documents(file)
}

/// The same, from whatever can be read.
pub fn read_documents<R: BufRead>(reader: R) -> Documents<R> {
    Documents { values: Values::new(reader), lists: Vec::new(), count: 0, met_a_list: false }
}

/// Reads a file that holds one YAML or JSON document. An empty one is `Null`.
///
/// # Errors
///
/// If the document is malformed or another one follows.
pub fn value(file: &[u8]) -> Result<Value, InputError> {
    let mut values = Values::new(file);
    let Some(first) = values.next() else {
        return Ok(Value::Null);
    };
    let first = first?;
    match values.next() {
        None => Ok(first.value),
        Some(second) => Err(InputError { line: second?.line, reason: Reason::MoreThanOne }),
    }
}

/// The iterator of [`documents`] and [`read_documents`].
pub struct Documents<R> {
    values: Values<R>,
    /// The lists whose items are being read, the innermost last.
    lists: Vec<List>,
    count: usize,
    met_a_list: bool,
}

struct List {
    line: usize,
    template: String,
    items: vec::IntoIter<Value>,
}

impl<R: BufRead> Documents<R> {
    /// Whether a list was read already, even an empty one.
    #[must_use]
    pub fn met_a_list(&self) -> bool {
        self.met_a_list
    }

    fn next_value(&mut self) -> Option<Result<Located, InputError>> {
        while let Some(list) = self.lists.last_mut() {
            if let Some(value) = list.items.next() {
                return Some(Ok(Located { line: list.line, template: list.template.clone(), value }));
            }
            self.lists.pop();
        }
        self.values.next()
    }
}

impl<R: BufRead> Iterator for Documents<R> {
    type Item = Result<Document, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let found = self.next_value()?.and_then(|Located { line, template, value }| {
                let shape = Shape::of(value).map_err(|reason| InputError { line, reason })?;
                Ok((line, template, shape))
            });
            match found {
                Ok((line, template, Shape::List(items))) => {
                    self.met_a_list = true;
                    let items = items.into_iter();
                    self.lists.push(List { line, template, items });
                }
                Ok((line, template, Shape::Content(content))) => {
                    self.count += 1;
                    return Some(Ok(Document { number: self.count, line, template, content }));
                }
                Err(error) => {
                    self.count += 1;
                    return Some(Err(error));
                }
            }
        }
    }
}

enum Shape {
    Content(Content),
    List(Vec<Value>),
}

impl Shape {
    fn of(mut value: Value) -> Result<Self, Reason> {
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
        if let Some(item_kind) = kind.strip_suffix("List")
            && let Some(items) = value.get_mut("items")
            && (items.is_array() || items.is_null())
        {
            let mut items = match items.take() {
                Value::Array(items) => items,
                _ => Vec::new(),
            };
            complete(&mut items, item_kind, value.get("apiVersion"));
            return Ok(Self::List(items));
        }
        check_types(&value)?;
        if kind.is_empty() || !has_text(&value, "apiVersion") {
            return Err(Reason::Unrecognized);
        }
        Ok(Self::Content(Content::Manifest(value)))
    }
}

fn has_text(value: &Value, field: &str) -> bool {
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

/// The API server leaves apiVersion and kind out of the items of a list of one kind, such as a `JobList`.
fn complete(items: &mut [Value], kind: &str, api_version: Option<&Value>) {
    let Some(api_version) = api_version else {
        return;
    };
    if kind.is_empty() {
        return;
    }
    for item in items.iter_mut().filter_map(Value::as_object_mut) {
        if !item.contains_key("kind") && !item.contains_key("apiVersion") {
            item.insert("kind".to_owned(), kind.into());
            item.insert("apiVersion".to_owned(), api_version.clone());
        }
    }
}
