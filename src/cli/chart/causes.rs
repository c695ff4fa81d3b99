//! Which changed values flip objects at the upgrade of a release: renders the chart with the installed values, and with
//! each changed one alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use serde_json::Value;
use stable_hooks_policy::name::Name;

use super::renders::{Made, Renders};
use super::trial::{Failures, Own, Printed, Said, Trouble, written};
use super::upgraded::Upgraded;
use crate::cli::outcome::Told;
use crate::cli::side_by_side::side_by_side;
use crate::flips::{Answer, Answers, Candidate, Candidates};
use crate::helm::chart::{Changes, copy};
use crate::helm::folder::Part;
use crate::helm::values::{Reuse, Values};
use crate::helm::{Helm, HelmError, Options};
use crate::judged::ValueChange;
use crate::reach::Chart;
use crate::records::chart::Taken;
use crate::render::Render;

/// As many renders as people wait for: two tell the values, and the others try one each.
const MOST_RENDERS: usize = 40;
const MOST_TRIED: usize = MOST_RENDERS - 2;

/// The objects that flip in a render, which lacks hooks that Helm has dropped with these events.
pub(super) type Judging<'a> = &'a (dyn Fn(&Render, &[String]) -> Result<BTreeSet<Name>, String> + Sync);

/// An upgrade that flips something, and what it takes to find out why.
pub(super) struct Causes<'a> {
    pub(super) renders: &'a Renders,
    pub(super) made: &'a Made,
    pub(super) folder: &'a Part<'a>,
    pub(super) release: &'a Upgraded<'a>,
    pub(super) judge: Judging<'a>,
}

/// What came of the renders, and what may be shown of the values.
pub(super) struct Found {
    answers: Answers,
    own: Own,
}

/// The values before and after, and the chart in which one by one is changed.
struct Sides {
    /// It has the values of the old chart as its own.
    chart: PathBuf,
    /// Those of the release.
    stored: Values,
    /// What both come to.
    installed: Value,
    upgrade: Value,
    /// The objects that flip with the installed values.
    unchanged: Result<BTreeSet<Name>, Trouble>,
    said: Said,
}

impl Causes<'_> {
    /// `None` where it cannot be found out, which is told.
    pub(super) fn find(&self, flipping: &BTreeSet<Name>, told: &mut Told) -> Option<Found> {
        let reason = match self.answers(flipping, told) {
            Ok(answers) => return Some(Found::new(answers, self.renders)),
            Err(Trouble::Other(reason)) => reason,
            // Its words are not shown: the values that are in them are not known.
            Err(Trouble::Helm(HelmError::Failed { status, .. })) => {
                format!("helm could not render it again ({status})")
            }
            Err(Trouble::Helm(error)) => error.to_string(),
        };
        told.remark(&format!("{}: it cannot be found out which changed value flips it: {reason}", self.renders.source));
        None
    }

    fn answers(&self, flipping: &BTreeSet<Name>, told: &mut Told) -> Result<Answers, Trouble> {
        let Sides { chart, stored, installed, upgrade, unchanged, said } = self.sides()?;
        let mut failures = Failures::default();
        let unchanged = failures.answer(unchanged, "the installed values", &said);
        let Candidates { tried, untried } = Candidates::of(&installed, &upgrade, MOST_TRIED);
        if matches!(&unchanged, Answer::Flips(objects) if objects.is_superset(flipping)) {
            return Ok(Answers { unchanged, alone: Vec::new(), untried: tried.len() + untried });
        }
        let tasks = tried.iter().enumerate().map(|(number, candidate)| {
            let values = self.overlaid(number, candidate, &installed, &stored)?;
            Ok((candidate, values))
        });
        let mut answers = BTreeMap::new();
        side_by_side(
            tasks.collect::<Result<_, Trouble>>()?,
            |(candidate, values)| self.judged(self.render_with(candidate, &chart, values)?),
            |number, judged| {
                answers.insert(number, judged);
            },
        );
        let alone = tried.into_iter().zip(answers.into_values()).map(|(Candidate { change, .. }, judged)| {
            let answer = failures.answer(judged, &format!("`{}`", change.path), &said);
            (change, answer)
        });
        let alone = alone.collect();
        failures.tell(&self.renders.source, "to find the value that flips, ", told);
        Ok(Answers { unchanged, alone, untried })
    }

    /// The values that are installed and those of the upgrade, from renders with each.
    fn sides(&self) -> Result<Sides, Trouble> {
        let Made { options, chart_values, .. } = self.made;
        let given = self.copy("given", chart_values.as_deref())?;
        // Helm reuses all that is installed: the values of the release over those that its chart had.
        let Taken { values: stored, chart_values } = self.folder.change(|folder| {
            let folder = folder.join("stored");
            fs::create_dir(&folder).map_err(|error| error.to_string())?;
            self.release.stored.taken_by_upgrade(Values::default(), Reuse::ReuseValues, &folder)
        })?;
        let chart = self.copy("installed", chart_values.as_deref())?;
        let (upgrade, unchanged) = thread::scope(|scope| {
            let upgrade = scope.spawn(|| self.render(&given, options.values.clone()));
            let unchanged = self.render(&chart, stored.clone());
            (upgrade.join(), unchanged)
        });
        let upgrade = upgrade.unwrap_or_else(|_| Err(Trouble::from("it cannot be rendered again".to_owned())))?.values;
        let installed = match &unchanged {
            Ok(printed) => printed.values.clone(),
            // It lacks the values of some subcharts, which then count as changed.
            Err(_) => chart_values.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default(),
        };
        let said = Said::new(&self.renders.sources, [&installed, &upgrade]);
        let unchanged = unchanged.and_then(|printed| self.judged(printed));
        Ok(Sides { chart, stored, installed, upgrade, unchanged, said })
    }

    /// A copy of the chart whose renders hold the values.
    fn copy(&self, name: &str, values: Option<&[u8]>) -> Result<PathBuf, Trouble> {
        let Made { revision, clock, .. } = self.made;
        let copied = self.folder.change(|folder| {
            let folder = folder.join(name);
            fs::create_dir(&folder)?;
            let changes = Changes { revision: *revision, values, clock: *clock, prints: true };
            copy(&self.renders.chart, changes, &folder)
        });
        copied.map(|copied| copied.chart).map_err(|error| Trouble::Helm(HelmError::Copy(error)))
    }

    /// The installed values with one changed.
    fn overlaid(
        &self,
        number: usize,
        candidate: &Candidate,
        installed: &Value,
        stored: &Values,
    ) -> Result<Values, Trouble> {
        let overlays = written(self.folder, &format!("changed-{number}"), candidate.overlays(installed))?;
        Ok(overlays.into_iter().fold(stored.clone(), Values::under))
    }

    fn render_with(&self, candidate: &Candidate, chart: &Path, values: Values) -> Result<Printed, Trouble> {
        let printed = self.render(chart, values)?;
        if candidate.change.is_in(&printed.values) {
            return Ok(printed);
        }
        Err("Helm does not take it from a file as the upgrade has it".to_owned().into())
    }

    fn render(&self, chart: &Path, values: Values) -> Result<Printed, Trouble> {
        let options = Options { values, ..self.made.options.clone() };
        let output = Helm::of_the_user().upgrade(chart, &options).map_err(Trouble::Helm)?;
        Printed::of(output)
    }

    fn judged(&self, Printed { render, dropped, .. }: Printed) -> Result<BTreeSet<Name>, Trouble> {
        Ok((self.judge)(&render, &dropped)?)
    }
}

impl Found {
    fn new(answers: Answers, renders: &Renders) -> Self {
        let sources = &renders.sources;
        Self { answers, own: Own::of(&Chart::of(&sources.all()), sources) }
    }

    /// Why the object flips, and the values that flip it.
    pub(super) fn cause(&self, object: &Name) -> (String, Vec<ValueChange>) {
        self.answers.cause(object, |value| self.own.shown(value))
    }
}
