//! `chart`: what the release rules say to a chart, rendered as an install and as the upgrade over it.

pub(super) mod renders;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use clap::Args;
use serde_json::{Value, json};

use super::release::Reading;
use super::run::{Asked, Run};
use super::{Failure, Judge, JudgeArguments, Outcome, namespace_of_helm};
use crate::cluster::ClusterView;
use crate::records::{StoredRecord, settings_for};
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
    namespace: Option<String>,
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
    #[command(flatten)]
    judge: JudgeArguments,
    /// Further arguments of `helm template`, `--dry-run=server` for example
    #[arg(last = true, value_name = "HELM ARGUMENTS")]
    more: Vec<OsString>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let mut judge = arguments.judge.resolve()?;
    judge.settings = with_defaults(&judge.settings);
    let mut reading = Reading { judge: &judge, run: Run::new(&arguments.judge.output) };
    let installed: Vec<_> = match &arguments.release {
        Some(name) => reading.release(name, &arguments.release_namespace()),
        None => Vec::new(),
    };
    let installed: Vec<_> = installed.into_iter().map(|given| given.record).collect();
    let mut run = reading.run;
    if arguments.release.is_none() || !installed.is_empty() {
        let next = installed.iter().map(StoredRecord::version).max().unwrap_or(1) + 1;
        let renders = Renders::read(arguments, next, &mut run)?;
        let judged = Chart { arguments, judge: &judge, renders: &renders }.judge(&installed, next);
        run.report(judged.map(|judged| judged.in_templates(|object, path| renders.template(object, path))));
    }
    run.finish(arguments.judge.fail_on)
}

impl Arguments {
    fn release_namespace(&self) -> String {
        self.namespace.clone().or_else(namespace_of_helm).unwrap_or_else(|| "default".to_owned())
    }

    fn release_name(&self) -> &str {
        self.release.as_deref().unwrap_or(&self.name)
    }
}

/// The settings over those for a chart: it is judged whole, since nobody waits for the answer as an API server does.
pub(super) fn with_defaults(settings: &Value) -> Value {
    let limits = json!({"lookups": u32::MAX, "documents": u32::MAX, "inflatedBytes": u32::MAX});
    let mut merged = json!({"releases": {"scope": "all", "limits": limits}});
    json_patch::merge(&mut merged, settings);
    merged
}

/// What is judged, and by whom.
struct Chart<'a> {
    arguments: &'a Arguments,
    judge: &'a Judge,
    renders: &'a Renders,
}

impl Chart<'_> {
    /// One result for the pair of renders.
    fn judge(&self, installed: &[StoredRecord], next: u64) -> Result<Judged, String> {
        let storage = installed.first().map_or("Secret", StoredRecord::kind);
        let upgrade = self.record(&self.renders.upgrade, next, "pending-upgrade", storage);
        let Some(install) = &self.renders.install else {
            return self.verdict(&upgrade, upgrade.baseline(installed), &self.judge.cluster);
        };
        // Without a view of the cluster the chart is the first thing in it.
        let cluster = match self.arguments.judge.cluster {
            Some(_) => self.judge.cluster.as_ref().clone(),
            None => ClusterView::empty(),
        };
        let left = install.left_by_install(self.arguments.release_name(), &self.renders.namespace);
        let installed = cluster.with_objects(left);
        let install = self.record(install, 1, "pending-install", storage);
        if self.arguments.against.is_some() {
            // The other chart is installed already; only what comes is judged.
            return self.verdict(&upgrade, Some(&install), &installed);
        }
        let (install, upgrade) = thread::scope(|scope| {
            let first = scope.spawn(|| self.verdict(&install, None, &cluster));
            let upgrade = self.verdict(&upgrade, Some(&install), &installed);
            (first.join(), upgrade)
        });
        let install = install.unwrap_or_else(|_| Err("cannot judge the install".to_owned()))?;
        Ok(install.followed_by(upgrade?))
    }

    fn record(&self, render: &Render, version: u64, status: &str, storage: &'static str) -> StoredRecord {
        let (name, namespace, templates) =
            (self.arguments.release_name(), &self.renders.namespace, &self.renders.hook_templates);
        StoredRecord::of(&Revision { name, namespace, version, status, render, templates }, storage)
    }

    fn verdict(
        &self,
        record: &StoredRecord,
        baseline: Option<&StoredRecord>,
        cluster: &ClusterView,
    ) -> Result<Judged, String> {
        let cluster = cluster.with_records(baseline.map(StoredRecord::as_baseline));
        let engine = self.judge.engine.with_cluster(Arc::new(cluster));
        let settings = settings_for(record, baseline, &self.judge.settings);
        let source = self.renders.source.clone();
        let place = Place { file: source.clone(), line: None };
        Asked { source, place, request: record.request() }.judged(engine.as_ref(), &settings)
    }
}
