//! Every sentence that a rule can print is printed by a case in `tests/cases`, where somebody has read it.

use std::fs;

use serde_json::Value;
use stable_hooks::engine::Answer;

use crate::cases::in_one_line;
use crate::engines::{annotated, files, relative, root};
use crate::{cases, release_cases, sync_cases};

/// What needs more objects than a case has: `denials.rs` holds it.
const HELD_ELSEWHERE: [&str; 3] = [
    "stable-hooks warns of",
    "more, which find no room here.",
    "more: the audit annotation `findings` has all of them.",
];

/// Shorter pieces are no sentences.
const SHORTEST: usize = 20;

/// The words around the findings, down to those of what becomes of an object.
const DENIALS: &str = "policy/src/wire/text.rs";

#[test]
fn sentences_of_every_rule_are_printed_by_a_case() {
    let printed: Vec<_> = cases::answers().chain(release_cases::answers()).map(|answer| texts(&answer)).collect();
    let printed = printed.into_iter().chain(sync_cases::said()).collect::<Vec<_>>().join("\n");
    let (mut unseen, mut count) = (Vec::new(), 0);
    for path in files("policy/src/rules", "rs") {
        let source = fs::read_to_string(&path).unwrap();
        let sentences = literals(&source);
        for sentence in sentences.iter().flat_map(|literal| pieces(literal, SHORTEST)) {
            count += 1;
            if !printed.contains(&sentence) {
                unseen.push(format!("{}: {sentence}", relative(&path)));
            }
        }
    }
    let source = fs::read_to_string(root().join(DENIALS)).unwrap();
    for phrase in literals(&source).iter().flat_map(|literal| pieces(literal, 5)) {
        if !printed.contains(&phrase) && !HELD_ELSEWHERE.contains(&phrase.as_str()) {
            unseen.push(format!("{DENIALS}: {phrase}"));
        }
    }
    assert!(count > 100, "{count} sentences");
    assert!(unseen.is_empty(), "{} of {count} are printed by no case:\n{}", unseen.len(), unseen.join("\n"));
}

/// All that an answer says, the findings in full.
fn texts(answer: &Answer) -> String {
    let findings = annotated(answer, "findings");
    let said =
        |finding: &Value| format!("{} {}", finding["message"].as_str().unwrap(), finding["help"].as_str().unwrap());
    let response = &answer.response;
    let printed = response.message.iter().chain(response.warnings.iter().flatten()).cloned();
    in_one_line(&findings.iter().map(said).chain(printed).collect::<Vec<_>>().join(" "))
}

/// The string literals of a rule's code; neither its page, its summary nor its tests.
fn literals(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap();
    let is_code = |line: &&str| !line.trim_start().starts_with("//") && !line.trim_start().starts_with("summary:");
    let code = code.lines().filter(is_code).collect::<Vec<_>>().join("\n");
    let (mut literals, mut open, mut letters) = (Vec::new(), None::<String>, code.chars().peekable());
    while let Some(letter) = letters.next() {
        match (&mut open, letter) {
            (None, '"') => open = Some(String::new()),
            (None, _) => {}
            (Some(_), '"') => literals.extend(open.take()),
            (Some(text), '\\') => match letters.next() {
                Some('\n') => while letters.next_if(|next| next.is_whitespace()).is_some() {},
                Some('n') => text.push('\n'),
                Some(escaped) => text.push(escaped),
                None => {}
            },
            (Some(text), letter) => text.push(letter),
        }
    }
    literals
}

/// What stands between the values that are filled in.
fn pieces(literal: &str, shortest: usize) -> Vec<String> {
    let fixed = literal.split('{').map(|part| part.split_once('}').map_or(part, |(_, rest)| rest));
    fixed.map(in_one_line).filter(|piece| piece.len() >= shortest && piece.contains(' ')).collect()
}

#[test]
fn sentences_are_found_in_code() {
    let source = "/// \"a page is no sentence of it\"\nsummary: \"nor is a summary of that kind\",\nlet a = format!(\"in {x}, one \\\n     \\\"sentence\\\" that is long: {y}\");\n#[cfg(test)]\n\"and this is only a test of it\"";
    let found: Vec<_> = literals(source).iter().flat_map(|literal| pieces(literal, SHORTEST)).collect();
    assert_eq!(found, [", one \"sentence\" that is long:"]);
}
