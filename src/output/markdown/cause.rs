//! Findings of one cause, as an item of a list.

use std::collections::BTreeSet;

use stable_hooks_policy::RuleId;
use stable_hooks_policy::cause::{once, subject};
use stable_hooks_policy::name::Name;

use super::text::{code, prose};
use crate::judged::{Finding, Place};

/// A sentence names so many objects; a list that is folded names the rest.
const MOST_NAMES: usize = 3;

/// The list itself ends somewhere.
const MOST_LISTED: usize = 200;

/// Of an object that was said already its name is not said again. The place is that of findings in no template.
pub(crate) fn cause(label: &str, findings: &[&Finding], said: Option<&Name>, place: Option<&Place>) -> String {
    let Some(finding) = findings.first() else { return String::new() };
    let head = format!("- {label}**{}**", finding.level.as_str());
    if finding.rule.is_none() {
        // A message without a rule: the text says all there is.
        return format!("{head} {}", prose(&finding.message));
    }
    let field = match finding.field() {
        field if field.is_empty() => field,
        field => format!(" at {}", code(&field)),
    };
    let objects: Vec<_> = findings.iter().map(|finding| &finding.object).collect();
    let sentence = match objects.as_slice() {
        [object] if said == Some(*object) => finding.message.clone(),
        // An object in a release record: it is the subject of the sentence.
        [object] => format!("{object} {}", finding.message),
        _ => format!("{}: each {}", subject(once(objects.clone()), MOST_NAMES), finding.message),
    };
    let help =
        if finding.help.is_empty() { String::new() } else { paragraph(&format!("→ {}", prose(&finding.help))) };
    [
        format!("{head} {}{field}{}", rule(finding.rule_text()), written_in(findings, place)),
        paragraph(&prose(&sentence)),
        help,
        folded(&once(objects)),
    ]
    .concat()
}

/// A paragraph of an item.
pub(crate) fn paragraph(markdown: &str) -> String {
    format!("\n\n  {markdown}")
}

/// The rule, with its page where it is one of ours.
fn rule(rule: &str) -> String {
    match rule.parse::<RuleId>() {
        Ok(id) => format!("[`{id}`]({})", id.page()),
        Err(()) => code(rule),
    }
}

/// The file, and the lines in it.
fn written_in(findings: &[&Finding], place: Option<&Place>) -> String {
    let places = findings.iter().filter_map(|finding| finding.place().or(place));
    // Standard input is no file that could be looked up.
    let places: Vec<_> = places.filter(|place| place.file != "-").collect();
    let Some(Place { file, .. }) = places.first() else { return String::new() };
    let lines: BTreeSet<_> = places.iter().filter_map(|place| place.line).collect();
    let named: Vec<_> = lines.iter().map(ToString::to_string).collect();
    match named.as_slice() {
        [] => format!(", in {}", code(file)),
        [line] => format!(", in {}", code(&format!("{file}:{line}"))),
        lines => format!(", in {}, lines {}", code(file), lines.join(", ")),
    }
}

/// The objects that the sentence has not named.
fn folded(objects: &[&Name]) -> String {
    if objects.len() <= MOST_NAMES {
        return String::new();
    }
    let named = objects.iter().take(MOST_LISTED).map(|object| code(&object.to_string()));
    let more = objects.len().saturating_sub(MOST_LISTED);
    let more = (more > 0).then(|| format!("and {more} more"));
    let items = named.chain(more).map(|item| format!("\n  - {item}")).collect::<Vec<_>>().concat();
    let summary = paragraph(&format!("<details><summary>{} objects</summary>", objects.len()));
    // HTML ends at an empty line, and what is between is Markdown again.
    format!("{summary}\n{items}\n\n  </details>")
}
