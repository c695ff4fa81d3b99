//! A word that stands only where a Secret's data, a container's environment or a chart's values stand.

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;

/// Long enough that no fuzzer makes it up.
pub(crate) const CANARY: &str = "Kanarienvogel7-im-Stollen";

/// How the word looks in plain text and in base64, wherever in the encoded text it begins.
static LOOKS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let encoded = (0..3).map(|before| {
        // The characters that are the same whatever stands around the word.
        let whole = BASE64.encode(format!("{}{CANARY}", "-".repeat(before)));
        let (start, end) = ((before * 4).div_ceil(3), (before + CANARY.len()) * 4 / 3);
        whole[start..end].to_owned()
    });
    let once: Vec<_> = encoded.collect();
    let twice = BASE64.encode(BASE64.encode(CANARY)).trim_end_matches('=').to_owned();
    [CANARY.to_owned(), twice].into_iter().chain(once).collect()
});

/// The word where it is nobody's business, as documents of a stream.
pub(crate) fn secrets() -> String {
    let documents = "\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: CANARY}\n---\n\
                     apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, annotations: {helm.sh/hook: pre-install, other: CANARY}}\n\
                     spec: {password: CANARY}\n---\nCANARY: [\n";
    documents.replace("CANARY", CANARY)
}

/// Whether a text says the word.
pub(crate) fn sings(text: &str) -> bool {
    LOOKS.iter().any(|look| text.contains(look.as_str()))
}

/// What is said may not hold the word.
pub(crate) fn assert_silent(text: &str) {
    assert!(!sings(text), "a Secret's data comes out: {text}");
}

#[cfg(test)]
mod tests {
    use super::{BASE64, CANARY, sings};
    use base64::Engine;

    #[test]
    fn the_canary_is_heard_wherever_it_sits() {
        for before in ["", "a", "ab", "abc"] {
            for after in ["", "x", "xy"] {
                let text = format!("{before}{CANARY}{after}");
                assert!(sings(&text) && sings(&BASE64.encode(&text)), "{text}");
            }
        }
        assert!(sings(&BASE64.encode(BASE64.encode(CANARY))));
        assert!(!sings("Kanarienvogel"));
    }
}
