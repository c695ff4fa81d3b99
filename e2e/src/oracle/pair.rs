//! What is tried: two versions of a small chart, and what is done with them.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The values of the chart, all under `global`, so that a subchart sees them too.
pub type Values = Map<String, Value>;

#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    pub layout: Layout,
    /// Without a `ConfigMap` beside the objects, the manifest can be empty.
    pub is_alone: bool,
    /// Alike where only values change.
    pub charts: [Chart; 2],
    /// The last one is judged.
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    Chart,
    Subchart,
    Library,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    pub objects: Vec<Object>,
    pub values: Values,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    pub kind: Kind,
    pub name: &'static str,
    pub way: Way,
    /// Of `helm.sh/hook`, wherever the way writes them.
    pub events: &'static str,
    pub features: BTreeSet<Feature>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Job,
    ServiceAccount,
}

/// How an object comes to be a hook or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Plain,
    Hook,
    /// Under a condition of Helm's templates.
    If(&'static str),
    /// Its own events on install, these on upgrade.
    Ternary(&'static str),
    /// The value `annotations`, written by `toYaml`.
    Annotations,
    /// The value `block`, a template itself.
    Tpl,
    /// The events are the value `events`.
    Events,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    DeletePolicy(&'static str),
    Weight(&'static str),
    Kept,
    OnlyOnInstall,
    OnlyOnUpgrade,
    OnlyWithValue,
    /// In a `kind: List`.
    InList,
    /// In a `kind: List` that carries the annotations itself.
    InHookList,
    GenerateName,
    Namespace,
    /// A Job that is removed a second after its end.
    Ttl,
    ImageOfValues,
    /// Another image, written in the template.
    OtherImage,
    Account(&'static str),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub operation: Operation,
    /// Which of the two versions.
    pub chart: usize,
    pub settings: Vec<Setting>,
    pub stored: Stored,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Install,
    Upgrade,
    /// An upgrade that fails halfway, at an object that the API server refuses.
    FailingUpgrade,
    /// `helm uninstall --keep-history`.
    Uninstall,
    /// `helm install --replace`.
    Replace,
    /// `helm rollback orders 1`.
    Rollback,
}

/// A value given on the command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    pub key: &'static str,
    pub value: Value,
    pub via: Via,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    File,
    Set,
    SetString,
    SetJson,
}

/// What an upgrade does with the values that are stored with the release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// Reused where no values are given.
    ByDefault,
    Reuse,
    Reset,
    ResetThenReuse,
}

impl Kind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Job => "Job",
            Self::ServiceAccount => "ServiceAccount",
        }
    }
}

impl Object {
    #[must_use]
    pub fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    /// Whether its template writes a document there; Helm may drop that for its events.
    #[must_use]
    pub fn is_rendered(&self, is_upgrade: bool, is_present: bool) -> bool {
        let hidden = (self.has(Feature::OnlyOnInstall) && is_upgrade)
            || (self.has(Feature::OnlyOnUpgrade) && !is_upgrade)
            || (self.has(Feature::OnlyWithValue) && !is_present);
        !hidden
    }
}

impl Pair {
    /// The object of that kind and name in either version.
    pub fn objects(&self) -> impl Iterator<Item = (Kind, &'static str)> {
        let all: BTreeSet<_> =
            self.charts.iter().flat_map(|chart| &chart.objects).map(|object| (object.kind, object.name)).collect();
        all.into_iter()
    }

    #[must_use]
    pub fn object(&self, chart: usize, (kind, name): (Kind, &str)) -> Option<&Object> {
        let chart = self.charts.get(chart)?;
        chart.objects.iter().find(|object| object.kind == kind && object.name == name)
    }

    #[must_use]
    pub fn last(&self) -> &Step {
        self.steps.last().expect("a pair has steps")
    }
}
