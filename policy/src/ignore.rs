//! The annotation with which an object switches single rules off for itself.

use helm::yaml::Head;

use crate::cause::{grouped, subject};
use crate::name::Name;
use crate::note::{Note, NoteKind};
use crate::rule::RuleId;
use crate::shown::Shown;

/// Names rules, separated by commas.
pub const IGNORE: &str = "stable-hooks/ignore";

/// More than all names of rules take; each word is looked for among them.
const LONGEST: usize = 2048;

/// How many words and objects one note spells out.
const MOST_NAMED: usize = 3;

/// The rules that one object switches off for itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ignored {
    rules: Vec<RuleId>,
    /// The words that switch nothing off, as a message shows them.
    in_vain: Option<String>,
}

impl Ignored {
    /// Those that the annotation's value names.
    pub fn of(value: Option<&str>) -> Self {
        let mut ignored = Self::default();
        let Some(value) = value else { return ignored };
        if value.len() > LONGEST {
            ignored.in_vain = Some(format!("\"{}\"", Shown(value)));
            return ignored;
        }
        let mut in_vain = Vec::new();
        for word in value.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word.parse::<RuleId>() {
                Ok(rule) if rule.is_its_owners_matter() => ignored.rules.push(rule),
                _ => in_vain.push(word),
            }
        }
        let named: Vec<_> = in_vain.iter().take(MOST_NAMED).map(|word| format!("\"{}\"", Shown(word))).collect();
        let more = in_vain.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        ignored.in_vain = (!named.is_empty()).then(|| named.join(", ") + &more);
        ignored
    }

    /// Those of a document.
    pub(crate) fn of_head(head: &Head) -> Self {
        Self::of(head.annotations.get(IGNORE).map(String::as_str))
    }

    pub fn includes(&self, rule: RuleId) -> bool {
        self.rules.contains(&rule)
    }
}

/// All documents that make one object have to say it: none speaks for another.
pub(crate) fn all_include<'a>(documents: impl IntoIterator<Item = &'a Ignored>, rule: RuleId) -> bool {
    let mut documents = documents.into_iter().peekable();
    documents.peek().is_some() && documents.all(|ignored| ignored.includes(rule))
}

/// Notes on the words that switch nothing off, one for the objects that write the same.
pub(crate) fn notes<'a>(objects: impl IntoIterator<Item = (&'a Name, &'a Ignored)>) -> Vec<Note> {
    let in_vain = objects.into_iter().filter_map(|(name, ignored)| Some((name, ignored.in_vain.as_ref()?)));
    let alike = grouped(in_vain.collect(), &|(_, words)| (*words).clone());
    let note = |alike: Vec<(&Name, &String)>| {
        let (_, words) = *alike.first()?;
        let objects = subject(alike.iter().map(|(name, _)| *name).collect(), MOST_NAMED);
        let text = format!("{objects}: {IGNORE} names what is no rule, or none that an object can switch off: {words}");
        Some(Note::new(NoteKind::NotIgnored, text))
    };
    alike.into_iter().filter_map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::{Ignored, all_include, notes};
    use crate::name::Name;
    use crate::rule::RuleId;
    use crate::testing::test;

    fn said(values: &[&str]) -> Vec<String> {
        let names: Vec<_> = (0..values.len()).map(|number| Name::core("Job", "shop", &number.to_string())).collect();
        let ignored: Vec<_> = values.iter().map(|value| Ignored::of(Some(value))).collect();
        notes(names.iter().zip(&ignored)).into_iter().map(|note| note.message).collect()
    }

    #[test]
    fn rules_are_separated_by_commas_with_or_without_spaces() {
        let ignored = Ignored::of(Some(" hook-weight,, hook-events ,\thook-weight,"));
        let found: Vec<_> = RuleId::ALL.iter().filter(|rule| ignored.includes(**rule)).collect();
        assert_eq!(found, [&RuleId::HookEvents, &RuleId::HookWeight]);
        assert!(said(&["hook-weight", "", " , ,"]).is_empty());
    }

    #[test]
    fn what_switches_nothing_off_is_named() {
        let text = |words: &str| {
            format!(
                "Job shop/0: stable-hooks/ignore names what is no rule, or none that an object can switch off: {words}"
            )
        };
        assert_eq!(said(&["hook-wieght, hook-order"]), [text("\"hook-wieght\"")]);
        assert_eq!(said(&["foreign-takeover"]), [text("\"foreign-takeover\"")]);
        assert_eq!(said(&["Hook-Weight,all,*,a\nb"]), [text("\"Hook-Weight\", \"all\", \"*\" and 1 more")]);
        assert!(!Ignored::of(Some("foreign-takeover")).includes(RuleId::ForeignTakeover));
    }

    #[test]
    fn objects_that_write_the_same_are_told_together() {
        let found = said(&["x", "y", "hook-order", "x"]);
        assert!(found[0].starts_with("Job shop/0, Job shop/3: ") && found[1].starts_with("Job shop/1: "), "{found:?}");
    }

    #[test]
    fn a_value_longer_than_all_rules_switches_nothing_off() {
        let long = "hook-weight,".repeat(200);
        assert!(!Ignored::of(Some(&long)).includes(RuleId::HookWeight));
        assert!(said(&[&long])[0].contains("\"hook-weight,hook-weight,"));
        assert!(said(&[&long])[0].len() < 500);
        let every: Vec<_> = RuleId::ALL.iter().map(|rule| rule.as_str()).collect();
        assert!(every.join(", ").len() < super::LONGEST / 2, "there is room for all rules");
    }

    #[test]
    fn every_document_has_to_say_it() {
        let (both, one) = (Ignored::of(Some("hook-order,hook-weight")), Ignored::of(Some("hook-order")));
        assert!(all_include([&both, &one], RuleId::HookOrder));
        assert!(!all_include([&both, &one], RuleId::HookWeight));
        assert!(!all_include([], RuleId::HookOrder));
    }
}
