//! `review`: what the policy says to requests and manifests.

use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::Value;
use stable_hooks_policy::{Request, RequestError};

use super::{Failure, Format, Outcome, OutputArguments, PolicyArguments, complain, written};
use crate::engine::{Engine, judge};
use crate::input::{Content, Document, documents, request_of};
use crate::report::{Judged, Report, human, json};

/// Judges `AdmissionReviews`, `AdmissionRequests` and manifests
///
/// Exit codes: 0 nothing denied, 1 something denied, 2 could not judge.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helm template orders ./chart | stable-hooks review
  stable-hooks review --policy annotated-policy.wasm --settings examples/settings.yaml -o json examples/*.json")]
pub(super) struct Arguments {
    /// `AdmissionReviews`, `AdmissionRequests` or manifests: YAML streams, JSON, Lists, one JSON object a line; `-` or
    /// nothing: standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Judge the objects as the audit scanner would
    #[arg(long)]
    audit: bool,
    /// What makes the exit code 1
    #[arg(long, value_enum, default_value_t = FailOn::Deny)]
    fail_on: FailOn,
    #[command(flatten)]
    policy: PolicyArguments,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Deny,
    Warn,
}

/// One run: everything that the files have in common.
struct Review<'a> {
    engine: &'a dyn Engine,
    settings: &'a Value,
    audit: bool,
    report: Report,
    complete: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let (engine, settings) = arguments.policy.resolve()?;
    let mut review = Review {
        engine: engine.as_ref(),
        settings: &settings,
        audit: arguments.audit,
        report: Report::default(),
        complete: true,
    };
    let standard_input = [PathBuf::from("-")];
    let files = if arguments.files.is_empty() { &standard_input[..] } else { &arguments.files };
    for file in files {
        match read(file) {
            Ok(bytes) => review.file(&file.display().to_string(), &bytes),
            Err(error) => review.cannot_judge(&format!("{}: {error}", file.display())),
        }
    }
    let Review { report, complete, .. } = review;
    if !arguments.output.quiet {
        let mut stdout = arguments.output.stdout();
        written(match arguments.output.output {
            Format::Human => human::write(&mut stdout, &report),
            Format::Json => json::write(&mut stdout, &report),
        })?;
    }
    let fails = report.denied() > 0 || (arguments.fail_on == FailOn::Warn && report.warned() > 0);
    Ok(match (complete, fails) {
        (false, _) => Outcome::CouldNotJudge,
        (true, true) => Outcome::Denied,
        (true, false) => Outcome::NothingDenied,
    })
}

fn read(file: &PathBuf) -> io::Result<Vec<u8>> {
    if file.as_os_str() != "-" {
        return fs::read(file);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Review<'_> {
    fn cannot_judge(&mut self, reason: &str) {
        self.complete = false;
        complain(reason);
    }

    fn file(&mut self, name: &str, bytes: &[u8]) {
        let mut documents = documents(bytes).peekable();
        if documents.peek().is_none() {
            self.cannot_judge(&format!("{name}: there is no object in it"));
        }
        while let Some(document) = documents.next() {
            match document {
                Ok(document) => {
                    let is_whole_file = document.number == 1 && documents.peek().is_none();
                    self.document(name, document, is_whole_file);
                }
                Err(error) => self.cannot_judge(&format!("{name}:{}: {}", error.line, error.reason)),
            }
        }
    }

    fn document(&mut self, file: &str, document: Document, is_whole_file: bool) {
        let Document { number, line, content } = document;
        let source = match content {
            Content::Request(_) if is_whole_file => file.to_owned(),
            Content::Request(_) | Content::Manifest(_) => format!("{file}#{number}"),
        };
        let request = request_of(content, self.audit);
        // The engine would answer a malformed request with a denial; here it is bad input.
        let checked = if fits_a_payload(&request) {
            Request::parse(request.clone()).map(drop)
        } else {
            Err(RequestError::NotJson)
        };
        if let Err(error) = checked {
            return self.cannot_judge(&format!("{file}:{line}: {error}"));
        }
        match judge(self.engine, &request, self.settings) {
            Ok(answer) => self.report.push(Judged::new(source, &request, answer)),
            Err(error) => self.cannot_judge(&format!("{file}:{line}: {error}")),
        }
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
