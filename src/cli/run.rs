//! The common part of the verbs that judge: a report that grows, and errors about what could not be judged.

use std::io::{self, Write};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::arguments::{FailOn, OutputArguments, OutputFormat};
use super::cut::cut;
use super::outcome::{Failure, Input, Outcome, Told, complain, remark, written};
use super::progress::Progress;
use super::side_by_side::in_order;
use crate::input::{Document, Documents, InputError, Naming, Piece, documents};
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
            (!arguments.quiet).then(|| (arguments.stream(), arguments.output.writer(judging)));
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
        bytes: &[u8],
        each: impl FnMut(&mut Self, String, Document),
    ) -> bool {
        let mut objects = Objects::new(self, file, each);
        let mut documents = documents(bytes);
        for found in documents.by_ref() {
            objects.push(found.map(|document| (document.content.naming(), document)));
        }
        objects.finish(documents.met_a_list())
    }

    /// Works on a stream's objects on that many threads, and gets the results in the order of the objects.
    pub(super) fn stream<T: Send>(
        &mut self,
        file: &str,
        input: Input,
        jobs: NonZero<usize>,
        work: impl Fn(Document) -> T + Sync,
        each: impl FnMut(&mut Self, String, T),
    ) {
        self.progress.file(input.length);
        let (position, met_a_list) = (AtomicU64::new(0), AtomicBool::new(false));
        let mut objects = Objects::new(self, file, each);
        let read = |pieces: Vec<Piece>| {
            let mut documents = Documents::of(pieces.into_iter());
            let found: Vec<Result<_, InputError>> = documents
                .by_ref()
                .map(|found| found.map(|document| (document.content.naming(), work(document))))
                .collect();
            met_a_list.fetch_or(documents.met_a_list(), Ordering::Relaxed);
            found
        };
        let cut = |send: &dyn Fn(Vec<Piece>)| cut(input.reader, &position, send);
        in_order(jobs, cut, read, |found| {
            for found in found {
                objects.push(found);
            }
            objects.run.progress.advance_to(position.load(Ordering::Relaxed));
        });
        objects.finish(met_a_list.into_inner());
        self.progress.finish();
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

/// The objects of a file, as they are found.
struct Objects<'a, T, F> {
    run: &'a mut Run,
    file: &'a str,
    count: usize,
    /// The first one, until it is known whether it is alone.
    first: Option<Found<T>>,
    each: F,
}

type Found<T> = Result<(Naming, T), InputError>;

impl<'a, T, F: FnMut(&mut Run, String, T)> Objects<'a, T, F> {
    fn new(run: &'a mut Run, file: &'a str, each: F) -> Self {
        Self { run, file, count: 0, first: None, each }
    }

    fn push(&mut self, found: Found<T>) {
        self.count += 1;
        if self.count == 1 {
            self.first = Some(found);
            return;
        }
        if let Some(first) = self.first.take() {
            self.tell(1, first, false);
        }
        self.tell(self.count, found, false);
    }

    /// Whether it was a list, and an empty one.
    fn finish(mut self, met_a_list: bool) -> bool {
        if let Some(alone) = self.first.take() {
            self.tell(1, alone, true);
        } else if self.count == 0 && !met_a_list {
            self.run.cannot_judge(&format!("{}: there is no object in it", self.file));
        }
        self.count == 0 && met_a_list
    }

    fn tell(&mut self, number: usize, found: Found<T>, is_alone: bool) {
        match found {
            Ok((naming, found)) => (self.each)(self.run, naming.source(self.file, number, is_alone), found),
            Err(error) => self.run.cannot_judge(&format!("{}:{}: {}", self.file, error.line, error.reason)),
        }
    }
}
