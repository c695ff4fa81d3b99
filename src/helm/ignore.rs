//! `.helmignore`: which files in a chart's folder are no part of the chart.

use std::char::REPLACEMENT_CHARACTER;

use thiserror::Error;

/// The file's name.
pub const NAME: &str = ".helmignore";

/// Helm reads the file with Go's line scanner, which gives up on longer lines.
const LONGEST_LINE: usize = 64 * 1024;

/// Helm adds this rule to those of the file.
const BUILT_IN: &str = "templates/.?*";

/// The rules of one chart, in their order.
#[derive(Debug)]
pub struct Rules(Vec<Rule>);

/// A line that Helm refuses, and with it the chart.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("line {line} of {NAME} {}", .defect.as_str())]
pub struct IgnoreError {
    line: usize,
    defect: Defect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Defect {
    DoubleStar,
    Malformed,
    TooLong,
}

#[derive(Debug)]
struct Rule {
    is_negated: bool,
    only_folders: bool,
    /// The whole path is compared, else the last part of it.
    is_path: bool,
    /// `None` where taking off a trailing `/` has left half an escape, which matches nothing.
    pattern: Option<Vec<Token>>,
}

/// A part of a pattern in the grammar of Go's `filepath.Match`.
#[derive(Debug)]
enum Token {
    Byte(u8),
    /// One character, but not `/`.
    One,
    /// One character between any of these; `/` too.
    Class {
        is_negated: bool,
        ranges: Vec<(char, char)>,
    },
    /// Any bytes, but not `/`.
    Many,
}

impl Rules {
    /// The rules of a file with this text; without a file its text is empty.
    ///
    /// # Errors
    ///
    /// When Helm refuses the file.
    pub fn parse(text: &[u8]) -> Result<Self, IgnoreError> {
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        let lines = text.split(|byte| *byte == b'\n').chain([BUILT_IN.as_bytes()]);
        let rules = lines.zip(1..).filter_map(|(line, number)| {
            let rule = if line.len() < LONGEST_LINE { Rule::parse(line) } else { Err(Defect::TooLong) };
            rule.map_err(|defect| IgnoreError { line: number, defect }).transpose()
        });
        rules.collect::<Result<_, _>>().map(Self)
    }

    /// Whether Helm leaves out what lies at `path`, from the chart's folder on and with `/` between its parts; with a
    /// folder all that is in it.
    #[must_use]
    pub fn ignore(&self, path: &[u8], is_folder: bool) -> bool {
        // A `!` keeps nothing: it drops whatever it does not match.
        self.0.iter().any(|rule| {
            let is_of_kind = is_folder || !rule.only_folders;
            (is_of_kind && rule.matches(path)) != rule.is_negated
        })
    }
}

impl Rule {
    /// `None` for a line without a rule.
    fn parse(line: &[u8]) -> Result<Option<Self>, Defect> {
        let line = str::from_utf8(line).map_or(line.trim_ascii(), |line| line.trim().as_bytes());
        if line.is_empty() || line.starts_with(b"#") {
            return Ok(None);
        }
        if line.windows(2).any(|pair| pair == b"**") {
            return Err(Defect::DoubleStar);
        }
        tokens(line).ok_or(Defect::Malformed)?;
        let rest = line.strip_prefix(b"!");
        let (is_negated, rule) = (rest.is_some(), rest.unwrap_or(line));
        let rest = rule.strip_suffix(b"/");
        let (only_folders, rule) = (rest.is_some(), rest.unwrap_or(rule));
        let is_path = rule.contains(&b'/');
        let pattern = tokens(rule.strip_prefix(b"/").unwrap_or(rule));
        Ok(Some(Self { is_negated, only_folders, is_path, pattern }))
    }

    fn matches(&self, path: &[u8]) -> bool {
        let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        let name = if self.is_path { path } else { last };
        self.pattern.as_ref().is_some_and(|pattern| matches(pattern, name))
    }
}

impl Defect {
    fn as_str(self) -> &'static str {
        match self {
            Self::DoubleStar => "has a double star, which Helm does not support",
            Self::Malformed => "is no pattern that Helm can read",
            Self::TooLong => "is longer than Helm reads",
        }
    }
}

/// `None` for what Go calls a bad pattern.
fn tokens(pattern: &[u8]) -> Option<Vec<Token>> {
    let (mut tokens, mut rest) = (Vec::new(), pattern);
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        tokens.push(match first {
            b'*' => Token::Many,
            b'?' => Token::One,
            b'[' => class(&mut rest)?,
            b'\\' => {
                let (escaped, after) = rest.split_first()?;
                rest = after;
                Token::Byte(*escaped)
            }
            byte => Token::Byte(*byte),
        });
    }
    Some(tokens)
}

/// The class behind a `[`.
fn class(rest: &mut &[u8]) -> Option<Token> {
    let is_negated = take(rest, b'^');
    let mut ranges = Vec::new();
    while ranges.is_empty() || !take(rest, b']') {
        let low = class_end(rest)?;
        let high = if take(rest, b'-') { class_end(rest)? } else { low };
        ranges.push((low, high));
    }
    Some(Token::Class { is_negated, ranges })
}

/// One end of a range, escaped or not.
fn class_end(rest: &mut &[u8]) -> Option<char> {
    let is_escaped = take(rest, b'\\');
    if !is_escaped && matches!(rest.first(), Some(b'-' | b']')) {
        return None;
    }
    let (found, length) = first_char(rest).filter(|(found, length)| *found != REPLACEMENT_CHARACTER || *length > 1)?;
    *rest = rest.get(length..)?;
    Some(found)
}

fn take(rest: &mut &[u8], wanted: u8) -> bool {
    let after = rest.split_first().filter(|(first, _)| **first == wanted).map(|(_, after)| after);
    *rest = after.unwrap_or(rest);
    after.is_some()
}

/// The first character and how many bytes it has; one for a byte that belongs to none.
fn first_char(bytes: &[u8]) -> Option<(char, usize)> {
    let few = bytes.get(..4).unwrap_or(bytes);
    let valid = few.utf8_chunks().next()?.valid();
    Some(valid.chars().next().map_or((REPLACEMENT_CHARACTER, 1), |found| (found, found.len_utf8())))
}

/// Whether the pattern matches all of the name, in Go's way: what a `*` matches is settled where the next one begins.
fn matches(pattern: &[Token], name: &[u8]) -> bool {
    let (mut pattern, mut name) = (pattern, name);
    // The pattern behind the last star, and the part of the name that was compared with it.
    let mut star: Option<(&[Token], &[u8])> = None;
    loop {
        match pattern.split_first() {
            None if name.is_empty() => return true,
            Some((Token::Many, after)) => {
                pattern = after;
                star = Some((after, name));
                continue;
            }
            Some((token, after)) => {
                if let Some(rest) = token.matches(name) {
                    (pattern, name) = (after, rest);
                    continue;
                }
            }
            None => {}
        }
        let Some((behind, from)) = star else { return false };
        let Some((_, longer)) = from.split_first().filter(|(first, _)| **first != b'/') else { return false };
        (pattern, name, star) = (behind, longer, Some((behind, longer)));
    }
}

impl Token {
    /// The rest of a name that begins with this.
    fn matches<'n>(&self, name: &'n [u8]) -> Option<&'n [u8]> {
        let (found, length) = first_char(name)?;
        let length = match self {
            Self::Byte(byte) => (name.first() == Some(byte)).then_some(1),
            Self::One => (found != '/').then_some(length),
            Self::Class { is_negated, ranges } => {
                let is_in = ranges.iter().any(|(low, high)| (*low..=*high).contains(&found));
                (is_in != *is_negated).then_some(length)
            }
            Self::Many => None,
        };
        name.get(length?..)
    }
}

#[cfg(test)]
mod tests {
    use super::Rules;

    fn ignores(rules: &str, path: &str) -> bool {
        let (path, is_folder) = path.strip_suffix('/').map_or((path, false), |folder| (folder, true));
        Rules::parse(rules.as_bytes()).unwrap().ignore(path.as_bytes(), is_folder)
    }

    #[test]
    fn a_name_without_a_slash_is_ignored_wherever_it_is() {
        for (rule, path, wanted) in [
            ("*.log", "a.log", true),
            ("*.log", "deep/er/a.log", true),
            (" *.log \r", "a.log", true),
            ("*.log", "a.logs", false),
            ("# a", "# a", false),
            ("\u{FEFF}a", "a", true),
            ("", "a", false),
            ("tmp/", "tmp/", true),
            ("tmp/", "deep/tmp/", true),
            ("tmp/", "tmp", false),
            ("/tmp", "tmp", true),
            ("/tmp", "deep/tmp", false),
            ("a/*", "a/b", true),
            ("a/*", "a/b/c", false),
            ("a/*", "c/a/b", false),
            ("/", "a/", false),
        ] {
            assert_eq!(ignores(rule, path), wanted, "{rule} {path}");
        }
    }

    #[test]
    fn dotfiles_among_the_templates_are_ignored_without_a_rule() {
        for (path, wanted) in [
            ("templates/.a", true),
            ("templates/.a/", true),
            (".a", false),
            ("templates/a/.b", false),
            ("templates/.", false),
        ] {
            assert_eq!(ignores("", path), wanted, "{path}");
        }
    }

    #[test]
    fn a_negated_rule_ignores_what_it_does_not_match() {
        for (rule, path, wanted) in [
            ("!Chart.yaml", "Chart.yaml", false),
            ("!Chart.yaml", "values.yaml", true),
            ("!a/", "a/", false),
            ("!a/", "a", true),
            ("!a/", "b/", true),
            ("!", "a", true),
            ("!*", "a", false),
            ("!*\n*.log", "a.log", true),
            ("*.log\n!*.log", "a.log", true),
        ] {
            assert_eq!(ignores(rule, path), wanted, "{rule} {path}");
        }
    }

    #[test]
    fn patterns_are_those_of_go() {
        for (pattern, name, wanted) in [
            ("a?c", "abc", true),
            ("a?c", "a\u{e4}c", true),
            ("a?c", "ac", false),
            ("a/?", "a//", false),
            ("[a-c]", "b", true),
            ("[^a-c]", "b", false),
            ("[^a-c]", "\u{e4}", true),
            ("[\\-a]", "-", true),
            ("[a\\]]", "]", true),
            ("[*]", "*", true),
            ("[*]", "a", false),
            ("x/a[^b]c", "x/a/c", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("*a*b", "xaxb", true),
            ("*a*b", "ab", true),
            ("*ab", "aab", true),
            ("*a*b", "xaxbc", false),
            ("a*", "a", true),
            ("/a*c", "ab/c", false),
            ("\\a", "a", true),
            ("a\\/", "a", false),
        ] {
            assert_eq!(ignores(pattern, name), wanted, "{pattern} {name}");
        }
        let name = format!("{}b", "a".repeat(200));
        assert!(!ignores(&"*a".repeat(100), &name), "and stay cheap");
        assert!(Rules::parse(b"\xff").unwrap().ignore(b"\xff", false), "in any encoding");
    }

    #[test]
    fn what_helm_refuses_is_refused_with_its_line() {
        for (text, wanted) in [
            ("a\n\n**/b", "line 3 of .helmignore has a double star, which Helm does not support"),
            ("[", "line 1 of .helmignore is no pattern that Helm can read"),
            ("[]a]", "line 1 of .helmignore is no pattern that Helm can read"),
            ("[a", "line 1 of .helmignore is no pattern that Helm can read"),
            ("[a-]", "line 1 of .helmignore is no pattern that Helm can read"),
            ("[-a]", "line 1 of .helmignore is no pattern that Helm can read"),
            ("a\\", "line 1 of .helmignore is no pattern that Helm can read"),
            (&"a".repeat(65_536), "line 1 of .helmignore is longer than Helm reads"),
        ] {
            assert_eq!(Rules::parse(text.as_bytes()).unwrap_err().to_string(), wanted, "{wanted}");
        }
    }
}
