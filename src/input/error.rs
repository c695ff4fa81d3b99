//! The errors of a file. Their texts name a place and a kind of problem and never quote the file: it may hold Secrets.

use std::borrow::Cow;

use helm::yaml::{Problem, YamlError};
use serde_json::Value;
use thiserror::Error;

/// Something in a file that cannot be judged. The caller adds the file's name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}: {reason}")]
pub struct InputError {
    /// Counted from 1. For an item of a list, the line where the list starts.
    pub line: usize,
    pub reason: Reason,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Reason {
    #[error("cannot read on: {0}")]
    Reading(String),
    #[error("not UTF-8 text")]
    Encoding,
    #[error("UTF-16 text, which has to be saved as UTF-8")]
    Utf16,
    #[error("malformed JSON at column {column}: {problem}")]
    Json { column: usize, problem: String },
    #[error("malformed YAML at column {column}: {problem}")]
    Yaml { column: usize, problem: Cow<'static, str> },
    #[error("an AdmissionReview with a response and no request")]
    Response,
    #[error("an AdmissionReview without a request")]
    NoRequest,
    #[error("neither an AdmissionReview, an AdmissionRequest nor an object with apiVersion and kind")]
    Unrecognized,
    #[error("its items were read one by one, but what stands behind them does not make it a list")]
    NotAList,
    #[error(transparent)]
    Mistyped(#[from] Mistyped),
    #[error("more than one document")]
    MoreThanOne,
}

/// A field of an object that has another type than Kubernetes gives it.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("{field} is {found} where Kubernetes wants {wanted}{advice}")]
pub struct Mistyped {
    field: &'static str,
    found: &'static str,
    wanted: &'static str,
    advice: &'static str,
}

impl Mistyped {
    pub(super) fn new(field: &'static str, found: &Value, wanted: &'static str) -> Self {
        let found = match found {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        Self { field, found, wanted, advice: "" }
    }

    /// Kubernetes wants a string there.
    pub(super) fn text(field: &'static str, found: &Value) -> Self {
        let is_scalar = matches!(found, Value::Bool(_) | Value::Number(_));
        let advice = if is_scalar { "; put it in quotes" } else { "" };
        Self { advice, ..Self::new(field, found, "a string") }
    }
}

impl Reason {
    pub(super) fn at(self, line: usize) -> InputError {
        InputError { line, reason: self }
    }
}

impl InputError {
    /// `line` is where the parsed text starts in the file.
    pub(super) fn json(error: &serde_json::Error, line: usize, column: usize) -> Self {
        if error.is_eof() {
            return Self::unended(line, column);
        }
        // The text of a data error quotes the value; reading into `Value` makes none, but a dependency's feature could.
        let problem = if error.is_data() {
            "unexpected value".to_owned()
        } else {
            let position = format!(" at line {} column {}", error.line(), error.column());
            let text = error.to_string();
            text.strip_suffix(&position).map_or_else(|| "syntax error".to_owned(), str::to_owned)
        };
        let column = if error.line() <= 1 { column + error.column() } else { error.column() };
        Self { line: line + error.line().saturating_sub(1), reason: Reason::Json { column, problem } }
    }

    /// What begins there does not end in the file.
    pub(super) fn unended(line: usize, column: usize) -> Self {
        // The end of the file is not where the mistake is.
        let problem = "what begins here does not end".to_owned();
        Self { line, reason: Reason::Json { column: column + 1, problem } }
    }

    /// Two items of a list have no comma between them.
    pub(super) fn unseparated(line: usize, column: usize) -> Self {
        let problem = "expected `,` or `]`".to_owned();
        Self { line, reason: Reason::Json { column: column + 1, problem } }
    }

    /// `line` is where the parsed text starts in the file.
    pub(crate) fn yaml(error: YamlError, line: usize) -> Self {
        let reason = match error.problem {
            Problem::MoreThanOne => Reason::MoreThanOne,
            Problem::Malformed(problem) => Reason::Yaml { column: error.column, problem },
        };
        Self { line: line + error.line.saturating_sub(1), reason }
    }
}
