//! The parts of a file that can be read without each other.

use std::sync::Arc;

use serde_json::Value;

use super::error::{InputError, Reason};
use super::lines::Text;
use super::list::Head;
use super::yaml::{Located, read_yaml};

/// A part of a file that can be read without the others: a YAML document, a JSON text, or an item of a long list.
pub struct Piece(pub(super) Inner);

pub(super) enum Inner {
    Yaml(Text),
    Json(JsonText),
    Unreadable(InputError),
}

/// A JSON text, of which nothing is known but where it ends.
pub(super) struct JsonText {
    pub(super) text: String,
    /// Where it starts.
    pub(super) line: usize,
    pub(super) column: usize,
    /// The list of which it is an item.
    pub(super) list: Option<Arc<LongList>>,
}

/// A list whose items are read one by one.
pub(super) struct LongList {
    pub(super) head: Head,
    /// Where it starts.
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Piece {
    /// Its value; an empty document has none.
    pub(super) fn read(self) -> Option<Result<Located, InputError>> {
        match self.0 {
            Inner::Yaml(text) => {
                let found = read_yaml(&text).transpose()?;
                Some(found).filter(|found| found.as_ref().map_or(true, |located| !located.value.is_null()))
            }
            Inner::Json(text) => text.read().transpose(),
            Inner::Unreadable(error) => Some(Err(error)),
        }
    }
}

impl JsonText {
    fn read(self) -> Result<Option<Located>, InputError> {
        let Self { text, line, column, list } = self;
        let mut value: Value = serde_json::from_str(&text).map_err(|error| InputError::json(&error, line, column))?;
        let Some(list) = list else {
            return Ok(
                Some(Located { line, template: String::new(), value }).filter(|located| !located.value.is_null())
            );
        };
        // A document that is empty is passed over, an item that is nothing is not.
        if value.is_null() {
            return Err(Reason::Unrecognized.at(list.line));
        }
        list.head.complete(&mut value);
        Ok(Some(Located { line: list.line, template: String::new(), value }))
    }
}
