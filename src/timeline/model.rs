//! A timeline and its parts.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use helm::operation::Operation;
use serde::Serialize;
use stable_hooks_policy::RuleId;
use stable_hooks_policy::name::Name;
use stable_hooks_policy::shown::Shown;

use crate::judged::{Finding, Level};

/// A revision, beside the one before it.
pub(crate) struct Timeline {
    pub(crate) release: String,
    pub(crate) namespace: String,
    /// `None` where there is nothing to compare with.
    pub(crate) before: Option<Side>,
    pub(crate) after: Side,
    /// The findings of both sides, each once. Entries name them by their place, from 1.
    pub(crate) findings: Vec<Finding>,
    /// Texts about what could not be judged.
    pub(crate) notes: Vec<String>,
}

/// One revision, or one text in git: what brings it about, if all goes well.
pub(crate) struct Side {
    pub(crate) act: Act,
    /// Those in which something happens, in time.
    pub(crate) phases: Vec<Phase>,
    pub(crate) needs: Vec<Need>,
}

/// What brings a side about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    Helm {
        operation: Operation,
        revision: u64,
    },
    /// A sync of Argo CD, as it is called.
    Sync(&'static str),
}

pub(crate) struct Phase {
    pub(crate) stage: Stage,
    pub(crate) lanes: Vec<Lane>,
}

/// When in an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stage {
    PreHooks,
    /// By hook-succeeded, when all hooks of the event have run.
    PreHooksDeleted,
    Resources,
    /// The objects that were in the manifest before and are not any more.
    Pruned,
    PostHooks,
    PostHooksDeleted,
}

/// Entries that Helm handles together.
pub(crate) struct Lane {
    pub(crate) of: LaneOf,
    /// In Helm's order.
    pub(crate) entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LaneOf {
    /// Hooks run by weight.
    Weight(i64),
    /// Resources are created and deleted kind by kind.
    Kind(String),
}

/// One thing that happens to one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Entry {
    pub(crate) object: Name,
    /// From the chart's name on; empty where it is not said.
    pub(crate) template: String,
    /// The object that is deleted so that this can happen, or by this.
    pub(crate) deletes: Option<Deleted>,
    /// Why the object that is there stays.
    pub(crate) leaves: Option<Left>,
    /// The numbers of the findings that bite here.
    pub(crate) findings: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Deleted {
    /// before-hook-creation: what the hook left when it ran before.
    LastRun,
    /// before-hook-creation, but what lies there is a resource.
    Resource,
    /// It is pruned, though a hook of this very operation has just made it.
    MadeByHook,
}

/// Why Argo CD leaves what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Left {
    /// The delete policy leaves a Job, whose old run counts.
    LastRun,
    /// The old run of a resource counts for the hook.
    Resource,
    /// A live hook is not compared with git.
    Hook,
    /// What is there cannot be changed, and the sync fails.
    Fails,
}

/// An object that a hook needs before it can start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Need {
    pub(crate) hook: Name,
    pub(crate) object: Name,
    /// The field of the hook that says so.
    pub(crate) field: String,
    /// The object comes too late: a finding says so.
    pub(crate) late: bool,
}

/// The findings about each object, with their numbers.
type Bites<'a> = BTreeMap<&'a Name, Vec<(usize, &'a Finding)>>;

impl Timeline {
    /// Puts the findings of each side where they bite.
    pub(crate) fn new(
        release: String,
        namespace: String,
        before: Option<(Side, Vec<Finding>)>,
        after: (Side, Vec<Finding>),
    ) -> Self {
        let (mut findings, mut notes, mut numbers) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut marked = |(mut side, found): (Side, Vec<Finding>)| {
            let mut bites = Bites::new();
            for finding in &found {
                if finding.rule.is_none() {
                    if !notes.contains(&finding.message) {
                        notes.push(finding.message.clone());
                    }
                    continue;
                }
                let number = *numbers.entry(finding.clone()).or_insert_with(|| {
                    findings.push(finding.clone());
                    findings.len()
                });
                bites.entry(&finding.object).or_default().push((number, finding));
            }
            side.mark(&bites);
            side
        };
        let (before, after) = (before.map(&mut marked), marked(after));
        Self { release, namespace, before, after, findings, notes }
    }

    pub(crate) fn title(&self) -> String {
        let side = |side: &Side| match &side.act {
            Act::Helm { operation, revision } => format!("{} (revision {revision})", operation.as_str()),
            Act::Sync(name) => format!("Argo CD's {name}"),
        };
        let before = self.before.as_ref().map(|before| format!("{}, then ", side(before))).unwrap_or_default();
        format!("{} in {}: {before}{}", Shown(&self.release), Shown(&self.namespace), side(&self.after))
    }

    /// The names of the sides: Helm's operations, if those tell them apart, else the revisions.
    pub(crate) fn labels(&self) -> (Option<String>, String) {
        let after = self.after.act.name();
        let is_clear = self.before.as_ref().is_none_or(|before| before.act.name() != after);
        let label = |side: &Side| match side.act.revision() {
            Some(revision) if !is_clear => format!("revision {revision}"),
            _ => side.act.name().to_owned(),
        };
        (self.before.as_ref().map(label), label(&self.after))
    }

    pub(crate) fn denied(&self, number: usize) -> bool {
        let finding = number.checked_sub(1).and_then(|place| self.findings.get(place));
        finding.is_some_and(|finding| finding.level == Level::Deny)
    }

    /// An object as the timeline of its release shows it: what is said of the release is not said again.
    pub(crate) fn name(&self, object: &Name) -> String {
        let apart = if object.namespace == self.namespace { "" } else { &object.namespace };
        let slash = if apart.is_empty() { "" } else { "/" };
        let name = if object.name.is_empty() { "(no name)" } else { &object.name };
        format!("{apart}{slash}{name}")
    }
}

impl Act {
    /// The operation's name, or the sync's.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Helm { operation, .. } => operation.as_str(),
            Self::Sync(name) => name,
        }
    }

    /// The number that orders what happens in it.
    pub(crate) fn rank(&self) -> &'static str {
        match self {
            Self::Helm { .. } => "weight",
            Self::Sync(_) => "wave",
        }
    }

    /// The revision; a sync makes none.
    pub(crate) fn revision(&self) -> Option<u64> {
        match self {
            Self::Helm { revision, .. } => Some(*revision),
            Self::Sync(_) => None,
        }
    }
}

impl Side {
    pub(crate) fn entries(&self) -> impl Iterator<Item = (Stage, &Entry)> {
        self.phases
            .iter()
            .flat_map(|phase| phase.lanes.iter().map(move |lane| (phase.stage, lane)))
            .flat_map(|(stage, lane)| lane.entries.iter().map(move |entry| (stage, entry)))
    }

    /// Puts each finding where it bites.
    fn mark(&mut self, bites: &Bites<'_>) {
        for need in &mut self.needs {
            let mut of_hook = bites.get(&need.hook).into_iter().flatten();
            need.late |= of_hook.any(|(_, finding)| {
                let needs = finding.needs.as_ref();
                needs.is_some_and(|needs| needs.object == need.object && needs.field == need.field)
            });
        }
        let is_deleted_after = |stage| matches!(stage, Stage::PreHooksDeleted | Stage::PostHooksDeleted);
        let deleted = self.entries().filter(|(stage, _)| is_deleted_after(*stage));
        let deleted: BTreeSet<_> = deleted.map(|(_, entry)| entry.object.clone()).collect();
        for phase in &mut self.phases {
            let stage = phase.stage;
            for entry in phase.lanes.iter_mut().flat_map(|lane| &mut lane.entries) {
                for (number, finding) in bites.get(&entry.object).into_iter().flatten() {
                    let takes_logs = finding.is_of(RuleId::HookLogRetention) && deleted.contains(&entry.object);
                    let bites_here = match stage {
                        Stage::PreHooksDeleted | Stage::PostHooksDeleted => takes_logs,
                        // Only a flip deletes what should stay.
                        Stage::Pruned => finding.is_of(RuleId::ReleaseIdentityFlip),
                        Stage::PreHooks | Stage::Resources | Stage::PostHooks => !takes_logs,
                    };
                    if bites_here {
                        entry.findings.push(*number);
                    }
                }
                entry.findings.sort_unstable();
            }
        }
    }
}

impl Stage {
    pub(crate) fn is_hooks(self) -> bool {
        matches!(self, Self::PreHooks | Self::PostHooks)
    }

    pub(crate) fn is_deletion(self) -> bool {
        matches!(self, Self::PreHooksDeleted | Self::Pruned | Self::PostHooksDeleted)
    }

    /// The stage in words, as part of an operation or of a sync.
    pub(crate) fn title(self, act: &Act) -> String {
        match (self, act) {
            (Self::PreHooks, Act::Helm { operation, .. }) => format!("{} hooks", operation.pre().as_str()),
            (Self::PostHooks, Act::Helm { operation, .. }) => format!("{} hooks", operation.post().as_str()),
            (Self::PreHooksDeleted | Self::PostHooksDeleted, _) => "deleted: hook-succeeded".to_owned(),
            (Self::Resources, Act::Helm { .. }) => "resources".to_owned(),
            (Self::Pruned, Act::Helm { .. }) => "pruned: not in the manifest any more".to_owned(),
            (Self::PreHooks, Act::Sync(_)) => "PreSync".to_owned(),
            (Self::Resources, Act::Sync(_)) => "Sync".to_owned(),
            (Self::PostHooks, Act::Sync(_)) => "PostSync".to_owned(),
            (Self::Pruned, Act::Sync(_)) => "pruned where pruning is on: not in git any more".to_owned(),
        }
    }
}

impl fmt::Display for Deleted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LastRun => "replaces its last run",
            Self::Resource => "deletes the resource of that name first",
            Self::MadeByHook => "deletes what the hook has just made",
        })
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LastRun => "patches its last run, which counts: it does not run again",
            Self::Resource => "patches the resource, whose old run counts: it does not run",
            Self::Hook => "stays the hook that it was: Argo CD does not compare it",
            Self::Fails => "cannot be changed: the sync fails",
        })
    }
}

impl Need {
    pub(crate) fn object_text(&self, timeline: &Timeline) -> String {
        format!("{} {}", self.object.kind, timeline.name(&self.object))
    }

    /// The need in words, for a reader who sees no line.
    pub(crate) fn text(&self, timeline: &Timeline) -> String {
        // Whether a hook connects to the Service that it names, only its program knows.
        let (verb, when) = if self.object.kind == "Service" { ("names", "only later") } else { ("needs", "too late") };
        let late = if self.late { format!(", which comes {when}") } else { String::new() };
        format!("{verb} {}{late}", self.object_text(timeline))
    }
}
