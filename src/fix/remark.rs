//! The options of a fix, and the remarks about everything that stays as it is.

use std::fmt;

use stable_hooks_policy::Settings;
use stable_hooks_policy::shown::Shown;

/// Something that stays as it is, and why.
#[derive(Debug, PartialEq, Eq)]
pub struct Remark {
    /// Where the document begins, from 1.
    pub line: usize,
    pub subject: Subject,
    pub text: String,
}

/// The subject of a remark.
#[derive(Debug, PartialEq, Eq)]
pub enum Subject {
    /// The document could not be read.
    Unreadable,
    Object {
        /// Kind, namespace and name.
        object: String,
        /// As Helm names it above the document; empty if that is not said.
        template: String,
    },
}

/// The options of a fix.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// Says which objects are migrations.
    pub settings: &'a Settings,
    /// Adds the install or upgrade event that a hook lacks.
    pub complete_events: bool,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subject {
            Subject::Unreadable => {}
            Subject::Object { object, template } if template.is_empty() => write!(f, "{object}: ")?,
            Subject::Object { object, template } => write!(f, "{object} (template {}): ", Shown(template))?,
        }
        f.write_str(&self.text)
    }
}
