//! What a walk through the templates notes down: decisions, what hangs on them, and in whose templates they stand.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::reading::{Key, Literal, Pattern, Reading};

/// In the place of the decisions that the dot of a call hangs on: each caller has others.
pub(super) const OF_THE_DOT: usize = usize::MAX;

/// Below are the numbers of the maps that a call is given.
const FIRST_OWN_MAP: usize = 1 << 32;

/// How many decisions a value names that it hangs on.
const MOST_DECISIONS: usize = 12;

/// The part that a value plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// It decides whether there is a Job or a `ServiceAccount`.
    Object,
    /// It decides whether something is a hook.
    Hook,
}

/// A blind spot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    Lookup,
    Capabilities,
    ComputedName,
}

/// A pipeline, and what hangs on it.
#[derive(Debug, Default)]
pub(super) struct Decision {
    pub(super) uses: BTreeMap<Pattern, BTreeSet<Literal>>,
    /// Other decisions that it hangs on.
    pub(super) on: BTreeSet<usize>,
    /// Those inside of a named template, of whose text it is made.
    pub(super) inside: Range<usize>,
    /// The walk that it stands in; a chart's condition stands in none.
    unit: Option<usize>,
    /// Files with what it decides about.
    about: BTreeSet<usize>,
    /// It decides about a hook, or about a Job or `ServiceAccount`.
    pub(super) role: Option<Role>,
}

/// The walk through one file, or through one named template with one dot.
#[derive(Debug, Default)]
struct Unit {
    /// The files whose templates come here.
    files: BTreeSet<usize>,
    calls: BTreeSet<usize>,
    gaps: BTreeSet<Gap>,
}

#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) decisions: Vec<Decision>,
    /// What templates have written over values.
    pub(super) written: BTreeMap<Pattern, Reading>,
    /// The files that make hooks, and those that make Jobs or service accounts.
    pub(super) makes: BTreeSet<(Role, usize)>,
    units: Vec<Unit>,
    /// The walk that goes on now.
    unit: Option<usize>,
    /// The pipelines that are being read, the innermost last.
    pub(super) reading: Vec<usize>,
    /// The input of the named template that is being walked.
    pub(super) input: Option<usize>,
    /// The maps that templates make, by the walk and the place in it.
    maps: BTreeMap<(Option<usize>, (usize, usize)), usize>,
    pub(super) is_too_large: bool,
}

impl Notes {
    /// A decision that no template makes, about these values.
    pub(super) fn decide(&mut self, patterns: impl IntoIterator<Item = Pattern>) -> usize {
        let uses = patterns.into_iter().map(|pattern| (pattern, BTreeSet::new())).collect();
        self.decisions.push(Decision { uses, ..Decision::default() });
        self.decisions.len() - 1
    }

    pub(super) fn decision(&mut self) -> usize {
        self.decisions.push(Decision { unit: self.unit, ..Decision::default() });
        self.decisions.len() - 1
    }

    pub(super) fn decides(&mut self, id: usize, role: Role, file: usize) {
        if let Some(decision) = self.decisions.get_mut(id) {
            decision.role = decision.role.max(Some(role));
            decision.about.insert(file);
        }
    }

    /// The pipeline that is being read hangs on a value.
    pub(super) fn use_of(&mut self, value: &Reading) {
        if let Some(id) = self.reading.last() {
            self.record(*id, value);
        }
    }

    pub(super) fn uses(&mut self, values: &[Reading]) {
        for value in values {
            self.use_of(value);
        }
    }

    pub(super) fn record(&mut self, id: usize, value: &Reading) {
        let on = self.on(value);
        let Some(decision) = self.decisions.get_mut(id) else { return };
        decision.on.extend(on);
        for pattern in value.all_patterns() {
            decision.uses.entry(pattern).or_default();
        }
    }

    /// The decisions that a value hangs on; those of the dot of a call are that call's input.
    pub(super) fn on(&self, value: &Reading) -> BTreeSet<usize> {
        let own = |id| if id == OF_THE_DOT { self.input } else { Some(id) };
        value.all_decisions().into_iter().filter_map(own).collect()
    }

    /// A value is compared with these.
    pub(super) fn compared(&mut self, value: &Reading, literals: &BTreeSet<Literal>) {
        let decision = self.reading.last().and_then(|id| self.decisions.get_mut(*id));
        let Some(decision) = decision else { return };
        for pattern in value.all_patterns() {
            decision.uses.entry(pattern).or_default().extend(literals.iter().cloned());
        }
    }

    /// A template writes over a value, or over those that a key which is not known stands for.
    pub(super) fn write(&mut self, map: &Reading, keys: &BTreeSet<Key>, source: &Reading) {
        if map.is_copy {
            return;
        }
        for pattern in &map.patterns {
            for key in keys {
                self.write_over(pattern.then(key.clone()), source.clone());
            }
        }
    }

    pub(super) fn write_over(&mut self, target: Pattern, source: Reading) {
        let source = match self.input {
            Some(input) => source.hanging_on_input(OF_THE_DOT, input),
            None => source,
        };
        let written = self.written.entry(target).or_default();
        written.join(source);
        *written = std::mem::take(written).bounded();
    }

    /// The number of a map that a template makes, the same in each turn of a loop.
    pub(super) fn map(&mut self, site: (usize, usize)) -> usize {
        let next = FIRST_OWN_MAP + self.maps.len();
        *self.maps.entry((self.unit, site)).or_insert(next)
    }

    /// Puts one decision in the place of the many that a value hangs on.
    pub(super) fn gather(&mut self, value: &mut Reading) {
        if value.decisions.len() > MOST_DECISIONS {
            let on = self.on(&Reading::hanging(std::mem::take(&mut value.decisions)));
            let id = self.decision();
            if let Some(decision) = self.decisions.get_mut(id) {
                decision.on = on;
            }
            value.decisions.insert(id);
        }
        for entry in value.entries.values_mut() {
            self.gather(entry);
        }
    }

    pub(super) fn gap(&mut self, gap: Gap) {
        if let Some(unit) = self.unit.and_then(|unit| self.units.get_mut(unit)) {
            unit.gaps.insert(gap);
        }
    }

    /// Begins a walk through a file, or through a named template; gives its number, and the walk that went on.
    pub(super) fn begin(&mut self, file: Option<usize>) -> (usize, Option<usize>) {
        let unit = self.units.len();
        self.units.push(Unit { files: file.into_iter().collect(), ..Unit::default() });
        if file.is_none() {
            self.calls(unit);
        }
        (unit, self.unit.replace(unit))
    }

    pub(super) fn end(&mut self, before: Option<usize>) {
        self.unit = before;
    }

    /// The walk that goes on calls another one.
    pub(super) fn calls(&mut self, unit: usize) {
        if let Some(here) = self.unit.and_then(|here| self.units.get_mut(here)) {
            here.calls.insert(unit);
        }
    }

    /// Hands the files on to all that their templates call.
    pub(super) fn spread_files(&mut self) {
        let mut waiting: Vec<_> = (0..self.units.len()).collect();
        while let Some(at) = waiting.pop() {
            let Some(unit) = self.units.get(at) else { continue };
            let (files, calls) = (unit.files.clone(), unit.calls.clone());
            for call in calls {
                let Some(called) = self.units.get_mut(call) else { continue };
                let before = called.files.len();
                called.files.extend(&files);
                if called.files.len() > before {
                    waiting.push(call);
                }
            }
        }
    }

    /// The files in which a decision is made, or about which.
    pub(super) fn files(&self, decision: &Decision) -> BTreeSet<usize> {
        let unit = decision.unit.and_then(|unit| self.units.get(unit));
        let files = unit.map(|unit| &unit.files).into_iter().flatten();
        files.chain(&decision.about).copied().collect()
    }

    /// The blind spots, each with the files that see it.
    pub(super) fn gaps(&self) -> impl Iterator<Item = (Gap, &BTreeSet<usize>)> {
        self.units.iter().flat_map(|unit| unit.gaps.iter().map(|gap| (*gap, &unit.files)))
    }
}
