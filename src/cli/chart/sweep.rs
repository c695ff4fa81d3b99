//! `chart --sweep`: renders the chart with other values, and says whose change flips an object.

mod round;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use helm::operation::Operation;
use helm::write::{Document, Identity};
use serde_json::Value;
use stable_hooks_policy::Settings;
use stable_hooks_policy::name::Name;

use super::renders::{Made, Renders};
use super::task::Task;
use super::trial::{Failures, Own, Printed, Said, Trouble};
use crate::cli::outcome::Told;
use crate::helm::chart::files::files;
use crate::helm::chart::{Changes, copy_that_prints, tell_upgrades};
use crate::helm::values::Values;
use crate::helm::{Helm, HelmError, Options};
use crate::judged::{Finding, Place};
use crate::private::write;
use crate::reach::{Blind, Chart, Reach, Role};
use crate::render::Render;
use crate::sweep::line::line_of;
use crate::sweep::{Candidate, EXAMPLE, Limits, candidates};
use crate::value::{Change, Step, ValuePath, shown};
use round::{Base, Plan, Round};

/// A Job that a value brings is the ground of a second round; no chart needs more of them.
const MOST_BASES: usize = 12;

/// What the release rules say of the objects that flip between a release and the upgrade over it.
pub(super) type Judging<'a> =
    &'a (dyn Fn(Operation, &Render, &Render) -> Result<BTreeMap<Name, String>, String> + Sync);

/// A chart that is tried with other values.
pub(super) struct Sweep<'a> {
    pub(super) task: &'a Task<'a>,
    pub(super) renders: &'a Renders,
    pub(super) made: &'a Made,
    pub(super) settings: &'a Settings,
    pub(super) judge: Judging<'a>,
    pub(super) limits: Limits,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Swept {
    pub(super) findings: Vec<Finding>,
    pub(super) ignored: Vec<Finding>,
    /// What was done, in words.
    pub(super) says: String,
    /// The values and the objects that were found.
    known: BTreeSet<(String, Name)>,
}

/// Both sides of a chart with the same values, without what no rule reads.
#[derive(Clone)]
struct Sides {
    install: Arc<Render>,
    /// Some charts render as an upgrade only where a cluster tells them passwords.
    upgrade: Option<Arc<Render>>,
}

/// Renders of the chart as often as they are needed.
struct Kitchen<'a> {
    sweep: &'a Sweep<'a>,
    /// The copy that prints its values.
    copy: PathBuf,
    /// The install is rendered as well: it is another chart, has other values, or its templates ask which of the two it is.
    installs: bool,
    /// With what the chart is rendered unless something is changed.
    values: Value,
    own: Own,
    said: Said,
    /// The chart's own files.
    files: BTreeMap<String, String>,
}

impl Sweep<'_> {
    /// Tries other values; what could not be tried is told.
    pub(super) fn run(&self, told: &mut Told) -> Swept {
        let source = &self.renders.source;
        self.swept(told).unwrap_or_else(|reason| {
            told.cannot_judge(&format!("{source}: its values cannot be swept: {reason}"));
            Swept { says: "its values could not be swept".to_owned(), ..Swept::default() }
        })
    }

    fn swept(&self, told: &mut Told) -> Result<Swept, String> {
        let copy = self.copy().map_err(|error| format!("the chart cannot be copied: {error}"))?;
        let files = files(&self.renders.chart).map_err(|error| error.to_string())?;
        let chart = Chart::of(&files);
        let begun = Instant::now();
        let printed = self.printed(&copy, &[]).map_err(|trouble| match trouble {
            Trouble::Helm(HelmError::TooSlow { .. }) => self.too_slow(),
            // Its words have been told with the upgrade, whose render was the same.
            Trouble::Helm(HelmError::Failed { status, .. }) => format!("helm could not render it once more ({status})"),
            Trouble::Helm(error) => error.to_string(),
            Trouble::Other(reason) => reason,
        })?;
        if begun.elapsed() > self.limits.time {
            return Err(self.too_slow());
        }
        let values = chart.values_with(printed.values.clone());
        let reach = Reach::of(&chart, &values).map_err(|error| error.to_string())?;
        self.tell_blind_spots(&reach, told);
        let all = candidates(&reach, &chart, &values);
        let deciders = all.iter().filter(|candidate| candidate.role == Role::Hook).count();
        if deciders == 0 {
            let is_unread = |blind: &Blind| matches!(blind, Blind::TooLarge | Blind::Unparsed { .. });
            let says = if reach.blind.iter().any(is_unread) {
                "which values decide about its hooks could not be read".to_owned()
            } else {
                says(0, 1)
            };
            return Ok(Swept { says, ..Swept::default() });
        }
        let said = Said::new(self.renders, &copy, [&printed.values, &Value::Null]);
        let installs = self.installs(&values);
        let own = Own::of(self.renders);
        let kitchen = Kitchen { sweep: self, copy, installs, values: values.clone(), own, said, files };
        let upgrade = Arc::new(printed.render.reduced());
        let install = if kitchen.installs { kitchen.install(&[]).map(Arc::new) } else { Ok(upgrade.clone()) };
        let install = install.map_err(|trouble| kitchen.said.of(trouble))?;
        let base = Base::new(Vec::new(), values, Sides { install, upgrade: Some(upgrade) }, self.judge)?;
        Ok(self.rounds(&kitchen, base, &chart, &reach, all, told))
    }

    /// A first round over all values, and second ones over those that decide about a Job or ServiceAccount that a value has
    /// brought.
    fn rounds(
        &self,
        kitchen: &Kitchen<'_>,
        base: Base,
        chart: &Chart,
        reach: &Reach,
        all: Vec<Candidate>,
        told: &mut Told,
    ) -> Swept {
        let mut plan = Plan::new(self.limits.renders, if kitchen.installs { 2 } else { 1 });
        let mut failures = Failures::default();
        let mut swept = Swept::default();
        let deciders = all.iter().filter(|candidate| candidate.role == Role::Hook).count();
        let first = Round { kitchen, base: &base, number: 0 };
        let brought = first.run(all, &mut plan, &mut failures, &mut swept);
        for (base, number) in brought.into_iter().take(MOST_BASES).zip(1..) {
            let beside =
                candidates(reach, chart, &base.values).into_iter().filter(|candidate| base.may_flip(candidate));
            let second = Round { kitchen, base: &base, number };
            second.run(beside.collect(), &mut plan, &mut failures, &mut swept);
        }
        failures.tell_most(&self.renders.source, told);
        swept.says = says(deciders, plan.taken());
        plan.tell(&self.renders.source, self.limits.renders, told);
        swept
    }

    fn too_slow(&self) -> String {
        let seconds = self.limits.time.as_secs();
        format!("one render takes longer than {seconds} seconds; `--sweep-timeout SECONDS` allows more")
    }

    fn installs(&self, values: &Value) -> bool {
        let is_another = self.task.old.is_some() || self.task.values.old.is_some();
        // Where no upgrade can be rendered an install stands for it.
        let has_upgrade = self.made.operation == Operation::Upgrade;
        is_another || has_upgrade && tell_upgrades(&self.renders.templates, Some(&values.to_string()))
    }

    /// The options with further values files.
    fn options(&self, options: &Options, overlays: &[PathBuf]) -> Options {
        let values = overlays.iter().cloned().fold(options.values.clone(), Values::under);
        Options { values, limit: Some(self.limits.time), ..options.clone() }
    }

    /// What the copy renders with further values files.
    fn printed(&self, copy: &Path, overlays: &[PathBuf]) -> Result<Printed, Trouble> {
        let options = self.options(&self.made.options, overlays);
        let helm = Helm::of_the_user();
        let output = match self.made.operation {
            Operation::Upgrade => helm.upgrade(copy, &options),
            Operation::Install | Operation::Rollback => helm.install(copy, &options),
        };
        Printed::of(&output.map_err(Trouble::Helm)?)
    }

    fn copy(&self) -> io::Result<PathBuf> {
        let Made { chart_values, revision, clock, .. } = self.made;
        self.task.folder.change(|folder| {
            let folder = folder.join("sweep");
            fs::create_dir(&folder)?;
            let changes = Changes { revision: *revision, values: chart_values.as_deref(), clock: *clock };
            copy_that_prints(&self.renders.chart, changes, &folder)
        })
    }

    fn tell_blind_spots(&self, reach: &Reach, told: &mut Told) {
        let source = &self.renders.source;
        for blind in &reach.blind {
            told.remark(&match blind {
                Blind::Lookup { file } => format!("{source}, {file} makes hooks and calls `lookup`: what the cluster decides there is not swept"),
                Blind::Capabilities { file } => format!("{source}, {file} makes hooks and asks for `.Capabilities`: what another cluster renders there is not swept"),
                Blind::ComputedName { file } => format!("{source}, {file} makes hooks and includes a template whose name it computes: values that only that one reads are not swept"),
                Blind::Unparsed { file, reason } => format!("{source}, {file} cannot be read, and values that only it reads are not swept: {reason}"),
                Blind::TooLarge => format!("{source} has more templates than are read to their end: not all values are swept"),
            });
        }
    }
}

/// What was done.
fn says(deciders: usize, renders: usize) -> String {
    let counted = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    match deciders {
        0 => "no value of it decides about a hook".to_owned(),
        1 => format!("1 value decides about hooks, tried in {}", counted(renders, "render")),
        _ => format!("{deciders} values decide about hooks, tried in {}", counted(renders, "render")),
    }
}

impl Kitchen<'_> {
    /// The chart with some values changed; its files begin with that name.
    fn render(&self, changes: &[Change], name: &str) -> Result<(Sides, Value), Trouble> {
        let mut values = self.values.clone();
        let mut overlays = Vec::new();
        for (change, number) in changes.iter().zip(0..) {
            let overlay = change.overlay(&values);
            change.apply(&mut values);
            let path = self.sweep.task.folder.change(|folder| {
                let path = folder.join(format!("sweep-{name}-{number}.json"));
                write(&path, overlay.to_string().as_bytes()).map(|()| path)
            });
            overlays.push(path.map_err(|error| Trouble::Other(error.to_string()))?);
        }
        let printed = match self.sweep.printed(&self.copy, &overlays) {
            // Else it would fail as an install, too.
            Err(Trouble::Helm(HelmError::Failed { .. })) if self.installs => None,
            printed => Some(printed?),
        };
        let Some(printed) = printed else {
            // Then only the way back can be judged.
            return Ok((Sides { install: Arc::new(self.install(&overlays)?), upgrade: None }, values));
        };
        if !changes.iter().all(|change| is_in(change, &printed.values)) {
            let held = "a flag of the command line or the chart itself sets it".to_owned();
            return Err(Trouble::Other(held));
        }
        let upgrade = Arc::new(printed.render.reduced());
        let install = if self.installs { Arc::new(self.install(&overlays)?) } else { upgrade.clone() };
        Ok((Sides { install, upgrade: Some(upgrade) }, values))
    }

    /// Where the chart has the value, or what it lies in: in its own `values.yaml`, or in that of a subchart.
    fn place_of(&self, path: &ValuePath) -> Option<Place> {
        let Sweep { renders, .. } = self.sweep;
        let own = |folder: String, path: &ValuePath| {
            let file = format!("{folder}values.yaml");
            let line = line_of(self.files.get(&file)?, path);
            Some((
                Place { file: renders.path_in_chart(&file), line: line.map(|(line, _)| line) },
                line.is_some_and(|(_, itself)| itself),
            ))
        };
        let of_chart = own(String::new(), path);
        if let (Some((_, false)) | None, Some((Step::Key(first), rest))) = (&of_chart, path.0.split_first())
            && let Some((place, true)) = own(format!("charts/{first}/"), &ValuePath(rest.to_vec()))
        {
            return Some(place);
        }
        of_chart.map(|(place, _)| place)
    }

    /// Another value that is tried, in words: it comes from the chart, unless a user's value is a template that names it.
    fn shown(&self, value: &Value) -> String {
        shown(value, |value| self.own.has(value) || is_tried_for(&self.files, value))
    }

    fn install(&self, overlays: &[PathBuf]) -> Result<Render, Trouble> {
        let Sweep { task, renders, made, .. } = self.sweep;
        let chart: &Path = task.old.as_ref().map_or(&renders.chart, |old| &old.chart);
        let options = self.sweep.options(made.install.as_ref().unwrap_or(&made.options), overlays);
        let output = Helm::of_the_user().install(chart, &options).map_err(Trouble::Helm)?;
        Ok(Render::read_from_helm(&output.stdout).reduced())
    }
}

/// The chart's templates and schemas have the value, or a number beside it; the rest is tried whatever they have.
fn is_tried_for(files: &BTreeMap<String, String>, value: &Value) -> bool {
    let is_read = |path: &str| path.contains("templates/") || path.ends_with("values.schema.json");
    let mut texts = files.iter().filter(|(path, _)| is_read(path)).map(|(_, text)| text);
    match (value.as_i64(), value.as_str()) {
        (Some(0 | 1), _) | (_, Some(EXAMPLE)) => true,
        (Some(number), _) => {
            let near = [number.saturating_sub(1), number, number.saturating_add(1)];
            let near = near.map(|number| number.unsigned_abs().to_string());
            texts.any(|text| {
                text.split(|one: char| !one.is_ascii_digit()).any(|word| near.iter().any(|one| one == word))
            })
        }
        (None, Some(_)) => texts.any(|text| text.contains(&value.to_string())),
        (None, None) => false,
    }
}

/// Helm has the value as it shall be; nothing and an empty map are the same to it.
fn is_in(change: &Change, values: &Value) -> bool {
    let found = change.path.find(values);
    let is_nothing = |value: &Value| value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
    *found == change.to || (is_nothing(found) && is_nothing(&change.to))
}

impl Sides {
    fn renders(&self) -> impl Iterator<Item = &Render> {
        [Some(&self.install), self.upgrade.as_ref()].into_iter().flatten().map(|render| &**render)
    }
}

/// The templates, as Helm calls them, of hooks, Jobs and ServiceAccounts that the base has not, or has otherwise where
/// `changed` ones count too.
fn brought(base: &Sides, sides: &Sides, changed: bool) -> BTreeSet<String> {
    let judged = |sides: &Sides| {
        let documents = sides.renders().flat_map(|render| &render.documents);
        let judged = documents.filter(|document| {
            document.identity != Identity::Resource || ["Job", "ServiceAccount"].contains(&document.head.kind.as_str())
        });
        let told = judged.map(|Document { head, template, text, .. }| {
            let text = if changed { text.clone() } else { String::new() };
            (head.kind.clone(), head.name.clone(), template.clone(), text)
        });
        told.collect::<BTreeSet<_>>()
    };
    let known = judged(base);
    judged(sides).into_iter().filter(|one| !known.contains(one)).map(|(_, _, template, _)| template).collect()
}
