//! What a sweep is made of: the chart that is tried, and its renders with other values.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use helm::operation::Operation;
use helm::write::Document;
use serde_json::Value;
use stable_hooks_policy::Settings;
use stable_hooks_policy::name::Name;
use stable_hooks_policy::shown::Shown;

use super::super::outline::Outline;
use super::super::renders::{Made, Printing, Renders};
use super::super::task::Task;
use super::super::trial::{Own, Printed, Said, Trouble, whole, written};
use crate::helm::chart::tell_upgrades;
use crate::helm::values::Values;
use crate::helm::{Helm, HelmError, Options};
use crate::judged::{Finding, Place};
use crate::render::Render;
use crate::sweep::line::line_of;
use crate::sweep::{EXAMPLE, Limits};
use crate::value::{Change, Step, ValuePath, shown};

/// What the release rules say of the objects that flip between a release and the upgrade over it.
pub(in crate::cli::chart) type Judging<'a> =
    &'a (dyn Fn(Operation, &Render, &Render) -> Result<BTreeMap<Name, String>, String> + Sync);

/// A chart that is tried with other values.
pub(in crate::cli::chart) struct Sweep<'a> {
    pub(in crate::cli::chart) task: &'a Task<'a>,
    pub(in crate::cli::chart) renders: &'a Renders,
    pub(in crate::cli::chart) made: &'a Made,
    pub(in crate::cli::chart) printing: &'a Printing,
    pub(in crate::cli::chart) settings: &'a Settings,
    pub(in crate::cli::chart) judge: Judging<'a>,
    pub(in crate::cli::chart) limits: Limits,
}

/// What came of it.
#[derive(Debug, Default)]
pub(in crate::cli::chart) struct Swept {
    pub(in crate::cli::chart) findings: Vec<Finding>,
    pub(in crate::cli::chart) ignored: Vec<Finding>,
    /// What was done, in words.
    pub(in crate::cli::chart) says: String,
    /// The values and the objects that were found.
    pub(super) known: BTreeSet<(String, Name)>,
}

/// A render without what no rule reads, and what it makes of each object.
pub(super) struct Outlined {
    pub(super) render: Render,
    pub(super) outline: Outline,
}

/// Both sides of a chart with the same values.
#[derive(Clone)]
pub(super) struct Sides {
    pub(super) install: Arc<Outlined>,
    /// Some charts render as an upgrade only where a cluster tells them passwords.
    pub(super) upgrade: Option<Arc<Outlined>>,
}

/// Renders of the chart as often as they are needed.
pub(super) struct Renderer<'a> {
    pub(super) sweep: &'a Sweep<'a>,
    /// The install is rendered as well: it is another chart, has other values, or its templates ask which of the two it is.
    pub(super) installs: bool,
    /// With what the chart is rendered unless something is changed.
    pub(super) values: Value,
    pub(super) own: Own,
    pub(super) said: Said,
    /// The chart's own files.
    pub(super) files: BTreeMap<String, String>,
}

impl Sweep<'_> {
    /// The release may have been upgraded before: there is no other chart, and there are no other values, that it comes
    /// from.
    pub(super) fn upgrades_itself(&self) -> bool {
        self.task.old.is_none() && self.task.values.old.is_none()
    }

    pub(super) fn installs(&self, values: &Value) -> bool {
        // Where no upgrade can be rendered an install stands for it.
        let has_upgrade = self.made.operation == Operation::Upgrade;
        !self.upgrades_itself()
            || has_upgrade && tell_upgrades(&self.renders.sources.templates, Some(&values.to_string()))
    }

    /// It gives a render up that takes too long.
    fn helm(&self) -> Helm {
        Helm::of_the_user().within(self.limits.time)
    }

    /// What the copy renders with further values files.
    fn printed(&self, overlays: &[PathBuf]) -> Result<Printed, Trouble> {
        let copy = &self.printing.copy;
        let options = options(&self.made.options, overlays);
        let helm = self.helm();
        let output = match self.made.operation {
            Operation::Upgrade => helm.upgrade(copy, &options),
            Operation::Install | Operation::Rollback => helm.install(copy, &options),
        };
        Printed::of(output.map_err(Trouble::Helm)?)
    }

    pub(super) fn outlined(&self, render: Render) -> Result<Arc<Outlined>, String> {
        whole(&render)?;
        let render = render.reduced();
        let outline = Outline::of(&render, &self.renders.namespace);
        Ok(Arc::new(Outlined { render, outline }))
    }
}

impl Renderer<'_> {
    /// The chart with some values changed; its files begin with that name.
    pub(super) fn render(&self, changes: &[Change], name: &str) -> Result<(Sides, Value), Trouble> {
        let mut values = self.values.clone();
        let mut overlays = Vec::new();
        for change in changes {
            overlays.push(change.overlay(&values));
            change.apply(&mut values);
        }
        let overlays = written(&self.sweep.task.folder, &format!("sweep-{name}"), overlays)?;
        let printed = match self.sweep.printed(&overlays) {
            // Else it would fail as an install, too.
            Err(Trouble::Helm(HelmError::Failed { .. })) if self.installs => None,
            printed => Some(printed?),
        };
        let Some(printed) = printed else {
            // Then only the way back can be judged.
            return Ok((Sides { install: self.install(&overlays)?, upgrade: None }, values));
        };
        if !changes.iter().all(|change| change.is_in(&printed.values)) {
            let held = "a flag of the command line or the chart itself sets it".to_owned();
            return Err(Trouble::Other(held));
        }
        let upgrade = self.sweep.outlined(printed.render)?;
        let install = if self.installs { self.install(&overlays)? } else { upgrade.clone() };
        Ok((Sides { install, upgrade: Some(upgrade) }, values))
    }

    /// Where the chart has the value, or what it lies in: in its own `values.yaml`, or in that of a subchart.
    pub(super) fn place_of(&self, path: &ValuePath) -> Option<Place> {
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
    pub(super) fn shown(&self, value: &Value) -> String {
        shown(value, |value| self.own.has(value) || is_tried_for(&self.files, value))
    }

    fn install(&self, overlays: &[PathBuf]) -> Result<Arc<Outlined>, Trouble> {
        let Sweep { task, renders, made, .. } = self.sweep;
        let chart: &Path = task.old.as_ref().map_or(&renders.chart, |old| &old.chart);
        let options = options(made.install.as_ref().unwrap_or(&made.options), overlays);
        let output = self.sweep.helm().install(chart, &options).map_err(Trouble::Helm)?;
        self.sweep.outlined(Render::read_from_helm(&output.stdout)).map_err(Trouble::Other)
    }
}

/// The options with further values files.
fn options(options: &Options, overlays: &[PathBuf]) -> Options {
    let values = overlays.iter().cloned().fold(options.values.clone(), Values::under);
    Options { values, ..options.clone() }
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

impl Outlined {
    /// The documents that may hold these objects.
    pub(super) fn of_objects(&self, objects: &BTreeSet<Name>) -> Render {
        self.render.with_only(|Document { head, .. }| {
            let name = Shown(&head.name).to_string();
            head.kind.ends_with("List") || objects.iter().any(|object| object.name == name)
        })
    }
}

impl Sides {
    pub(super) fn renders(&self) -> impl Iterator<Item = &Outlined> {
        [Some(&self.install), self.upgrade.as_ref()].into_iter().flatten().map(|render| &**render)
    }

    /// Which objects these templates make, and what is written at their heads; all templates where none are named.
    pub(super) fn heads(&self, templates: Option<&BTreeSet<String>>) -> BTreeSet<ObjectHead<'_>> {
        let renders = self.renders().enumerate();
        let documents =
            renders.flat_map(|(side, one)| one.render.documents.iter().map(move |document| (side, document)));
        let of_templates =
            documents.filter(|(_, document)| templates.is_none_or(|templates| templates.contains(&document.template)));
        of_templates.map(|(side, document)| ObjectHead::of(side, document)).collect()
    }
}

/// All of an object that can make a hook of it, or another object.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ObjectHead<'r> {
    side: usize,
    template: &'r str,
    name: [&'r str; 4],
    said: [&'r BTreeMap<String, String>; 2],
    items: &'r str,
}

impl<'r> ObjectHead<'r> {
    /// A hook, a Job or a ServiceAccount.
    fn is_judged(&self) -> bool {
        let [_, kind, ..] = self.name;
        let [annotations, _] = self.said;
        ["Job", "ServiceAccount"].contains(&kind) || annotations.contains_key(helm::HOOK)
    }

    fn of(side: usize, document: &'r Document) -> Self {
        let Document { template, text, head, .. } = document;
        Self {
            side,
            template,
            name: [&head.api_version, &head.kind, &head.namespace, &head.name],
            said: [&head.annotations, &head.labels],
            items: if head.kind.ends_with("List") { text } else { "" },
        }
    }
}

/// The templates, as Helm calls them, that make more hooks, Jobs and ServiceAccounts than beside the base. Where a switch is
/// turned on others count too that it changes; a text may only call them otherwise.
pub(super) fn brought(base: &Sides, sides: &Sides, change: &Change) -> BTreeSet<String> {
    let [before, after] = [base, sides].map(|sides| {
        let heads = sides.heads(None).into_iter();
        heads.filter(ObjectHead::is_judged).collect::<BTreeSet<_>>()
    });
    if change.to == Value::Bool(true) {
        let others = after.iter().filter(|head| !before.contains(head));
        return others.map(|head| head.template.to_owned()).collect();
    }
    let counts = |heads: &BTreeSet<ObjectHead<'_>>| {
        let mut counts = BTreeMap::<_, usize>::new();
        for ObjectHead { side, template, name: [_, kind, ..], .. } in heads {
            *counts.entry((*side, (*template).to_owned(), (*kind).to_owned())).or_default() += 1;
        }
        counts
    };
    let (before, after) = (counts(&before), counts(&after));
    let more = after.into_iter().filter(|(of, count)| before.get(of).is_none_or(|before| before < count));
    more.map(|((_, template, _), _)| template).collect()
}
