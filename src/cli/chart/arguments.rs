//! Arguments about what is rendered, and with what.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::changes::Detail;
use crate::cli::arguments::JudgeArguments;
use crate::cli::outcome::{Failure, namespace_in_use, namespace_of_helm};
use crate::helm::values::{Given, Reuse};
use crate::sweep::Limits;

/// Judges charts before they are installed: what would flip between an install and the upgrade over it
///
/// A chart is rendered twice with the `helm` on the PATH, as an install and as an upgrade; every rule for releases judges
/// the install, and then the upgrade over it. The upgrade is rendered as revision 2, a year later. Where no values are
/// given, a chart's `ci/*-values.yaml` are judged beside its own values.
///
/// A `.stable-hooks.yaml`, found from the chart upwards, says what a repository wants said once: docs/house-file.md.
///
/// Exit codes: 0 nothing denied, 1 something denied, 2 could not judge.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stable-hooks chart ./orders -f production.yaml -n shop
  stable-hooks chart charts/ --against-ref origin/main")]
pub(in crate::cli) struct Arguments {
    /// Charts: folders, archives, folders of charts, or what Helm fetches (`repo/name`, `oci://…`); by default those that
    /// a `.stable-hooks.yaml` names
    #[arg(value_name = "CHART")]
    pub(super) chart: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) renders: RenderArguments,
    /// Judge the upgrade from the chart, and values files, as they were at this git revision
    #[arg(long, value_name = "REVISION", conflicts_with_all = ["against", "release", "install", "reuse_values", "reset_values", "reset_then_reuse_values"])]
    pub(super) against_ref: Option<String>,
    #[command(flatten)]
    pub(super) history: HistoryArguments,
    #[command(flatten)]
    sweep: SweepArguments,
    /// The repository of the chart, as `helm template` takes it
    #[arg(long, value_name = "URL", requires = "chart", conflicts_with = "install")]
    pub(super) repo: Option<String>,
    /// The version of a chart from a repository; by default the newest
    #[arg(long, value_name = "VERSION", requires = "chart", conflicts_with = "install")]
    pub(super) version: Option<String>,
    /// List the hooks of the upgrade with the fields that changed in each since the side before. With --argocd and a text
    /// before they are listed anyway
    #[arg(long)]
    diff: bool,
    /// Where hooks are listed: show the values of the fields that changed. By default only the fields are named, and the
    /// images of containers: comments on pull requests are public. What a Secret holds is never shown
    #[arg(long)]
    show_values: bool,
    /// Read no `.stable-hooks.yaml`
    #[arg(long)]
    pub(super) no_config: bool,
    #[command(flatten)]
    pub(in crate::cli) judge: JudgeArguments,
}

/// The arguments about a chart's versions.
#[derive(Debug, Args)]
pub(super) struct HistoryArguments {
    /// Judge the upgrades between all versions of the chart that its git history has, each from every older one: what flips,
    /// from which version to which. The history is that of the first parents; each version is what its last commit had, the
    /// newest the work tree
    #[arg(long, conflicts_with_all = ["against", "against_ref", "against_values", "release", "install", "argocd", "cluster", "repo", "version", "diff", "show_values"])]
    pub(super) against_all: bool,
    /// With --against-all: the newest versions, so many of them
    #[arg(long, value_name = "COUNT", default_value = "50", requires = "against_all")]
    pub(super) against_versions: NonZeroUsize,
}

impl Arguments {
    pub(super) fn sweep(&self, is_watched: bool) -> Option<Limits> {
        let SweepArguments { sweep, sweep_renders, sweep_timeout } = &self.sweep;
        let time = Duration::from_secs(*sweep_timeout);
        sweep.then_some(Limits { renders: *sweep_renders, time, is_watched })
    }

    /// What is told of the hooks' changes where they are asked for.
    pub(super) fn diff(&self) -> Option<Detail> {
        self.diff.then(|| self.detail())
    }

    pub(super) fn detail(&self) -> Detail {
        if self.show_values { Detail::Values } else { Detail::Fields }
    }

    /// Hooks are listed only where there is something to compare them with, and not in every format.
    pub(super) fn check_diff(&self) -> Result<(), Failure> {
        let is_listed = self.diff || self.renders.argocd;
        let has_two_sides = !self.renders.argocd || self.renders.has_two_texts() || self.against_ref.is_some();
        let option = if self.diff { "--diff" } else { "--show-values" };
        if !self.diff && !self.show_values {
            return Ok(());
        }
        if !is_listed {
            return Err(Failure("--show-values goes with --diff, or with --argocd and a text before".to_owned()));
        }
        if !has_two_sides {
            return Err(Failure(format!(
                "{option} goes with --against or --against-ref: one text of Argo CD's changes nothing"
            )));
        }
        self.judge.output.check_lists_hooks(option)
    }
}

/// Whether other values are tried, and how often.
#[derive(Debug, Args)]
struct SweepArguments {
    /// Find the values whose change flips an object: the chart is rendered with others in the place of those that decide
    /// about its hooks
    #[arg(long, conflicts_with_all = ["release", "install", "argocd", "against_all"])]
    sweep: bool,
    /// How many renders --sweep may take, besides the install and the upgrade
    #[arg(long, value_name = "N", default_value_t = 200, requires = "sweep")]
    sweep_renders: usize,
    /// How long one render of --sweep may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "sweep")]
    sweep_timeout: u64,
}

/// The shared arguments of the verbs that compare a chart's renders; the chart itself each calls `chart`.
#[derive(Debug, Args)]
pub(in crate::cli) struct RenderArguments {
    /// A render of the install that was made elsewhere
    #[arg(long, value_name = "FILE", requires = "upgrade", conflicts_with_all = ["chart", "against", "release", "values", "set", "set_string", "set_json", "set_file", "set_literal", "kube_version", "api_versions", "more"])]
    pub(super) install: Option<PathBuf>,
    /// A render of the upgrade (`helm template --is-upgrade`) that was made elsewhere
    #[arg(long, value_name = "FILE", requires = "install", conflicts_with_all = ["chart", "against", "release"])]
    pub(super) upgrade: Option<PathBuf>,
    /// Judge the upgrade from this chart, an older version for example: a folder, an archive, or what Helm fetches
    #[arg(long, value_name = "CHART", conflicts_with = "release")]
    pub(super) against: Option<PathBuf>,
    /// Judge the chart as Argo CD deploys it: a first sync, and the next one. --install and --upgrade are the texts of the
    /// two then, --against and --against-ref the one that was synced before
    #[arg(long, conflicts_with_all = ["release", "policy", "cluster"])]
    pub(in crate::cli) argocd: bool,
    /// The values of the chart that the upgrade starts from, where they are not the same; instead of -f and --set
    #[arg(long, value_name = "FILE", value_delimiter = ',', conflicts_with_all = ["install", "release"])]
    pub(super) against_values: Vec<PathBuf>,
    /// Judge the upgrade of this release, whose records `kubectl` reads; without values given, with those of the release
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    pub(super) release: Option<String>,
    #[command(flatten)]
    pub(super) reuse: ReuseArguments,
    /// What the release would be called
    #[arg(long, value_name = "NAME", default_value = "release-name")]
    pub(super) name: String,
    /// The release's namespace; by default that of the current context with --release, the one that renders made
    /// elsewhere name, else `default`
    #[arg(short, long, value_name = "NS")]
    pub(in crate::cli) namespace: Option<String>,
    /// Values, as `helm template` takes them
    #[arg(short = 'f', long, value_name = "FILE", value_delimiter = ',')]
    pub(super) values: Vec<PathBuf>,
    #[command(flatten)]
    single: SingleValueArguments,
    /// The Kubernetes version to render for
    #[arg(long, value_name = "VERSION")]
    pub(super) kube_version: Option<String>,
    /// An API version that the cluster has
    #[arg(short, long, value_name = "VERSION")]
    pub(super) api_versions: Vec<String>,
    /// Further arguments of `helm template`, `--dry-run=server` for example
    #[arg(last = true, value_name = "HELM ARGUMENTS")]
    pub(super) more: Vec<OsString>,
}

/// Helm's flags that say what becomes of the values of the release.
#[derive(Debug, Args)]
pub(super) struct ReuseArguments {
    /// As Helm's flag: all values of the release, those of its chart too, and over them the given ones
    #[arg(long, requires = "release", conflicts_with_all = ["against", "install", "name", "argocd"])]
    reuse_values: bool,
    /// As Helm's flag: the given values alone
    #[arg(long, requires = "release", conflicts_with_all = ["against", "install", "name", "argocd"])]
    reset_values: bool,
    /// As Helm's flag: the values that the release was given, and over them those given now
    #[arg(long, requires = "release", conflicts_with_all = ["against", "install", "name", "argocd"])]
    reset_then_reuse_values: bool,
}

impl ReuseArguments {
    pub(super) fn reuse(&self) -> Reuse {
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

impl RenderArguments {
    /// Something is asked for that only a chart can answer.
    pub(in crate::cli) fn want_a_chart(&self) -> bool {
        let has_values = self.given() != (Given::default(), Vec::new());
        let has_versions = self.kube_version.is_some() || !self.api_versions.is_empty();
        has_values || has_versions || self.against.is_some() || self.release.is_some()
    }

    /// Values of another chart go with one.
    pub(super) fn check_old_values(&self) -> Result<(), Failure> {
        if self.against_values.is_empty() || self.against.is_some() {
            return Ok(());
        }
        let missing = "--against-values are those of the chart that the upgrade starts from: name that with --against";
        Err(Failure(missing.to_owned()))
    }

    /// There is a text that was synced before.
    pub(super) fn has_two_texts(&self) -> bool {
        self.against.is_some() || self.install.is_some()
    }

    /// Values are given for all charts.
    pub(super) fn gives_values(&self) -> bool {
        let (given, _) = self.given();
        given != Given::default()
    }

    pub(super) fn release_namespace(&self) -> String {
        match &self.release {
            Some(_) => namespace_in_use(self.namespace.as_deref()),
            // Without a cluster there is no context, and a render is the same on every machine.
            None => self.namespace.clone().or_else(namespace_of_helm).unwrap_or_else(|| "default".to_owned()),
        }
    }

    pub(super) fn release_name(&self) -> &str {
        self.release.as_deref().unwrap_or(&self.name)
    }

    /// The values that are given, also behind `--`, and what else stands there.
    pub(super) fn given(&self) -> (Given, Vec<OsString>) {
        let SingleValueArguments { set, set_string, set_json, set_file, set_literal } = &self.single;
        let flags = [
            ("--set", set),
            ("--set-string", set_string),
            ("--set-json", set_json),
            ("--set-file", set_file),
            ("--set-literal", set_literal),
        ];
        let single = flags.into_iter().flat_map(|(flag, texts)| texts.iter().map(move |text| (flag, text.clone())));
        let mut given = Given { files: self.values.clone(), single: single.collect() };
        let more = given.take_from(&self.more);
        (given, more)
    }
}
