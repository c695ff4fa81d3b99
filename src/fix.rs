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
mod remark;
mod stream;
mod words;

use plan::Plan;
pub use remark::{Options, Remark, Subject};
use stream::Stream;

/// The mended stream, and what was not mended.
#[derive(Debug, PartialEq, Eq)]
pub struct Fixed {
    pub stream: Vec<u8>,
    /// In the order of the stream.
    pub remarks: Vec<Remark>,
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
