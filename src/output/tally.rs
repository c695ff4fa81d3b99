//! How many there were of what, for people.

use std::collections::BTreeSet;

use crate::judged::{Judged, Judging, Summary};

pub(super) struct Tally {
    judging: Judging,
    /// The charts that have been judged, some with several sets of values.
    charts: BTreeSet<String>,
    results: usize,
}

impl Tally {
    pub(super) fn new(judging: Judging) -> Self {
        Self { judging, charts: BTreeSet::new(), results: 0 }
    }

    pub(super) fn count(&mut self, judged: &Judged) {
        self.results += 1;
        if self.judging == Judging::Charts {
            self.charts.insert(judged.place.file.clone());
        }
    }

    /// So many of what is judged; results, where a chart has several.
    pub(super) fn counted(&self, count: usize) -> String {
        if self.has_several() { counted(count, "result") } else { self.subjects(count) }
    }

    /// What the run came to, in numbers.
    pub(super) fn sum(&self, summary: &Summary) -> String {
        let Summary { objects, denied, normalized, warned, ignored, .. } = summary;
        let judged = if self.has_several() {
            format!("{}, {objects} results", self.subjects(self.charts.len()))
        } else {
            self.subjects(*objects)
        };
        // A patch is for objects.
        let normalized = match self.judging {
            Judging::Objects { .. } => format!("{normalized} normalized, "),
            Judging::Revisions | Judging::Charts => String::new(),
        };
        let ignored = if *ignored > 0 { format!(", {} ignored", counted(*ignored, "finding")) } else { String::new() };
        format!("{judged}: {denied} denied, {normalized}{warned} with warnings{ignored}")
    }

    fn has_several(&self) -> bool {
        !self.charts.is_empty() && self.charts.len() < self.results
    }

    fn subjects(&self, count: usize) -> String {
        let subject = match self.judging {
            Judging::Objects { .. } => "object",
            Judging::Revisions => "revision",
            Judging::Charts => "chart",
        };
        counted(count, subject)
    }
}

fn counted(count: usize, subject: &str) -> String {
    format!("{count} {subject}{}", if count == 1 { "" } else { "s" })
}
