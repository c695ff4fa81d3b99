//! Where a document comes from.

use std::fmt;

use crate::finding::Remedy;
use crate::shown::Shown;

/// The template that rendered a document, from the chart's name on; a render that was made elsewhere may not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Template<'a>(pub(crate) &'a str);

impl Template<'_> {
    /// Where something is to be changed: behind "In".
    pub(crate) fn place(self) -> String {
        if self.0.is_empty() { "its template".to_owned() } else { Shown(self.0).to_string() }
    }

    /// What to change in it: the end of a sentence that begins with "In …,".
    pub(crate) fn remedy(self, text: impl Into<String>) -> Remedy {
        Remedy { template: Some(self.place()), text: text.into() }
    }
}

impl fmt::Display for Template<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("template unknown") } else { write!(f, "template {}", Shown(self.0)) }
    }
}
