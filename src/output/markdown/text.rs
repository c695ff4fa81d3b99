//! Foreign texts in Markdown: they stay the texts that they are, wherever they stand.
//!
//! A backslash does not help against `@name` and `#1`: GitHub and GitLab look for those after Markdown is read. They look
//! into no code, so all that anybody could read something into becomes code.

use stable_hooks_policy::shown::Visible;

/// What may stand around a word without meaning anything.
const AROUND: [char; 7] = ['.', ',', ':', ';', '?', '…', ')'];

/// Signs between two words that nobody reads anything into.
const BETWEEN: [&str; 2] = ["→", "–"];

/// GitHub links a word of so many hexadecimal digits to a commit.
const COMMIT: usize = 7;

/// A text of words: those of letters alone stay as they are, each other is code. What it quotes with backticks is code as a
/// whole. Breaks of lines are spaces.
pub(crate) fn prose(text: &str) -> String {
    let text = Visible(&text.replace(['\n', '\r', '\t'], " ")).to_string();
    let mut is_quoted = false;
    let words = text.split(|character: char| {
        is_quoted ^= character == '`';
        character == ' ' && !is_quoted
    });
    let words = words.filter(|word| !word.is_empty()).enumerate();
    words.map(|(place, text)| word(text, place == 0)).collect::<Vec<_>>().join(" ")
}

/// A name or a value, letter by letter.
pub(crate) fn code(text: &str) -> String {
    let text = Visible(text).to_string();
    if text.is_empty() {
        return text;
    }
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    // A space at both ends is taken off by whoever reads the code.
    let is_padded = text.starts_with('`') || text.ends_with('`') || (text.starts_with(' ') && text.ends_with(' '));
    let pad = if is_padded && !text.trim_matches(' ').is_empty() { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Markdown of the two above, for a cell of a table: a table ends its cells in code too.
pub(crate) fn cell(markdown: &str) -> String {
    markdown.replace('|', "\\u{7c}")
}

fn word(text: &str, is_first: bool) -> String {
    let rest = text.trim_start_matches('(');
    let inner = rest.trim_end_matches(AROUND);
    let before = text.strip_suffix(rest).unwrap_or_default();
    let after = rest.strip_prefix(inner).unwrap_or_default();
    // At the beginning it would count the items of a list.
    let counts = is_first && is_number(inner) && after.starts_with(['.', ')']);
    let quoted = inner.strip_prefix('`').and_then(|inner| inner.strip_suffix('`'));
    let inner = match quoted.filter(|quoted| !quoted.is_empty() && !quoted.contains('`')) {
        Some(quoted) => code(quoted),
        // A sign that stands alone could begin something.
        None if inner.is_empty() => return code(text),
        None if is_plain(inner) && !counts => inner.to_owned(),
        None => code(inner),
    };
    format!("{before}{inner}{after}")
}

/// Letters, as they stand in any sentence, or a small number.
fn is_plain(word: &str) -> bool {
    if BETWEEN.contains(&word) || is_number(word) {
        return word.len() < COMMIT;
    }
    let is_commit = word.split(|letter: char| !letter.is_ascii_hexdigit()).any(|run| run.len() >= COMMIT);
    let ends = ['-', '\''];
    let is_letter = |character: char| character.is_alphabetic() || ends.contains(&character);
    !is_commit && word.chars().all(is_letter) && !word.starts_with(ends) && !word.ends_with(ends)
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Options, Parser, Tag};
    use stable_hooks_policy::shown::Visible;

    use super::{cell, code, prose};

    /// What means something to Markdown, HTML, GitHub or GitLab, and what nobody sees.
    const ACTIVE: &str = "[-`|<>&@#!~%$:_*\\[\\](){}\"'/.,;?=+^\\\\0-9a-f\n\r\t \u{202e}\u{200b}\u{a0}é日]{0,24}";

    fn read(markdown: &str) -> Vec<Event<'_>> {
        let options = Options::all() - Options::ENABLE_SMART_PUNCTUATION;
        Parser::new_ext(markdown, options).collect()
    }

    /// The words that a reader sees, without the spaces around them; any other event is one too many.
    fn seen(markdown: &str, expected: fn(&Tag<'_>) -> bool) -> String {
        let mut text = String::new();
        for event in read(markdown) {
            match event {
                Event::Text(part) => {
                    let is_harmless =
                        |character: char| " -'(….,:;?)→–".contains(character) || character.is_alphanumeric();
                    assert!(part.chars().all(is_harmless), "{part:?} is no code in {markdown:?}");
                    let hidden = part.split(|character: char| !character.is_ascii_hexdigit()).any(|run| run.len() > 6);
                    assert!(!hidden, "{part:?} could be a commit");
                    text.push_str(&part);
                }
                Event::Code(part) => text.push_str(&part),
                Event::Start(tag) if expected(&tag) => {}
                Event::End(_) => {}
                event => panic!("{event:?} in {markdown:?}"),
            }
        }
        text
    }

    fn is_paragraph(tag: &Tag<'_>) -> bool {
        matches!(tag, Tag::Paragraph)
    }

    fn in_one_line(text: &str) -> String {
        text.replace(['\n', '\r', '\t'], " ").split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn sentences_stay_sentences() {
        for (text, markdown) in [
            ("Helm's hook (a Job) is gone: 2 of 3, see below.", "Helm's hook (a Job) is gone: 2 of 3, see below."),
            ("write helm.sh/hook: \"pre-install\".", "write `helm.sh/hook`: `\"pre-install\"`."),
            ("run `kubectl -n f3 get job`, then", "run `kubectl -n f3 get job`, then"),
            ("thanks @octocat, fixes #12 and GH-12", "thanks `@octocat`, fixes `#12` and `GH-12`"),
            ("www.evil.example </details> a|b", "`www.evil.example` `</details>` `a|b`"),
            ("1. no list", "`1`. no list"),
            ("0.1.0 – 0.2.0", "`0.1.0` – `0.2.0`"),
            ("- no\nlist", "`-` no list"),
            ("defaced 1234567", "`defaced` `1234567`"),
            ("an `open quote", "an `` `open quote ``"),
            ("/close", "`/close`"),
            ("x\u{202e}y", "`x\\u{202e}y`"),
            ("", ""),
        ] {
            assert_eq!(prose(text), markdown, "{text:?}");
        }
    }

    #[test]
    fn code_is_fenced_by_more_backticks_than_it_has() {
        for (text, markdown) in [("a", "`a`"), ("`", "`` ` ``"), ("a``b", "```a``b```"), (" a ", "`  a  `"), ("", "")] {
            assert_eq!(code(text), markdown);
        }
        assert_eq!(cell(&code("a|b")), "`a\\u{7c}b`");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn code_reads_as_what_it_is(text in prop_oneof![ACTIVE, ".{0,40}"]) {
            // A text of spaces alone would be no paragraph.
            let markdown = format!("a{}", code(&text));
            prop_assert_eq!(seen(&markdown, is_paragraph), format!("a{}", Visible(&text)));
        }

        #[test]
        fn prose_reads_as_what_it_is(text in prop_oneof![ACTIVE, ".{0,40}", "[-a-z@#` ]{0,60}"]) {
            // Backticks may have become those of the code.
            let words = |text: &str| in_one_line(&text.replace('`', ""));
            let (expected, markdown) = (Visible(&in_one_line(&text)).to_string(), prose(&text));
            prop_assert_eq!(words(&seen(&markdown, is_paragraph)), words(&expected));
            let item = format!("- {markdown}\n\n  {markdown}");
            let is_of_a_list = |tag: &Tag<'_>| matches!(tag, Tag::Paragraph | Tag::List(None) | Tag::Item);
            seen(&item, is_of_a_list);
            let heading = format!("#### deny {markdown}");
            prop_assert_eq!(words(&seen(&heading, |tag| matches!(tag, Tag::Heading { .. }))), words(&format!("deny {expected}")));
        }

        #[test]
        fn a_cell_stays_one(text in prop_oneof![ACTIVE, ".{0,40}"]) {
            let (head, row) = ("| a | b |\n|---|---|\n", format!("| {} | {} |", cell(&prose(&text)), cell(&code(&text))));
            let table = format!("{head}{row}\n");
            let cells = read(&table).into_iter().filter(|event| matches!(event, Event::Start(Tag::TableCell))).count();
            prop_assert_eq!(cells, 4, "{}", table);
            seen(&table, |tag| matches!(tag, Tag::Table(_) | Tag::TableHead | Tag::TableRow | Tag::TableCell));
        }
    }
}
