//! `review`: what the policy says to requests and manifests.

use std::path::PathBuf;

use clap::Args;

use super::run::{Asked, Run};
use super::{Failure, JudgeArguments, Outcome, open_input};
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
    #[command(flatten)]
    judge: JudgeArguments,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let judge = arguments.judge.resolve()?;
    let mut run = Run::new(&arguments.judge.output);
    let standard_input = [PathBuf::from("-")];
    let files = if arguments.files.is_empty() { &standard_input[..] } else { &arguments.files };
    for path in files {
        if run.is_over() {
            break;
        }
        let file = path.display().to_string();
        match open_input(path) {
            Ok((reader, length)) => run.documents(&file, reader, length, |run, source, document| {
                let Document { line, template, content, .. } = document;
                let place = Place { file: file.clone(), line: Some(line) };
                let request = request_of(content, arguments.audit);
                let asked = Asked { source, place, request };
                let template = (!template.is_empty()).then_some(Place { file: template, line: None });
                let judged = asked.judged(judge.engine.as_ref(), &judge.settings);
                run.report(judged.map(|judged| judged.in_templates(|_, _| template.clone())));
            }),
            Err(Failure(reason)) => run.cannot_judge(&reason),
        }
    }
    run.finish(arguments.judge.fail_on)
}
