//! The two sides of a chart, rendered and judged.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::thread;

use helm::HOOK;
use helm::operation::Operation;
use helm::storage::Storage;
use helm::write::{Document, Revision};
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_policy::RuleId;
use stable_hooks_policy::evaluate::evaluate_renders;
use stable_hooks_policy::name::Name;
use stable_hooks_policy::renders;
use stable_hooks_policy::shown::Shown;

use super::arguments::RenderArguments;
use super::causes::Causes;
use super::renders::Renders;
use super::sweep::{Sweep, Swept};
use super::task::{Chart, GivenValues, Task};
use super::upgraded::Upgraded;
use crate::changes::Detail;
use crate::cli::arguments::{Judge, JudgeArguments, OutputFormat};
use crate::cli::outcome::{Failure, Told};
use crate::cli::release::Reading;
use crate::cli::run::is_of_values;
use crate::cluster;
use crate::helm::Repository;
use crate::helm::chart::Templates;
use crate::helm::folder::Folder;
use crate::judged::{Finding, Judged, Level, Place};
use crate::kubectl;
use crate::records::StoredRecord;
use crate::render::Render;
use crate::sweep::Limits;
use crate::words::counted;

/// The release before the upgrade; its verdict only where it is judged as well.
type Before = (StoredRecord, Option<Judged>);

/// The upgrade, and the one that comes soon after the install where that renders something else.
type Upgrades<'a> = (&'a StoredRecord, Option<&'a StoredRecord>);

/// The two sides of a chart.
pub(in crate::cli) struct Compared {
    pub(in crate::cli) before: Option<Before>,
    pub(in crate::cli) after: (StoredRecord, Judged),
    /// What is compared, and whether it agrees.
    says: String,
}

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
    let compare = Compare { arguments, task, judge, cluster, renders: &renders, diff };
    let compared = if is_rendered { compare.judge(release.as_ref(), told) } else { compare.judge_install() };
    let Ok(compared) = compared.map_err(|reason| told.cannot_judge(&reason)) else { return Ok(None) };
    Ok(Some(match sweep.and_then(|limits| compare.sweep(limits, told)) {
        Some(swept) => compared.with(swept),
        None => compared,
    }))
}

/// The Jobs and ServiceAccounts that live where a release has its objects.
fn live(namespace: &str, told: &mut Told) -> ClusterView {
    let read = kubectl::live(namespace);
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

    /// One result for both sides.
    pub(in crate::cli) fn judged(self) -> Judged {
        let (says, judged) = self.parts();
        let title = format!("{}: {says}", judged.source);
        judged.called(title)
    }

    /// What is compared, and one result for both sides.
    pub(super) fn parts(self) -> (String, Judged) {
        let (_, after) = self.after;
        let judged = match self.before {
            Some((_, Some(before))) => before.followed_by(after),
            Some((_, None)) | None => after,
        };
        (self.says, judged)
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
    let cluster = ClusterView::empty();
    Compare { arguments, task: None, judge, cluster, renders, diff: None }.judge_after(operation)
}

fn is_flip(finding: &Finding) -> bool {
    finding.is_of(RuleId::ReleaseIdentityFlip)
}

/// The objects that flip.
fn flipping(judged: &Judged) -> BTreeSet<Name> {
    judged.findings().iter().filter(|finding| is_flip(finding)).map(|finding| finding.object.clone()).collect()
}

fn says_something(before: Option<&Before>) -> bool {
    let judged = before.and_then(|(_, judged)| judged.as_ref());
    judged.is_some_and(Judged::says_something)
}

/// Which objects a render has, and which of them are hooks.
fn sides(render: &Render) -> BTreeSet<([&str; 3], bool)> {
    let named = render.documents.iter().map(|Document { head, .. }| {
        ([head.kind.as_str(), &head.namespace, &head.name], head.annotations.contains_key(HOOK))
    });
    named.collect()
}

/// How much a render holds.
fn contents(render: &Render) -> String {
    let hooks = render.documents.iter().filter(|document| document.head.annotations.contains_key(HOOK)).count();
    format!("{} and {}", counted(hooks, "hook"), counted(render.documents.len() - hooks, "resource"))
}

/// The chart that is judged, its judge, and the cluster that it meets.
struct Compare<'a> {
    arguments: &'a RenderArguments,
    /// Of renders that are given there is none.
    task: Option<&'a Task<'a>>,
    judge: &'a Judge,
    cluster: ClusterView,
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
                let judged = self.verdict(&upgrade, baseline, &self.cluster)?;
                (baseline.map(|record| (record.clone(), None)), judged)
            }
            Some(install) => self.judge_both(install, (&upgrade, soon.as_ref()))?,
        };
        let judged = if self.is_one_chart(release) {
            // By chance alone another value would be rendered.
            self.with_what_the_install_alone_has(judged.retaining(|finding| !is_of_values(finding)))
        } else {
            self.without_chance(judged, &upgrade, release, &dropped)?
        };
        let judged = self.with_causes(judged, release, told);
        let judged = if judged.has_found(RuleId::DroppedHook) {
            judged
        } else {
            judged.with_warnings(&self.renders.dropped_warnings())
        };
        let hooks = before
            .as_ref()
            .zip(self.diff)
            .map(|((before, _), detail)| upgrade.hooks_since(before, self.judge.settings.record_limits(), detail));
        let judged = judged.with_hooks(hooks.unwrap_or_default());
        let says = self.says(release, judged.says_something() || says_something(before.as_ref()));
        Ok(Compared { before, after: (upgrade, judged), says })
    }

    /// The install, where no upgrade could be rendered.
    fn judge_install(&self) -> Result<Compared, String> {
        let install = self.install(&self.renders.upgrade);
        let judged = self.verdict(&install, None, &self.cluster)?;
        Ok(Compared { before: None, after: (install, judged), says: "the install alone".to_owned() })
    }

    /// The values whose change flips an object.
    fn sweep(&self, limits: Limits, told: &mut Told) -> Option<Swept> {
        let made = self.renders.made.as_ref()?;
        let settings = match self.judge.native_settings() {
            Ok(settings) => settings,
            Err(reason) => {
                told.cannot_judge(&format!("--sweep: {reason}"));
                return None;
            }
        };
        let judge = |operation, before: &Render, upgrade: &Render| {
            let judged = self.judge_pair(operation, before, upgrade, &Templates::new())?;
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
            Ok(self::flipping(&self.verdict(&upgrade, Some(release.current), &self.cluster)?))
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

    fn with_what_the_install_alone_has(&self, judged: Judged) -> Judged {
        // Another policy has settings of its own.
        let (Some(install), Ok(settings)) = (&self.renders.install, self.judge.native_settings()) else {
            return judged;
        };
        let upgrade = &self.renders.upgrade;
        let renders = renders::Renders::of(&install.documents, &upgrade.documents, &self.renders.namespace, None);
        let judged = judged.with_found(evaluate_renders(&renders, &settings));
        judged.in_templates(|object, path| self.renders.template(object, path))
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
        self.judge.without_chance(judged, upgrade, again, &place)
    }

    /// What is compared, and whether it agrees.
    fn says(&self, release: Option<&Upgraded<'_>>, says_something: bool) -> String {
        let Renders { install, upgrade, .. } = self.renders;
        let before = match (release, self.old()) {
            (Some(release), _) => format!("revision {} of {}", release.current.version(), release.current.release()),
            (None, Some(old)) => format!("the install of {}", old.source),
            (None, None) => "the install".to_owned(),
        };
        if says_something {
            return format!("{before} and the upgrade over it");
        }
        let compared = install.iter().chain([upgrade]).map(contents).collect::<Vec<_>>().join(" against ");
        let agree = match install {
            Some(install) if sides(install) == sides(upgrade) => "agree",
            Some(_) | None => "differ in nothing that a rule is about",
        };
        format!("{before} and the upgrade over it {agree} ({compared})")
    }

    /// The upgrade over a render of the install, which is judged as well unless it is installed already.
    fn judge_both(&self, install: &Render, upgrades: Upgrades<'_>) -> Result<(Option<Before>, Judged), String> {
        // Without a view of the cluster the chart is the first thing in it.
        let cluster = if self.judge.sees_cluster { self.cluster.clone() } else { ClusterView::empty() };
        let left = install.left_by_install(self.arguments.release_name(), &self.renders.namespace);
        let installed = cluster.with_objects(left);
        let install = self.install(install);
        if self.old().is_some() {
            let judged = self.over(&install, upgrades, &installed)?;
            return Ok((Some((install, None)), judged));
        }
        let (first, second) = thread::scope(|scope| {
            let first = scope.spawn(|| self.verdict(&install, None, &cluster));
            let second = self.over(&install, upgrades, &installed);
            (first.join(), second)
        });
        let first = first.unwrap_or_else(|_| Err("cannot judge the install".to_owned()))?;
        Ok((Some((install, Some(self.without_guesses(first)))), second?))
    }

    fn judge_after(&self, operation: Operation) -> Result<Judged, String> {
        let Renders { install: Some(before), upgrade, .. } = self.renders else {
            return Err("there is no render to upgrade from".to_owned());
        };
        self.judge_pair(operation, before, upgrade, &self.renders.hook_templates)
    }

    /// The upgrade from one render to another, whose record holds these templates.
    fn judge_pair(
        &self,
        operation: Operation,
        before: &Render,
        upgrade: &Render,
        templates: &Templates,
    ) -> Result<Judged, String> {
        let namespace = &self.renders.namespace;
        let name = self.arguments.release_name();
        let (version, status, left) = match operation {
            Operation::Install => (1, "pending-install", before.left_by_install(name, namespace)),
            Operation::Upgrade | Operation::Rollback => (2, "pending-upgrade", before.left_by_upgrade(name, namespace)),
        };
        let before = self.record(&Revision { version, status, templates: &Templates::new(), ..self.revision(before) });
        let upgrade = self.record(&Revision { version: version + 1, templates, ..self.revision(upgrade) });
        self.verdict(&upgrade, Some(&before), &self.cluster.with_objects(left))
    }

    /// The upgrade over an install; one that comes soon adds its denials.
    fn over(
        &self,
        install: &StoredRecord,
        (upgrade, soon): Upgrades<'_>,
        installed: &ClusterView,
    ) -> Result<Judged, String> {
        let judged = self.verdict(upgrade, Some(install), installed)?;
        let Some(soon) = soon else { return Ok(judged) };
        let soon = self.verdict(soon, Some(install), installed)?;
        Ok(soon.retaining(|finding| finding.level == Level::Deny).followed_by(judged))
    }

    /// Drops what the install alone could only guess of hooks that the upgrade has too.
    fn without_guesses(&self, judged: Judged) -> Judged {
        judged.retaining(|finding| !(finding.is_of(RuleId::OneSidedHook) && self.renders.upgrade_has(&finding.object)))
    }

    fn upgrade(
        &self,
        render: &Render,
        release: Option<&Upgraded<'_>>,
        dropped_hooks: &BTreeMap<String, String>,
    ) -> StoredRecord {
        let revision = Revision { dropped_hooks: Some(dropped_hooks), ..self.revision(render) };
        let Some(Upgraded { current, stored, next, .. }) = release else { return self.record(&revision) };
        // An upgrade applies its objects by the method of the revision before it, unless it is told otherwise.
        let revision = Revision { version: *next, apply_method: stored.apply_method(), ..revision };
        StoredRecord::of(&revision, current.storage(), &self.renders.namespace)
    }

    fn install(&self, render: &Render) -> StoredRecord {
        // A rule guesses from the templates what the upgrade would render, and here that is known.
        let templates = Templates::new();
        let revision = self.revision(render);
        self.record(&Revision { version: 1, status: "pending-install", templates: &templates, ..revision })
    }

    fn record(&self, revision: &Revision<'_>) -> StoredRecord {
        StoredRecord::of(revision, Storage::Secret, &self.renders.namespace)
    }

    /// Revision 2, an upgrade.
    fn revision<'r>(&'r self, render: &'r Render) -> Revision<'r> {
        Revision {
            name: self.arguments.release_name(),
            namespace: &self.renders.namespace,
            version: 2,
            status: "pending-upgrade",
            chart: render.chart(),
            documents: &render.documents,
            templates: &self.renders.hook_templates,
            apply_method: self.renders.apply_method,
            dropped_hooks: None,
        }
    }

    fn verdict(
        &self,
        record: &StoredRecord,
        baseline: Option<&StoredRecord>,
        cluster: &ClusterView,
    ) -> Result<Judged, String> {
        let source = self.renders.source.clone();
        let place = Place { file: source.clone(), line: None };
        let judged = self.judge.verdict(record, baseline, cluster, (source, place))?;
        Ok(judged.in_templates(|object, path| self.renders.template(object, path)))
    }
}
