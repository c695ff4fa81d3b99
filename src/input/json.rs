//! JSON texts one after another: a single one, several, or one a line.

use serde_json::{Deserializer, Value};

use super::error::InputError;
use super::stream::{Cursor, Located};

pub(super) struct Json<'a>(Cursor<'a>);

impl<'a> Json<'a> {
    pub(super) fn new(texts: Cursor<'a>) -> Self {
        Self(texts)
    }

    /// After a broken text, goes on at the next line that starts an object.
    /// Lines inside an indented text do not; counting from its first line keeps the object after one that breaks off.
    fn recover(&mut self) {
        loop {
            self.0.take_line();
            if self.0.rest.first().is_none_or(|byte| *byte == b'{') {
                return;
            }
        }
    }
}

impl Iterator for Json<'_> {
    type Item = Result<Located, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.skip_blank();
        let Cursor { rest, line, column } = self.0;
        let mut values = Deserializer::from_slice(rest).into_iter::<Value>();
        let next = values.next()?;
        match next {
            Ok(value) => {
                self.0.take(values.byte_offset());
                Some(Ok((line, value)))
            }
            Err(error) => {
                self.recover();
                Some(Err(InputError::json(&error, line, column)))
            }
        }
    }
}
