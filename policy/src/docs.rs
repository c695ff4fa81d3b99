//! Pure renderers of what is generated from the code: the README's tables.

use std::fmt::Write as _;

use crate::rules::RuleId;
use crate::settings::SETTINGS;

/// The table of rules, in Markdown.
pub fn rules_table() -> String {
    let mut table = "| rule | default | levels | triggers |\n|---|---|---|---|\n".to_owned();
    for id in RuleId::ALL {
        let rule = id.rule();
        let levels = if rule.default.is_fixable() { "off, warn, deny, fix" } else { "off, warn, deny" };
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
