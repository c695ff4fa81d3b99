//! The verdict on a request: allowed as it is, allowed with a patch, or denied or refused with a reason.

use crate::finding::Finding;
use crate::note::Note;
use crate::patch::{self, NonEmptyPatch};
use crate::rule::{Effect, RuleId};

/// The answer to one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub decision: Decision,
    /// Findings that do not deny: warnings, and those that the patch mends.
    pub findings: Vec<Finding>,
    /// Findings that count for nothing, because their object has switched the rule off.
    pub ignored: Vec<Finding>,
    /// Notes on what could not be judged.
    pub notes: Vec<Note>,
    /// The release whose record was judged.
    pub release: Option<Recorded>,
}

/// What the rules have found.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Found {
    pub findings: Vec<Finding>,
    /// Those whose object has switched the rule off.
    pub ignored: Vec<Finding>,
    pub notes: Vec<Note>,
}

/// A release, as the record that was judged names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// `namespace/name`, the namespace being that of its records.
    pub name: String,
    pub revision: u64,
    /// What it was compared with, in words.
    pub baseline: String,
    /// Whoever runs the operation can accept findings with labels of the record.
    pub takes_labels: bool,
}

/// No denial without a reason, no patch beside a denial.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    Allow,
    Normalize(NonEmptyPatch),
    Deny(Denial),
    /// It cannot be judged, and the settings say that this is no reason to allow it.
    Refuse(String),
}

/// The findings that deny: at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    pub first: Box<Finding>,
    pub more: Vec<Finding>,
}

impl Denial {
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        std::iter::once(&*self.first).chain(&self.more)
    }
}

impl Verdict {
    /// Allowed, with nothing to say.
    pub fn allow() -> Self {
        let (findings, ignored, notes) = Default::default();
        Self { decision: Decision::Allow, findings, ignored, notes, release: None }
    }

    /// Everything that was found: denials first, then in the order of the registry.
    pub fn all_findings(&self) -> impl Iterator<Item = &Finding> {
        let denial = match &self.decision {
            Decision::Deny(denial) => Some(denial),
            Decision::Allow | Decision::Normalize(_) | Decision::Refuse(_) => None,
        };
        denial.into_iter().flat_map(Denial::findings).chain(&self.findings)
    }
}

/// Turns what was found into the verdict.
pub(crate) fn decide(found: Found) -> Verdict {
    let Found { mut findings, ignored, notes } = found;
    let flip_let_pass =
        findings.iter().any(|finding| finding.rule == RuleId::IdentityFlip && finding.effect == Effect::Warn);
    if flip_let_pass {
        // Patched, the object would be judged differently the second time.
        for finding in findings.iter_mut().filter(|finding| finding.effect == Effect::Fix) {
            finding.effect = Effect::Warn;
        }
    }
    let (denials, findings): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| finding.effect == Effect::Deny);
    let mut denials = denials.into_iter();
    let decision = match denials.next() {
        Some(first) => Decision::Deny(Denial { first: Box::new(first), more: denials.collect() }),
        None => patch::plan(&findings).map_or(Decision::Allow, Decision::Normalize),
    };
    Verdict { decision, findings, ignored, notes, release: None }
}
