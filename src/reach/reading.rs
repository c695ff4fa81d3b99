//! What a reader of templates knows of a value: where it may come from.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::mem;

use serde_json::Value;

use super::effort::spend;
use crate::value::ValuePath;

/// A template that follows a list below itself would go on for ever.
const LONGEST_PATH: usize = 24;

/// Stands among the keys of a top for the map of its subcharts.
const SUBCHARTS: &str = "Subcharts";

/// What Helm puts at the top of a chart.
const HELMS: [&str; 7] = ["Values", "Release", "Chart", "Capabilities", "Template", "Files", SUBCHARTS];

/// How deep and how large a value may be before its entries are no longer told apart.
const DEEPEST: usize = 6;
const LARGEST: usize = 150;

/// One step into the values, as a template takes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Named(String),
    /// A key that is computed, or every one.
    Any,
}

/// Values that a template reads, from the outermost chart's on.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern(pub Vec<Key>);

/// What a template compares values with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Literal {
    Text(String),
    Number(i64),
    Bool(bool),
}

/// All that a template's value may be made of.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::struct_excessive_bools, reason = "each says another thing, and any two can hold")]
pub(super) struct Reading {
    /// The top of a chart, by the keys that lead to its values.
    pub(super) tops: BTreeSet<Vec<String>>,
    pub(super) patterns: BTreeSet<Pattern>,
    /// The entries of a map, or of a list: its items by their numbers, or under no key.
    pub(super) entries: BTreeMap<Key, Reading>,
    pub(super) literals: BTreeSet<Literal>,
    /// The maps that it may be, so that one name sees what is written under another.
    pub(super) maps: BTreeSet<usize>,
    /// The decisions that it hangs on.
    pub(super) decisions: BTreeSet<usize>,
    pub(super) writes: Writes,
    /// A function has made it: its text may be none of the literals.
    pub(super) is_made: bool,
    /// A copy: what is written into it is not written into the values.
    pub(super) is_copy: bool,
    /// Only it is a copy: the maps in it are those of the values.
    pub(super) is_shallow: bool,
    /// It lies somewhere in its maps, and is none of them.
    pub(super) is_inside: bool,
    /// It stands for all that was in it, too.
    pub(super) is_folded: bool,
}

/// What is written where a value is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::struct_excessive_bools, reason = "a text can do all of it")]
pub(super) struct Writes {
    /// It is made of a text that makes a hook.
    pub(super) names_hook: bool,
    /// A named template that writes such a text has made it.
    pub(super) calls_hook: bool,
    /// It is made of a map that is a Job or a `ServiceAccount`.
    pub(super) names_object: bool,
    /// A named template that writes a Job or a `ServiceAccount` has made it.
    pub(super) calls_object: bool,
}

impl Writes {
    pub(super) fn text(names_hook: bool) -> Self {
        Self { names_hook, ..Self::default() }
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self {
            names_hook: self.names_hook || other.names_hook,
            calls_hook: self.calls_hook || other.calls_hook,
            names_object: self.names_object || other.names_object,
            calls_object: self.calls_object || other.calls_object,
        }
    }
}

impl Literal {
    pub(super) fn text(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Number(_) | Self::Bool(_) => None,
        }
    }
}

/// The values that stand at a pattern.
pub(super) fn found<'v>(pattern: &Pattern, values: &'v Value) -> Vec<&'v Value> {
    let mut found = found_at(&pattern.0, values);
    // Every chart has the outermost one's `global`.
    let global = pattern.0.iter().position(|key| *key == Key::Named("global".to_owned())).filter(|at| *at > 0);
    if let Some(keys) = global.and_then(|at| pattern.0.get(at..)) {
        found.extend(found_at(keys, values));
    }
    found
}

fn found_at<'v>(keys: &[Key], values: &'v Value) -> Vec<&'v Value> {
    keys.iter().fold(vec![values], |values, key| {
        let below = values.into_iter().flat_map(|value| match (key, value) {
            (Key::Named(key), value) => value.get(key).into_iter().collect::<Vec<_>>(),
            (Key::Any, Value::Object(fields)) => fields.values().collect(),
            (Key::Any, Value::Array(items)) => items.iter().collect(),
            (Key::Any, _) => Vec::new(),
        });
        below.collect()
    })
}

impl Pattern {
    pub(super) fn of(keys: &[String]) -> Self {
        Self(keys.iter().cloned().map(Key::Named).collect())
    }

    pub(super) fn then(&self, key: Key) -> Self {
        if self.0.len() >= LONGEST_PATH {
            return self.clone();
        }
        Self(self.0.iter().cloned().chain([key]).collect())
    }

    pub(super) fn followed_by(&self, rest: &[Key]) -> Self {
        rest.iter().cloned().fold(self.clone(), |pattern, key| pattern.then(key))
    }

    /// The rest of a pattern that begins as this one.
    pub(super) fn rest<'p>(&self, other: &'p Self) -> Option<&'p [Key]> {
        let meets = |(one, other): (&Key, &Key)| one == other || *one == Key::Any || *other == Key::Any;
        let begins = self.0.len() <= other.0.len() && self.0.iter().zip(&other.0).all(meets);
        other.0.get(self.0.len()..).filter(|_| begins)
    }

    /// A value at that path, or in it, is read, or one that it lies in.
    #[must_use]
    pub(crate) fn touches(&self, path: &ValuePath) -> bool {
        let meets = |(key, step): (&Key, &crate::value::Step)| match (key, step) {
            (Key::Any, _) => true,
            (Key::Named(key), crate::value::Step::Key(step)) => key == step,
            (Key::Named(_), crate::value::Step::Item(_)) => false,
        };
        self.0.iter().zip(&path.0).all(meets)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, key) in self.0.iter().enumerate() {
            let dot = if at == 0 { "" } else { "." };
            match key {
                Key::Named(key) => write!(f, "{dot}{key}")?,
                Key::Any => write!(f, "{dot}*")?,
            }
        }
        Ok(())
    }
}

impl Reading {
    pub(super) fn of_text(text: &str) -> Self {
        Self { literals: BTreeSet::from([Literal::Text(text.to_owned())]), ..Self::default() }
    }

    pub(super) fn of_pattern(pattern: Pattern) -> Self {
        Self { patterns: BTreeSet::from([pattern]), ..Self::default() }
    }

    pub(super) fn top(keys: Vec<String>) -> Self {
        Self { tops: BTreeSet::from([keys]), ..Self::default() }
    }

    /// Only what it hangs on is known.
    pub(super) fn hanging(decisions: BTreeSet<usize>) -> Self {
        Self { decisions, is_made: true, ..Self::default() }
    }

    /// The texts that are known.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.literals.iter().filter_map(|literal| match literal {
            Literal::Text(text) => Some(text.as_str()),
            Literal::Number(_) | Literal::Bool(_) => None,
        })
    }

    /// It is one of its literals and nothing else.
    pub(super) fn is_exact(&self) -> bool {
        !self.is_made && self.has_no_place() && !self.literals.is_empty()
    }

    fn has_no_place(&self) -> bool {
        self.tops.is_empty() && self.patterns.is_empty() && self.entries.is_empty()
    }

    /// It may be this or that.
    pub(super) fn join(&mut self, other: Self) {
        if !spend(1 + other.patterns.len() + other.decisions.len() + other.literals.len()) {
            return;
        }
        if self.has_no_place() {
            (self.is_copy, self.is_shallow, self.is_inside) = (other.is_copy, other.is_shallow, other.is_inside);
        } else if !other.has_no_place() {
            self.is_copy &= other.is_copy;
            self.is_shallow |= other.is_shallow;
            self.is_inside |= other.is_inside;
        }
        self.is_made |= other.is_made;
        self.is_folded |= other.is_folded;
        self.tops.extend(other.tops);
        self.patterns.extend(other.patterns);
        self.literals.extend(other.literals);
        self.maps.extend(other.maps);
        self.decisions.extend(other.decisions);
        self.writes = self.writes.or(other.writes);
        for (key, entry) in other.entries {
            self.entries.entry(key).or_default().join(entry);
        }
    }

    pub(super) fn joined(all: impl IntoIterator<Item = Self>) -> Self {
        let mut joined = Self::default();
        all.into_iter().for_each(|one| joined.join(one));
        joined
    }

    /// The same, seen by a named template: with other numbers of maps, and one decision in the place of all that it
    /// hangs on.
    pub(super) fn seen_by_call(mut self, maps: &mut BTreeMap<usize, usize>, id: usize) -> Self {
        if !self.decisions.is_empty() {
            self.decisions = BTreeSet::from([id]);
        }
        let mut renamed = |map: usize| {
            let next = maps.len();
            *maps.entry(map).or_insert(next)
        };
        self.maps = self.maps.into_iter().map(&mut renamed).collect();
        self.entries = self.entries.into_iter().map(|(key, entry)| (key, entry.seen_by_call(maps, id))).collect();
        self
    }

    /// What a call has written, seen by its caller: with the caller's numbers of the maps that it was given.
    pub(super) fn seen_by_caller(mut self, maps: &BTreeMap<usize, usize>, id: usize, input: usize) -> Self {
        self.maps = self.maps.into_iter().filter_map(|map| maps.get(&map).copied()).collect();
        let below = mem::take(&mut self.entries).into_iter();
        self.entries = below.map(|(key, entry)| (key, entry.seen_by_caller(maps, id, input))).collect();
        if self.decisions.remove(&id) {
            self.decisions.insert(input);
        }
        self
    }

    /// The same, with a call's input in the place of what the dot of that call hangs on.
    pub(super) fn hanging_on_input(mut self, id: usize, input: usize) -> Self {
        if self.decisions.remove(&id) {
            self.decisions.insert(input);
        }
        let below = self.entries.into_iter();
        self.entries = below.map(|(key, entry)| (key, entry.hanging_on_input(id, input))).collect();
        self
    }

    /// Writes into every one of these maps that it is, or has in it.
    pub(super) fn write(&mut self, maps: &BTreeSet<usize>, effect: &Self) {
        for entry in self.entries.values_mut() {
            entry.write(maps, effect);
        }
        if !self.maps.is_disjoint(maps) {
            let mut effect = effect.clone();
            effect.is_copy |= self.is_copy;
            self.join(effect);
        }
    }

    /// The entry under a key, which `None` leaves open.
    pub(super) fn entry(&self, key: Option<&str>) -> Self {
        let pattern_key = key.map_or(Key::Any, |key| Key::Named(key.to_owned()));
        let is_helms = !self.tops.is_empty() && key.is_some_and(|key| HELMS.contains(&key));
        let mut found = if self.is_folded && is_helms {
            // What lies beside the top of a chart has no values of its own.
            Self::hanging(self.decisions.clone())
        } else {
            self.entry_under(&pattern_key, pattern_key.clone())
        };
        for keys in &self.tops {
            let with = |key: &str| keys.iter().map(String::as_str).chain([key]).map(str::to_owned).collect::<Vec<_>>();
            match (keys.split_last(), key) {
                // `.Subcharts.NAME` is the top of that chart.
                (Some((last, above)), Some(key)) if last == SUBCHARTS => {
                    found.tops.insert(above.iter().map(String::as_str).chain([key]).map(str::to_owned).collect());
                }
                (_, Some("Values")) => found.patterns.extend([Pattern::of(keys)]),
                (_, Some(SUBCHARTS)) => found.tops.extend([with(SUBCHARTS)]),
                _ => found.is_made = true,
            }
        }
        found
    }

    /// The item of a list with a number.
    pub(super) fn item(&self, number: i64) -> Self {
        self.entry_under(&Key::Named(number.to_string()), Key::Any)
    }

    /// What is under a key in its entries, and under another in the values.
    fn entry_under(&self, key: &Key, pattern_key: Key) -> Self {
        let mut found = Self::hanging(self.decisions.clone());
        found.is_made = self.is_made || (self.entries.is_empty() && self.tops.is_empty());
        if !self.patterns.is_empty() {
            (found.is_copy, found.is_inside) = (self.is_copy && !self.is_shallow, self.is_copy);
            if self.is_copy {
                found.maps.extend(&self.maps);
            }
            for pattern in &self.patterns {
                let is_kept = self.is_folded && !pattern.0.is_empty();
                found.patterns.insert(if is_kept { pattern.clone() } else { pattern.then(pattern_key.clone()) });
            }
        }
        for (known, entry) in &self.entries {
            let meets = match (known, key) {
                (Key::Named(known), Key::Named(key)) => known == key,
                // What is written under a key that is not known takes the place of nothing that Helm has put there.
                (Key::Any, Key::Named(key)) => self.tops.is_empty() || !HELMS.contains(&key.as_str()),
                (_, Key::Any) => true,
            };
            if meets {
                found.join(entry.clone());
            }
        }
        if self.is_folded {
            found.join(Self { tops: BTreeSet::new(), patterns: BTreeSet::new(), ..self.clone() });
            found.is_folded = true;
        }
        found
    }

    /// The same without more in it than anybody looks through: what is too much stands for all that was in it.
    pub(super) fn bounded(self) -> Self {
        if self.is_large() { self.folded() } else { self }
    }

    pub(super) fn is_large(&self) -> bool {
        self.depth() > DEEPEST || self.size() > LARGEST
    }

    /// The same but for what it hangs on.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        self.without_decisions() == other.without_decisions()
    }

    pub(super) fn without_decisions(&self) -> Self {
        let entries = self.entries.iter().map(|(key, entry)| (key.clone(), entry.without_decisions())).collect();
        // The maps that a turn of a loop makes are others each time.
        Self { entries, decisions: BTreeSet::new(), maps: BTreeSet::new(), ..self.clone() }
    }

    pub(super) fn folded(self) -> Self {
        let (writes, decisions) = (self.writes(), self.all_decisions());
        let mut flat = Self { writes, decisions, is_copy: true, is_inside: true, ..Self::default() };
        self.fold_into(&mut flat);
        let all = mem::take(&mut flat.patterns);
        for pattern in all {
            let is_within = |above: &Pattern| !above.0.is_empty() && pattern.0.starts_with(&above.0);
            if !flat.patterns.iter().any(is_within) {
                flat.patterns.insert(pattern);
            }
        }
        (flat.is_made, flat.is_folded) = (true, true);
        flat
    }

    fn fold_into(self, flat: &mut Self) {
        flat.is_copy &= self.is_copy || self.patterns.is_empty();
        flat.tops.extend(self.tops);
        flat.patterns.extend(self.patterns);
        flat.maps.extend(self.maps);
        if flat.literals.len() < LARGEST {
            flat.literals.extend(self.literals);
        }
        for entry in self.entries.into_values() {
            entry.fold_into(flat);
        }
    }

    /// The same, or in something of it.
    pub(super) fn somewhere(self) -> Self {
        let below = self.clone().folded();
        Self::joined([self, Self { entries: [(Key::Any, below)].into(), ..Self::default() }])
    }

    fn depth(&self) -> usize {
        self.entries.values().map(Self::depth).max().unwrap_or_default() + 1
    }

    fn size(&self) -> usize {
        let below: usize = self.entries.values().map(Self::size).sum();
        below + 1 + self.tops.len() + self.patterns.len() + self.literals.len()
    }

    /// The items of a list in another order.
    pub(super) fn shuffled(mut self) -> Self {
        let is_item = |key: &Key| matches!(key, Key::Named(name) if name.parse::<usize>().is_ok());
        let (items, others): (BTreeMap<_, _>, _) = self.entries.into_iter().partition(|(key, _)| is_item(key));
        self.entries = others;
        for item in items.into_values() {
            self.entries.entry(Key::Any).or_default().join(item);
        }
        self
    }

    /// Every pattern in it, however deep.
    pub(super) fn all_patterns(&self) -> BTreeSet<Pattern> {
        let below = self.entries.values().flat_map(Self::all_patterns);
        self.patterns.iter().cloned().chain(below).collect()
    }

    pub(super) fn all_decisions(&self) -> BTreeSet<usize> {
        let below = self.entries.values().flat_map(Self::all_decisions);
        self.decisions.iter().copied().chain(below).collect()
    }

    /// What is written where it is, with all that is in it.
    pub(super) fn writes(&self) -> Writes {
        self.entries.values().fold(self.writes, |writes, entry| writes.or(entry.writes()))
    }
}
