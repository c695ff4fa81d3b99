//! Judges a release at the one moment when nothing of it has been touched: when Helm writes its record.

use std::collections::BTreeSet;
use std::fmt;

use crate::cluster::{Cluster, Lookup, Query, Unavailable};
use crate::finding::{Finding, ReleaseProblem};
use crate::note::{Note, NoteKind};
use crate::request::StoredRelease;
use crate::rule::{Effect, Level, Mending, RuleId};
use crate::rules;
use crate::rules::declare::{Check, Reach};
use crate::selector::Standing;
use crate::settings::{BaselineSource, Scope, Settings, Strictness};
use crate::shown::Shown;
use crate::subject::release::{Release, Stored};
use crate::verdict::{Decision, Found, Recorded, Verdict, decide};
use helm::operation::Operation;
use helm::record::{self, DecodeError, Record};
use helm::{history, storage};

/// The verdict on a record that is being created; one of an operation that is over is allowed unread.
pub(crate) fn judge(stored: &StoredRelease, settings: &Settings, cluster: &dyn Cluster) -> Verdict {
    match stored.label("status").and_then(Operation::of_status) {
        Some(operation) => Preflight { stored, operation, settings, cluster }.judge(),
        None => Verdict::allow(),
    }
}

const OF_NELM: &str =
    "nelm (werf) has written the release record, and not Helm, whose rules these are, so the release was not judged";

/// A record that is being created, and what it is judged with.
struct Preflight<'a> {
    stored: &'a StoredRelease,
    operation: Operation,
    settings: &'a Settings,
    cluster: &'a dyn Cluster,
}

/// An earlier record of the release.
struct Baseline {
    record: Record,
    revision: u64,
    /// As its label says it.
    status: String,
}

impl Preflight<'_> {
    fn judge(&self) -> Verdict {
        match self.decode(self.stored) {
            Ok(record) if record.is_of_nelm() => {
                let note = Note::new(NoteKind::OtherTool, OF_NELM);
                Verdict { notes: vec![note], ..Verdict::allow() }
            }
            Ok(record) => self.judge_record(&record),
            Err(error) => {
                let reason = format!("the release record cannot be read, so the release was not judged: {error}");
                let note = Note::new(NoteKind::NotRead, reason);
                let named = self.named_by_labels();
                match self.strictness(self.settings.releases.undecodable, named) {
                    Strictness::Warn => Verdict { notes: vec![note], ..Verdict::allow() },
                    Strictness::Deny => refused(named, note),
                }
            }
        }
    }

    fn judge_record(&self, record: &Record) -> Verdict {
        let namespace = self.stored.namespace().unwrap_or(&record.namespace);
        let (mut notes, mut failures) = (Vec::new(), Vec::new());
        let baseline = match self.find_baseline(record, namespace) {
            Ok(baseline) => baseline,
            Err(note) => {
                // A release that has no earlier record is no failed lookup.
                let list = if note.kind == NoteKind::NoBaseline { &mut notes } else { &mut failures };
                list.push(note);
                None
            }
        };
        let compared_with = match &baseline {
            Some(Baseline { revision, status, .. }) => {
                format!("revision {revision} ({}) and the live objects", Shown(status))
            }
            None => "the live objects".to_owned(),
        };
        let baseline = baseline.map(|baseline| baseline.record);
        let stored = Stored { record, namespace, operation: self.operation, told: self.stored.told };
        let (release, not_known) = Release::prepare(&stored, baseline.as_ref(), self.settings, self.cluster);
        failures.extend(not_known);
        let named = Named { namespace, name: &record.name, revision: record.version };
        let on_failure = self.strictness(self.settings.releases.on_lookup_failure, Some(named));
        if let (Some(first), Strictness::Deny) = (failures.first(), on_failure) {
            let reason = format!("the release cannot be judged completely: {}", first.message);
            return refused(Some(named), Note::new(first.kind, reason));
        }
        notes.extend(failures);
        let found = check(&release, |rule| self.accepts(rule, named));
        notes.extend(found.notes);
        let recorded = Recorded {
            name: named.to_string(),
            revision: record.version,
            baseline: compared_with,
            takes_labels: self.takes_labels(&release),
        };
        Verdict { release: Some(recorded), ..decide(Found { notes, ..found }) }
    }

    /// As Helm's labels of the record name it: of one that cannot be read they are all there is.
    fn named_by_labels(&self) -> Option<Named<'_>> {
        let revision = self.stored.label("version")?.parse().ok()?;
        Some(Named { namespace: self.stored.namespace()?, name: self.stored.label("name")?, revision })
    }

    /// Somebody has accepted what this rule finds in this revision.
    fn accepts(&self, rule: RuleId, Named { namespace, name, revision }: Named<'_>) -> bool {
        let releases = &self.settings.releases;
        let label = rule.accept_label().filter(|_| releases.accept_label);
        let labelled = label.and_then(|label| self.stored.label(&label)) == Some(revision.to_string().as_str());
        labelled || releases.accepts(namespace, name, revision, Some(rule))
    }

    /// `helm rollback` has no flag for labels, and where records are stored apart it is Flux that upgrades.
    fn takes_labels(&self, release: &Release<'_>) -> bool {
        self.settings.releases.accept_label && self.operation != Operation::Rollback && !release.is_stored_apart()
    }

    /// The record that this one is compared with, if the settings ask for one; the note says why there is none.
    fn find_baseline(&self, record: &Record, namespace: &str) -> Result<Option<Baseline>, Note> {
        if self.settings.releases.baseline == BaselineSource::Live || self.operation == Operation::Install {
            return Ok(None);
        }
        let storage = self.stored.storage;
        let not_compared = |kind, reason: &dyn fmt::Display| {
            Note::new(kind, format!("no earlier record (a {}) could be compared with: {reason}", storage.kind()))
        };
        let not_looked_up = |reason: Unavailable| not_compared(reason.note_kind(), &reason);
        let most = usize::try_from(self.settings.releases.limits.revisions).unwrap_or(usize::MAX);
        let newest_first = (1..record.version).rev().take(most).filter_map(|revision| {
            match self.look_up(record, namespace, revision, true) {
                Lookup::Found(found) => Some(Ok((revision, StoredRelease::found(storage, found)))),
                Lookup::NotFound => None,
                Lookup::Unavailable(reason) => Some(Err(reason)),
            }
        });
        let is_deployed = |(_, stored): &(u64, StoredRelease)| stored.label("status") == Some("deployed");
        let start = history::start(self.operation, newest_first, is_deployed).map_err(not_looked_up)?;
        let found = start.map(|(revision, _)| (revision, self.look_up(record, namespace, revision, false)));
        match found {
            Some((revision, Lookup::Found(found))) => {
                let stored = StoredRelease::found(storage, found);
                let status = stored.label("status").unwrap_or("no status").to_owned();
                let record = self.decode(&stored);
                let record =
                    record.map_err(|_| not_compared(NoteKind::NotRead, &"the earlier record cannot be read"))?;
                Ok(Some(Baseline { record, revision, status }))
            }
            Some((_, Lookup::Unavailable(reason))) => Err(not_looked_up(reason)),
            Some((_, Lookup::NotFound)) | None => {
                Err(Note::new(NoteKind::NoBaseline, "no earlier record of the release was found to compare with"))
            }
        }
    }

    fn look_up(&self, record: &Record, namespace: &str, revision: u64, metadata_only: bool) -> Lookup {
        let name = storage::record_name(&record.name, revision);
        let kind = self.stored.storage.kind();
        self.cluster.get(&Query { api_version: "v1", kind, namespace, name: &name, metadata_only })
    }

    fn decode(&self, stored: &StoredRelease) -> Result<Record, DecodeError> {
        let inflated_bytes = usize::try_from(self.settings.releases.limits.inflated_bytes).unwrap_or(usize::MAX);
        stored.storage.decode(stored.data().unwrap_or_default(), record::Limits { inflated_bytes })
    }

    /// The strictness as it is set; it only warns of rollbacks where the settings say so for them, and of a revision that
    /// an administrator has accepted.
    fn strictness(&self, set: Strictness, named: Option<Named<'_>>) -> Strictness {
        let releases = &self.settings.releases;
        let is_accepted =
            named.is_some_and(|Named { namespace, name, revision }| releases.accepts(namespace, name, revision, None));
        if is_accepted || releases.is_lenient(self.operation) { Strictness::Warn } else { set }
    }
}

/// One revision of a release, in the namespace of its records.
#[derive(Clone, Copy)]
struct Named<'a> {
    namespace: &'a str,
    name: &'a str,
    revision: u64,
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Shown(self.namespace), Shown(self.name))
    }
}

const PAGE: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/troubleshooting.md#in-denials");

/// A record that its labels do not name cannot be accepted.
fn refused(named: Option<Named<'_>>, note: Note) -> Verdict {
    let reason = &note.message;
    let reason = match named {
        Some(named @ Named { revision, .. }) => format!(
            "revision {revision} of {named} was not recorded, and no object of it was touched\n{reason}.\nAn administrator lets \
             all of that revision pass, unjudged, with `releases.accept: [\"{named}@{revision}\"]`.\n{PAGE}"
        ),
        None => format!("the record was not stored: {reason}\n{PAGE}"),
    };
    Verdict { decision: Decision::Refuse(reason), notes: vec![note], ..Verdict::allow() }
}

/// Every finding about a release, in the order of the registry.
fn check(release: &Release<'_>, is_accepted: impl Fn(RuleId) -> bool) -> Found {
    let (mut findings, mut ignored) = (Vec::new(), Vec::new());
    for id in RuleId::ALL {
        let level = release.settings.level(*id);
        if level == Level::Off {
            continue;
        }
        let Check::Release(check, reach) = rules::check(*id) else { continue };
        let problems = check(release);
        let is_accepted = !problems.is_empty() && is_accepted(*id);
        for found in problems {
            let Some(may_deny) = may_deny(release, (*id, reach), &found) else { continue };
            let ReleaseProblem { object, problem, .. } = found;
            let may_deny = may_deny && !problem.warn_at_most && !release.is_lenient() && !is_accepted;
            let Some(effect) = level.effect(may_deny, Mending::Impossible) else { continue };
            let list = if release.record.ignores(&object, *id) { &mut ignored } else { &mut findings };
            list.push(problem.found(*id, effect, object));
        }
    }
    Found { findings: without_echoes(findings), ignored, notes: release.record.notes_on_ignored() }
}

/// A finding says nothing new where another one about the same object is mended by the same change.
fn without_echoes(mut findings: Vec<Finding>) -> Vec<Finding> {
    for (echo, voice) in ECHOES {
        let voices = findings.iter().filter(|finding| finding.rule == voice);
        let said: BTreeSet<_> = voices.map(|finding| finding.object.clone()).collect();
        // What denies is never left out.
        findings.retain(|finding| {
            finding.rule != echo || finding.effect == Effect::Deny || !said.contains(&finding.object)
        });
    }
    findings
}

/// Rules, each with the one whose remedy mends what it finds too.
const ECHOES: [(RuleId, RuleId); 3] = [
    (RuleId::ConditionalHookTemplate, RuleId::ReleaseIdentityFlip),
    (RuleId::OneSidedHook, RuleId::ReleaseIdentityFlip),
    (RuleId::HookLogRetention, RuleId::HookNeverDeleted),
];

/// Whether a rule of that reach may deny for such an object; `None` where it says nothing about it.
fn may_deny(release: &Release<'_>, (rule, reach): (RuleId, Reach), found: &ReleaseProblem) -> Option<bool> {
    match (found.standing, reach) {
        (Standing::OptedOut, _) if rule.is_its_owners_matter() => None,
        (Standing::OptedOut | Standing::Other, Reach::Migrations) => None,
        (standing, Reach::Scope) => {
            let of_judged_kind = |may_deny| found.object.judged_kind().map(|_| may_deny);
            match release.settings.releases.scope {
                Scope::All => Some(true),
                Scope::JobsAndServiceAccounts => of_judged_kind(true),
                Scope::Selected if standing == Standing::Migration => Some(true),
                Scope::Selected => of_judged_kind(false),
            }
        }
        (Standing::OptedOut | Standing::Other, Reach::WarnsOfOthers) => Some(false),
        (Standing::Migration, Reach::WarnsOfOthers | Reach::Migrations) | (_, Reach::Everything) => Some(true),
    }
}
