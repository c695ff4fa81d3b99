//! Judges a release at the one moment when nothing of it has been touched: when Helm writes its record.

use crate::cluster::{Cluster, Lookup, Query};
use crate::finding::{Finding, Problem, ReleaseProblem};
use crate::request::{Storage, StoredRelease};
use crate::rule::{Level, Mending, RuleId};
use crate::rules;
use crate::rules::declare::{Check, Reach};
use crate::selector::Standing;
use crate::settings::{BaselineSource, Scope, Settings, Strictness};
use crate::shown::Shown;
use crate::subject::release::{ACCEPT_LABEL, Release, Stored};
use crate::verdict::{Decision, Verdict, decide};
use helm::operation::Operation;
use helm::record::{self, DecodeError, Record};

/// The verdict on a record that is being created; one of an operation that is over is allowed unread.
pub(crate) fn judge(stored: &StoredRelease, settings: &Settings, cluster: &dyn Cluster) -> Verdict {
    let Some(operation) = stored.label("status").and_then(Operation::of_status) else {
        return Verdict::allow();
    };
    match decode(stored, settings) {
        Ok(record) => judge_record(&record, operation, stored, settings, cluster),
        Err(error) => {
            let reason = format!("the release record cannot be read, so the release was not judged: {error}");
            unjudged(reason, strictness(settings.releases.undecodable, operation, settings))
        }
    }
}

fn judge_record(
    record: &Record,
    operation: Operation,
    stored: &StoredRelease,
    settings: &Settings,
    cluster: &dyn Cluster,
) -> Verdict {
    let namespace = stored.namespace().unwrap_or(&record.namespace);
    let (baseline, mut notes, failure) = match (settings.releases.baseline, operation) {
        (BaselineSource::Live, _) | (_, Operation::Install) => (None, Vec::new(), None),
        (BaselineSource::Record, _) => {
            match find_baseline(record, operation, stored.storage, namespace, settings, cluster) {
                Ok(Some(baseline)) => (Some(baseline), Vec::new(), None),
                Ok(None) => (None, vec!["no earlier record of the release was found to compare with".to_owned()], None),
                Err(reason) => {
                    let kind = stored.storage.kind();
                    let failure = format!("no earlier record (a {kind}) could be compared with: {reason}");
                    (None, Vec::new(), Some(failure))
                }
            }
        }
    };
    let compared_with = match &baseline {
        Some(Baseline { revision, status, .. }) => {
            format!("revision {revision} ({}) and the live objects", Shown(status))
        }
        None => "the live objects".to_owned(),
    };
    let baseline = baseline.map(|baseline| baseline.record);
    let accepted_revision = stored.label(ACCEPT_LABEL);
    let stored = Stored { record, namespace, operation, accepted_revision };
    let (release, failures) = Release::prepare(&stored, baseline.as_ref(), settings, cluster);
    let failures: Vec<_> = failure.into_iter().chain(failures).collect();
    let on_failure = strictness(settings.releases.on_lookup_failure, operation, settings);
    if let (Some(first), Strictness::Deny) = (failures.first(), on_failure) {
        return unjudged(format!("the release cannot be judged completely: {first}"), Strictness::Deny);
    }
    notes.extend(failures);
    Verdict { baseline: Some(compared_with), ..decide(check(&release), notes) }
}

/// An earlier record of the release.
struct Baseline {
    record: Record,
    revision: u64,
    /// As its label says it.
    status: String,
}

/// The highest deployed revision, else the last one; for a rollback the last one.
fn find_baseline(
    record: &Record,
    operation: Operation,
    storage: Storage,
    namespace: &str,
    settings: &Settings,
    cluster: &dyn Cluster,
) -> Result<Option<Baseline>, &'static str> {
    let get = |revision: u64, metadata_only| {
        let name = format!("sh.helm.release.v1.{}.v{revision}", record.name);
        let query = Query { api_version: "v1", kind: storage.kind(), namespace, name: &name, metadata_only };
        cluster.get(&query)
    };
    let mut last = None;
    let most = usize::try_from(settings.releases.limits.revisions).unwrap_or(usize::MAX);
    for revision in (1..record.version).rev().take(most) {
        match get(revision, true) {
            Lookup::Found(found) => {
                last.get_or_insert(revision);
                let is_deployed = StoredRelease::found(storage, found).label("status") == Some("deployed");
                if is_deployed || operation == Operation::Rollback {
                    last = Some(revision);
                    break;
                }
            }
            Lookup::NotFound => {}
            Lookup::Unavailable(reason) => return Err(reason),
        }
    }
    let Some(revision) = last else { return Ok(None) };
    match get(revision, false) {
        Lookup::Found(found) => {
            let stored = StoredRelease::found(storage, found);
            let record = decode(&stored, settings).map_err(|_| "the earlier record cannot be read")?;
            let status = stored.label("status").unwrap_or("no status").to_owned();
            Ok(Some(Baseline { record, revision, status }))
        }
        Lookup::NotFound => Ok(None),
        Lookup::Unavailable(reason) => Err(reason),
    }
}

fn decode(stored: &StoredRelease, settings: &Settings) -> Result<Record, DecodeError> {
    let data = stored.data().unwrap_or_default();
    let inflated_bytes = usize::try_from(settings.releases.limits.inflated_bytes).unwrap_or(usize::MAX);
    let limits = record::Limits { inflated_bytes };
    match stored.storage {
        Storage::Secret => record::decode_secret(data, &limits),
        Storage::ConfigMap => record::decode_config_map(data, &limits),
    }
}

/// A rollback may be somebody's only way out.
fn strictness(set: Strictness, operation: Operation, settings: &Settings) -> Strictness {
    let is_lenient = operation == Operation::Rollback && settings.releases.rollback == Strictness::Warn;
    if is_lenient { Strictness::Warn } else { set }
}

fn unjudged(reason: String, strictness: Strictness) -> Verdict {
    match strictness {
        Strictness::Warn => Verdict { notes: vec![reason], ..Verdict::allow() },
        Strictness::Deny => Verdict { decision: Decision::Refuse(reason), ..Verdict::allow() },
    }
}

/// Every finding about a release, in the order of the registry.
fn check(release: &Release<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for id in RuleId::ALL {
        let level = release.settings.level(*id);
        if level == Level::Off {
            continue;
        }
        let Check::Release(check, reach) = rules::check(*id) else { continue };
        for found in check(release) {
            let Some(may_deny) = may_deny(release, reach, &found) else { continue };
            let ReleaseProblem { object, problem: Problem { path, message, help, warn_at_most, .. }, .. } = found;
            let may_deny = may_deny && !warn_at_most && !release.is_lenient();
            let Some(effect) = level.effect(may_deny, Mending::Impossible) else { continue };
            findings.push(Finding { rule: *id, effect, object, path, message, help, edits: Vec::new() });
        }
    }
    findings
}

/// Whether a rule of that reach may deny for such an object; `None` where it says nothing about it.
fn may_deny(release: &Release<'_>, reach: Reach, found: &ReleaseProblem) -> Option<bool> {
    match (found.standing, reach) {
        (Standing::OptedOut, _) | (Standing::Other, Reach::Migrations) => None,
        (standing, Reach::Scope) => {
            let may_deny = !release.is_flip_accepted;
            let of_judged_kind = |may_deny| found.object.judged_kind().map(|_| may_deny);
            match release.settings.releases.scope {
                Scope::All => Some(may_deny),
                Scope::JobsAndServiceAccounts => of_judged_kind(may_deny),
                Scope::Selected if standing == Standing::Migration => Some(may_deny),
                Scope::Selected => of_judged_kind(false),
            }
        }
        (Standing::Other, Reach::WarnsOfOthers) => Some(false),
        (Standing::Migration, Reach::WarnsOfOthers | Reach::Migrations) | (_, Reach::Everything) => Some(true),
    }
}
