//! What the verbs that judge have in common: a report that grows, and what could not be judged.

use serde_json::Value;
use stable_hooks_policy::{Request, RequestError};

use super::{FailOn, Failure, Format, Outcome, OutputArguments, complain, written};
use crate::engine::{Engine, judge};
use crate::input::{Content, Document, documents};
use crate::report::{Judged, Report, human, json};

/// One run: what was judged so far, and whether that is all that was asked.
pub(super) struct Run {
    report: Report,
    is_complete: bool,
}

/// One request, and where it comes from.
pub(super) struct Asked {
    /// As the report names it.
    pub(super) source: String,
    /// As an error names it.
    pub(super) place: String,
    pub(super) request: Value,
}

impl Run {
    pub(super) fn new() -> Self {
        Self { report: Report::default(), is_complete: true }
    }

    pub(super) fn cannot_judge(&mut self, reason: &str) {
        self.is_complete = false;
        complain(reason);
    }

    /// Reads a file's objects one by one, each with the source that the report shows.
    pub(super) fn documents(&mut self, file: &str, bytes: &[u8], mut each: impl FnMut(&mut Self, String, Document)) {
        let mut documents = documents(bytes).peekable();
        if documents.peek().is_none() {
            self.cannot_judge(&format!("{file}: there is no object in it"));
        }
        while let Some(document) = documents.next() {
            match document {
                Ok(document) => {
                    let is_whole_file = document.number == 1 && documents.peek().is_none();
                    let source = match document.content {
                        Content::Request(_) if is_whole_file => file.to_owned(),
                        Content::Request(_) | Content::Manifest(_) => format!("{file}#{}", document.number),
                    };
                    each(self, source, document);
                }
                Err(error) => self.cannot_judge(&format!("{file}:{}: {}", error.line, error.reason)),
            }
        }
    }

    pub(super) fn judge(&mut self, engine: &dyn Engine, settings: &Value, asked: Asked) {
        if let Some(judged) = self.judged(engine, settings, asked) {
            self.push(judged);
        }
    }

    pub(super) fn push(&mut self, judged: Judged) {
        self.report.push(judged);
    }

    /// The result, before it is reported.
    pub(super) fn judged(&mut self, engine: &dyn Engine, settings: &Value, asked: Asked) -> Option<Judged> {
        let Asked { source, place, request } = asked;
        // The engine would answer a malformed request with a denial; here it is bad input.
        let checked = if fits_a_payload(&request) {
            Request::parse(request.clone()).map(drop)
        } else {
            Err(RequestError::NotJson)
        };
        let answer = checked
            .map_err(|error| error.to_string())
            .and_then(|()| judge(engine, &request, settings).map_err(|error| error.to_string()));
        match answer {
            Ok(answer) => Some(Judged::new(source, &request, answer)),
            Err(error) => {
                self.cannot_judge(&format!("{place}: {error}"));
                None
            }
        }
    }

    /// Writes the report and sums it up.
    pub(super) fn finish(self, output: &OutputArguments, fail_on: FailOn) -> Result<Outcome, Failure> {
        let report = &self.report;
        if !output.quiet {
            let mut stdout = output.stdout();
            written(match output.output {
                Format::Human => human::write(&mut stdout, report),
                Format::Json => json::write(&mut stdout, report),
            })?;
        }
        let fails = report.denied() > 0 || (fail_on == FailOn::Warn && report.warned() > 0);
        Ok(match (self.is_complete, fails) {
            (false, _) => Outcome::CouldNotJudge,
            (true, true) => Outcome::Denied,
            (true, false) => Outcome::NothingDenied,
        })
    }
}

/// A payload wraps the request in one more level, and JSON is read to a depth of 127.
fn fits_a_payload(request: &Value) -> bool {
    fn fits(value: &Value, levels: usize) -> bool {
        match value {
            Value::Array(items) => levels > 0 && items.iter().all(|item| fits(item, levels - 1)),
            Value::Object(map) => levels > 0 && map.values().all(|value| fits(value, levels - 1)),
            _ => true,
        }
    }
    fits(request, 126)
}
