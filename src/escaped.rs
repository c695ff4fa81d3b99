//! Texts as Go's templates write them with `urlquery`.

use percent_encoding::percent_decode_str;

/// The text; `None` where it is none.
pub(crate) fn unescaped(text: &str) -> Option<String> {
    String::from_utf8(percent_decode_str(&text.replace('+', " ")).collect()).ok()
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn a_text_is_what_it_was() {
        assert_eq!(unescaped("a%0Ab%26+%C3%A9").as_deref(), Some("a\nb& é"));
        assert_eq!(unescaped("%ff"), None);
    }
}
