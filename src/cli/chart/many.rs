//! Several charts, each with several sets of values, judged side by side and told in the order in which they were given.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::{Path, PathBuf};

use stable_hooks_policy::shown::Visible;

use super::arguments::Arguments;
use super::compare::{compare, compare_one, installed, judge as judge_of, no_folder};
use super::history::{self, OfSet};
use super::syncs::{sync, sync_one};
use super::task::{Chart, GivenValues, Task, values_at};
use crate::cli::outcome::{Failure, Told, remark};
use crate::cli::release::Reading;
use crate::cli::run::Run;
use crate::cli::side_by_side::side_by_side;
use crate::comparison::Compared;
use crate::engine::EngineError;
use crate::helm::folder::{Folder, Part};
use crate::helm::{Helm, Repository};
use crate::house::{House, NAME};
use crate::judge::Judge;
use crate::judged::{Finding, Judged, are_ignored};
use crate::records::StoredRecord;
use crate::sweep::Limits;

/// What all charts of a run share.
struct Shared<'a> {
    arguments: &'a Arguments,
    judge: &'a Judge,
    folder: &'a Folder,
    values: GivenValues,
    installed: Vec<StoredRecord>,
    old: Option<Chart>,
    sweep: Option<Limits>,
}

/// One chart of a run.
struct Item {
    chart: Chart,
    house: Option<House>,
    /// Its number names its folders.
    number: usize,
}

/// The values that a chart is judged with.
enum ValueSet {
    /// The chart's own, or those of the command line.
    Given,
    Files {
        called: String,
        files: Vec<PathBuf>,
    },
}

/// What was found with several sets of values alike.
struct Found {
    says: String,
    sets: Vec<ValueSet>,
    judged: Judged,
}

/// What one chart came to.
struct Done {
    told: Told,
    judged: Vec<Judged>,
    ignored: usize,
    house: Option<PathBuf>,
}

pub(super) fn judge(arguments: &Arguments, run: &mut Run) -> Result<(), Failure> {
    arguments.check_diff()?;
    let judge = judge_of(&arguments.judge)?;
    if arguments.renders.install.is_some() {
        let mut reading = Reading { judge: &judge, run };
        let judged = if arguments.renders.argocd {
            Some(sync_one(None, &arguments.renders, &mut reading, arguments.detail())?.judged())
        } else {
            compare_one(None, &arguments.renders, &mut reading, arguments.diff())?.map(Compared::judged)
        };
        if let Some(judged) = judged {
            run.push(&judged);
        }
        return Ok(());
    }
    if arguments.against_ref.is_none() {
        arguments.renders.check_old_values()?;
    }
    let folder = &Folder::new().map_err(no_folder)?;
    let charts = charts(arguments, folder)?;
    if charts.len() > 1 {
        only_one(arguments)?;
        Helm::of_the_user().check().map_err(|error| Failure(error.to_string()))?;
    }
    let Some(installed) = installed(&arguments.renders, &mut Reading { judge: &judge, run }) else { return Ok(()) };
    let old = match &arguments.renders.against {
        Some(old) => Some(Chart::of(old, Repository::default(), &part(folder, "against".to_owned())?)?),
        None => None,
    };
    let item = |(chart, number)| Item::new(chart?, number, arguments);
    let items: Vec<_> = charts.into_iter().zip(0..).map(item).collect();
    let values = GivenValues::read(&arguments.renders, folder)?;
    let sweep = arguments.sweep(items.len() == 1);
    tell(items, &Shared { arguments, judge: &judge, folder, values, installed, old, sweep }, run);
    Ok(())
}

/// Judges all charts side by side and tells what each came to in the order in which they were given.
fn tell(items: Vec<Result<Item, Failure>>, shared: &Shared<'_>, run: &mut Run) {
    let (mut waiting, mut finished, mut due) = (BTreeMap::new(), 0, 0);
    let (mut ignored, mut known) = (BTreeMap::new(), BTreeSet::new());
    let is_by_versions = shared.arguments.history.against_all;
    if !is_by_versions {
        run.begin_charts(items.len());
    }
    let mut tell = |number, done| {
        finished += 1;
        run.advance_to(finished);
        waiting.insert(number, done);
        while let Some(Done { told, judged, ignored: count, house }) = waiting.remove(&due) {
            // Charts of one house file have its faults in common.
            if !told.repeats(&mut known) {
                run.tell(told);
            }
            for judged in &judged {
                run.push(judged);
            }
            *ignored.entry(house).or_insert(0) += count;
            due += 1;
        }
    };
    if is_by_versions {
        // The versions of each are rendered side by side, with a bar of their own.
        for (number, item) in items.into_iter().enumerate() {
            tell(number, shared.done(item));
        }
    } else {
        side_by_side(items, |item| shared.done(item), tell);
    }
    run.end_progress();
    for (house, count) in ignored {
        run.count_ignored(count);
        if let Some(house) = house.filter(|_| count > 0) {
            remark(&format!("{}, as {} says", are_ignored(count), house.display()));
        }
    }
}

/// The charts that are given, or that a house file names; each once.
fn charts(arguments: &Arguments, folder: &Folder) -> Result<Vec<Result<Chart, Failure>>, Failure> {
    let repository = Repository { url: arguments.repo.as_deref(), version: arguments.version.as_deref() };
    let of_house = if arguments.chart.is_empty() { of_house(arguments)? } else { Vec::new() };
    let (mut charts, mut known) = (Vec::new(), BTreeSet::new());
    for given in arguments.chart.iter().chain(&of_house) {
        let is_chart = repository.url.is_some() || !given.is_dir() || given.join("Chart.yaml").exists();
        let below = if is_chart { Ok(vec![given.clone()]) } else { below(given) };
        for chart in below.map_or_else(|failure| vec![Err(failure)], |below| below.into_iter().map(Ok).collect()) {
            let mut is_new = |chart: &PathBuf| known.insert(chart.canonicalize().unwrap_or_else(|_| chart.clone()));
            if chart.as_ref().is_ok_and(|chart| !is_new(chart)) {
                continue;
            }
            let part = part(folder, format!("pulled-{}", charts.len()))?;
            charts.push(chart.and_then(|chart| Chart::of(&chart, repository, &part)));
        }
    }
    Ok(charts)
}

fn below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let fail = |reason: &dyn Display| Failure(format!("{}: {reason}", folder.display()));
    let below = Chart::below(folder).map_err(|error| fail(&error))?;
    if below.is_empty() {
        return Err(fail(&"there is no Chart.yaml in it, nor in a folder of it"));
    }
    Ok(below)
}

fn of_house(arguments: &Arguments) -> Result<Vec<PathBuf>, Failure> {
    let house = if arguments.no_config { None } else { House::above(Path::new(".")).map_err(failure)? };
    let charts = house.map(|house| house.charts().map_err(failure)).transpose()?.unwrap_or_default();
    if charts.is_empty() {
        return Err(Failure(format!("which chart? Give one, or name them under `charts` in a {NAME}")));
    }
    // People are told what they would type.
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
    let called = |chart: PathBuf| match chart.strip_prefix(&here) {
        Ok(inside) if inside.as_os_str().is_empty() => PathBuf::from("."),
        Ok(inside) => inside.to_owned(),
        Err(_) => chart,
    };
    Ok(charts.into_iter().map(called).collect())
}

/// What is said of one chart cannot be said of several.
fn only_one(arguments: &Arguments) -> Result<(), Failure> {
    for (option, is_given, instead) in [
        ("--release", arguments.renders.release.is_some(), ""),
        ("--against", arguments.renders.against.is_some(), ": --against-ref REVISION goes with several"),
        ("--version", arguments.version.is_some(), ""),
    ] {
        if is_given {
            return Err(Failure(format!("{option} goes with one chart, and several are given{instead}")));
        }
    }
    Ok(())
}

fn part(folder: &Folder, name: String) -> Result<Part<'_>, Failure> {
    folder.part(&name).map_err(no_folder)
}

fn failure(error: impl ToString) -> Failure {
    Failure(error.to_string())
}

impl Item {
    fn new(chart: Chart, number: usize, arguments: &Arguments) -> Result<Self, Failure> {
        let above = if chart.chart.is_dir() { Some(chart.chart.as_path()) } else { Path::new(&chart.source).parent() };
        let above = above.filter(|folder| folder.is_dir()).unwrap_or(Path::new("."));
        let house = if arguments.no_config { None } else { House::above(above).map_err(failure)? };
        Ok(Self { chart, house, number })
    }

    /// The sets of values to judge the chart with.
    fn sets(&self, shared: &Shared<'_>) -> Result<Vec<ValueSet>, Failure> {
        let Self { chart: Chart { chart, source }, house, .. } = self;
        let of_house = house.iter().flat_map(|house| house.values_of(chart)).filter(|files| !files.is_empty());
        let of_house = of_house.map(|files| ValueSet::Files { called: called(&files, house.as_ref()), files });
        let of_house: Vec<_> = of_house.collect();
        let renders = &shared.arguments.renders;
        if renders.gives_values() || renders.release.is_some() {
            let Some(house) = house.as_ref().filter(|_| !of_house.is_empty()) else { return Ok(vec![ValueSet::Given]) };
            let others =
                if renders.gives_values() { "the command line gives others" } else { "--release takes its own" };
            return Err(Failure(format!(
                "{}: {} names the chart's values, and {others}: say it in one place, or add --no-config",
                Visible(source),
                house.file().display()
            )));
        }
        if !of_house.is_empty() {
            return Ok(of_house);
        }
        let of_ci = ci_values(chart).into_iter();
        let of_ci = of_ci.map(|file| ValueSet::Files { called: called_in(&file, chart), files: vec![file] });
        Ok(std::iter::once(ValueSet::Given).chain(of_ci).collect())
    }
}

/// The values that chart-testing installs a chart with.
fn ci_values(chart: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(chart.join("ci")).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_of_values = |path: &PathBuf| path.to_string_lossy().ends_with("-values.yaml") && path.is_file();
    let mut files: Vec<_> = entries.filter(is_of_values).collect();
    files.sort();
    files
}

fn called_in(file: &Path, folder: &Path) -> String {
    file.strip_prefix(folder).unwrap_or(file).display().to_string()
}

fn called(files: &[PathBuf], house: Option<&House>) -> String {
    let folder = house.and_then(|house| house.file().parent()).unwrap_or(Path::new(""));
    files.iter().map(|file| called_in(file, folder)).collect::<Vec<_>>().join(" + ")
}

impl Found {
    /// The result under its chart's name, and those of its values unless they are taken for granted.
    fn named(self, source: &str, is_alone: bool) -> Judged {
        let sets = self.sets.iter().map(|set| match set {
            ValueSet::Given => "its own values",
            ValueSet::Files { called, .. } => called,
        });
        let sets = sets.collect::<Vec<_>>().join(", ");
        let source = if is_alone { source.to_owned() } else { format!("{source} ({sets})") };
        let title = format!("{source}: {}", self.says);
        self.judged.of_source(source).called(title)
    }
}

impl Shared<'_> {
    fn done(&self, item: Result<Item, Failure>) -> Done {
        let mut told = Told::default();
        let house = item.as_ref().ok().and_then(|item| Some(item.house.as_ref()?.file().to_owned()));
        let judged = item.and_then(|item| self.judge(&item, &mut told));
        let (judged, ignored) = judged.unwrap_or_else(|Failure(reason)| {
            told.cannot_judge(&reason);
            (Vec::new(), 0)
        });
        Done { told, judged, ignored, house }
    }

    /// The results of one chart, and how many findings the house file ignores.
    fn judge(&self, item: &Item, told: &mut Told) -> Result<(Vec<Judged>, usize), Failure> {
        let Item { chart, house, number } = item;
        let judge = self.judge_of(house.as_ref())?;
        let old = match &self.arguments.against_ref {
            Some(revision) => chart.at(revision, &part(self.folder, format!("old-{number}"))?, told)?,
            None => self.old.clone(),
        };
        // A chart that was not there yet is compared with nothing.
        let diff = self.arguments.diff().filter(|_| old.is_some() || self.arguments.against_ref.is_none());
        let (mut results, mut ignored) = (Vec::<Found>::new(), BTreeSet::new());
        let sets = item.sets(self)?;
        let is_only = sets.len() == 1;
        let mut histories = self.histories(item, &sets, &judge, told)?.into_iter();
        for (set, at) in sets.into_iter().zip(0..) {
            let mut of_set = Told::default();
            let compared = if let Some(OfSet { told, judged }) = histories.next() {
                of_set.append(told);
                judged.map(Some)
            } else {
                self.task(chart, old.as_ref(), &set, format!("{number}-{at}")).and_then(|task| {
                    let renders = &self.arguments.renders;
                    if renders.argocd {
                        let synced = sync(Some(&task), renders, &judge, self.arguments.detail(), &mut of_set)?;
                        return Ok(Some(synced.parts()));
                    }
                    let compared =
                        compare(Some(&task), renders, &self.installed, &judge, diff, self.sweep, &mut of_set)?;
                    Ok(compared.map(Compared::parts))
                })
            };
            let compared = match (compared, &set) {
                (Ok(compared), _) => compared,
                // Such a chart is made to be given values.
                (Err(Failure(reason)), ValueSet::Given) if !is_only => {
                    told.excuse(
                        of_set,
                        &format!("it is judged with the values of ci/ alone, for with its own: {reason}"),
                    );
                    continue;
                }
                (Err(Failure(reason)), _) => {
                    of_set.cannot_judge(&reason);
                    None
                }
            };
            told.append(of_set);
            let Some((says, judged)) = compared else { continue };
            let is_told = |finding: &Finding| !is_ignored(house.as_ref(), finding, chart);
            let found = judged.findings().iter().chain(&judged.ignored);
            ignored.extend(found.filter(|finding| !is_told(finding)).cloned());
            let judged = judged.retaining(is_told);
            match results.iter_mut().find(|found| found.says == says && found.judged.says_the_same_as(&judged)) {
                Some(found) => {
                    found.sets.push(set);
                    found.judged.ignore_too(judged.ignored);
                }
                None => results.push(Found { says, sets: vec![set], judged }),
            }
        }
        let is_alone =
            is_only && matches!(results.as_slice(), [Found { sets, .. }] if matches!(sets[..], [ValueSet::Given]));
        let named = results.into_iter().map(|found| found.named(&chart.source, is_alone)).collect();
        Ok((named, ignored.len()))
    }

    /// What comes of the versions of a chart with each set of values, where those are asked for.
    fn histories(
        &self,
        Item { chart, number, .. }: &Item,
        sets: &[ValueSet],
        judge: &Judge,
        told: &mut Told,
    ) -> Result<Vec<OfSet>, Failure> {
        if !self.arguments.history.against_all {
            return Ok(Vec::new());
        }
        let tasks = sets.iter().zip(0..).map(|(set, at)| self.task(chart, None, set, format!("{number}-{at}")));
        let tasks = tasks.collect::<Result<Vec<_>, _>>()?;
        let Self { arguments, folder, .. } = *self;
        history::Versions { arguments, chart, tasks: &tasks, judge, folder, called: format!("versions-{number}") }
            .judge(told)
    }

    /// One chart with one set of values, in folders of that name.
    fn task(&self, chart: &Chart, old: Option<&Chart>, set: &ValueSet, name: String) -> Result<Task<'_>, Failure> {
        let folder = part(self.folder, format!("chart-{name}"))?;
        let values = match set {
            ValueSet::Given => self.values.clone(),
            ValueSet::Files { files, .. } => self.values.of_files(files, &folder)?,
        };
        let values = match &self.arguments.against_ref {
            // There is nothing that others could be for.
            _ if old.is_none() => GivenValues { old: None, ..values },
            Some(revision) if values.old.is_none() => {
                let folder = part(self.folder, format!("values-{name}"))?;
                let old = values_at(values.values.clone(), revision, &folder)?;
                GivenValues { old: Some(old), ..values }
            }
            _ => values,
        };
        let Chart { chart, source } = chart.clone();
        Ok(Task { chart, source, old: old.cloned(), values, folder })
    }

    /// The judge with the settings of a house file.
    fn judge_of(&self, house: Option<&House>) -> Result<Judge, Failure> {
        let Some((house, settings)) = house.and_then(|house| Some((house, house.settings()?))) else {
            return Ok(self.judge.clone());
        };
        let file = house.file();
        if let Some(given) = &self.arguments.judge.settings {
            return Err(Failure(format!(
                "{} has settings, and --settings {} gives others: say it in one place, or add --no-config",
                file.display(),
                given.display()
            )));
        }
        let judge = self.judge.clone().with_settings(settings.clone()).map_err(|error| match error {
            EngineError::Settings(problems) => Failure(house.in_its_lines(&problems)),
            error => Failure(format!("{}: {error}", file.display())),
        })?;
        Ok(Judge { settings: judge.settings.for_charts(), ..judge })
    }
}

fn is_ignored(house: Option<&House>, finding: &Finding, chart: &Chart) -> bool {
    let (Some(house), Some(rule)) = (house, finding.rule.as_deref()) else { return false };
    let file = match &finding.template {
        None => chart.chart.clone(),
        Some(place) => match Path::new(&place.file).strip_prefix(&chart.source) {
            Ok(inside) => chart.chart.join(inside),
            // Helm calls what is packed by the chart's name.
            Err(_) => chart.chart.join(Path::new(&place.file).components().skip(1).collect::<PathBuf>()),
        },
    };
    house.ignores(rule, &file)
}
