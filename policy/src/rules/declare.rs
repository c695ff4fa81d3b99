//! How a rule's file declares its rule.

use crate::finding::{Problem, ReleaseProblem};
use crate::subject::change::Context;
use crate::subject::release::Release;
use crate::sync::Syncs;

/// A rule: its page and its check. What it is called and how strict it is, the registry says (`rule.rs`).
pub(crate) struct Rule {
    /// The trigger in one line, for tables; empty inside the wasm.
    pub(crate) summary: &'static str,
    /// The page, in Markdown; empty inside the wasm, which never shows it.
    pub(crate) docs: &'static str,
    pub(crate) check: Check,
}

/// The check of a rule, by its subject.
#[derive(Clone, Copy)]
pub(crate) enum Check {
    Object(fn(&Context<'_>) -> Option<Problem>),
    Release(fn(&Release<'_>) -> Vec<ReleaseProblem>, Reach),
    /// The command line's alone.
    Chart(fn(&Syncs<'_>) -> Vec<ReleaseProblem>),
}

/// In the place of a check of charts inside the wasm, where no chart comes.
pub(crate) fn unchecked(_: &Syncs<'_>) -> Vec<ReleaseProblem> {
    Vec::new()
}

/// The objects of a release that a rule is about; never one with the label `stable-hooks/migration: "false"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// `releases.scope` says so.
    Scope,
    /// All objects; what is no migration is only warned about.
    WarnsOfOthers,
    Migrations,
    Everything,
}

/// Declares a rule: its page is captured once, for rustdoc, the web and `explain`.
macro_rules! declare_rule {
    ($(#[doc = $doc:literal])+ summary: $summary:literal, check: Chart($check:path) $(,)?) => {
        $crate::rules::declare::declare_rule! {
            $(#[doc = $doc])+
            summary: $summary,
            check: Chart((if cfg!(target_arch = "wasm32") { $crate::rules::declare::unchecked } else { $check })),
        }
    };
    ($(#[doc = $doc:literal])+ summary: $summary:literal, check: $family:ident($($check:expr),+) $(,)?) => {
        $(#[doc = $doc])+
        pub(crate) static RULE: $crate::rules::declare::Rule = $crate::rules::declare::Rule {
            summary: if cfg!(target_arch = "wasm32") { "" } else { $summary },
            docs: if cfg!(target_arch = "wasm32") { "" } else { concat!($($doc, "\n"),+) },
            check: $crate::rules::declare::Check::$family($($check),+),
        };
    };
}
pub(crate) use declare_rule;
