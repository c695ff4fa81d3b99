//! Many values at once: where nothing comes of all of them, nothing comes of each, and a render has answered for many.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use stable_hooks_policy::name::Name;

use super::super::trial::{Failures, Trouble};
use super::renderer::{Sides, Swept, brought};
use super::round::{Base, Plan, Quiet, Round};
use crate::cli::side_by_side::side_by_side;
use crate::sweep::Candidate;
use crate::value::{Change, ValuePath};

/// No chart needs more switches that work in pairs.
const MOST_PAIRS: usize = 4;

/// Other values beside one of the bases.
struct Group {
    base: usize,
    changes: Vec<Change>,
}

/// What came of a group.
enum Outcome {
    /// The objects that the base has brought are as they were.
    Same,
    Other(Sides),
    Failed(Trouble),
}

/// Values that were tried alone beside one base, all at one path.
type Tried = Vec<(Change, Sides, BTreeSet<Name>)>;

/// Tries the candidates beside the bases that they belong to, as few at a time as it takes to tell which of them matter to the
/// objects that a base has brought.
pub(super) fn beside(
    rounds: &[Round<'_>],
    candidates: &[Vec<Candidate>],
    plan: &mut Plan,
    failures: &mut Failures,
    swept: &mut Swept,
) {
    let of_base = |(base, candidates): (usize, &Vec<Candidate>)| groups(base, candidates);
    let mut groups: Vec<_> = candidates.iter().enumerate().flat_map(of_base).collect();
    let mut alone = BTreeMap::<(usize, ValuePath), Tried>::new();
    while !groups.is_empty() {
        let mut outcomes = BTreeMap::new();
        let waiting = groups.into_iter().filter_map(|group| {
            let round = rounds.get(group.base)?;
            let number = plan.afford(&group.changes)?;
            Some((round, group, number))
        });
        side_by_side(
            waiting.collect(),
            |(round, group, number)| (round, outcome(round, &group.changes, number), group),
            |number, tried| {
                outcomes.insert(number, tried);
            },
        );
        groups = Vec::new();
        for (round, outcome, group) in outcomes.into_values() {
            match (outcome, group.changes.as_slice()) {
                (Outcome::Same, _) => {}
                (Outcome::Failed(trouble), [change]) => {
                    failures.add(round.renderer.said.of(trouble), format!("`{}`", change.path));
                }
                (Outcome::Other(sides), [change]) => {
                    let others = alone.entry((group.base, change.path.clone())).or_default();
                    if let Err(reason) = judge(round, change, sides, others, swept) {
                        failures.add(reason, format!("`{}`", change.path));
                    }
                }
                (Outcome::Other(_) | Outcome::Failed(_), _) => groups.extend(group.halves()),
            }
        }
    }
}

/// Each other value of the candidates in one of the groups, which have one value for a path.
fn groups(base: usize, candidates: &[Candidate]) -> Vec<Group> {
    let mut groups = Vec::<Group>::new();
    for change in candidates.iter().flat_map(Candidate::changes) {
        let meets = |one: &Change| one.path.is_within(&change.path) || change.path.is_within(&one.path);
        match groups.iter_mut().find(|group| !group.changes.iter().any(meets)) {
            Some(group) => group.changes.push(change),
            None => groups.push(Group { base, changes: vec![change] }),
        }
    }
    groups
}

impl Group {
    fn halves(mut self) -> [Self; 2] {
        let rest = self.changes.split_off(self.changes.len() / 2);
        let base = self.base;
        [self, Self { base, changes: rest }]
    }
}

fn outcome(round: &Round<'_>, changes: &[Change], number: usize) -> Outcome {
    let base = round.base;
    match round.renderer.render(&base.with(changes), &format!("beside-{number}")) {
        Err(trouble) => Outcome::Failed(trouble),
        Ok((sides, _)) if base.is_as_in(&sides) => Outcome::Same,
        Ok((sides, _)) => Outcome::Other(sides),
    }
}

/// Judges one value beside the base's own, and beside the others that were tried in its place.
fn judge(
    round: &Round<'_>,
    change: &Change,
    sides: Sides,
    others: &mut Tried,
    swept: &mut Swept,
) -> Result<(), String> {
    let (found, known) = round.compare(&round.base.sides, &sides, change, &BTreeSet::new())?;
    if let Some(found) = found {
        found.add_to(swept);
    }
    for (other, before, known_of_other) in others.iter() {
        let change = Change { from: other.to.clone(), ..change.clone() };
        let (found, _) = round.compare(before, &sides, &change, &(&known | known_of_other))?;
        if let Some(found) = found {
            found.add_to(swept);
        }
    }
    others.push((change.clone(), sides, known));
    Ok(())
}

/// Two switches that change something together, and what they come to.
struct Pair {
    switches: [Change; 2],
    sides: Sides,
    values: Value,
}

/// Turns on together the switches of which each alone changes nothing: what hangs on two of them flips only so. Gives what they
/// bring.
pub(super) fn pairs(
    round: &Round<'_>,
    quiet: &[Quiet],
    plan: &mut Plan,
    failures: &mut Failures,
    swept: &mut Swept,
) -> Vec<Base> {
    let meets = |one: &&Quiet| {
        let others = quiet.iter().filter(|other| other.change.path != one.change.path);
        others.into_iter().any(|other| !one.files.is_disjoint(&other.files))
    };
    let mut switches: Vec<_> = quiet.iter().filter(meets).map(|one| one.change.clone()).collect();
    let mut bases = Vec::new();
    for _ in 0..MOST_PAIRS {
        let Some(pair) = pair(round, &switches, plan) else { break };
        switches.retain(|switch| !pair.switches.contains(switch));
        let path = pair.switches.last().map(|switch| format!("`{}`", switch.path)).unwrap_or_default();
        match turned_on(round, pair, swept) {
            Ok(base) => bases.extend(base),
            Err(reason) => failures.add(reason, path),
        }
    }
    bases
}

/// Judges the second switch where the first is on; gives what both bring.
fn turned_on(round: &Round<'_>, pair: Pair, swept: &mut Swept) -> Result<Option<Base>, String> {
    let Pair { switches: [first, second], sides, values } = pair;
    let base = round.base.with_quiet(&first);
    let beside = Round { base: &base, ..*round };
    let (found, _) = beside.compare(&base.sides, &sides, &second, &BTreeSet::new())?;
    if let Some(found) = found {
        found.add_to(swept);
    }
    let templates = brought(&base.sides, &sides, &second);
    if templates.is_empty() {
        return Ok(None);
    }
    let both = Base::new(base.with(&[second]), values, sides, round.renderer.sweep)?;
    Ok(Some(both.that_brings(templates, &base.sides)))
}

/// Two of the switches that change something together; `None` where nothing hangs on just two.
fn pair(round: &Round<'_>, switches: &[Change], plan: &mut Plan) -> Option<Pair> {
    let heads = round.base.sides.heads(None);
    let mut found = None;
    let mut change_something = |switches: &[Change]| {
        let number = plan.afford(switches)?;
        let (sides, values) = round.renderer.render(&round.base.with(switches), &format!("together-{number}")).ok()?;
        let is_other = sides.heads(None) != heads;
        if is_other {
            found = Some((switches.to_vec(), sides, values));
        }
        Some(is_other)
    };
    if switches.len() < 2 || !change_something(switches)? {
        return None;
    }
    let count = least(1, switches.len(), |count| change_something(switches.get(..count)?))?;
    let (second, before) = switches.get(..count)?.split_last()?;
    let with_second = |some: &[Change]| [some, std::slice::from_ref(second)].concat();
    let count = least(0, before.len(), |count| change_something(&with_second(before.get(..count)?)))?;
    let both = [before.get(count.checked_sub(1)?)?.clone(), second.clone()];
    if count > 1 && !change_something(&both)? {
        return None;
    }
    let (_, sides, values) = found.filter(|(switches, ..)| *switches == both)?;
    Some(Pair { switches: both, sides, values })
}

/// The least number that holds, where `none` does not and `all` does.
fn least(mut none: usize, mut all: usize, mut holds: impl FnMut(usize) -> Option<bool>) -> Option<usize> {
    while all - none > 1 {
        let middle = none.midpoint(all);
        if holds(middle)? {
            all = middle;
        } else {
            none = middle;
        }
    }
    Some(all)
}
