//! Foreign strings, as messages show them.

use std::fmt::{self, Write};

/// Longest part of a foreign string that a message repeats, in characters.
const LONGEST: usize = 253;

/// A foreign string without characters that are invisible or could forge a terminal's lines, cut where it is long.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, character) in self.0.chars().enumerate() {
            if index == LONGEST {
                return f.write_str("…");
            }
            write_visible(f, character)?;
        }
        Ok(())
    }
}

/// The same, whole: for a text that may be long.
#[derive(Debug, Clone, Copy)]
pub struct Visible<'a>(pub &'a str);

impl fmt::Display for Visible<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| write_visible(f, character))
    }
}

/// A space that no line is broken at, while one is broken.
pub const GLUE: char = '\u{a0}';

/// The text with such spaces inside of backticks: what stands there is copied whole.
pub fn glued(text: &str) -> String {
    let mut is_quoted = false;
    let glue = |character: char| {
        is_quoted ^= character == '`';
        if is_quoted && character == ' ' { GLUE } else { character }
    };
    text.chars().map(glue).collect()
}

fn write_visible(f: &mut fmt::Formatter<'_>, character: char) -> fmt::Result {
    if character.is_control() || is_invisible(character) {
        write!(f, "{}", character.escape_default())
    } else {
        f.write_char(character)
    }
}

/// Characters of no width, those that reorder the text around them, and those that no XML may hold.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::{Shown, Visible};
    use crate::testing::test;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(Shown("a\nb\u{1b}[31m").to_string(), "a\\nb\\u{1b}[31m");
        for invisible in ['\u{202e}', '\u{200b}', '\u{2028}', '\u{feff}', '\u{ffff}'] {
            assert!(!Visible(&format!("a{invisible}b")).to_string().contains(invisible));
        }
    }

    #[test]
    fn long_strings_are_cut() {
        let shown = Shown(&"ü".repeat(500)).to_string();
        assert_eq!(shown.chars().count(), super::LONGEST + 1);
        assert!(shown.ends_with('…'));
    }
}
