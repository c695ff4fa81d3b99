//! What a reader of templates knows of a value: where it may come from.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::value::ValuePath;

/// A template that follows a list below itself would go on for ever.
const LONGEST_PATH: usize = 24;

/// Stands among the keys of a top for the map of its subcharts.
const SUBCHARTS: &str = "Subcharts";

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
pub(super) struct Reading {
    /// The top of a chart, by the keys that lead to its values.
    pub(super) tops: BTreeSet<Vec<String>>,
    pub(super) patterns: BTreeSet<Pattern>,
    /// The entries of a map, or of a list under no key.
    pub(super) entries: BTreeMap<Key, Reading>,
    pub(super) literals: BTreeSet<Literal>,
    /// The decisions that it hangs on.
    pub(super) decisions: BTreeSet<usize>,
    pub(super) writes: Writes,
}

/// What is written where a value is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Writes {
    /// It is made of a text that makes a hook.
    pub(super) names_hook: bool,
    /// A named template that writes such a text has made it.
    pub(super) calls_hook: bool,
    /// A named template that writes a Job or a `ServiceAccount` has made it.
    pub(super) calls_object: bool,
}

impl Writes {
    pub(super) fn text(names_hook: bool) -> Self {
        Self { names_hook, ..Self::default() }
    }

    fn or(self, other: Self) -> Self {
        Self {
            names_hook: self.names_hook || other.names_hook,
            calls_hook: self.calls_hook || other.calls_hook,
            calls_object: self.calls_object || other.calls_object,
        }
    }
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
    pub fn touches(&self, path: &ValuePath) -> bool {
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

    /// The texts that are known.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.literals.iter().filter_map(|literal| match literal {
            Literal::Text(text) => Some(text.as_str()),
            Literal::Number(_) | Literal::Bool(_) => None,
        })
    }

    /// It may be this or that.
    pub(super) fn join(&mut self, other: Self) {
        self.tops.extend(other.tops);
        self.patterns.extend(other.patterns);
        self.literals.extend(other.literals);
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

    /// What hangs on it without being it.
    fn influence(&self) -> Self {
        Self { decisions: self.decisions.clone(), ..Self::default() }
    }

    /// The same, with one decision in the place of all that it hangs on.
    pub(super) fn hanging_on(mut self, id: usize) -> Self {
        if !self.decisions.is_empty() {
            self.decisions = BTreeSet::from([id]);
        }
        self.entries = self.entries.into_iter().map(|(key, entry)| (key, entry.hanging_on(id))).collect();
        self
    }

    /// The entry under a key, which `None` leaves open.
    pub(super) fn entry(&self, key: Option<&str>) -> Self {
        let mut found = self.influence();
        for keys in &self.tops {
            let with = |key: &str| keys.iter().map(String::as_str).chain([key]).map(str::to_owned).collect::<Vec<_>>();
            match (keys.split_last(), key) {
                // `.Subcharts.NAME` is the top of that chart.
                (Some((last, above)), Some(key)) if last == SUBCHARTS => {
                    found.tops.insert(above.iter().map(String::as_str).chain([key]).map(str::to_owned).collect());
                }
                (_, Some("Values")) => found.patterns.extend([Pattern::of(keys)]),
                (_, Some(SUBCHARTS)) => found.tops.extend([with(SUBCHARTS)]),
                _ => {}
            }
        }
        for pattern in &self.patterns {
            let key = key.map_or(Key::Any, |key| Key::Named(key.to_owned()));
            found.patterns.extend([pattern.then(key)]);
        }
        for (known, entry) in &self.entries {
            let meets = match (known, key) {
                (Key::Named(known), Some(key)) => known == key,
                (Key::Any, _) | (_, None) => true,
            };
            if meets {
                found.join(entry.clone());
            }
        }
        found
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
