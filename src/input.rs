//! The content of a file: reviews, requests and Kubernetes manifests, as YAML, JSON, lists, or one JSON object a line.
//!
//! [`documents`] reads a file one document at a time; a broken one does not stop those after it. [`Pieces`] cuts what is
//! still being read into parts that can be read elsewhere, so that a long stream needs no more memory than its largest
//! documents.

mod document;
mod error;
mod json;
mod lines;
mod list;
mod piece;
mod request;
mod shape;
mod stream;
#[cfg(test)]
mod tests;
mod yaml;

use std::vec;

use serde_json::Value;

pub(crate) use document::Naming;
pub use document::{Content, Document};
pub use error::{InputError, Mistyped, Reason};
pub use piece::Piece;
pub use request::{is_covered, request_of};
use shape::Shape;
pub use stream::Pieces;
use yaml::Located;

/// Reads the objects of a file.
#[must_use]
pub fn documents(file: &[u8]) -> Documents<Pieces<&[u8]>> {
    Documents::of(Pieces::new(file))
}

/// Reads a file that holds one YAML or JSON document. An empty one is `Null`.
///
/// # Errors
///
/// If the document is malformed or another one follows.
pub fn value(file: &[u8]) -> Result<Value, InputError> {
    let mut values = Pieces::new(file).filter_map(Piece::read);
    let Some(first) = values.next() else {
        return Ok(Value::Null);
    };
    let first = first?;
    match values.next() {
        None => Ok(first.value),
        Some(second) => Err(InputError { line: second?.line, reason: Reason::MoreThanOne }),
    }
}

/// The objects in pieces of a file, numbered from the first of these pieces on.
pub struct Documents<P> {
    pieces: P,
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

impl<P: Iterator<Item = Piece>> Documents<P> {
    /// Reads the objects in these pieces.
    pub fn of(pieces: P) -> Self {
        Self { pieces, lists: Vec::new(), count: 0, met_a_list: false }
    }

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
        self.pieces.find_map(Piece::read)
    }
}

impl<P: Iterator<Item = Piece>> Iterator for Documents<P> {
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
