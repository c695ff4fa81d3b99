//! The two sides of a chart, rendered and judged.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use helm::operation::Operation;
use helm::write::Revision;
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_policy::RuleId;
use stable_hooks_policy::name::Name;
use stable_hooks_policy::shown::Shown;

use super::arguments::RenderArguments;
use super::causes::Causes;
use super::renders::Renders;
use super::sweep::{Sweep, Swept};
use super::task::{Chart, GivenValues, Task};
use super::upgraded::Upgraded;
use crate::changes::Detail;
use crate::cli::arguments::{JudgeArguments, OutputFormat};
use crate::cli::outcome::{Failure, Told};
use crate::cli::release::Reading;
use crate::cluster;
use crate::comparison::{self, Compared, Comparison, PlaceOf, is_flip, says_something};
use crate::helm::Repository;
use crate::helm::folder::Folder;
use crate::judge::{Judge, is_of_values};
use crate::judged::{Judged, Place};
use crate::kubectl::Kubectl;
use crate::origin::Templates;
use crate::records::StoredRecord;
use crate::render::Render;
use crate::sweep::Limits;

/// A chart is judged whole, since no API server waits for the answer.
pub(in crate::cli) fn judge<F: OutputFormat>(arguments: &JudgeArguments<F>) -> Result<Judge, Failure> {
    let judge = arguments.resolve()?;
    Ok(Judge { settings: judge.settings.for_charts(), ..judge })
}

/// Judges one chart, or two renders where none is given; `None` where that failed, and it has been told why.
pub(in crate::cli) fn compare_one(
    chart: Option<&Path>,
    arguments: &RenderArguments,
    reading: &mut Reading<'_>,
    diff: Option<Detail>,
) -> Result<Option<Compared>, Failure> {
    arguments.check_old_values()?;
    let Some(installed) = installed(arguments, reading) else { return Ok(None) };
    // Renders that are given need no folder.
    let folder = chart.map(|_| Folder::new().map_err(no_folder)).transpose()?;
    let task = chart.zip(folder.as_ref()).map(|(chart, folder)| task(chart, arguments, folder)).transpose()?;
    let mut told = Told::default();
    let compared = compare(task.as_ref(), arguments, &installed, reading.judge, diff, None, &mut told);
    reading.run.tell(told);
    compared
}

pub(super) fn task<'f>(chart: &Path, arguments: &RenderArguments, folder: &'f Folder) -> Result<Task<'f>, Failure> {
    let part = |name| folder.part(name).map_err(no_folder);
    let old = match &arguments.against {
        Some(old) => Some(Chart::of(old, Repository::default(), &part("old")?)?),
        None => None,
    };
    let values = GivenValues::read(arguments, folder)?;
    let source = chart.display().to_string();
    Ok(Task { chart: chart.to_owned(), source, old, values, folder: part("chart")? })
}

/// The records of the release whose upgrade is judged; `None` where they could not be read, which has been told.
pub(super) fn installed(arguments: &RenderArguments, reading: &mut Reading<'_>) -> Option<Vec<StoredRecord>> {
    let namespace = arguments.release_namespace();
    let installed = arguments.release.iter().flat_map(|name| reading.release(name, &namespace));
    let installed: Vec<_> = installed.map(|given| given.record).collect();
    (arguments.release.is_none() || !installed.is_empty()).then_some(installed)
}

pub(super) fn no_folder(error: io::Error) -> Failure {
    Failure(format!("there can be no private folder for the chart: {error}; TMPDIR can name another place"))
}

/// Renders and judges; `None` where that failed, and it has been told why.
pub(super) fn compare(
    task: Option<&Task<'_>>,
    arguments: &RenderArguments,
    installed: &[StoredRecord],
    judge: &Judge,
    diff: Option<Detail>,
    sweep: Option<Limits>,
    told: &mut Told,
) -> Result<Option<Compared>, Failure> {
    let release = Upgraded::of(installed, &arguments.release_namespace(), judge)?;
    let mut is_rendered = true;
    let renders = match (task, &arguments.install, &arguments.upgrade) {
        (Some(task), _, _) => Renders::rendered(arguments, task, release.as_ref(), sweep.is_some(), told),
        (None, Some(install), Some(upgrade)) => Renders::given(arguments, [install, upgrade], told),
        (None, _, _) => Err(Failure("there is no chart to judge".to_owned())),
    };
    let renders = match (renders, task) {
        // Half of the charts with passwords render as an upgrade only in a cluster.
        (Err(Failure(reason)), Some(task)) if sweep.is_some() && task.old.is_none() => {
            told.cannot_judge(&reason);
            is_rendered = false;
            Renders::of_install(arguments, task, told)
        }
        (renders, _) => renders,
    }?;
    let cluster = match &release {
        Some(release) if !judge.sees_cluster => live(release.objects_namespace(), told),
        Some(_) | None => judge.cluster.as_ref().clone(),
    };
    let place_of = places(&renders);
    let comparison = comparison(arguments, &renders, judge, (&cluster, &place_of));
    let compare = Compare { comparison, task, renders: &renders, diff };
    let compared = if is_rendered { compare.judge(release.as_ref(), told) } else { compare.judge_install() };
    let Ok(compared) = compared.map_err(|reason| told.cannot_judge(&reason)) else { return Ok(None) };
    Ok(Some(match sweep.and_then(|limits| compare.sweep(limits, told)) {
        Some(swept) => compared.with(swept),
        None => compared,
    }))
}

/// The Jobs and ServiceAccounts that live where a release has its objects.
fn live(namespace: &str, told: &mut Told) -> ClusterView {
    let read = Kubectl::default().live(namespace).map_err(|error| error.to_string());
    let read = read.and_then(|printed| cluster::read(&printed).map_err(|error| error.to_string()));
    match read {
        Ok(view) => view.within(namespace),
        Err(reason) => {
            told.remark(&format!(
                "the Jobs and ServiceAccounts of namespace {} could not be read, only the records are compared: {}",
                Shown(namespace),
                Shown(&reason)
            ));
            ClusterView::default()
        }
    }
}

impl Compared {
    fn with(mut self, Swept { findings, ignored, says, .. }: Swept) -> Self {
        self.says = format!("{}; {says}", self.says);
        let (_, judged) = &mut self.after;
        judged.add(findings, ignored);
        self
    }
}

/// Judges the upgrade over what the operation before rendered, an install or an upgrade itself, and nothing else. The cluster
/// is what that operation leaves.
pub(super) fn judge_after(
    operation: Operation,
    arguments: &RenderArguments,
    renders: &Renders,
    judge: &Judge,
) -> Result<Judged, String> {
    let Some(before) = &renders.install else { return Err("there is no render to upgrade from".to_owned()) };
    let (cluster, place_of) = (ClusterView::empty(), places(renders));
    let comparison = comparison(arguments, renders, judge, (&cluster, &place_of));
    comparison.pair(operation, before, &renders.upgrade, &renders.hook_templates)
}

fn places(renders: &Renders) -> impl Fn(&Name, &str) -> Option<Place> + Sync {
    |object, path| renders.template(object, path)
}

fn comparison<'a>(
    arguments: &'a RenderArguments,
    renders: &'a Renders,
    judge: &'a Judge,
    (cluster, place_of): (&'a ClusterView, &'a PlaceOf<'a>),
) -> Comparison<'a> {
    Comparison {
        judge,
        cluster,
        source: &renders.source,
        release: arguments.release_name(),
        namespace: &renders.namespace,
        apply_method: renders.apply_method,
        hook_templates: &renders.hook_templates,
        place_of,
    }
}

/// The objects that flip.
fn flipping(judged: &Judged) -> BTreeSet<Name> {
    judged.findings().iter().filter(|finding| is_flip(finding)).map(|finding| finding.object.clone()).collect()
}

/// The chart that is judged.
struct Compare<'a> {
    comparison: Comparison<'a>,
    /// Of renders that are given there is none.
    task: Option<&'a Task<'a>>,
    renders: &'a Renders,
    /// What is told of the hooks that the upgrade changes.
    diff: Option<Detail>,
}

impl Compare<'_> {
    /// What the upgrade starts from, where it is another chart.
    fn old(&self) -> Option<&Chart> {
        self.task.and_then(|task| task.old.as_ref())
    }

    fn judge(&self, release: Option<&Upgraded<'_>>, told: &mut Told) -> Result<Compared, String> {
        let dropped = self.renders.dropped_hooks(release);
        let upgrade = self.upgrade(&self.renders.upgrade, release, &dropped);
        let soon = self.renders.soon.as_ref().map(|soon| self.upgrade(soon, release, &dropped));
        let (before, judged) = match &self.renders.install {
            None => {
                let baseline = release.map(|release| release.current);
                let judged = self.verdict(&upgrade, baseline)?;
                (baseline.map(|record| (record.clone(), None)), judged)
            }
            Some(install) => {
                let upgrades = (&self.renders.upgrade, (&upgrade, soon.as_ref()));
                let (before, judged) = self.comparison.install_and_upgrade(install, upgrades, self.old().is_none())?;
                (Some(before), judged)
            }
        };
        let judged = if self.is_one_chart(release) {
            self.comparison.as_one_chart(judged, self.renders.install.as_ref(), &self.renders.upgrade)
        } else {
            self.without_chance(judged, &upgrade, release, &dropped)?
        };
        let judged = self.with_causes(judged, release, told);
        let judged = if judged.has_found(RuleId::DroppedHook) {
            judged
        } else {
            judged.with_warnings(&self.renders.dropped_warnings())
        };
        let hooks = before.as_ref().zip(self.diff).map(|((before, _), detail)| {
            upgrade.hooks_since(before, self.comparison.judge.settings.record_limits(), detail)
        });
        let judged = judged.with_hooks(hooks.unwrap_or_default());
        let says = self.says(release, judged.says_something() || says_something(before.as_ref()));
        Ok(Compared { before, after: (upgrade, judged), says })
    }

    /// The install, where no upgrade could be rendered.
    fn judge_install(&self) -> Result<Compared, String> {
        let install = self.comparison.install(&self.renders.upgrade);
        let judged = self.verdict(&install, None)?;
        Ok(Compared { before: None, after: (install, judged), says: "the install alone".to_owned() })
    }

    /// The values whose change flips an object.
    fn sweep(&self, limits: Limits, told: &mut Told) -> Option<Swept> {
        let made = self.renders.made.as_ref()?;
        let settings = match self.comparison.judge.native_settings() {
            Ok(settings) => settings,
            Err(reason) => {
                told.cannot_judge(&format!("--sweep: {reason}"));
                return None;
            }
        };
        let judge = |operation, before: &Render, upgrade: &Render| {
            let judged = self.comparison.pair(operation, before, upgrade, &Templates::new())?;
            let flips = judged.findings.into_iter().filter(is_flip);
            Ok(flips.map(|finding| (finding.object, finding.message)).collect())
        };
        let (task, printing) = (self.task?, made.printing.as_ref()?);
        let sweep = Sweep { task, renders: self.renders, made, printing, settings: &settings, judge: &judge, limits };
        Some(sweep.run(told))
    }

    /// Says of each object that flips which changed values of the release flip it.
    fn with_causes(&self, judged: Judged, release: Option<&Upgraded<'_>>, told: &mut Told) -> Judged {
        let flipping = flipping(&judged);
        let (Some(release), Some(task), Some(made)) = (release, self.task, &self.renders.made) else { return judged };
        if flipping.is_empty() {
            return judged;
        }
        let judge = |render: &Render, dropped: &[String]| {
            let upgrade = self.upgrade(render, Some(release), &self.renders.templates_of(dropped, Some(release)));
            Ok(self::flipping(&self.verdict(&upgrade, Some(release.current))?))
        };
        let causes = Causes { renders: self.renders, made, folder: &task.folder, release, judge: &judge };
        let Some(found) = causes.find(&flipping, told) else { return judged };
        judged.explained(|finding| is_flip(finding).then(|| found.cause(&finding.object)))
    }

    /// Both sides are renders of one chart with the same values, as far as anybody knows.
    fn is_one_chart(&self, release: Option<&Upgraded<'_>>) -> bool {
        let is_another = |task: &Task<'_>| task.old.is_some() || task.values.old.is_some();
        release.is_none() && !self.task.is_some_and(is_another)
    }

    /// Drops what differs by chance.
    fn without_chance(
        &self,
        judged: Judged,
        upgrade: &StoredRecord,
        release: Option<&Upgraded<'_>>,
        dropped: &BTreeMap<String, String>,
    ) -> Result<Judged, String> {
        if !judged.findings().iter().any(is_of_values) {
            return Ok(judged);
        }
        let Some(again) = self.task.and_then(|task| self.renders.again(&task.folder)) else { return Ok(judged) };
        let again = self.upgrade(&again, release, dropped);
        let place = judged.place.clone();
        self.comparison.judge.without_chance(judged, upgrade, again, &place)
    }

    /// What is compared, and whether it agrees.
    fn says(&self, release: Option<&Upgraded<'_>>, says_something: bool) -> String {
        let before = match (release, self.old()) {
            (Some(release), _) => format!("revision {} of {}", release.current.version(), release.current.release()),
            (None, Some(old)) => format!("the install of {}", old.source),
            (None, None) => "the install".to_owned(),
        };
        comparison::says(&before, self.renders.install.as_ref(), &self.renders.upgrade, !says_something)
    }

    fn upgrade(
        &self,
        render: &Render,
        release: Option<&Upgraded<'_>>,
        dropped_hooks: &BTreeMap<String, String>,
    ) -> StoredRecord {
        let Some(Upgraded { current, stored, next, .. }) = release else {
            return self.comparison.upgrade(render, dropped_hooks);
        };
        let revision = Revision { dropped_hooks: Some(dropped_hooks), ..self.comparison.revision(render) };
        // An upgrade applies its objects by the method of the revision before it, unless it is told otherwise.
        let revision = Revision { version: *next, apply_method: stored.apply_method(), ..revision };
        StoredRecord::of(&revision, current.storage(), &self.renders.namespace)
    }

    fn verdict(&self, record: &StoredRecord, baseline: Option<&StoredRecord>) -> Result<Judged, String> {
        self.comparison.verdict(record, baseline, self.comparison.cluster)
    }
}
