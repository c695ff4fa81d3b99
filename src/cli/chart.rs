//! `chart`: what the release rules say to a chart, rendered as an install and as the upgrade over it.

pub(super) mod renders;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread;

use clap::Args;
use serde_json::{Value, json};

use super::release::Reading;
use super::run::Run;
use super::{Failure, Judge, JudgeArguments, Outcome, OutputFormat, namespace_of_helm};
use crate::cluster::ClusterView;
use crate::records::StoredRecord;
use crate::render::{Render, Revision};
use crate::report::{Judged, Place};
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
    #[arg(long, value_name = "FILE", requires = "upgrade", conflicts_with_all = ["chart", "against", "release", "values", "set", "kube_version", "api_versions", "more"])]
    install: Option<PathBuf>,
    /// A render of the upgrade (`helm template --is-upgrade`) that was made elsewhere
    #[arg(long, value_name = "FILE", requires = "install")]
    upgrade: Option<PathBuf>,
    /// Judge the upgrade from this chart, an older version for example
    #[arg(long, value_name = "CHART", conflicts_with = "release")]
    against: Option<PathBuf>,
    /// The values of the other chart, where they are not the same; instead of -f and --set
    #[arg(long, value_name = "FILE", requires = "against")]
    against_values: Vec<PathBuf>,
    /// Judge the upgrade of this release, whose records `kubectl` reads
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    release: Option<String>,
    /// What the release would be called
    #[arg(long, value_name = "NAME", default_value = "release-name")]
    name: String,
    /// The release's namespace; of renders made elsewhere by default the one that they name, else `default`
    #[arg(short, long, value_name = "NS")]
    pub(super) namespace: Option<String>,
    /// Values, as `helm template` takes them
    #[arg(short = 'f', long, value_name = "FILE")]
    values: Vec<PathBuf>,
    /// One value, as `helm template` takes it
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
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

/// The two sides of a chart.
pub(super) struct Compared {
    /// What is there already; its verdict only where it is judged as well.
    pub(super) before: Option<(StoredRecord, Option<Judged>)>,
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
    let next = installed.iter().map(StoredRecord::version).max().unwrap_or(1) + 1;
    let (judge, run) = (reading.judge, &mut reading.run);
    let renders = Renders::read(chart, arguments, next, run)?;
    let compared = Chart { arguments, judge, renders: &renders }.judge(&installed, next);
    Ok(compared.map_err(|reason| run.cannot_judge(&reason)).ok())
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
        let lists = self.values.is_empty() && self.set.is_empty() && self.api_versions.is_empty();
        let others = self.against.is_none() && self.release.is_none() && self.kube_version.is_none();
        !(lists && others && self.more.is_empty())
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

/// What is judged, and by whom.
struct Chart<'a> {
    arguments: &'a RenderArguments,
    judge: &'a Judge,
    renders: &'a Renders,
}

impl Chart<'_> {
    fn judge(&self, installed: &[StoredRecord], next: u64) -> Result<Compared, String> {
        let storage = installed.first().map_or("Secret", StoredRecord::kind);
        let upgrade = self.record(&self.renders.upgrade, next, "pending-upgrade", storage);
        let Some(install) = &self.renders.install else {
            let baseline = upgrade.baseline(installed);
            let judged = self.verdict(&upgrade, baseline, &self.judge.cluster)?;
            return Ok(Compared { before: baseline.map(|record| (record.clone(), None)), after: (upgrade, judged) });
        };
        // Without a view of the cluster the chart is the first thing in it.
        let cluster = if self.judge.sees_cluster { self.judge.cluster.as_ref().clone() } else { ClusterView::empty() };
        let left = install.left_by_install(self.arguments.release_name(), &self.renders.namespace);
        let installed = cluster.with_objects(left);
        let install = self.record(install, 1, "pending-install", storage);
        if self.arguments.against.is_some() {
            // The other chart is installed already; only what comes is judged.
            let judged = self.verdict(&upgrade, Some(&install), &installed)?;
            return Ok(Compared { before: Some((install, None)), after: (upgrade, judged) });
        }
        let (first, second) = thread::scope(|scope| {
            let first = scope.spawn(|| self.verdict(&install, None, &cluster));
            let second = self.verdict(&upgrade, Some(&install), &installed);
            (first.join(), second)
        });
        let first = first.unwrap_or_else(|_| Err("cannot judge the install".to_owned()))?;
        Ok(Compared { before: Some((install, Some(first))), after: (upgrade, second?) })
    }

    fn record(&self, render: &Render, version: u64, status: &str, storage: &'static str) -> StoredRecord {
        let (name, namespace, templates) =
            (self.arguments.release_name(), &self.renders.namespace, &self.renders.hook_templates);
        // Helm settles that when it installs; no render says it.
        let apply_method = "";
        let revision = Revision { name, namespace, version, status, render, templates, apply_method };
        StoredRecord::of(&revision, storage, namespace)
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
