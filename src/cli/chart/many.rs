//! Several charts, each with several sets of values, judged side by side and told in the order in which they were given.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::arguments::Arguments;
use super::compare::{compare, installed, judge as judge_of, no_folder};
use super::task::{Chart, GivenValues, Task};
use crate::cli::arguments::Judge;
use crate::cli::outcome::{Failure, Told, remark};
use crate::cli::release::Reading;
use crate::cli::run::Run;
use crate::cli::side_by_side::side_by_side;
use crate::engine::EngineError;
use crate::helm::folder::{Folder, Part};
use crate::helm::{Helm, Repository};
use crate::house::{House, NAME};
use crate::judged::{Finding, Judged};
use crate::records::StoredRecord;

/// What all charts of a run share.
struct Shared<'a> {
    arguments: &'a Arguments,
    judge: &'a Judge,
    folder: &'a Folder,
    values: GivenValues,
    installed: Vec<StoredRecord>,
    old: Option<Chart>,
}

/// One chart of a run.
struct Item {
    chart: Chart,
    house: Option<House>,
    /// Its number names its folders.
    number: usize,
}

/// Values files that a chart is judged with, and what they are called: its own values, or those of the command line, have
/// no name.
type Set = (Option<String>, Vec<PathBuf>);

/// What one chart came to.
struct Done {
    told: Told,
    judged: Vec<Judged>,
    ignored: usize,
    house: Option<PathBuf>,
}

pub(super) fn judge(arguments: &Arguments, run: &mut Run) -> Result<(), Failure> {
    let judge = judge_of(&arguments.judge)?;
    if arguments.renders.install.is_some() {
        let mut told = Told::default();
        let compared = compare(None, &arguments.renders, &[], &judge, &mut told);
        run.tell(told);
        if let Some(compared) = compared? {
            run.push(&compared.judged());
        }
        return Ok(());
    }
    let Some(installed) = installed(&arguments.renders, &mut Reading { judge: &judge, run }) else { return Ok(()) };
    let folder = &Folder::new().map_err(no_folder)?;
    let charts = charts(arguments, folder)?;
    let old = match &arguments.renders.against {
        Some(old) => Some(Chart::of(old, Repository::default(), &part(folder, "against".to_owned())?)?),
        None => None,
    };
    if charts.len() > 1 {
        only_one(arguments)?;
        Helm::of_the_user().check().map_err(|error| Failure(error.to_string()))?;
    }
    let items: Vec<_> =
        charts.into_iter().zip(0..).map(|(chart, number)| Item::new(chart, number, arguments)).collect();
    let values = GivenValues::read(&arguments.renders, folder)?;
    let shared = Shared { arguments, judge: &judge, folder, values, installed, old };
    run.begin_charts(items.len());
    let (mut waiting, mut finished, mut due) = (BTreeMap::new(), 0, 0);
    let (mut ignored, mut known) = (BTreeMap::new(), BTreeSet::new());
    side_by_side(
        items,
        |item| shared.done(item),
        |number, done| {
            finished += 1;
            run.advance_to(finished);
            waiting.insert(number, done);
            while let Some(Done { told, judged, ignored: count, house }) = waiting.remove(&due) {
                // Charts of one house file have its faults in common.
                if !told.cannot_judge_as(&mut known) {
                    run.tell(told);
                }
                for judged in &judged {
                    run.push(judged);
                }
                *ignored.entry(house).or_insert(0) += count;
                due += 1;
            }
        },
    );
    run.end_progress();
    for (house, count) in ignored {
        run.count_ignored(count);
        if let Some(house) = house.filter(|_| count > 0) {
            remark(&format!(
                "{count} finding{} ignored, as {} says",
                if count == 1 { " is" } else { "s are" },
                house.display()
            ));
        }
    }
    Ok(())
}

/// The charts that are given, or that a house file names.
fn charts(arguments: &Arguments, folder: &Folder) -> Result<Vec<Chart>, Failure> {
    let repository = Repository { url: arguments.repo.as_deref(), version: arguments.version.as_deref() };
    let of_house = if arguments.chart.is_empty() { of_house(arguments)? } else { Vec::new() };
    let mut charts = Vec::new();
    for given in arguments.chart.iter().chain(&of_house) {
        if repository.url.is_some() || !given.is_dir() || given.join("Chart.yaml").exists() {
            charts.push(Chart::of(given, repository, &part(folder, format!("pulled-{}", charts.len()))?)?);
            continue;
        }
        let below = Chart::below(given);
        if below.is_empty() {
            return Err(Failure(format!("{}: there is no Chart.yaml in it, nor in a folder of it", given.display())));
        }
        charts.extend(below.into_iter().map(|chart| Chart { source: chart.display().to_string(), chart }));
    }
    Ok(charts)
}

fn of_house(arguments: &Arguments) -> Result<Vec<PathBuf>, Failure> {
    let house = if arguments.no_config { None } else { House::above(Path::new(".")).map_err(failure)? };
    let charts = house.map(|house| house.charts().map_err(failure)).transpose()?.unwrap_or_default();
    if charts.is_empty() {
        return Err(Failure(format!("which chart? Give one, or name them under `charts` in a {NAME}")));
    }
    // People are told what they would type.
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
    Ok(charts.into_iter().map(|chart| chart.strip_prefix(&here).map(Path::to_owned).unwrap_or(chart)).collect())
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
    fn sets(&self, shared: &Shared<'_>) -> Result<Vec<Set>, Failure> {
        let Self { chart: Chart { chart, source }, house, .. } = self;
        let of_house = house.iter().flat_map(|house| house.values_of(Path::new(source)));
        let of_house: Vec<_> = of_house.map(|files| (Some(called(&files, house.as_ref())), files)).collect();
        if shared.arguments.renders.gives_values() || shared.arguments.renders.release.is_some() {
            return match house.as_ref().filter(|_| !of_house.is_empty()) {
                None => Ok(vec![(None, Vec::new())]),
                Some(house) => Err(Failure(format!(
                    "{source}: {} names the chart's values, and the command line gives others: say it in one place, or add \
                     --no-config",
                    house.file().display()
                ))),
            };
        }
        if !of_house.is_empty() {
            return Ok(of_house);
        }
        let mut sets = vec![(None, Vec::new())];
        sets.extend(ci_values(chart).into_iter().map(|file| (Some(called_in(&file, chart)), vec![file])));
        Ok(sets)
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
        let mut results = Vec::<(String, Vec<Option<String>>, Judged)>::new();
        let mut ignored = BTreeSet::new();
        for ((set, files), at) in item.sets(self)?.into_iter().zip(0..) {
            let folder = part(self.folder, format!("chart-{number}-{at}"))?;
            let values = if files.is_empty() { self.values.clone() } else { self.values.of_files(&files, &folder)? };
            let Chart { chart, source } = chart.clone();
            let task = Task { chart, source, old: old.clone(), values, folder };
            let Some(compared) = compare(Some(&task), &self.arguments.renders, &self.installed, &judge, told)? else {
                continue;
            };
            let (says, judged) = compared.parts();
            let is_told = |finding: &Finding| !is_ignored(house.as_ref(), finding, &task);
            ignored.extend(judged.findings().iter().filter(|finding| !is_told(finding)).cloned());
            let judged = judged.retaining(is_told);
            match results.iter_mut().find(|(other, _, found)| *other == says && found.says_the_same_as(&judged)) {
                Some((_, sets, _)) => sets.push(set),
                None => results.push((says, vec![set], judged)),
            }
        }
        let is_alone = matches!(results.as_slice(), [(_, sets, _)] if matches!(sets.as_slice(), [None]));
        let named = results.into_iter().map(|(says, sets, judged)| {
            let sets = sets.into_iter().map(|set| set.unwrap_or_else(|| "its own values".to_owned()));
            let sets = sets.collect::<Vec<_>>().join(", ");
            let source = if is_alone { chart.source.clone() } else { format!("{} ({sets})", chart.source) };
            let title = format!("{source}: {says}");
            judged.of_source(source).called(title)
        });
        Ok((named.collect(), ignored.len()))
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

fn is_ignored(house: Option<&House>, finding: &Finding, task: &Task<'_>) -> bool {
    let (Some(house), Some(rule)) = (house, finding.rule.as_deref()) else { return false };
    let chart = Path::new(&task.source);
    let file = finding.template.as_ref().map(|place| Path::new(&place.file));
    let file = match file {
        Some(file) if file.is_file() => file.to_owned(),
        // Helm calls what is packed by the chart's name, which need not be that of its folder.
        Some(file) => chart.join(file.components().skip(1).collect::<PathBuf>()),
        None => chart.to_owned(),
    };
    house.ignores(rule, &file)
}
