//! A command line of Helm's own, `helm [GLOBAL FLAGS] VERB ARGUMENTS`, read as Helm reads it.

mod access;
mod flags;
mod inputs;
mod verb;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::time::Duration;

use helm::operation::Told;

use flags::{NOT_OF_TEMPLATE, is_global, long_name};
pub use verb::Verb;

/// What Helm waits for where it is not told.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

/// What somebody has told Helm to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    pub verb: Verb,
    given: Vec<OsString>,
    /// The verb and then all others: Helm takes it out from between them before it reads the flags.
    words: Words,
}

/// The words of a command line, and what they are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Words {
    all: Vec<OsString>,
    flags: Vec<Flag>,
    positions: Vec<usize>,
    /// The last flag lacks its value.
    is_cut_off: bool,
}

/// A flag as it is given.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Flag {
    /// The long one.
    name: String,
    value: Option<String>,
    /// Its words. A word of several short flags belongs to each of them.
    at: Range<usize>,
}

/// The value of this flag may be the next word.
#[must_use]
pub fn takes_a_value(name: &str, verb: Verb) -> bool {
    flags::takes_a_value(name, Some(verb))
}

/// How many words a flag takes that every command of Helm has; `None` where it is no such flag.
#[must_use]
pub fn global_width(word: &str) -> Option<usize> {
    let read = Words::read(vec![word.into()], None);
    let flag = read.flags.first()?;
    let is_known = is_global(&flag.name) || matches!(flag.name.as_str(), "color" | "colour" | "debug");
    is_known.then_some(flag.at.len())
}

/// The place of Helm's verb. Helm looks for it before it knows the verb's own flags, and takes the word behind each flag
/// that it does not know for its value; behind `--` it looks for none.
fn verb_at(words: &[OsString]) -> Option<usize> {
    let mut at = 0;
    loop {
        let word = words.get(at)?.to_string_lossy();
        if word == "--" {
            return None;
        } else if word.starts_with('-') {
            at += if flags::hides_the_next_word(&word) { 2 } else { 1 };
        } else if word.is_empty() {
            at += 1;
        } else {
            return Some(at);
        }
    }
}

impl Invocation {
    /// Reads Helm's words; `None` where they are of another verb.
    #[must_use]
    pub fn read(given: Vec<OsString>) -> Option<Self> {
        let verb_at = verb_at(&given)?;
        let verb = Verb::of(given.get(verb_at)?)?;
        let mut words = given.clone();
        words.get_mut(..=verb_at)?.rotate_right(1);
        Some(Self { verb, given, words: Words::read(words, Some(verb)) })
    }

    /// Helm would do nothing that lasts, or only say what is wrong with the words.
    #[must_use]
    pub fn changes_nothing(&self) -> bool {
        let dry_run = self.flag("dry-run").map(|flag| flag.value.as_deref().unwrap_or("client"));
        let is_dry =
            dry_run.is_some_and(|value| !matches!(value, "none" | "false" | "f" | "F" | "FALSE" | "False" | "0"));
        is_dry || self.is_on("help") || self.words.is_cut_off
    }

    /// The release that it names.
    #[must_use]
    pub fn release(&self) -> Option<&str> {
        let named = match self.verb {
            // `helm install --generate-name CHART`
            Verb::Install if self.arguments().count() < 2 => None,
            Verb::Install | Verb::Upgrade | Verb::Rollback => self.arguments().next(),
        };
        named.and_then(OsStr::to_str)
    }

    /// The chart as it is called.
    #[must_use]
    pub fn chart(&self) -> Option<&OsStr> {
        let at = match (self.verb, self.arguments().count()) {
            (Verb::Rollback, _) => return None,
            (Verb::Install, 1) => 0,
            (Verb::Install | Verb::Upgrade, _) => 1,
        };
        self.arguments().nth(at)
    }

    /// The revision to go back to; `None` where that is the one before the last.
    #[must_use]
    pub fn target(&self) -> Option<u64> {
        let revision = self.arguments().nth(1)?.to_str()?.parse().ok()?;
        (self.verb == Verb::Rollback && revision != 0).then_some(revision)
    }

    /// The value of a flag; of one that is given several times the last.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.flag(name)?.value.as_deref()
    }

    /// What no record says about how Helm does it.
    #[must_use]
    pub fn told(&self) -> Told {
        let waits = self.flag("wait").is_some_and(|flag| {
            !matches!(flag.value.as_deref(), Some("false" | "hookOnly" | "f" | "F" | "FALSE" | "False" | "0"))
        });
        let undoes = self.is_on("atomic") || self.is_on("rollback-on-failure");
        Told {
            runs_no_hooks: self.is_on("no-hooks"),
            takes_ownership: self.is_on("take-ownership"),
            waits: waits || undoes,
            timeout: self.value("timeout").and_then(duration).unwrap_or(DEFAULT_TIMEOUT),
        }
    }

    /// The labels that the record gets, in the order in which they are given.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let given = self.words.flags.iter().filter(|flag| flag.name == "labels");
        given.filter_map(|flag| flag.value.as_deref()).flat_map(|value| value.split(',')).filter_map(|label| {
            let (key, value) = label.trim_matches('"').split_once('=')?;
            Some((key.trim(), value))
        })
    }

    /// The flags that every command of Helm takes, as they are given: the cluster, the identity, the namespace.
    #[must_use]
    pub fn global(&self) -> Vec<OsString> {
        let global = self.words.flags.iter().filter(|flag| is_global(&flag.name));
        global.flat_map(|flag| self.words.all.get(flag.at.clone()).unwrap_or_default()).cloned().collect()
    }

    /// The words as they are.
    #[must_use]
    pub fn words(&self) -> &[OsString] {
        &self.given
    }

    /// The verb, and behind it these and the other words, in the place of what is given of their flags: where a flag is given
    /// twice Helm takes the last one, and at the end they could be taken for a value of the flag before.
    #[must_use]
    pub fn with(&self, given: &[(&str, Option<&str>)]) -> Vec<OsString> {
        self.without(|flag| given.iter().any(|(name, _)| flag.name == *name && *name != "labels"), given)
    }

    fn without(&self, is_dropped: impl Fn(&&Flag) -> bool, given: &[(&str, Option<&str>)]) -> Vec<OsString> {
        let starts: BTreeSet<_> = self.words.flags.iter().filter(&is_dropped).map(|flag| flag.at.start).collect();
        // `-io json` is one word of two flags, and the one that stays is written by itself.
        let moved: Vec<_> = self.words.flags.iter().filter(|flag| starts.contains(&flag.at.start)).collect();
        let dropped: BTreeSet<_> = moved.iter().flat_map(|flag| flag.at.clone()).collect();
        let beside = moved.iter().filter(|flag| !is_dropped(flag));
        let beside = beside.map(|flag| (flag.name.as_str(), flag.value.as_deref()));
        let more: Vec<_> = beside.chain(given.iter().copied()).collect();
        let mut words = Vec::new();
        for (at, word) in self.words.all.iter().enumerate() {
            if !dropped.contains(&at) {
                words.push(word.clone());
            }
            if at == 0 {
                words.extend(more.iter().map(|(name, value)| {
                    value.map_or_else(|| format!("--{name}"), |value| format!("--{name}={value}")).into()
                }));
            }
        }
        words
    }

    /// The words of `helm template` that render what an install would, with these behind the verb; it knows fewer flags.
    #[must_use]
    pub fn as_template(&self, given: &[&str]) -> Vec<OsString> {
        let given: Vec<_> = given.iter().map(|name| (*name, None)).collect();
        let mut words = self.without(|flag| NOT_OF_TEMPLATE.contains(&flag.name.as_str()), &given);
        if let Some(verb) = words.first_mut() {
            *verb = "template".into();
        }
        words
    }

    fn arguments(&self) -> impl Iterator<Item = &OsStr> {
        let words = self.words.positions.iter().filter(|at| **at != 0);
        words.filter_map(|at| self.words.all.get(*at)).map(OsString::as_os_str)
    }

    fn flag(&self, name: &str) -> Option<&Flag> {
        self.words.flags.iter().rev().find(|flag| flag.name == name)
    }

    /// A flag without a value, or with one that Go takes for true.
    fn is_on(&self, name: &str) -> bool {
        let is_true = |value: &str| matches!(value, "1" | "t" | "T" | "true" | "TRUE" | "True");
        self.flag(name).is_some_and(|flag| flag.value.as_deref().is_none_or(is_true))
    }
}

impl Words {
    /// As pflag reads them: flags and arguments in any order.
    fn read(words: Vec<OsString>, verb: Option<Verb>) -> Self {
        let mut read = Self::default();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let word = word.to_string_lossy();
            let next = || words.get(at + 1).map(|next| next.to_string_lossy().into_owned());
            let mut end = at + 1;
            if word == "--" {
                read.positions.extend(end..words.len());
                break;
            } else if let Some(long) = word.strip_prefix("--") {
                let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                let mut value = value.map(str::to_owned);
                if value.is_none() && flags::takes_a_value(name, verb) {
                    (value, end) = (next(), at + 2);
                }
                read.flags.push(Flag { name: name.to_owned(), value, at: at..end });
            } else if let Some(short) = word.strip_prefix('-').filter(|short| !short.is_empty()) {
                let mut letters = short.chars();
                while let Some(letter) = letters.next() {
                    let name = long_name(letter).map_or_else(|| letter.to_string(), str::to_owned);
                    let rest = letters.as_str();
                    let given = match rest.strip_prefix('=') {
                        Some(value) => Some(value),
                        None => (flags::takes_a_value(&name, verb) && !rest.is_empty()).then_some(rest),
                    };
                    let mut value = given.map(str::to_owned);
                    let is_last = given.is_some() || flags::takes_a_value(&name, verb);
                    if value.is_none() && is_last {
                        (value, end) = (next(), at + 2);
                    }
                    read.flags.push(Flag { name, value, at: at..end });
                    if is_last {
                        break;
                    }
                }
            } else {
                read.positions.push(at);
            }
            at = end;
        }
        read.is_cut_off = at > words.len();
        Self { all: words, ..read }
    }
}

/// A duration as Go writes it, `1h30m` or `1.5s`.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (count, after) = rest.split_at(number);
        let unit = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let seconds = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" | "μs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        let part = Duration::try_from_secs_f64(count.parse::<f64>().ok()? * seconds).ok()?;
        total = total.checked_add(part)?;
        rest = after;
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests;
