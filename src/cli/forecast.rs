//! `forecast`: what the next upgrade of each release that is installed would meet.

mod next;
mod reading;
mod shard;
mod store;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::Args;
use helm::storage::Storage;

use super::arguments::{FailOn, JudgeArguments};
use super::outcome::{Failure, Outcome, complain, namespace_in_use, remark, written};
use super::progress::Progress;
use super::side_by_side::as_they_come;
use crate::forecast::{Forecast, Summary, Trouble};
use crate::helm::folder::Folder;
use crate::helm::{Helm, HelmError};
use crate::judge::{Judge, is_of_values};
use crate::judged::Place;
use crate::kubectl::{Capabilities, Kubectl, Scope};
use crate::output::forecast::Format;
use crate::records::installed::{Installed, installed};
use crate::words::counted;
use next::{Next, Upgrade, WAITS_LONGER, with_remedy};
use reading::{Reading, Record};
use shard::Shard;
use store::{Done, Store};

/// So many records wait at most to be rendered: while the next page is read there is enough to do.
const AHEAD: usize = 32;

/// Foretells what the next upgrade of each release would meet: which will flip, and why
///
/// Helm stores with each release its chart and its values. `kubectl` reads that record, `helm` renders it once more, as an
/// upgrade, and every rule for releases judges the result over what is installed. Nothing in the cluster changes without
/// --store, and the chart cannot look into it. A record does not hold the subcharts: such a release needs --chart.
///
/// Exit codes: 0 nothing would be denied, 1 something would be, 2 some release could not be judged. With --store: 0 each release
/// has its report, 2 not all have.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stable-hooks forecast -A
  stable-hooks forecast orders -n shop --chart orders=./charts/orders
  stable-hooks forecast -A -o openreports --store")]
pub(super) struct Arguments {
    /// One release; without it all of the namespace
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// The namespace of the releases; by default that of the current context
    #[arg(short, long, value_name = "NS", conflicts_with = "all_namespaces")]
    namespace: Option<String>,
    /// The releases of all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Render this chart, a folder or an archive, for the releases of that name, with the values that are stored
    #[arg(long, value_name = "NAME=PATH", value_parser = named_chart)]
    chart: Vec<(String, PathBuf)>,
    /// How long one call of kubectl or helm may take; what takes longer is ended, and told
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// One part of the releases, 0/4 to 3/4: each release belongs to one, the same in each run
    #[arg(long, value_name = "INDEX/COUNT", conflicts_with = "name")]
    shard: Option<Shard>,
    /// Store each release's report in the cluster instead, and remove those of releases that are gone; with -o openreports or
    /// policyreport
    #[arg(long, conflicts_with = "name")]
    store: bool,
    #[command(flatten)]
    judge: JudgeArguments<Format>,
}

fn named_chart(text: &str) -> Result<(String, PathBuf), &'static str> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.to_owned(), path.into())),
        _ => Err("it is a release's name, `=`, and the path of a chart"),
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    if arguments.store {
        return store(arguments);
    }
    let (forecasts, is_complete) = match foretell(arguments) {
        Ok(Foretold { forecasts, is_complete, .. }) => (forecasts, is_complete),
        Err(Failure(reason)) => {
            complain(&reason);
            (Vec::new(), false)
        }
    };
    let summary = Summary::of(&forecasts);
    if !arguments.judge.output.quiet {
        let mut out = arguments.judge.output.stdout();
        written(arguments.judge.output.output.write(&mut out, &forecasts, is_complete).and_then(|()| out.flush()))?;
    }
    let denied = summary.flips + summary.denied;
    let fails = denied > 0 || (arguments.judge.fail_on == FailOn::Warn && summary.warned > 0);
    Ok(Outcome::of(is_complete && summary.not_forecastable == 0, fails))
}

/// The outcome of each release is in its report: the run itself has gone well where each has one that another run would not
/// better.
fn store(arguments: &Arguments) -> Result<Outcome, Failure> {
    let Some(api) = arguments.judge.output.output.api() else {
        return Err(Failure("--store goes with -o openreports or -o policyreport: it stores these reports".to_owned()));
    };
    let Foretold { forecasts, is_complete, are_all_listed, kubectl, folder } = foretell(arguments)?;
    let namespace = arguments.namespace();
    let store = Store { kubectl, api, scope: scope(namespace.as_deref()), shard: arguments.shard() };
    let mut done = store.store(&forecasts, &folder);
    if are_all_listed {
        store.remove_others(&forecasts, &mut done);
    } else {
        complain("reports of releases that are gone stay, for not all records could be listed");
    }
    let Done { stored, removed, is_complete: is_done } = done;
    if !arguments.judge.output.quiet {
        let mut out = arguments.judge.output.stdout();
        let summary = Summary::of(&forecasts);
        let line = writeln!(out, "{summary}\n{} stored, {removed} removed", counted(stored, "report"));
        written(line.and_then(|()| out.flush()))?;
    }
    let is_passing = |forecast: &Forecast| forecast.judged.as_ref().is_err_and(|trouble| trouble.is_passing);
    let is_well = is_complete && is_done && !forecasts.iter().any(is_passing);
    Ok(Outcome::of(is_well, false))
}

/// The forecasts, and whether they are all.
struct Foretold {
    /// In order.
    forecasts: Vec<Forecast>,
    /// All releases could be listed, and each chart that is given is that of one.
    is_complete: bool,
    /// All releases could be listed.
    are_all_listed: bool,
    kubectl: Kubectl,
    /// Empty now, and still the only one.
    folder: Folder,
}

fn scope(namespace: Option<&str>) -> Scope<'_> {
    namespace.map_or(Scope::AllNamespaces, Scope::Namespace)
}

fn foretell(arguments: &Arguments) -> Result<Foretold, Failure> {
    let mut judge = arguments.judge.resolve()?;
    let limit = Duration::from_secs(arguments.timeout);
    let (helm, kubectl) = (Helm::of_the_user().within(limit), Kubectl::within(limit));
    check_programs(&helm, kubectl)?;
    let namespace = arguments.namespace();
    let scope = scope(namespace.as_deref());
    let Releases { mut found, is_complete: are_all_listed } = arguments.releases(kubectl, scope)?;
    let mut is_complete = are_all_listed;
    let charts = arguments.charts()?;
    for name in charts.keys() {
        if !found.iter().any(|release| release.name == *name) {
            complain(&format!("--chart {name}=…: there is no release of that name here"));
            is_complete = false;
        }
    }
    let listed = found.len();
    found.retain(|release| arguments.shard().holds(&release.namespace, &release.name));
    let capabilities = kubectl.capabilities();
    if !arguments.judge.output.quiet {
        remark_what_is_assumed(&judge, capabilities.as_ref());
    }
    let folder = Folder::new().map_err(|error| {
        Failure(format!("there can be no private folder for the charts: {error}; TMPDIR can name another place"))
    })?;
    // Stored records are read within limits, for others wrote them; a render made here is judged whole.
    let next = Next { helm, kubectl, folder, capabilities, charts, limits: judge.settings.record_limits() };
    judge.settings = judge.settings.for_charts();
    let reading = Reading { kubectl, name: arguments.name.as_deref(), scope, listed };
    let mut forecasts = forecasts(&found, reading, &next, &judge);
    forecasts.sort_by_cached_key(Forecast::order);
    Ok(Foretold { forecasts, is_complete, are_all_listed, kubectl, folder: next.folder })
}

fn check_programs(helm: &Helm, kubectl: Kubectl) -> Result<(), Failure> {
    helm.check().map_err(|error| match error {
        HelmError::Missing => Failure("there is no `helm` on the PATH, which renders the stored charts".to_owned()),
        HelmError::TooSlow { .. } => Failure(format!("{error}; {WAITS_LONGER}")),
        error => Failure(error.to_string()),
    })?;
    kubectl.check().map_err(|error| Failure(with_remedy(&error)))
}

fn remark_what_is_assumed(judge: &Judge, capabilities: Option<&Capabilities>) {
    if capabilities.is_none() {
        remark("the cluster does not say its version: charts are rendered for the one that helm assumes");
    }
    if !judge.sees_cluster {
        remark("without --cluster no live object is looked up, only the records are compared");
    }
}

/// The releases that there are.
struct Releases {
    found: Vec<Installed>,
    /// All of them could be listed.
    is_complete: bool,
}

impl Releases {
    fn list(kubectl: Kubectl, name: Option<&str>, scope: Scope<'_>) -> Self {
        let namespace = match scope {
            Scope::AllNamespaces => None,
            Scope::Namespace(namespace) => Some(namespace),
        };
        let mut releases = Self { found: Vec::new(), is_complete: true };
        for storage in Storage::ALL {
            let listing = kubectl.table(storage, name, scope);
            if let Some(reason) = &listing.failure {
                complain(&if listing.is_too_slow { format!("{reason}; {WAITS_LONGER}") } else { reason.clone() });
                releases.is_complete = false;
            }
            releases.found.extend(installed(&String::from_utf8_lossy(&listing.printed), storage, namespace));
        }
        releases
    }
}

impl Arguments {
    fn releases(&self, kubectl: Kubectl, scope: Scope<'_>) -> Result<Releases, Failure> {
        let releases = Releases::list(kubectl, self.name.as_deref(), scope);
        if !releases.is_complete {
            let reason = not_all_listed(releases.found.is_empty(), scope);
            if releases.found.is_empty() {
                return Err(Failure(reason));
            }
            complain(&reason);
        } else if releases.found.is_empty() && self.shard.is_none() && !self.store {
            return Err(Failure(no_release(self.name.as_deref(), scope)));
        }
        Ok(releases)
    }

    /// `None` for all of them.
    fn namespace(&self) -> Option<String> {
        (!self.all_namespaces).then(|| namespace_in_use(self.namespace.as_deref()))
    }

    fn shard(&self) -> Shard {
        self.shard.unwrap_or(Shard::WHOLE)
    }

    /// The charts that are given, by the release's name.
    fn charts(&self) -> Result<BTreeMap<String, PathBuf>, Failure> {
        let mut charts = BTreeMap::new();
        for (name, path) in &self.chart {
            if charts.insert(name.clone(), path.clone()).is_some() {
                return Err(Failure(format!("--chart {name}=… is given twice")));
            }
        }
        Ok(charts)
    }
}

fn not_all_listed(is_empty: bool, scope: Scope<'_>) -> String {
    let without = if is_empty { "nothing can be foretold" } else { "some releases can be missing" };
    let hint = match scope {
        Scope::AllNamespaces => "with -n NS the right to list Secrets and ConfigMaps of one namespace is enough",
        Scope::Namespace(_) => "it takes the right to list its Secrets and ConfigMaps",
    };
    format!("{without}, for not all records could be listed; {hint}")
}

fn no_release(name: Option<&str>, scope: Scope<'_>) -> String {
    let release = name.map_or("release".to_owned(), |name| format!("release `{name}`"));
    let place = match scope {
        Scope::AllNamespaces => "in any namespace".to_owned(),
        Scope::Namespace(namespace) => format!("in `{namespace}`"),
    };
    format!("there is no {release} {place} that can be upgraded")
}

/// The upgrades are judged side by side, while further records are read: `helm` and `kubectl` take most of the time.
///
/// Each is rendered by itself. The name of a release is in every render of it, so that equal charts and equal values do not
/// make equal renders.
fn forecasts(releases: &[Installed], reading: Reading<'_>, next: &Next, judge: &Judge) -> Vec<Forecast> {
    // The results come at the end, so that the bar disturbs none.
    let mut progress = Progress::new(false);
    progress.releases(releases.len());
    let mut found = Vec::new();
    thread::scope(|scope| {
        let (sender, records) = mpsc::sync_channel(AHEAD);
        scope.spawn(move || {
            let releases: Vec<_> = releases.iter().collect();
            // The receiver outlives this thread, unless the program ends.
            reading.hand_out(&releases, |release, record| drop(sender.send((release, record))));
        });
        let foretell = |(release, record)| forecast(judge, release, record, next);
        as_they_come(records.into_iter(), foretell, |_, forecast| {
            found.push(forecast);
            progress.advance_to(found.len() as u64);
        });
    });
    progress.finish();
    found
}

/// Asks the rules about one upgrade.
fn forecast(judge: &Judge, release: &Installed, record: Record, next: &Next) -> Forecast {
    let Upgrade { chart, rendered } = next.of(release, record);
    let judged = rendered.and_then(|rendered| {
        let place = Place { file: release.record(), line: None };
        let judged = judge.verdict(
            &rendered.record,
            Some(&rendered.baseline),
            &judge.cluster,
            (release.record(), place.clone()),
        );
        let judged = judged.and_then(|judged| match judged.findings().iter().any(is_of_values) {
            true if next.is_given(release) => match next.again(release, &rendered) {
                Some(again) => judge.without_chance(judged, &rendered.record, again, &place),
                None => Ok(judged),
            },
            // The stored chart with the stored values renders other values by chance alone.
            true => Ok(judged.retaining(|finding| !is_of_values(finding))),
            false => Ok(judged),
        });
        // Another policy has settings of its own.
        let settings = judge.native_settings().ok().filter(|_| !next.is_given(release));
        let judged = judged.map(|judged| match settings {
            Some(settings) => judged.with_found(rendered.against_the_installed(&settings, next.limits)),
            None => judged,
        });
        let judged = judged.map_err(|reason| Trouble::new("it cannot be judged", reason))?;
        let judged = judged.in_templates(|object, path| rendered.template(object, path));
        Ok(if judge.sees_cluster { judged } else { judged.where_no_cluster_was_given() })
    });
    let Installed { namespace, name, storage, next: revision, .. } = release.clone();
    Forecast { namespace, name, storage, record: release.record(), chart, revision, judged }
}
