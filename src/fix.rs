//! Mends the hook annotations of a manifest stream where that is proven safe, and leaves every other byte.
//!
//! `stream` takes the text apart as Helm does, `plan` decides what should change and says what it leaves, `events`
//! which events may be added, for which `needs`, `mentions` and `words` tell what a hook may need; `edit` finds the
//! place in the text, changes it and reads the result again.

mod edit;
mod events;
mod mentions;
mod needs;
mod plan;
mod stream;
mod words;

use std::fmt;

use stable_hooks_policy::Settings;
use stable_hooks_policy::shown::Shown;

use plan::Plan;
use stream::Stream;

/// The mended stream, and what was not mended.
#[derive(Debug, PartialEq, Eq)]
pub struct Fixed {
    pub stream: Vec<u8>,
    /// In the order of the stream.
    pub remarks: Vec<Remark>,
}

/// Something that stays as it is, and why.
#[derive(Debug, PartialEq, Eq)]
pub struct Remark {
    /// Where the document begins, from 1.
    pub line: usize,
    pub subject: Subject,
    pub text: String,
}

/// What a remark is about.
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

/// What may be changed.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// Says which objects are migrations.
    pub settings: &'a Settings,
    /// Adds the install or upgrade event that a hook lacks.
    pub complete_events: bool,
}

/// Mends a stream; it cannot fail, because what cannot be mended stays.
pub fn fix(text: &[u8], options: Options<'_>) -> Fixed {
    let stream = Stream::read(text, options.settings);
    let Plan { edits, mut remarks } = plan::plan(&stream, options);
    remarks.extend(stream.unreadable());
    let mut mended = Vec::with_capacity(text.len());
    for (number, document) in stream.documents.iter().enumerate() {
        let changed = edits.get(&number).map(String::as_bytes);
        mended.extend_from_slice(document.separator);
        mended.extend_from_slice(changed.unwrap_or(document.text));
    }
    remarks.sort_by_key(|remark| remark.line);
    Fixed { stream: mended, remarks }
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
