//! `chart`: what the release rules say to a chart, rendered as an install and as the upgrade over it.

pub(super) mod renders;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread;

use clap::Args;
use helm::HOOK;
use serde_json::{Value, json};
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_policy::RuleId;
use stable_hooks_policy::shown::Shown;

use super::release::Reading;
use super::run::Run;
use super::{Failure, Judge, JudgeArguments, Outcome, OutputFormat, namespace_of_helm, remark};
use crate::cluster;
use crate::helm::chart::Templates;
use crate::helm::values::{Given, Reuse};
use crate::kubectl;
use crate::records::StoredRecord;
use crate::records::chart::StoredRelease;
use crate::render::{Render, Revision};
use crate::report::{Judged, Level, Place};
use renders::Renders;

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

/// What the verbs share that compare a chart's renders; the chart itself each calls `chart`.
#[derive(Debug, Args)]
pub(super) struct RenderArguments {
    /// A render of the install that was made elsewhere
    #[arg(long, value_name = "FILE", requires = "upgrade", conflicts_with_all = ["chart", "against", "release", "values", "set", "set_string", "set_json", "set_file", "set_literal", "kube_version", "api_versions", "more"])]
    install: Option<PathBuf>,
    /// A render of the upgrade (`helm template --is-upgrade`) that was made elsewhere
    #[arg(long, value_name = "FILE", requires = "install")]
    upgrade: Option<PathBuf>,
    /// Judge the upgrade from this chart, an older version for example
    #[arg(long, value_name = "CHART", conflicts_with = "release")]
    against: Option<PathBuf>,
    /// The values of the other chart, where they are not the same; instead of -f and --set
    #[arg(long, value_name = "FILE", value_delimiter = ',', requires = "against")]
    against_values: Vec<PathBuf>,
    /// Judge the upgrade of this release, whose records `kubectl` reads; without values given, with those of the release
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    release: Option<String>,
    #[command(flatten)]
    reuse: ReuseArguments,
    /// What the release would be called
    #[arg(long, value_name = "NAME", default_value = "release-name")]
    name: String,
    /// The release's namespace; of renders made elsewhere by default the one that they name, else `default`
    #[arg(short, long, value_name = "NS")]
    pub(super) namespace: Option<String>,
    /// Values, as `helm template` takes them
    #[arg(short = 'f', long, value_name = "FILE", value_delimiter = ',')]
    values: Vec<PathBuf>,
    #[command(flatten)]
    single: SingleValueArguments,
    /// The Kubernetes version to render for
    #[arg(long, value_name = "VERSION")]
    kube_version: Option<String>,
    /// An API version that the cluster has
    #[arg(short, long, value_name = "VERSION")]
    api_versions: Vec<String>,
    /// Further arguments of `helm template`, `--dry-run=server` for example
    #[arg(last = true, value_name = "HELM ARGUMENTS")]
    more: Vec<OsString>,
}

/// Helm's flags that say what becomes of the values of the release.
#[derive(Debug, Args)]
struct ReuseArguments {
    /// As Helm's flag: all values of the release, those of its chart too, and over them the given ones
    #[arg(long, requires = "release")]
    reuse_values: bool,
    /// As Helm's flag: the given values alone
    #[arg(long, requires = "release")]
    reset_values: bool,
    /// As Helm's flag: the values that the release was given, and over them those given now
    #[arg(long, requires = "release")]
    reset_then_reuse_values: bool,
}

impl ReuseArguments {
    fn reuse(&self) -> Reuse {
        // Where several are given Helm heeds the first of these.
        match (self.reset_values, self.reuse_values, self.reset_then_reuse_values) {
            (true, _, _) => Reuse::ResetValues,
            (_, true, _) => Reuse::ReuseValues,
            (_, _, true) => Reuse::ResetThenReuseValues,
            (false, false, false) => Reuse::UnlessGiven,
        }
    }
}

/// Helm's flags for single values.
#[derive(Debug, Args)]
struct SingleValueArguments {
    /// One value, as `helm template` takes it; so are the next four
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// One value that is a string
    #[arg(long, value_name = "KEY=VALUE")]
    set_string: Vec<String>,
    /// One value as JSON
    #[arg(long, value_name = "KEY=JSON")]
    set_json: Vec<String>,
    /// One value from a file
    #[arg(long, value_name = "KEY=FILE")]
    set_file: Vec<String>,
    /// One value, taken as it stands
    #[arg(long, value_name = "KEY=VALUE")]
    set_literal: Vec<String>,
}

/// What is there already; its verdict only where it is judged as well.
type Before = (StoredRecord, Option<Judged>);

/// The upgrade, and the one that comes soon after the install where that renders something else.
type Upgrades<'a> = (&'a StoredRecord, Option<&'a StoredRecord>);

/// The two sides of a chart.
pub(super) struct Compared {
    pub(super) before: Option<Before>,
    pub(super) after: (StoredRecord, Judged),
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let mut run = Run::new(&arguments.judge.output);
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

/// Who judges a chart: whole, since nobody waits for the answer as an API server does.
pub(super) fn judge<F: OutputFormat>(arguments: &JudgeArguments<F>) -> Result<Judge, Failure> {
    let mut judge = arguments.resolve()?;
    judge.settings = with_defaults(&judge.settings);
    Ok(judge)
}

/// Renders a chart, and judges it; `None` where that could not be done, which the run then has told.
pub(super) fn compare(
    chart: Option<&Path>,
    arguments: &RenderArguments,
    reading: &mut Reading<'_>,
) -> Result<Option<Compared>, Failure> {
    let installed: Vec<_> = match &arguments.release {
        Some(name) => reading.release(name, &arguments.release_namespace()),
        None => Vec::new(),
    };
    let installed: Vec<_> = installed.into_iter().map(|given| given.record).collect();
    if arguments.release.is_some() && installed.is_empty() {
        return Ok(None);
    }
    let (judge, run) = (reading.judge, &mut reading.run);
    let release = Upgraded::of(&installed, judge)?;
    let renders = Renders::read(chart, arguments, release.as_ref(), run)?;
    let cluster = match &release {
        Some(release) if !judge.sees_cluster => live(&release.objects_namespace(&arguments.release_namespace())),
        Some(_) | None => judge.cluster.as_ref().clone(),
    };
    let compared = Chart { arguments, judge, cluster, renders: &renders }.judge(release.as_ref());
    Ok(compared.map_err(|reason| run.cannot_judge(&reason)).ok())
}

/// What lives where a release has its objects.
fn live(namespace: &str) -> ClusterView {
    let read = kubectl::live(namespace);
    let read = read.and_then(|printed| cluster::read(&printed).map_err(|error| error.to_string()));
    read.map(|view| view.within(namespace)).unwrap_or_else(|reason| {
        remark(&format!(
            "the Jobs and ServiceAccounts of namespace {} could not be read, only the records are compared: {}",
            Shown(namespace),
            Shown(&reason)
        ));
        ClusterView::default()
    })
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

impl RenderArguments {
    /// Something is asked for that only a chart can answer.
    pub(super) fn want_a_chart(&self) -> bool {
        let has_values = self.given() != (Given::default(), Vec::new());
        let has_versions = self.kube_version.is_some() || !self.api_versions.is_empty();
        has_values || has_versions || self.against.is_some() || self.release.is_some()
    }

    fn release_namespace(&self) -> String {
        self.namespace.clone().or_else(namespace_of_helm).unwrap_or_else(|| "default".to_owned())
    }

    fn release_name(&self) -> &str {
        self.release.as_deref().unwrap_or(&self.name)
    }
}

/// The settings over those for a chart.
pub(super) fn with_defaults(settings: &Value) -> Value {
    let limits = json!({"lookups": u32::MAX, "documents": u32::MAX, "inflatedBytes": u32::MAX});
    let mut merged = json!({"releases": {"scope": "all", "limits": limits}});
    json_patch::merge(&mut merged, settings);
    merged
}

/// The release whose upgrade is judged.
pub(super) struct Upgraded<'a> {
    /// The revision that the upgrade starts from.
    current: &'a StoredRecord,
    stored: StoredRelease,
    /// The revision that it makes.
    next: u64,
}

impl<'a> Upgraded<'a> {
    /// `None` where there are no records.
    fn of(records: &'a [StoredRecord], judge: &Judge) -> Result<Option<Self>, Failure> {
        let Some(last) = records.iter().max_by_key(|record| record.version()) else { return Ok(None) };
        let (release, version) = (last.release(), last.version());
        if last.is_uninstalled() {
            return Err(Failure(format!(
                "release `{release}` is uninstalled (its revision {version} is kept as history): there is nothing to \
                 upgrade, and `helm upgrade --install` installs it anew; judge that without --release"
            )));
        }
        let Some(current) = StoredRecord::current(records) else { return Ok(None) };
        let stored = current.stored_release(&judge.settings);
        let stored = stored.map_err(|error| Failure(format!("{release}, revision {}: {error}", current.version())))?;
        Ok(Some(Self { current, stored, next: version + 1 }))
    }

    /// With Flux it is another one than that of its records.
    fn objects_namespace(&self, of_records: &str) -> String {
        if self.stored.namespace.is_empty() { of_records.to_owned() } else { self.stored.namespace.clone() }
    }
}

/// What is judged, and by whom.
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
        Ok(Compared { before, after: (upgrade, judged) })
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

    /// The upgrade over an install; one that comes soon adds what denies it.
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

    /// What covers installs only, of itself, the upgrade may cover.
    fn without_guesses(&self, judged: Judged) -> Judged {
        let is_guess = |rule: &str| rule == RuleId::OneSidedHook.as_str();
        judged.retaining(|finding| !(is_guess(&finding.rule) && self.renders.upgrade_has(&finding.object)))
    }

    /// What Helm has dropped, where nothing that was there is lost by it.
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
        let Some(Upgraded { current, stored, next }) = release else { return self.record(&revision) };
        // An upgrade writes its objects as the revision before it, unless it is told otherwise.
        let revision = Revision { version: *next, apply_method: &stored.apply_method, ..revision };
        StoredRecord::of(&revision, current.kind(), &self.renders.namespace)
    }

    fn install(&self, render: &Render) -> StoredRecord {
        // A template only lets one guess what the upgrade renders, and that is known.
        let templates = Templates::new();
        let revision = self.revision(render);
        self.record(&Revision { version: 1, status: "pending-install", templates: &templates, ..revision })
    }

    fn record(&self, revision: &Revision<'_>) -> StoredRecord {
        StoredRecord::of(revision, "Secret", &self.renders.namespace)
    }

    /// The second one, which is an upgrade.
    fn revision<'r>(&'r self, render: &'r Render) -> Revision<'r> {
        Revision {
            name: self.arguments.release_name(),
            namespace: &self.renders.namespace,
            version: 2,
            status: "pending-upgrade",
            render,
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
