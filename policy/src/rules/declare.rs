//! How a rule's file declares its rule.

use crate::finding::{Problem, ReleaseProblem};
use crate::renders::Renders;
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
    /// Of a chart as Argo CD deploys it: the command line's alone.
    Syncs(fn(&Syncs<'_>) -> Vec<ReleaseProblem>),
    /// Of a chart as Helm upgrades it: the command line's alone.
    Renders(fn(&Renders<'_>) -> Vec<ReleaseProblem>),
}

/// This is the module that a cluster runs. A page has charts as well.
pub(crate) const IS_GUEST: bool = cfg!(all(target_arch = "wasm32", feature = "guest"));

/// In the place of a check of charts inside the module, where no chart comes.
pub(crate) fn unchecked_syncs(_: &Syncs<'_>) -> Vec<ReleaseProblem> {
    Vec::new()
}

/// As [`unchecked_syncs`].
pub(crate) fn unchecked_renders(_: &Renders<'_>) -> Vec<ReleaseProblem> {
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
    ($(#[doc = $doc:literal])+ summary: $summary:literal, check: Syncs($check:path) $(,)?) => {
        $crate::rules::declare::declare_rule! {
            $(#[doc = $doc])+
            summary: $summary,
            check: Syncs((if $crate::rules::declare::IS_GUEST { $crate::rules::declare::unchecked_syncs } else { $check })),
        }
    };
    ($(#[doc = $doc:literal])+ summary: $summary:literal, check: Renders($check:path) $(,)?) => {
        $crate::rules::declare::declare_rule! {
            $(#[doc = $doc])+
            summary: $summary,
            check: Renders((if $crate::rules::declare::IS_GUEST { $crate::rules::declare::unchecked_renders } else { $check })),
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
