//! The common part of the verbs that judge: a report that grows, and errors about what could not be judged.

use std::cell::Cell;
use std::io::{self, BufRead, Read, Write};
use std::rc::Rc;

use super::arguments::{FailOn, OutputArguments, OutputFormat};
use super::outcome::{Failure, Outcome, Told, complain, remark, written};
use super::progress::Progress;
use crate::input::{Document, read_documents};
use crate::judged::{Judged, Judging, Summary, ignored_on_objects};
use crate::output::writer::Writer;

/// One run: each result is written as soon as it is there, and only counted after that.
pub(super) struct Run {
    /// `None` where nothing is to be written.
    output: Option<(Box<dyn Write>, Box<dyn Writer>)>,
    written: io::Result<()>,
    summary: Summary,
    /// Of what is ignored, that which a house file says, and not the objects themselves.
    ignored_by_house: usize,
    is_quiet: bool,
    progress: Progress,
}

impl Run {
    pub(super) fn new(arguments: &OutputArguments, judging: Judging) -> Self {
        let mut output: Option<(Box<dyn Write>, _)> =
            (!arguments.quiet).then(|| (Box::new(arguments.stdout()) as _, arguments.output.writer(judging)));
        let written = output.as_mut().map_or(Ok(()), |(out, writer)| writer.begin(out));
        let progress = Progress::new(output.is_some());
        let (summary, is_quiet) = (Summary::default(), arguments.quiet);
        Self { output, written, summary, ignored_by_house: 0, is_quiet, progress }
    }

    /// A run that only counts: its caller writes all results together at the end.
    pub(super) fn counting<F: OutputFormat>(arguments: &OutputArguments<F>) -> Self {
        let progress = Progress::new(!arguments.quiet);
        let (summary, is_quiet) = (Summary::default(), arguments.quiet);
        Self { output: None, written: Ok(()), summary, ignored_by_house: 0, is_quiet, progress }
    }

    /// Counts the result and hands it back, or tells why there is none.
    pub(super) fn counted(&mut self, judged: Result<Judged, String>) -> Option<Judged> {
        match judged {
            Ok(judged) => {
                self.summary.count(&judged);
                Some(judged)
            }
            Err(reason) => {
                self.cannot_judge(&reason);
                None
            }
        }
    }

    pub(super) fn summary(&self) -> &Summary {
        &self.summary
    }

    pub(super) fn cannot_judge(&mut self, reason: &str) {
        self.summary.is_partial = true;
        self.progress.suspend(|| complain(reason));
    }

    /// Tells what was collected beside a result.
    pub(super) fn tell(&mut self, told: Told) {
        let is_partial = &mut self.summary.is_partial;
        self.progress.suspend(|| *is_partial |= !told.tell());
    }

    /// Counts what a house file ignores.
    pub(super) fn count_ignored(&mut self, findings: usize) {
        self.summary.ignored += findings;
        self.ignored_by_house += findings;
    }

    /// The bar of a run over that many charts.
    pub(super) fn begin_charts(&mut self, count: usize) {
        self.progress.charts(count);
    }

    pub(super) fn advance_to(&mut self, count: usize) {
        self.progress.advance_to(count as u64);
    }

    pub(super) fn end_progress(&mut self) {
        self.progress.finish();
    }

    /// Hands back what was done, or tells why it failed. The report goes on to its end either way.
    pub(super) fn told<T>(&mut self, done: Result<T, Failure>) -> Option<T> {
        done.map_err(|Failure(reason)| self.cannot_judge(&reason)).ok()
    }

    /// Reads a file's objects one by one, each with the source that the report shows. An empty list is no error; the
    /// answer says whether the file was one.
    pub(super) fn documents(
        &mut self,
        file: &str,
        reader: impl BufRead,
        length: Option<u64>,
        mut each: impl FnMut(&mut Self, String, Document),
    ) -> bool {
        let (reader, position) = counted(reader);
        self.progress.file(length);
        let mut documents = read_documents(reader);
        let first = documents.next();
        let is_empty_list = first.is_none() && documents.met_a_list();
        if first.is_none() && !is_empty_list {
            self.cannot_judge(&format!("{file}: there is no object in it"));
        }
        let second = first.as_ref().and_then(|_| documents.next());
        let is_alone = second.is_none();
        for document in first.into_iter().chain(second).chain(documents) {
            match document {
                Ok(document) => {
                    let source = document.content.source(file, document.number, is_alone);
                    each(self, source, document);
                }
                Err(error) => self.cannot_judge(&format!("{file}:{}: {}", error.line, error.reason)),
            }
            self.progress.advance_to(position.get());
        }
        self.progress.finish();
        is_empty_list
    }

    /// Counts a result and writes it; where standard output is closed it is only counted, for the exit code.
    pub(super) fn push(&mut self, judged: &Judged) {
        self.summary.count(judged);
        if let (Some((out, writer)), Ok(())) = (&mut self.output, &self.written) {
            self.written = writer.result(out, judged);
        }
    }

    /// Reports a result, or why there is none.
    pub(super) fn report(&mut self, judged: Result<Judged, String>) {
        match judged {
            Ok(judged) => self.push(&judged),
            Err(reason) => self.cannot_judge(&reason),
        }
    }

    /// Writes what goes at the end, and sums up.
    pub(super) fn finish(mut self, fail_on: FailOn) -> Result<Outcome, Failure> {
        if let (Some((out, writer)), Ok(())) = (&mut self.output, &self.written) {
            self.written = writer.end(out, &self.summary).and_then(|()| out.flush());
        }
        written(self.written)?;
        let by_objects = self.summary.ignored - self.ignored_by_house;
        if by_objects > 0 && !self.is_quiet {
            remark(&ignored_on_objects(by_objects));
        }
        let fails = self.summary.denied > 0 || (fail_on == FailOn::Warn && self.summary.warned > 0);
        Ok(Outcome::of(!self.summary.is_partial, fails))
    }
}

/// A reader that tells how far it is.
struct Counted<R> {
    reader: R,
    position: Rc<Cell<u64>>,
}

fn counted<R: BufRead>(reader: R) -> (Counted<R>, Rc<Cell<u64>>) {
    let position = Rc::new(Cell::new(0));
    (Counted { reader, position: Rc::clone(&position) }, position)
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.position.set(self.position.get() + count as u64);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.position.set(self.position.get() + count as u64);
        self.reader.consume(count);
    }
}
