//! Why an object flips at an upgrade: which changed values are tried alone, and what the answers mean.

use std::collections::BTreeSet;

use serde_json::Value;
use stable_hooks_policy::name::Name;
use stable_hooks_policy::shown::Shown;

use crate::judged::ValueChange;
use crate::value::{Change, Step, ValuePath, differences};
use crate::words::listed;

/// The key whose values Helm copies to all subcharts.
const GLOBAL: &str = "global";

/// The changed values, each to be tried alone.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    pub(crate) tried: Vec<Candidate>,
    /// How many there are beyond those.
    pub(crate) untried: usize,
}

/// One changed value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) change: Change,
    /// A value of `global`, where Helm copies it to.
    copies: Vec<Change>,
}

/// What came of a render.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// These objects flip.
    Flips(BTreeSet<Name>),
    Untold,
}

/// What came of all that was tried.
#[derive(Debug)]
pub(crate) struct Answers {
    /// With the installed values, none of them changed.
    pub(crate) unchanged: Answer,
    /// With each of these changed alone.
    pub(crate) alone: Vec<(Change, Answer)>,
    pub(crate) untried: usize,
}

impl Candidates {
    /// The first `most` differences. Switches come first, for most flips are made by one, and values that are new or gone
    /// come last: a subchart that is switched on brings all of its own.
    pub(crate) fn of(installed: &Value, upgrade: &Value, most: usize) -> Self {
        let (copies, changes): (Vec<_>, Vec<_>) =
            differences(installed, upgrade).into_iter().partition(|change| is_copy(change, upgrade));
        let mut tried: Vec<_> = changes.into_iter().map(|change| Candidate::new(change, &copies)).collect();
        tried.sort_by_key(|candidate| {
            let Change { from, to, .. } = &candidate.change;
            (!from.is_boolean() && !to.is_boolean(), from.is_null() || to.is_null())
        });
        let untried = tried.len().saturating_sub(most);
        tried.truncate(most);
        Self { tried, untried }
    }
}

/// Helm has copied the value from the chart's own `global` to that of a subchart.
fn is_copy(change: &Change, upgrade: &Value) -> bool {
    let steps = &change.path.0;
    let at = steps.iter().rposition(|step| *step == Step::Key(GLOBAL.to_owned())).unwrap_or_default();
    let original = steps.get(at..).unwrap_or_default();
    at > 0 && ValuePath(original.to_vec()).find(upgrade) == &change.to
}

impl Candidate {
    fn new(change: Change, copies: &[Change]) -> Self {
        let copies = copies.iter().filter(|copy| copy.path.0.ends_with(&change.path.0)).cloned().collect();
        Self { change, copies }
    }

    /// What values files have to hold so that it alone is another; later ones lie over earlier ones.
    pub(crate) fn overlays(&self, installed: &Value) -> impl Iterator<Item = Value> {
        [&self.change].into_iter().chain(&self.copies).map(|change| change.overlay(installed))
    }
}

impl Answer {
    /// `None` where it is not known.
    fn flips(&self, object: &Name) -> Option<bool> {
        match self {
            Self::Flips(objects) => Some(objects.contains(object)),
            Self::Untold => None,
        }
    }
}

impl Answers {
    /// Why the object flips, in words, and the changed values that flip it by themselves.
    pub(crate) fn cause(&self, object: &Name, shown: impl Fn(&Value) -> String) -> (String, Vec<ValueChange>) {
        let changed = self.alone.len() + self.untried;
        if self.unchanged.flips(object) == Some(true) {
            let says = match changed {
                0 => "No value changes: this chart flips it with the installed values.",
                _ => "This chart flips it with the installed values too: no changed value is needed.",
            };
            return (says.to_owned(), Vec::new());
        }
        let is = |answer: Option<bool>| self.alone.iter().filter(move |(_, found)| found.flips(object) == answer);
        let values: Vec<_> = is(Some(true)).map(|(change, _)| value_change(change, &shown)).collect();
        let (harmless, unrendered) = (is(Some(false)).count(), is(None).count());
        let mut says = vec![match (values.as_slice(), harmless) {
            ([value], _) => format!("{}, flips it by itself.", told(value)),
            ([_, ..], _) => format!("Each of these flips it by itself: {}.", listed(&values, told, "; ")),
            ([], 0) => "It is not known which changed value flips it.".to_owned(),
            ([], 1) if changed == 1 => {
                let path: String = is(Some(false)).map(|(change, _)| quoted(&change.path)).collect();
                format!("It is not known what flips it: {path}, which alone changes, does not where a file sets it.")
            }
            ([], _) if harmless == changed => {
                let paths: Vec<_> = self.alone.iter().map(|(change, _)| &change.path).collect();
                let paths = listed(&paths, |path| quoted(path), ", ");
                format!("No single changed value flips it: it takes several of these {changed}: {paths}.")
            }
            ([], 1) => "The one changed value that was tried alone does not flip it.".to_owned(),
            ([], _) => format!("None of the {harmless} changed values that were tried alone flips it."),
        }];
        let other = if values.is_empty() && harmless == 0 { "" } else { " other" };
        says.extend(counted(unrendered, other, "could not be tried alone"));
        says.extend(counted(self.untried, other, "not tried"));
        if self.unchanged == Answer::Untold {
            says.push("The installed values could not be tried with this chart.".to_owned());
        }
        (says.join(" "), values)
    }
}

fn counted(count: usize, other: &str, what: &str) -> Option<String> {
    let is = |one, many| {
        if what.starts_with("could") {
            ""
        } else if count == 1 {
            one
        } else {
            many
        }
    };
    let plural = if count == 1 { "" } else { "s" };
    (count > 0).then(|| format!("{count}{other} changed value{plural} {}{what}.", is("was ", "were ")))
}

fn value_change(Change { path, from, to }: &Change, shown: impl Fn(&Value) -> String) -> ValueChange {
    let shown = |value| Shown(&shown(value)).to_string();
    ValueChange { path: Shown(&path.to_string()).to_string(), from: shown(from), to: shown(to), place: None }
}

fn told(ValueChange { path, from, to, .. }: &ValueChange) -> String {
    format!("`{path}`, changed from {from} to {to}")
}

fn quoted(path: &ValuePath) -> String {
    format!("`{}`", Shown(&path.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use stable_hooks_policy::name::Name;

    use super::{Answer, Answers, Candidates};
    use crate::value::{Change, ValuePath};

    fn name(name: &str) -> Name {
        let [group, kind, namespace, name] = ["batch", "Job", "shop", name].map(str::to_owned);
        Name { group, kind, namespace, name }
    }

    fn flips(objects: &[&str]) -> Answer {
        Answer::Flips(objects.iter().copied().map(name).collect())
    }

    fn change(key: &str) -> Change {
        Change { path: ValuePath::of_keys(["job", key]), from: json!(false), to: json!("s3cret") }
    }

    fn cause(unchanged: Answer, alone: &[(&str, Answer)], untried: usize) -> (String, usize) {
        let alone = alone.iter().map(|(key, answer)| (change(key), answer.clone())).collect();
        let answers = Answers { unchanged, alone, untried };
        let (says, values) = answers.cause(&name("m"), |value| crate::value::shown(value, |_| false));
        (says, values.len())
    }

    #[test]
    fn what_the_answers_mean_is_told() {
        let (yes, no, other) = (|| flips(&["m", "x"]), || flips(&[]), || flips(&["x"]));
        let unknown = || Answer::Untold;
        let a = "`job.a`, changed from false to a text";
        for (unchanged, alone, untried, says, values) in [
            (yes(), vec![], 0, "No value changes: this chart flips it with the installed values.".to_owned(), 0),
            (
                yes(),
                vec![("a", yes())],
                0,
                "This chart flips it with the installed values too: no changed value is needed.".to_owned(),
                0,
            ),
            (no(), vec![("a", yes()), ("b", other())], 0, format!("{a}, flips it by itself."), 1),
            (
                no(),
                vec![("a", yes()), ("b", yes())],
                2,
                format!(
                    "Each of these flips it by itself: {a}; {}. 2 other changed values were not tried.",
                    a.replace(".a", ".b")
                ),
                2,
            ),
            (
                no(),
                vec![("a", no()), ("b", other())],
                0,
                "No single changed value flips it: it takes several of these 2: `job.a`, `job.b`.".to_owned(),
                0,
            ),
            (
                no(),
                vec![("a", no()), ("b", unknown())],
                1,
                "The one changed value that was tried alone does not flip it. 1 other changed value could not be tried \
                 alone. 1 other changed value was not tried."
                    .to_owned(),
                0,
            ),
            (
                unknown(),
                vec![("a", unknown())],
                0,
                "It is not known which changed value flips it. 1 changed value could not be tried alone. The \
                 installed values could not be tried with this chart."
                    .to_owned(),
                0,
            ),
            (
                no(),
                vec![("a", no())],
                0,
                "It is not known what flips it: `job.a`, which alone changes, does not where a file sets it.".to_owned(),
                0,
            ),
            (no(), vec![], 0, "It is not known which changed value flips it.".to_owned(), 0),
        ] {
            assert_eq!(cause(unchanged, &alone, untried), (says, values));
        }
    }

    #[test]
    fn many_values_are_counted() {
        let alone = ["a", "b", "c", "d", "e", "f", "g"].map(|key| (key, flips(&[])));
        let (says, _) = cause(flips(&[]), &alone, 0);
        assert!(
            says.ends_with("several of these 7: `job.a`, `job.b`, `job.c`, `job.d`, `job.e`, and 2 more."),
            "{says}"
        );
    }

    fn paths(candidates: &Candidates) -> Vec<String> {
        candidates.tried.iter().map(|candidate| candidate.change.path.to_string()).collect()
    }

    #[test]
    fn switches_come_first_and_what_is_new_last() {
        let installed = json!({"a": "x", "on": false, "sub": {"enabled": false}});
        let upgrade = json!({"a": "y", "on": true, "sub": {"enabled": true, "b": 1, "c": 2}});
        let candidates = Candidates::of(&installed, &upgrade, 4);
        assert_eq!((paths(&candidates).join(" "), candidates.untried), ("on sub.enabled a sub.b".to_owned(), 1));
        assert!(candidates.tried[0].change.is_in(&upgrade) && !candidates.tried[0].change.is_in(&installed));
    }

    #[test]
    fn a_global_value_is_one_with_its_copies() {
        let values = |region: &str, own: &str| {
            let global = json!({"region": region});
            json!({"global": global, "sub": {"global": global, "x": {"global": {"region": own}}}})
        };
        let installed = values("a", "a");
        let candidates = Candidates::of(&installed, &values("b", "c"), 9);
        assert_eq!(paths(&candidates), ["global.region", "sub.x.global.region"]);
        let overlays: Vec<Value> = candidates.tried[0].overlays(&installed).collect();
        let b = json!({"global": {"region": "b"}});
        assert_eq!(overlays, [b.clone(), json!({"sub": b})]);
    }
}
