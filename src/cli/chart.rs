//! `chart`: what the release rules say to a chart, rendered as an install and as the upgrade over it.

mod arguments;
pub(super) mod renders;
mod upgraded;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::thread;

use clap::Args;
use helm::HOOK;
use helm::storage::Storage;
use helm::write::{Document, Revision};
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_policy::RuleId;
use stable_hooks_policy::shown::Shown;

use super::arguments::{Judge, JudgeArguments, OutputFormat};
use super::outcome::{Failure, Outcome, remark};
use super::release::Reading;
use super::run::Run;
use crate::cluster;
use crate::helm::chart::Templates;
use crate::judged::{Judged, Judging, Level, Place};
use crate::kubectl;
use crate::records::StoredRecord;
use crate::render::Render;
pub(super) use arguments::RenderArguments;
use renders::Renders;
use upgraded::Upgraded;

/// Judges a chart before it is installed: what would flip between an install and the upgrade over it
///
/// The chart is rendered twice with the `helm` on the PATH, as an install and as an upgrade; every rule for releases
/// judges the install, and then the upgrade over it. The upgrade is rendered as revision 2, a year later.
///
/// Exit codes: 0 nothing denied, 1 something denied, 2 could not judge.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stable-hooks chart ./orders -f production.yaml -n shop
  stable-hooks chart ./orders --against orders-1.4.0.tgz")]
pub(super) struct Arguments {
    /// The chart: a folder or an archive, with its dependencies in it
    #[arg(value_name = "CHART", required_unless_present = "install")]
    chart: Option<PathBuf>,
    #[command(flatten)]
    renders: RenderArguments,
    #[command(flatten)]
    judge: JudgeArguments,
}

/// The release before the upgrade; its verdict only where it is judged as well.
type Before = (StoredRecord, Option<Judged>);

/// The upgrade, and the one that comes soon after the install where that renders something else.
type Upgrades<'a> = (&'a StoredRecord, Option<&'a StoredRecord>);

/// The two sides of a chart.
pub(super) struct Compared {
    pub(super) before: Option<Before>,
    pub(super) after: (StoredRecord, Judged),
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let mut run = Run::new(&arguments.judge.output, Judging::Charts);
    let judged = judged(arguments, &mut run);
    run.told(judged);
    run.finish(arguments.judge.fail_on)
}

fn judged(arguments: &Arguments, run: &mut Run) -> Result<(), Failure> {
    let judge = judge(&arguments.judge)?;
    let mut reading = Reading { judge: &judge, run };
    if let Some(compared) = compare(arguments.chart.as_deref(), &arguments.renders, &mut reading)? {
        reading.run.push(&compared.judged());
    }
    Ok(())
}

/// A chart is judged whole, since no API server waits for the answer.
pub(super) fn judge<F: OutputFormat>(arguments: &JudgeArguments<F>) -> Result<Judge, Failure> {
    let mut judge = arguments.resolve()?;
    judge.settings = judge.settings.for_charts();
    Ok(judge)
}

/// Renders a chart and judges it; `None` where that failed, and the run has told why.
pub(super) fn compare(
    chart: Option<&Path>,
    arguments: &RenderArguments,
    reading: &mut Reading<'_>,
) -> Result<Option<Compared>, Failure> {
    let namespace = arguments.release_namespace();
    let installed = arguments.release.iter().flat_map(|name| reading.release(name, &namespace));
    let installed: Vec<_> = installed.map(|given| given.record).collect();
    if arguments.release.is_some() && installed.is_empty() {
        return Ok(None);
    }
    let (judge, run) = (reading.judge, &mut reading.run);
    let release = Upgraded::of(&installed, &namespace, judge)?;
    let renders = Renders::read(chart, arguments, release.as_ref(), run)?;
    let cluster = match &release {
        Some(release) if !judge.sees_cluster => live(release.objects_namespace()),
        Some(_) | None => judge.cluster.as_ref().clone(),
    };
    let compared = Chart { arguments, judge, cluster, renders: &renders }.judge(release.as_ref());
    Ok(compared.map_err(|reason| run.cannot_judge(&reason)).ok())
}

/// The Jobs and ServiceAccounts that live where a release has its objects.
fn live(namespace: &str) -> ClusterView {
    let read = kubectl::live(namespace);
    let read = read.and_then(|printed| cluster::read(&printed).map_err(|error| error.to_string()));
    match read {
        Ok(view) => view.within(namespace),
        Err(reason) => {
            remark(&format!(
                "the Jobs and ServiceAccounts of namespace {} could not be read, only the records are compared: {}",
                Shown(namespace),
                Shown(&reason)
            ));
            ClusterView::default()
        }
    }
}

impl Compared {
    /// One result for both sides.
    pub(super) fn judged(self) -> Judged {
        let (_, after) = self.after;
        match self.before {
            Some((_, Some(before))) => before.followed_by(after),
            Some((_, None)) | None => after,
        }
    }
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
    let counted = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let hooks = render.documents.iter().filter(|document| document.head.annotations.contains_key(HOOK)).count();
    format!("{} and {}", counted(hooks, "hook"), counted(render.documents.len() - hooks, "resource"))
}

/// The chart that is judged, its judge, and the cluster that it meets.
struct Chart<'a> {
    arguments: &'a RenderArguments,
    judge: &'a Judge,
    cluster: ClusterView,
    renders: &'a Renders,
}

impl Chart<'_> {
    fn judge(&self, release: Option<&Upgraded<'_>>) -> Result<Compared, String> {
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
        let judged = if judged.has_found(RuleId::DroppedHook) { judged } else { judged.with_warnings(&self.dropped()) };
        let title = self.title(release, judged.says_something() || says_something(before.as_ref()));
        Ok(Compared { before, after: (upgrade, judged.called(title)) })
    }

    /// What is compared, and whether it agrees.
    fn title(&self, release: Option<&Upgraded<'_>>, says_something: bool) -> String {
        let Renders { source, install, upgrade, .. } = self.renders;
        let before = match (release, &self.arguments.against) {
            (Some(release), _) => format!("revision {} of {}", release.current.version(), release.current.release()),
            (None, Some(old)) => format!("the install of {}", old.display()),
            (None, None) => "the install".to_owned(),
        };
        if says_something {
            return format!("{source}: {before} and the upgrade over it");
        }
        let compared = install.iter().chain([upgrade]).map(contents).collect::<Vec<_>>().join(" against ");
        let agree = match install {
            Some(install) if sides(install) == sides(upgrade) => "agree",
            Some(_) | None => "differ in nothing that a rule is about",
        };
        format!("{source}: {before} and the upgrade over it {agree} ({compared})")
    }

    /// The upgrade over a render of the install, which is judged as well unless it is installed already.
    fn judge_both(&self, install: &Render, upgrades: Upgrades<'_>) -> Result<(Option<Before>, Judged), String> {
        // Without a view of the cluster the chart is the first thing in it.
        let cluster = if self.judge.sees_cluster { self.cluster.clone() } else { ClusterView::empty() };
        let left = install.left_by_install(self.arguments.release_name(), &self.renders.namespace);
        let installed = cluster.with_objects(left);
        let install = self.install(install);
        if self.arguments.against.is_some() {
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

    /// Warnings about hooks that Helm has dropped, where nothing is lost by it that was there.
    fn dropped(&self) -> Vec<String> {
        let warning = |events: &String| {
            format!(
                "Helm drops a document of this chart: its {HOOK} is \"{}\", which has an event that Helm does not know, or \
                 an empty one. No such object is created.",
                Shown(events)
            )
        };
        self.renders.dropped.iter().map(warning).collect()
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
