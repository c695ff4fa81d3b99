//! `review`: what the policy says to requests and manifests.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::Args;
use stable_hooks_host::metadata::Metadata;
use stable_hooks_policy::shown::Visible;

use super::arguments::JudgeArguments;
use super::outcome::{Failure, Outcome, open_input, remark};
use super::run::Run;
use super::side_by_side::cores;
use crate::input::{Document, is_covered, request_of};
use crate::judge::Asked;
use crate::judged::{Judged, Judging, Place};

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
    /// Show objects that are allowed without a word too
    #[arg(long)]
    all: bool,
    /// How many objects to judge at the same time; by default as many as there are cores
    #[arg(long, value_name = "COUNT")]
    jobs: Option<NonZero<usize>>,
    #[command(flatten)]
    judge: JudgeArguments,
}

/// How many of the objects an API server would ask the policy about.
#[derive(Default)]
struct Coverage {
    objects: usize,
    covered: usize,
    /// The policy said something about an object that it would not be asked about.
    misleads: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let mut run = Run::new(&arguments.judge.output, Judging::Objects { all: arguments.all });
    let judged = judge(arguments, &mut run);
    run.told(judged);
    run.finish(arguments.judge.fail_on)
}

fn judge(arguments: &Arguments, run: &mut Run) -> Result<(), Failure> {
    let judge = arguments.judge.resolve_for_any_object()?;
    let jobs = arguments.jobs.unwrap_or_else(cores);
    let mut coverage = Coverage::default();
    let standard_input = [PathBuf::from("-")];
    let files = if arguments.files.is_empty() { &standard_input[..] } else { &arguments.files };
    for path in files {
        let file = path.display().to_string();
        match open_input(path) {
            Ok(input) => {
                let ask = |Document { line, template, content, .. }| {
                    let place = Place { file: file.clone(), line: Some(line) };
                    let request = request_of(content, arguments.audit);
                    let covered = judge.metadata.as_ref().map(|metadata| is_covered(metadata, &request));
                    // Its source has a number, which those before it tell.
                    let asked = Asked { source: String::new(), place, request };
                    let template = (!template.is_empty()).then_some(Place { file: template, line: None });
                    let judged = asked.judged(judge.engine.as_ref(), judge.settings.handed());
                    (judged.map(|judged| judged.in_templates(|_, _| template.clone())), covered)
                };
                run.stream(&file, input, jobs, ask, |run, source, (judged, covered)| {
                    if let (Some(covered), Ok(judged)) = (covered, &judged) {
                        coverage.count(covered, judged);
                    }
                    run.report(judged.map(|judged| judged.of_source(source)));
                });
            }
            Err(Failure(reason)) => run.cannot_judge(&reason),
        }
    }
    if let (Some(path), Some(metadata), false) =
        (&arguments.judge.policy, &judge.metadata, arguments.judge.output.quiet)
    {
        coverage.remark(path, metadata);
    }
    Ok(())
}

impl Coverage {
    fn count(&mut self, is_covered: bool, judged: &Judged) {
        self.objects += 1;
        self.covered += usize::from(is_covered);
        self.misleads |= !is_covered && judged.says_something();
    }

    /// An API server would not ask the policy about an object that it is not made for: neither silence nor a denial is
    /// then what a cluster would say.
    fn remark(&self, policy: &Path, metadata: &Metadata) {
        let Self { objects, covered, misleads } = self;
        if *objects > 0 && (*covered == 0 || *misleads) {
            let (policy, rules) = (policy.display().to_string(), metadata.covered());
            remark(&format!(
                "an API server would ask {} about {covered} of these {objects} objects: the rules in its metadata are {}",
                Visible(&policy),
                Visible(&rules),
            ));
        }
    }
}
