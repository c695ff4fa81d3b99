//! Which changed values flip objects at the upgrade of a release: renders the chart with the installed values, and with
//! each changed one alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use serde_json::{Value, json};
use stable_hooks_policy::name::Name;

use super::renders::{Made, Renders};
use super::upgraded::Upgraded;
use crate::cli::outcome::Told;
use crate::cli::side_by_side::side_by_side;
use crate::flips::{Answer, Answers, Candidate, Candidates, listed};
use crate::helm::chart::{Changes, copy_that_prints, files, take_values};
use crate::helm::folder::Part;
use crate::helm::said::{dropped_hooks, without_values};
use crate::helm::values::{Reuse, Values};
use crate::helm::{Helm, HelmError, Options};
use crate::judged::ValueChange;
use crate::private::write;
use crate::reach::Chart;
use crate::records::chart::Taken;
use crate::render::Render;
use crate::value::shown;

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
    /// The texts and numbers that the chart itself has.
    own: BTreeSet<String>,
    sources: Vec<String>,
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

/// A chart with other values.
struct Printed {
    render: Render,
    values: Value,
    dropped: Vec<String>,
}

/// Why there is no answer.
enum Trouble {
    Helm(HelmError),
    /// In words, without a value.
    Other(String),
}

impl From<String> for Trouble {
    fn from(reason: String) -> Self {
        Self::Other(reason)
    }
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
        failures.tell(&self.renders.source, told);
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
        let said = Said::new(self.renders, &given, [&installed, &upgrade]);
        let unchanged = unchanged.and_then(|printed| self.judged(printed));
        Ok(Sides { chart, stored, installed, upgrade, unchanged, said })
    }

    /// A copy of the chart whose renders hold the values.
    fn copy(&self, name: &str, values: Option<&[u8]>) -> Result<PathBuf, Trouble> {
        let Made { revision, clock, .. } = self.made;
        let copied = self.folder.change(|folder| {
            let folder = folder.join(name);
            fs::create_dir(&folder)?;
            let changes = Changes { revision: *revision, values, clock: *clock };
            copy_that_prints(&self.renders.chart, changes, &folder)
        });
        copied.map_err(|error| Trouble::Helm(HelmError::Copy(error)))
    }

    /// The installed values with one changed.
    fn overlaid(
        &self,
        number: usize,
        candidate: &Candidate,
        installed: &Value,
        stored: &Values,
    ) -> Result<Values, Trouble> {
        let mut values = stored.clone();
        for (overlay, at) in candidate.overlays(installed).zip(0..) {
            let path = self.folder.change(|folder| {
                let path = folder.join(format!("changed-{number}-{at}.json"));
                write(&path, overlay.to_string().as_bytes()).map(|()| path)
            });
            values = values.under(path.map_err(|error| error.to_string())?);
        }
        Ok(values)
    }

    fn render_with(&self, candidate: &Candidate, chart: &Path, values: Values) -> Result<Printed, Trouble> {
        let printed = self.render(chart, values)?;
        if candidate.is_in(&printed.values) {
            return Ok(printed);
        }
        Err("Helm does not take it from a file as the upgrade has it".to_owned().into())
    }

    fn render(&self, chart: &Path, values: Values) -> Result<Printed, Trouble> {
        let options = Options { values, ..self.made.options.clone() };
        let output = Helm::of_the_user().upgrade(chart, &options).map_err(Trouble::Helm)?;
        let mut render = Render::read_from_helm(&output.stdout);
        let values = take_values(&mut render);
        let values = values.ok_or_else(|| "Helm does not print the values as JSON".to_owned())?;
        if !render.broken.is_empty() {
            return Err("helm renders a document that is no object".to_owned().into());
        }
        Ok(Printed { render, values, dropped: dropped_hooks(&String::from_utf8_lossy(&output.stderr)) })
    }

    fn judged(&self, Printed { render, dropped, .. }: Printed) -> Result<BTreeSet<Name>, Trouble> {
        Ok((self.judge)(&render, &dropped)?)
    }
}

impl Found {
    fn new(answers: Answers, renders: &Renders) -> Self {
        // What cannot be read is not shown.
        let own = files(&renders.chart).map(|files| Chart::of(&files).own_scalars()).unwrap_or_default();
        Self { answers, own, sources: renders.templates.values().cloned().collect() }
    }

    /// Why the object flips, and the values that flip it.
    pub(super) fn cause(&self, object: &Name) -> (String, Vec<ValueChange>) {
        self.answers.cause(object, |value| shown(value, |value| self.is_own(value)))
    }

    /// The values of the stored chart do not count: after `--reuse-values` they are the user's.
    fn is_own(&self, value: &Value) -> bool {
        let is_literal = |text: &str| {
            let quoted = [format!("\"{text}\""), format!("`{text}`")];
            self.sources.iter().any(|source| quoted.iter().any(|quoted| source.contains(quoted)))
        };
        self.own.contains(&value.to_string()) || value.as_str().is_some_and(is_literal)
    }
}

/// What has to be known of a chart so that Helm's words about it can be shown.
struct Said {
    texts: Vec<String>,
    values: String,
}

impl Said {
    fn new(renders: &Renders, chart: &Path, values: [&Value; 2]) -> Self {
        let of_templates = renders.templates.iter().flat_map(|(path, source)| [path.clone(), source.clone()]);
        let of_chart = ["Chart.yaml", "values.schema.json"].into_iter();
        let of_chart = of_chart.filter_map(|name| fs::read_to_string(chart.join(name)).ok());
        Self { texts: of_templates.chain(of_chart).collect(), values: json!(values).to_string() }
    }

    fn of(&self, trouble: Trouble) -> String {
        match trouble {
            Trouble::Helm(HelmError::Failed { said, .. }) => {
                let texts: Vec<_> = self.texts.iter().map(String::as_str).collect();
                without_values(&String::from_utf8_lossy(&said), &texts, Some(&self.values))
            }
            Trouble::Helm(error) => error.to_string(),
            Trouble::Other(reason) => reason,
        }
    }
}

/// What could not be tried, by the reasons.
#[derive(Default)]
struct Failures(BTreeMap<String, Vec<String>>);

impl Failures {
    fn answer(&mut self, judged: Result<BTreeSet<Name>, Trouble>, what: &str, said: &Said) -> Answer {
        match judged {
            Ok(flips) => Answer::Flips(flips),
            Err(trouble) => {
                self.0.entry(said.of(trouble)).or_default().push(what.to_owned());
                Answer::Untold
            }
        }
    }

    fn tell(self, source: &str, told: &mut Told) {
        for (reason, what) in self.0 {
            let what = listed(&what, String::clone, ", ");
            told.remark(&format!("{source}: to find the value that flips, {what} could not be tried alone: {reason}"));
        }
    }
}
