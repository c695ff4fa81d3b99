//! The lines of the inputs that findings are about.

use std::collections::BTreeMap;

use helm::manifest;
use helm::write::Document;
use serde::Serialize;

use super::input::Input;
use crate::judged::{Finding, Judged, Level};
use crate::origin::line_of;
use crate::render::{Render, is_of};

/// A line that a finding is about.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Mark {
    input: Input,
    line: usize,
    level: Level,
    rule: String,
    /// The places of the result in the report, and of the finding in the result.
    result: usize,
    finding: usize,
}

impl Mark {
    fn new(input: Input, line: usize, finding: &Finding, result: usize, number: usize) -> Self {
        Self { input, line, level: finding.level, rule: finding.rule_text().to_owned(), result, finding: number }
    }
}

/// The documents of the inputs, by the names of their objects.
type Pieces<'a> = BTreeMap<String, Vec<Piece<'a>>>;

/// A document of an input, and how many lines are before it.
struct Piece<'a> {
    input: Input,
    text: &'a str,
    before: usize,
    document: Document,
}

/// The lines in renders; an object that is in several is marked in each.
pub(super) fn in_renders(judged: &Judged, inputs: &[(Input, &str)], namespace: &str) -> Vec<Mark> {
    let mut pieces = Pieces::new();
    for (input, text) in inputs {
        add_pieces(&mut pieces, *input, text);
    }
    let mut marks = Vec::new();
    for (number, finding) in judged.findings().iter().enumerate() {
        let named = pieces.get(&finding.object.name).into_iter().flatten();
        for piece in named.filter(|piece| is_of(&piece.document, &finding.object, namespace)) {
            let line = line_of(piece.text, &finding.object.kind, &finding.path).unwrap_or(1);
            marks.push(Mark::new(piece.input, piece.before + line, finding, 0, number));
        }
    }
    marks
}

fn add_pieces<'a>(pieces: &mut Pieces<'a>, input: Input, text: &'a str) {
    let mut before = 0;
    for text in manifest::texts(text) {
        for document in Render::read(text.as_bytes()).documents {
            let name = document.head.name.clone();
            pieces.entry(name).or_default().push(Piece { input, text, before, document });
        }
        before += 1 + text.matches('\n').count();
    }
}

/// The places of the documents of a text.
pub(super) struct Documents<'a> {
    text: &'a str,
    /// Where each line begins.
    lines: Vec<usize>,
    /// The lines in which documents begin, from 1, in order; the items of a list begin where it does.
    starts: Vec<usize>,
}

impl<'a> Documents<'a> {
    pub(super) fn new(text: &'a str, starts: Vec<usize>) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, lines: std::iter::once(0).chain(ends).collect(), starts }
    }

    /// The text of the document that begins there; `None` where several do.
    fn at(&self, line: usize) -> Option<&'a str> {
        let first = self.starts.partition_point(|start| *start < line);
        let next = self.starts.partition_point(|start| *start <= line);
        if next - first > 1 {
            return None;
        }
        let place = |line: usize| self.lines.get(line.saturating_sub(1)).copied();
        let end = self.starts.get(next).and_then(|next| place(*next)).unwrap_or(self.text.len());
        self.text.get(place(line)?..end)
    }

    /// The lines that a result is about.
    pub(super) fn marks(&self, judged: &Judged, input: Input, line: usize, result: usize) -> Vec<Mark> {
        let document = self.at(line);
        let mark = |(number, finding): (usize, &Finding)| {
            let inside = document.and_then(|document| line_of(document, &finding.object.kind, &finding.path));
            Mark::new(input, line + inside.unwrap_or(1) - 1, finding, result, number)
        };
        judged.findings().iter().enumerate().map(mark).collect()
    }
}
