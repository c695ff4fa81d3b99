//! `timeline`: what runs when, an install beside the upgrade over it, or a revision beside the one before.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use console::Term;
use helm::operation::Told;
use helm::record::Limits;

use super::arguments::JudgeArguments;
use super::chart::{self, RenderArguments};
use super::outcome::{Failure, Outcome, remark, written};
use super::release::{Reading, Records};
use super::run::Run;
use crate::changes::Detail;
use crate::comparison::Compared;
use crate::judged::{Judged, Summary};
use crate::records::StoredRecord;
use crate::timeline::{Timeline, write_html, write_human, write_json, write_markdown, write_svg};

/// The width where no terminal says another.
const WIDTH: usize = 80;

/// Shows what runs when: the hooks by weight, the resources in Helm's order, what is deleted and what flips
///
/// An install stands beside the upgrade over it, a stored revision beside the one that it is compared with. The findings
/// are those of `chart` and `release`, marked where they bite. What is shown happens if all goes
/// well.
///
/// Exit codes: 0 nothing denied, 1 something denied, 2 could not judge.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stable-hooks timeline ./orders -f production.yaml
  stable-hooks timeline orders -n shop -o html >orders.html")]
pub(super) struct Arguments {
    /// A chart (a folder or an archive); or, as `release` takes them, files with release records, `-` for standard
    /// input, or with -n a release's name
    #[arg(id = "chart", value_name = "CHART|FILE|NAME", required_unless_present = "install")]
    inputs: Vec<PathBuf>,
    /// Earlier records, only to compare with
    #[arg(long, value_name = "FILE", conflicts_with_all = ["install", "against", "release"])]
    baseline: Vec<PathBuf>,
    #[command(flatten)]
    renders: RenderArguments,
    #[command(flatten)]
    judge: JudgeArguments<Format>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people, as wide as the terminal
    #[default]
    Human,
    /// Markdown, for a comment on a pull request
    Markdown,
    /// A picture
    Svg,
    /// One page that loads nothing
    Html,
    /// JSON, version 1: docs/output.md
    Json,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let output = &arguments.judge.output;
    let mut run = Run::counting(output);
    let timelines = match arguments.inputs.as_slice() {
        [] => of_chart(None, arguments, &mut run),
        [chart] if is_chart(chart) => of_chart(Some(chart), arguments, &mut run),
        inputs => of_records(inputs, arguments, &mut run),
    };
    let timelines = run.told(timelines).unwrap_or_default();
    if !output.quiet {
        let mut stdout = output.stdout();
        written(write(&mut stdout, output.output, &timelines, run.summary()).and_then(|()| stdout.flush()))?;
    }
    run.finish(arguments.judge.fail_on)
}

/// Whether it is a chart: records are neither folders nor archives.
fn is_chart(path: &Path) -> bool {
    let is_archive = path.extension().is_some_and(|extension| extension == "tgz" || extension == "gz");
    path.is_dir() || is_archive
}

/// A word that could be a release's name as well.
fn is_bare(path: &Path) -> bool {
    path.components().count() == 1 && path.file_name() == Some(path.as_os_str())
}

fn of_chart(chart: Option<&Path>, arguments: &Arguments, run: &mut Run) -> Result<Vec<Timeline>, Failure> {
    if !arguments.baseline.is_empty() {
        return Err(Failure(
            "--baseline goes with records, and a chart is given; for an older chart there is --against".to_owned(),
        ));
    }
    if let Some(name) = chart.filter(|path| arguments.renders.namespace.is_some() && path.is_dir() && is_bare(path)) {
        let name = name.display();
        remark(&format!("`{name}` is a folder here and taken for a chart; in another folder it names a release"));
    }
    let judge = chart::judge(&arguments.judge)?;
    let mut reading = Reading { judge: &judge, run };
    if arguments.renders.argocd {
        let synced = chart::sync_one(chart, &arguments.renders, &mut reading, Detail::Fields)?;
        let timeline = Timeline::of_syncs(&synced);
        reading.run.push(&synced.judged());
        return Ok(vec![timeline]);
    }
    let compared = chart::compare_one(chart, &arguments.renders, &mut reading, None)?;
    let Some(compared) = compared else { return Ok(Vec::new()) };
    let Compared { before, after: (record, judged), .. } = &compared;
    let before = before.as_ref().map(|(record, judged)| (record, judged.as_ref()));
    let timeline = Timeline::of_records(before, (record, judged), |_| None, judge.settings.record_limits(), false);
    reading.run.push(&compared.judged());
    Ok(timeline.into_iter().collect())
}

fn of_records(inputs: &[PathBuf], arguments: &Arguments, run: &mut Run) -> Result<Vec<Timeline>, Failure> {
    if arguments.renders.want_a_chart() {
        return Err(Failure("these options go with a chart, and records are given: only -n and --baseline".to_owned()));
    }
    let judge = arguments.judge.resolve()?;
    let mut reading = Reading { judge: &judge, run };
    let namespace = arguments.renders.namespace.as_deref();
    let records = reading.records_of(inputs, namespace, &arguments.baseline)?;
    let judged: Vec<_> = records.given.iter().map(|given| reading.run.counted(records.judged(given, &judge))).collect();
    if !arguments.judge.output.quiet {
        records.remark(&judge);
    }
    Ok(timelines(&records, &judged, judge.settings.record_limits()))
}

/// Each revision beside the one that it is compared with; a first one is shown beside the next.
fn timelines(records: &Records, judged: &[Option<Judged>], limits: Limits) -> Vec<Timeline> {
    let all: Vec<_> = records.given.iter().map(|given| &given.record).zip(judged).collect();
    let baselines: Vec<_> = all.iter().map(|(record, _)| records.baseline(record)).collect();
    let mut timelines = Vec::new();
    for ((record, judged), baseline) in all.iter().zip(&baselines) {
        let is_baseline = || baselines.iter().flatten().any(|baseline| std::ptr::eq(*baseline, *record));
        // A revision without a baseline of its own is shown beside the one that it is the baseline of.
        let is_shown_beside = baseline.is_none() && is_baseline();
        let Some(judged) = judged.as_ref().filter(|_| !is_shown_beside) else { continue };
        // The findings about a revision that has a baseline stand beside that baseline.
        let before = baseline.map(|first| match records.baseline(first) {
            Some(_) => (first, None),
            None => (first, judged_of(&all, first)),
        });
        let baseline = |record: &_| records.baseline(record);
        timelines.extend(Timeline::of_records(before, (record, judged), baseline, limits, false));
    }
    timelines
}

fn judged_of<'j>(all: &[(&StoredRecord, &'j Option<Judged>)], record: &StoredRecord) -> Option<&'j Judged> {
    let (_, judged) = all.iter().find(|(given, _)| std::ptr::eq(*given, record))?;
    judged.as_ref()
}

/// What Helm is about to do, beside what is there.
pub(super) fn of_plan(
    record: &StoredRecord,
    baseline: Option<&StoredRecord>,
    judged: &Judged,
    told: Told,
) -> Option<Timeline> {
    let limits = Limits { inflated_bytes: usize::MAX };
    let before = baseline.map(|baseline| (baseline, None));
    Timeline::of_records(before, (record, judged), |_| None, limits, told.runs_no_hooks)
}

pub(super) fn write(out: &mut dyn Write, format: Format, timelines: &[Timeline], summary: &Summary) -> io::Result<()> {
    match format {
        Format::Human => write_human(out, timelines, width()),
        Format::Markdown => write_markdown(out, timelines, summary),
        Format::Svg => write_svg(out, timelines),
        Format::Html => write_html(out, timelines),
        Format::Json => write_json(out, timelines, summary),
    }
}

/// The terminal's width within limits: longer lines are hard to follow.
fn width() -> usize {
    let terminal = Term::stdout();
    let columns = terminal.size_checked().filter(|_| terminal.is_term()).map(|(_, columns)| usize::from(columns));
    columns.unwrap_or(WIDTH).clamp(60, 120)
}
