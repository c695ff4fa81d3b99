//! What Helm would store, and what it starts from: both as Helm itself tells.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::thread::{self, ScopedJoinHandle};

use helm::history;
use helm::operation::Operation;
use helm::record::Limits;
use helm::write::Revision;
use serde_json::{Value, json};
use stable_hooks_policy::shown::Shown;

use super::held::Held;
use crate::cli::outcome::{Failure, namespace_in_use, remark};
use crate::helm::Helm;
use crate::helm::releases::{NoAnswer, Refused, Row};
use crate::invocation::{Invocation, Verb};
use crate::records::StoredRecord;
use crate::render::Render;

/// What Helm is about to do.
pub(super) struct Planned {
    pub(super) record: StoredRecord,
    /// What it starts from; an install starts from nothing.
    pub(super) baseline: Option<StoredRecord>,
    /// The version of the chart that was found.
    pub(super) chart_version: Option<String>,
}

/// Why there is nothing to judge.
pub(super) enum NotPlanned {
    /// Helm refuses to do it, in its own words and with its own exit code.
    Refused(Refused),
    /// In words. What Helm has said to it can quote values, and goes nowhere else than to standard error.
    Unknown { reason: String, said: Vec<u8> },
}

/// Helm's answers, asked for at the same time.
struct Answers {
    planned: Result<Value, NoAnswer>,
    last: Result<Value, NoAnswer>,
}

/// What is asked of Helm.
pub(super) struct Asking<'a> {
    pub(super) helm: &'a Helm,
    pub(super) invocation: &'a Invocation,
    /// Rules that are accepted, by their labels.
    pub(super) accepted: &'a [String],
    pub(super) limits: Limits,
    /// What each run of Helm reads from its beginning.
    pub(super) inputs: &'a Held,
}

impl Asking<'_> {
    /// Asks Helm. Where somebody else has changed the release meanwhile it is asked once more.
    pub(super) fn planned(&self) -> Result<Planned, NotPlanned> {
        let once = || match self.invocation.verb {
            Verb::Install | Verb::Upgrade => self.dry_run(),
            Verb::Rollback => self.rollback().map(Some),
        };
        for _ in 0..2 {
            self.inputs.rewind().map_err(|Failure(reason)| unknown(reason))?;
            if let Some(planned) = once()? {
                return Ok(planned);
            }
        }
        Err(unknown("the release changes while it is judged: its history and Helm's dry run do not agree, twice"))
    }

    /// `None` where history and dry run do not agree.
    fn dry_run(&self) -> Result<Option<Planned>, NotPlanned> {
        let Answers { planned, last } = self.answers();
        let installs =
            self.invocation.verb == Verb::Install || last.as_ref().is_err_and(|error| error.says("release: not found"));
        let planned = match planned {
            Err(NoAnswer::Refused(refused)) if installs && lacks_crds(&refused) => return self.rendered().map(Some),
            Err(NoAnswer::Refused(Refused { said, .. })) if is_too_old(&said) => {
                let reason = "this Helm has no --dry-run=server: Helm 3.13 and later have it";
                return Err(NotPlanned::Unknown { reason: reason.to_owned(), said });
            }
            planned => planned.map_err(|error| refused(error, "Helm's dry run cannot be read"))?,
        };
        let text = |pointer| planned.pointer(pointer).and_then(Value::as_str);
        let chart_version = text("/chart/metadata/version").map(str::to_owned);
        let record = self.record(&planned)?;
        let Some(operation) = record.operation().filter(|_| text("/info/status").is_some_and(is_pending)) else {
            return Err(unknown("what Helm's dry run has printed is no release that is about to be made"));
        };
        if operation == Operation::Install {
            return Ok(Some(Planned { record, baseline: None, chart_version }));
        }
        let last = last.map_err(|error| no_history(&record, error))?;
        if version_of(&last).and_then(|last| last.checked_add(1)) != Some(record.version()) {
            return Ok(None);
        }
        let Some(baseline) = self.baseline(&record, operation, last)? else { return Ok(None) };
        let baseline = StoredRecord::of_json(&baseline, [], self.limits).map_err(|error| unknown(error.to_string()))?;
        Ok(Some(Planned { record, baseline: Some(baseline), chart_version }))
    }

    /// What Helm compares with. Only where the last revision is not deployed does it look further back.
    fn baseline(&self, record: &StoredRecord, operation: Operation, last: Value) -> Result<Option<Value>, NotPlanned> {
        if last.pointer("/info/status").and_then(Value::as_str) == Some("deployed") {
            return Ok(Some(last));
        }
        let rows = self.helm.history(record.release(), &self.invocation.global());
        let rows = rows.map_err(|error| no_history(record, error))?;
        let start = history::start_among(operation, rows, |row| row.revision, |row| row.status == "deployed");
        match start {
            Some(start) if version_of(&last) == Some(start.revision) => Ok(Some(last)),
            Some(start) => self.stored(record, start.revision).map(Some),
            None => Ok(None),
        }
    }

    /// An install whose CRDs are not there yet fails only in the dry run, for that installs none.
    fn rendered(&self) -> Result<Planned, NotPlanned> {
        let output = self.helm.rendered(&self.invocation.as_template(&["skip-crds"]));
        let output = output.map_err(|error| refused(error, "the render cannot be read"))?;
        remark(
            "the chart's CRDs are not in the cluster yet, so that Helm's dry run fails: what `helm template` renders is judged, \
             which sees nothing of the cluster",
        );
        let render = Render::read_from_helm(&output);
        let namespace = namespace_in_use(self.invocation.value("namespace"));
        let revision = Revision {
            name: self.invocation.release().unwrap_or("release-name"),
            namespace: &namespace,
            version: 1,
            status: "pending-install",
            chart: render.chart(),
            documents: &render.documents,
            templates: &BTreeMap::new(),
            apply_method: self.helm.apply_method(),
            dropped_hooks: None,
        };
        Ok(Planned { record: self.record(&revision.record())?, baseline: None, chart_version: None })
    }

    /// There is no dry run of a rollback that shows anything: it stores the revision that it goes back to once more.
    fn rollback(&self) -> Result<Planned, NotPlanned> {
        let (helm, global) = (self.helm, self.invocation.global());
        let Some(name) = self.invocation.release() else { return Err(unknown("no release is named")) };
        let why = |error| self.no_rollback(error);
        let history = helm.history(name, &global).map_err(why)?;
        let last = last_of(&history);
        let target = self.invocation.target().unwrap_or_else(|| last.saturating_sub(1));
        let (target_json, last_json) = thread::scope(|scope| {
            let target = scope.spawn(|| helm.stored(name, Some(target), &global));
            let last = helm.stored(name, Some(last), &global);
            (joined(target), last)
        });
        let (mut planned, baseline) = (target_json.map_err(why)?, last_json.map_err(why)?);
        if let Some(planned) = planned.as_object_mut() {
            planned.insert("version".to_owned(), last.saturating_add(1).into());
            let info = json!({"status": "pending-rollback", "description": format!("Rollback to {target}")});
            planned.insert("info".to_owned(), info);
        }
        let baseline = StoredRecord::of_json(&baseline, [], self.limits).map_err(|error| unknown(error.to_string()))?;
        Ok(Planned { record: self.record(&planned)?, baseline: Some(baseline), chart_version: None })
    }

    /// What cannot be read Helm cannot go back to, and its dry run says so in the rollback's own words.
    fn no_rollback(&self, error: NoAnswer) -> NotPlanned {
        let dry = |value| self.helm.planned(&self.invocation.with(&[("dry-run", value)])).err();
        // Of Helm 3's rollback the flag takes no value, and of Helm 4's it warns without one.
        let said = dry(Some("client")).filter(|error| !error.says("invalid argument")).or_else(|| dry(None));
        refused(said.filter(NoAnswer::is_refusal).unwrap_or(error), "what is installed cannot be read")
    }

    fn answers(&self) -> Answers {
        let (helm, global) = (self.helm, self.invocation.global());
        let words = self.invocation.with(&[("dry-run", Some("server")), ("output", Some("json"))]);
        // What is installed is nothing to an install.
        let name = self.invocation.release().filter(|_| self.invocation.verb == Verb::Upgrade);
        let plan = || helm.planned(&words);
        // The first Helm that asks makes the tables of an empty database; of two that make them at once one fails.
        let first = is_database().then(plan);
        thread::scope(|scope| {
            let last = name.map(|name| scope.spawn(|| helm.stored(name, None, &global)));
            let planned = first.unwrap_or_else(plan);
            Answers { planned, last: last.map_or(Err(NoAnswer::Format), joined) }
        })
    }

    fn stored(&self, record: &StoredRecord, revision: u64) -> Result<Value, NotPlanned> {
        let stored = self.helm.stored(record.release(), Some(revision), &self.invocation.global());
        stored.map_err(|error| no_history(record, error))
    }

    /// The record as the cluster would get it, with the labels that the words and the accepted rules give it.
    fn record(&self, release: &Value) -> Result<StoredRecord, NotPlanned> {
        let revision = version_of(release).unwrap_or_default().to_string();
        let accepted = self.accepted.iter().map(|label| (label.as_str(), revision.as_str()));
        let given: Vec<_> = self.invocation.labels().collect();
        // Of two with one key Helm takes the last.
        let labels = accepted.chain(given.into_iter().rev());
        StoredRecord::of_json(release, labels, self.limits).map_err(|error| unknown(error.to_string()))
    }
}

/// Helm keeps its records in SQL.
fn is_database() -> bool {
    env::var_os("HELM_DRIVER").is_some_and(|driver| driver == "sql")
}

fn is_pending(status: &str) -> bool {
    Operation::of_status(status).is_some()
}

fn last_of(rows: &[Row]) -> u64 {
    rows.iter().map(|row| row.revision).max().unwrap_or_default()
}

fn version_of(release: &Value) -> Option<u64> {
    release.get("version")?.as_u64()
}

fn unknown(reason: impl Into<String>) -> NotPlanned {
    NotPlanned::Unknown { reason: reason.into(), said: Vec::new() }
}

/// As the API server's client says it.
fn lacks_crds(refused: &Refused) -> bool {
    String::from_utf8_lossy(&refused.said).contains("ensure CRDs are installed first")
}

/// Until Helm 3.13 this flag was a switch.
fn is_too_old(said: &[u8]) -> bool {
    String::from_utf8_lossy(said).contains(r#"invalid argument "server" for "--dry-run" flag"#)
}

/// Helm's refusal is its own; that its answer cannot be read is not.
fn refused(error: NoAnswer, what: &str) -> NotPlanned {
    match error {
        NoAnswer::Refused(refused) => NotPlanned::Refused(refused),
        NoAnswer::Helm(error) => unknown(error.to_string()),
        NoAnswer::Format => unknown(what),
    }
}

/// Without what is installed an upgrade is not judged.
fn no_history(record: &StoredRecord, error: NoAnswer) -> NotPlanned {
    let said = match error {
        NoAnswer::Refused(Refused { said, .. }) => said,
        NoAnswer::Helm(_) | NoAnswer::Format => Vec::new(),
    };
    let name = format!("{}/{}", Shown(record.namespace()), Shown(record.release()));
    NotPlanned::Unknown {
        reason: format!("what is installed of {name} cannot be read, which the upgrade is compared with"),
        said,
    }
}

fn joined<T>(thread: ScopedJoinHandle<'_, Result<T, NoAnswer>>) -> Result<T, NoAnswer> {
    thread.join().unwrap_or(Err(NoAnswer::Format))
}

/// What Helm says with which words it is run at the end: as given, with the labels that accept, and the chart that was judged.
pub(super) fn final_words(invocation: &Invocation, planned: &Planned, accepted: &[String]) -> Vec<OsString> {
    let revision = planned.record.version();
    let labels: Vec<_> = accepted.iter().map(|label| format!("{label}={revision}")).collect();
    let mut given: Vec<_> = labels.iter().map(|label| ("labels", Some(label.as_str()))).collect();
    if let Some(version) = planned.chart_version.as_deref().filter(|_| floats(invocation)) {
        given.push(("version", Some(version)));
    }
    if given.is_empty() { invocation.words().to_vec() } else { invocation.with(&given) }
}

/// Helm looks for the chart in a repository, where another version can be the newest one a moment later.
fn floats(invocation: &Invocation) -> bool {
    let Some(chart) = invocation.chart().and_then(|chart| chart.to_str()) else { return false };
    let is_named = |chart: &str| !chart.contains("://") && !std::path::Path::new(chart).exists();
    let is_tagged = chart.rsplit('/').next().is_some_and(|name| name.contains([':', '@']));
    invocation.value("repo").is_some() || (chart.starts_with("oci://") && !is_tagged) || is_named(chart)
}
