//! The upgrades between the versions of a chart: which are judged, and what comes of each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use helm::operation::Operation;
use stable_hooks_policy::RuleId;
use stable_hooks_policy::name::Name;

use super::super::outline::{Outline, Side, on_both_sides};
use super::ranges::Pair;
use super::rendered::Kept;
use crate::judged::{Finding, Judged, Level};

/// An upgrade: from what an operation of one version has left to another version, or to the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Upgrade {
    /// First, so that the newest versions come last.
    pub(super) pair: Pair,
    pub(super) after: After,
}

/// What made the release what it is when the upgrade comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum After {
    Install,
    Upgrade,
}

/// A change of one object that several upgrades have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Change {
    pub(super) object: Name,
    pub(super) was: Side,
    pub(super) becomes: Side,
    pub(super) level: Level,
    pub(super) after: After,
    /// One version flips it, upgraded to itself.
    pub(super) is_of_one_version: bool,
}

/// The upgrades of one change, each with what the judge says of it.
pub(super) type Same = BTreeMap<Pair, Arc<Finding>>;

/// All that is found between the versions.
#[derive(Debug, Default)]
pub(super) struct Flips {
    pub(super) changes: BTreeMap<Change, Same>,
    /// What the objects themselves ignore.
    pub(super) ignored: Vec<Finding>,
    /// Those that flip something.
    pub(super) flipping: BTreeSet<Pair>,
}

impl After {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Upgrade => "upgrade",
            Self::Install => "install",
        }
    }

    pub(super) fn operation(self) -> Operation {
        match self {
            Self::Upgrade => Operation::Upgrade,
            Self::Install => Operation::Install,
        }
    }
}

impl Kept {
    /// What an upgrade of this version starts from.
    fn after(&self, after: After) -> &Outline {
        match after {
            After::Upgrade => &self.upgrade,
            After::Install => &self.install,
        }
    }

    /// The objects that change sides in an upgrade to that version; after an upgrade only those that do not do so after the
    /// install.
    fn flips_to<'k>(&'k self, newer: &'k Self, after: After) -> impl Iterator<Item = (&'k Name, Side, Side)> {
        let flips = self.after(after).flips_to(&newer.upgrade);
        flips.filter(move |(object, was, _)| after == After::Install || self.install.side(object) != Some(*was))
    }
}

/// The renders of two versions, told apart only by what can make a difference: upgrades with the same two are judged alike.
type Alike = (Outline, Outline, After);

/// The upgrades that flip something, those together that are judged alike: one of each is enough.
///
/// The rule about a change of sides reads of either side the object's own side and its traits, which an outline has. Where no
/// object that is on both sides somewhere differs in those, the judge answers the same.
pub(super) fn alike(versions: &[Kept]) -> Vec<BTreeSet<Upgrade>> {
    let outlines = versions.iter().flat_map(|version| [&version.install, &version.upgrade]);
    let flipping = on_both_sides(outlines);
    let mut alike = BTreeMap::<Alike, BTreeSet<Upgrade>>::new();
    for older in versions {
        for newer in versions.iter().filter(|newer| newer.number >= older.number) {
            let pair = (older.number, newer.number);
            for after in [After::Install, After::Upgrade] {
                // No version is upgraded to what it is.
                let is_repeated = after == After::Upgrade && older.number == newer.number;
                if is_repeated || older.flips_to(newer, after).next().is_none() {
                    continue;
                }
                let known = (older.after(after).of_objects(&flipping), newer.upgrade.of_objects(&flipping), after);
                alike.entry(known).or_default().insert(Upgrade { pair, after });
            }
        }
    }
    alike.into_values().collect()
}

impl Flips {
    /// Adds upgrades that are judged alike: the objects that change sides, and the verdict on the newest of them.
    pub(super) fn add(&mut self, upgrades: &BTreeSet<Upgrade>, versions: &[Kept], judged: &Judged) {
        let Some(newest) = upgrades.last() else { return };
        let find = |number| versions.iter().find(|version| version.number == number);
        let (Some(before), Some(after)) = (find(newest.pair.0), find(newest.pair.1)) else { return };
        self.flipping.extend(upgrades.iter().map(|upgrade| upgrade.pair));
        for (object, was, becomes) in before.flips_to(after, newest.after) {
            let is_of = |finding: &&Finding| finding.is_of(RuleId::ReleaseIdentityFlip) && finding.object == *object;
            if let Some(ignored) = judged.ignored.iter().find(is_of)
                && self.ignored.iter().all(|known| known.object != *object)
            {
                self.ignored.push(ignored.clone());
            }
            let Some(finding) = judged.findings.iter().find(is_of) else { continue };
            let (level, finding) = (finding.level, Arc::new(finding.clone()));
            for Upgrade { pair, after } in upgrades.iter().copied() {
                let is_of_one_version = pair.0 == pair.1;
                let change = Change { object: object.clone(), was, becomes, level, after, is_of_one_version };
                self.changes.entry(change).or_default().insert(pair, Arc::clone(&finding));
            }
        }
    }

    /// Leaves out the upgrades to a version that flips the same object in the same way by itself, and no less bad: that is told
    /// of the version.
    pub(super) fn without_repetitions(mut self) -> Self {
        let mut own = BTreeMap::new();
        for (change, same) in self.changes.iter().filter(|(change, _)| change.is_of_one_version) {
            let Change { object, was, becomes, level, .. } = change;
            own.extend(same.keys().map(|(_, version)| ((object.clone(), *was, *becomes, *version), *level)));
        }
        for (Change { object, was, becomes, level, is_of_one_version, .. }, same) in &mut self.changes {
            let own = |to| own.get(&(object.clone(), *was, *becomes, to));
            // The worst level is the first.
            let repeats = |(_, to): &Pair| own(*to).is_some_and(|own| own <= level);
            same.retain(|pair, _| *is_of_one_version || !repeats(pair));
        }
        self.changes.retain(|_, same| !same.is_empty());
        self
    }
}

/// Why an upgrade is denied although no rule finds anything: something could not be judged.
pub(super) fn not_judged(judged: &Judged) -> Option<&str> {
    let denials = judged.findings.iter().filter(|finding| finding.level == Level::Deny);
    denials.filter(|finding| finding.rule.is_none()).map(|finding| finding.message.as_str()).next()
}
