//! One more render of a chart, with other values: what comes of it, and why it does not.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};
use stable_hooks_policy::name::Name;

use crate::cli::outcome::Told;
use crate::flips::Answer;
use crate::helm::HelmError;
use crate::helm::chart::{Sources, take_values};
use crate::helm::folder::Part;
use crate::helm::said::{dropped_hooks, without_values};
use crate::private::write;
use crate::reach::Chart;
use crate::render::Render;
use crate::value::shown;
use crate::words::listed;

/// A chart with other values.
pub(super) struct Printed {
    pub(super) render: Render,
    pub(super) values: Value,
    pub(super) dropped: Vec<String>,
}

/// Why there is no answer.
pub(super) enum Trouble {
    Helm(HelmError),
    /// In words, without a value.
    Other(String),
}

impl From<String> for Trouble {
    fn from(reason: String) -> Self {
        Self::Other(reason)
    }
}

impl Printed {
    /// What Helm has printed of a copy that prints its values.
    pub(super) fn of(mut output: Output) -> Result<Self, Trouble> {
        let values = printed(take_values(&mut output.stdout))?;
        let render = Render::read_from_helm(&output.stdout);
        whole(&render)?;
        Ok(Self { render, values, dropped: dropped_hooks(&String::from_utf8_lossy(&output.stderr)) })
    }
}

/// Writes values files, which Helm lays over one another in this order.
pub(super) fn written(
    folder: &Part<'_>,
    name: &str,
    overlays: impl IntoIterator<Item = Value>,
) -> Result<Vec<PathBuf>, String> {
    let write = |(number, overlay): (usize, Value)| {
        folder.change(|folder| {
            let path = folder.join(format!("{name}-{number}.json"));
            write(&path, overlay.to_string().as_bytes()).map(|()| path)
        })
    };
    overlays.into_iter().enumerate().map(write).collect::<io::Result<_>>().map_err(|error| error.to_string())
}

pub(super) fn printed(values: Option<Value>) -> Result<Value, String> {
    values.ok_or_else(|| "Helm does not print the values as JSON".to_owned())
}

/// All documents of a render could be read.
pub(super) fn whole(render: &Render) -> Result<(), String> {
    if render.broken.is_empty() { Ok(()) } else { Err("helm renders a document that is no object".to_owned()) }
}

/// What has to be known of a chart so that Helm's words about it can be shown.
pub(super) struct Said {
    texts: Vec<String>,
    values: String,
}

impl Said {
    pub(super) fn new(sources: &Sources, values: [&Value; 2]) -> Self {
        let of_templates = sources.templates.iter().flat_map(|(path, source)| [path.clone(), source.clone()]);
        let of_chart = ["Chart.yaml", "values.schema.json"].into_iter();
        let of_chart = of_chart.filter_map(|name| sources.about.get(name).cloned());
        Self { texts: of_templates.chain(of_chart).collect(), values: json!(values).to_string() }
    }

    pub(super) fn of(&self, trouble: Trouble) -> String {
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

/// Of a chart with hundreds of values dozens may be refused.
const MOST_REASONS: usize = 3;

/// What could not be tried, by the reasons.
#[derive(Default)]
pub(super) struct Failures(BTreeMap<String, Vec<String>>);

impl Failures {
    pub(super) fn answer(&mut self, judged: Result<BTreeSet<Name>, Trouble>, what: &str, said: &Said) -> Answer {
        match judged {
            Ok(flips) => Answer::Flips(flips),
            Err(trouble) => {
                self.add(said.of(trouble), what.to_owned());
                Answer::Untold
            }
        }
    }

    pub(super) fn add(&mut self, reason: String, what: String) {
        self.0.entry(reason).or_default().push(what);
    }

    /// Tells the reasons that stand for most values, and how many values have others.
    pub(super) fn tell_most(self, source: &str, told: &mut Told) {
        let mut reasons: Vec<_> =
            self.0.into_iter().map(|(reason, what)| (reason, BTreeSet::from_iter(what))).collect();
        reasons.sort_by_key(|(_, what)| std::cmp::Reverse(what.len()));
        let others = reasons.split_off(MOST_REASONS.min(reasons.len()));
        for (reason, what) in reasons {
            let what: Vec<_> = what.into_iter().collect();
            let what = listed(&what, String::clone, ", ");
            told.remark(&format!(
                "{source}: in the sweep these were not rendered with every other value: {what}: {reason}"
            ));
        }
        let others: BTreeSet<_> = others.into_iter().flat_map(|(_, what)| what).collect();
        if !others.is_empty() {
            let count = others.len();
            told.remark(&format!("{source}: nor were {count} more, for other reasons"));
        }
    }

    /// Tells each reason once; `purpose` begins the sentence.
    pub(super) fn tell(self, source: &str, purpose: &str, told: &mut Told) {
        for (reason, what) in self.0 {
            let what = listed(&what, String::clone, ", ");
            told.remark(&format!("{source}: {purpose}{what} could not be tried alone: {reason}"));
        }
    }
}

/// The texts and numbers that the chart itself has, which may be shown.
pub(super) struct Own {
    scalars: BTreeSet<String>,
    sources: Vec<String>,
}

impl Own {
    pub(super) fn of(chart: &Chart, sources: &Sources) -> Self {
        Self { scalars: chart.own_scalars(), sources: sources.templates.values().cloned().collect() }
    }

    pub(super) fn shown(&self, value: &Value) -> String {
        shown(value, |value| self.has(value))
    }

    /// The values of a stored chart do not count: after `--reuse-values` they are the user's.
    pub(super) fn has(&self, value: &Value) -> bool {
        let is_literal = |text: &str| {
            let quoted = [format!("\"{text}\""), format!("`{text}`")];
            self.sources.iter().any(|source| quoted.iter().any(|quoted| source.contains(quoted)))
        };
        self.scalars.contains(&value.to_string()) || value.as_str().is_some_and(is_literal)
    }
}
