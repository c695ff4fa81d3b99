//! `review`: what the policy says to requests and manifests.

use std::path::PathBuf;

use clap::Args;

use super::run::{Asked, Run};
use super::{FailOn, Failure, Outcome, OutputArguments, PolicyArguments, open_input};
use crate::input::{Document, request_of};
use crate::report::Place;

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

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let judge = arguments.policy.resolve()?;
    let mut run = Run::new(&arguments.output);
    let standard_input = [PathBuf::from("-")];
    let files = if arguments.files.is_empty() { &standard_input[..] } else { &arguments.files };
    for path in files {
        if run.is_over() {
            break;
        }
        let file = path.display().to_string();
        match open_input(path) {
            Ok((reader, length)) => run.documents(&file, reader, length, |run, source, document| {
                let Document { line, content, .. } = document;
                let place = Place { file: file.clone(), line: Some(line) };
                let request = request_of(content, arguments.audit);
                let asked = Asked { source, place, request };
                run.judge(judge.engine.as_ref(), &judge.settings, asked);
            }),
            Err(Failure(reason)) => run.cannot_judge(&reason),
        }
    }
    run.finish(arguments.fail_on)
}
