//! How a string that somebody else wrote is shown in a message.

use std::fmt;

/// Longest part of a foreign string that a message repeats, in characters.
const LONGEST: usize = 120;

/// A foreign string without control characters (they could forge lines on a terminal), cut where it is long.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, character) in self.0.chars().enumerate() {
            if index == LONGEST {
                return f.write_str("…");
            }
            if character.is_control() || is_bidirectional(character) {
                write!(f, "{}", character.escape_default())?;
            } else {
                write!(f, "{character}")?;
            }
        }
        Ok(())
    }
}

/// Characters that reorder the text around them.
fn is_bidirectional(character: char) -> bool {
    matches!(character, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::Shown;
    use crate::testing::test;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(Shown("a\nb\u{1b}[31m").to_string(), "a\\nb\\u{1b}[31m");
        assert_eq!(Shown("a\u{202e}b").to_string(), "a\\u{202e}b");
    }

    #[test]
    fn long_strings_are_cut() {
        let shown = Shown(&"ü".repeat(500)).to_string();
        assert_eq!(shown.chars().count(), 121);
        assert!(shown.ends_with('…'));
    }
}
