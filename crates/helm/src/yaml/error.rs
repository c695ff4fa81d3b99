use std::borrow::Cow;

use granit_parser::{ErrorKind, ScanError};
use thiserror::Error;

/// Where a text is no YAML that can become JSON. It never quotes the text: that may hold Secrets.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}, column {column}: {problem}")]
pub struct YamlError {
    /// Counted from 1, as are columns.
    pub line: usize,
    pub column: usize,
    pub problem: Problem,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Problem {
    #[error("more than one document")]
    MoreThanOne,
    #[error("{0}")]
    Malformed(Cow<'static, str>),
}

impl From<&ScanError> for YamlError {
    fn from(error: &ScanError) -> Self {
        // These kinds carry text or a character of what is read.
        let problem = match error.kind() {
            ErrorKind::UnexpectedCharacter { .. } => "unexpected character".into(),
            ErrorKind::Custom(_) | ErrorKind::InputIo { .. } | ErrorKind::InputDecoding { .. } => "unreadable".into(),
            kind => kind.to_string().into(),
        };
        let mark = error.marker();
        Self { line: mark.line().max(1), column: mark.col() + 1, problem: Problem::Malformed(problem) }
    }
}
