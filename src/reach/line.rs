//! What may stand in a line of a template, up to the place that is read.

use std::collections::BTreeSet;
use std::mem;

use super::words::{is_judged, kind_of, names_hook};

/// How many beginnings of one line are told apart.
const MOST: usize = 8;

/// The beginnings that it may have: a block in it may have been left out.
#[derive(Debug, Clone)]
pub(super) struct Line(BTreeSet<String>);

impl Default for Line {
    fn default() -> Self {
        Self(BTreeSet::from([String::new()]))
    }
}

impl Line {
    pub(super) fn push(&mut self, piece: &str) {
        self.0 = mem::take(&mut self.0).into_iter().map(|line| line + piece).collect();
    }

    /// The same, or the other one.
    pub(super) fn or(&mut self, other: Self) {
        self.0.extend(other.0.into_iter().take(MOST));
    }

    pub(super) fn is_comment(&self) -> bool {
        self.0.iter().all(|line| line.trim_start().starts_with('#'))
    }

    pub(super) fn names_hook(&self) -> bool {
        self.0.iter().any(|line| names_hook(line))
    }

    pub(super) fn is_object(&self) -> bool {
        self.0.iter().any(|line| kind_of(line).is_some_and(is_judged))
    }

    /// A kind is to follow.
    pub(super) fn asks_for_kind(&self) -> bool {
        self.0.iter().any(|line| kind_of(line) == Some(""))
    }

    /// The kind that an earlier place of the line asked for begins after that.
    pub(super) fn begins_kind(&self, before: &Self) -> bool {
        let goes_on = |line: &String| kind_of(line).is_some_and(|kind| !kind.is_empty()) && !before.0.contains(line);
        before.asks_for_kind() && self.0.iter().any(goes_on)
    }
}
