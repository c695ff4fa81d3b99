//! `review`: what the policy says to requests and manifests.

use std::path::PathBuf;

use clap::Args;

use super::run::{Asked, Run};
use super::{FailOn, Failure, Outcome, OutputArguments, PolicyArguments, read_input};
use crate::input::{Document, request_of};

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
    let mut run = Run::new();
    let standard_input = [PathBuf::from("-")];
    let files = if arguments.files.is_empty() { &standard_input[..] } else { &arguments.files };
    for path in files {
        let file = path.display().to_string();
        match read_input(path) {
            Ok(bytes) => run.documents(&file, &bytes, |run, source, Document { line, content, .. }| {
                let request = request_of(content, arguments.audit);
                let asked = Asked { source, place: format!("{file}:{line}"), request };
                run.judge(judge.engine.as_ref(), &judge.settings, asked);
            }),
            Err(Failure(reason)) => run.cannot_judge(&reason),
        }
    }
    run.finish(&arguments.output, arguments.fail_on)
}
