//! Pure renderers of what is generated from the code: the README's tables, the rules' pages and the forms.

mod questions;

use std::fmt::Write as _;

use crate::rules::RuleId;
use crate::settings::SETTINGS;
pub use questions::{Policy, questions};

/// The table of rules, in Markdown.
pub fn rules_table() -> String {
    let mut table = "| rule | default | levels | triggers |\n|---|---|---|---|\n".to_owned();
    for id in RuleId::ALL {
        let rule = id.rule();
        let levels = rule.default.names().join(", ");
        let _ = writeln!(table, "| `{id}` | {} | {levels} | {} |", rule.default.as_str(), rule.summary);
    }
    table
}

/// The table of settings, in Markdown.
pub fn settings_table() -> String {
    let mut table = "| setting | default | meaning |\n|---|---|---|\n".to_owned();
    for setting in SETTINGS {
        let _ = writeln!(table, "| `{}` | `{}` | {} |", setting.path, setting.default, setting.help);
    }
    table
}

/// A rule's page, in Markdown.
pub fn page(id: RuleId) -> String {
    let rule = id.rule();
    let levels = rule.default.names().join(", ");
    format!("# {id}\n\nDefault: {}. Levels: {levels}.\n\n{}", rule.default.as_str(), body(id))
}

/// A rule's page without its head, as its file has it.
pub fn body(id: RuleId) -> String {
    // A captured doc comment keeps the space after its slashes.
    id.rule().docs.replace("\n ", "\n").trim_start().to_owned()
}
