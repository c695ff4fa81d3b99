//! Pure renderers of what is generated from the code: the tables of rules and settings, the rules' pages and the forms.

mod questions;

use std::fmt::Write as _;

use crate::rule::{Family, RuleId};
use crate::rules;
use crate::settings::SETTINGS;
pub use questions::{Policy, questions};

/// The table of rules, in Markdown, for a page beside the folder of their pages.
pub fn rules_table() -> String {
    let mut table = "| rule | default | levels | triggers |\n|---|---|---|---|\n".to_owned();
    for id in RuleId::ALL {
        let (default, levels, summary) = (id.default_level().as_str(), levels(*id), rules::summary(*id));
        let _ = writeln!(table, "| [`{id}`](rules/{id}.md) | {default} | {levels} | {summary} |");
    }
    table
}

/// The table of settings, in Markdown.
pub fn settings_table() -> String {
    let mut table = "| setting | default | meaning |\n|---|---|---|\n".to_owned();
    for setting in SETTINGS {
        let default = setting.default().map_or_else(|| "see the table of rules".to_owned(), |value| value.to_string());
        let _ = writeln!(table, "| `{}` | `{default}` | {} |", setting.path, setting.help);
    }
    table
}

fn levels(id: RuleId) -> String {
    let names: Vec<_> = id.levels().iter().map(|level| level.as_str()).collect();
    names.join(", ")
}

/// A rule's page, in Markdown.
pub fn page(id: RuleId) -> String {
    let acceptance = acceptance(id);
    format!("# {id}\n\nDefault: {}. Levels: {}.\n\n{}{acceptance}", id.default_level().as_str(), levels(id), body(id))
}

/// The way to let one revision pass, for rules that judge releases.
fn acceptance(id: RuleId) -> String {
    let by_setting = format!("releases.accept: [\"NAMESPACE/RELEASE@REVISION:{id}\"]");
    match id.accept_label() {
        Some(label) => format!(
            "\n## Accept it once\n\nRepeat your own command with a label for the very revision that was denied (Helm 3.13 or \
             later); under Flux, and for a rollback, there is the setting:\n\n```text\n--labels \
             {label}=REVISION\n{by_setting}\n```\n"
        ),
        None if id.family() == Family::Release => format!(
            "\n## Accept it once\n\nOnly an administrator can, with the setting:\n\n```text\n{by_setting}\n```\n"
        ),
        None => String::new(),
    }
}

/// A rule's page without its head, as its file has it.
pub fn body(id: RuleId) -> String {
    // A captured doc comment keeps the space after its slashes.
    rules::page(id).replace("\n ", "\n").trim_start().to_owned()
}
