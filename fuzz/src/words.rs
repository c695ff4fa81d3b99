//! Helm's words as the guard reads them: whatever they are, what Helm is asked with is a dry run of the same thing.

use std::ffi::OsString;

use stable_hooks::invocation::Invocation;

/// What Helm is asked with beside the words.
const ASKED: [(&str, Option<&str>); 2] = [("dry-run", Some("server")), ("output", Some("json"))];

/// Reads one command line, a word between two blanks or line breaks.
pub fn words(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let words: Vec<OsString> = text.split([' ', '\n']).map(OsString::from).collect();
    let Some(read) = Invocation::read(words.clone()) else { return };
    assert_eq!(read.words(), words, "the words are others");
    // Helm itself says what is wrong with the others.
    if read.changes_nothing() {
        return;
    }
    let asked = Invocation::read(read.with(&ASKED)).expect("the verb stays");
    assert!(asked.changes_nothing(), "{words:?} is asked with {:?}", asked.words());
    let what = |read: &Invocation| (read.verb, read.release().map(str::to_owned), read.chart().map(OsString::from));
    assert_eq!(what(&asked), what(&read), "{:?}", asked.words());
    assert_eq!((asked.value("dry-run"), asked.value("output")), (Some("server"), Some("json")));
    assert_eq!((asked.told(), asked.target(), asked.global()), (read.told(), read.target(), read.global()));
    assert_eq!(asked.labels().collect::<Vec<_>>(), read.labels().collect::<Vec<_>>());
    let labelled = Invocation::read(read.with(&[("labels", Some("a=b"))])).expect("the verb stays");
    assert!(
        labelled.labels().any(|label| label == ("a", "b")) && !labelled.changes_nothing(),
        "{:?}",
        labelled.words()
    );
    let _ = read.as_template(&["skip-crds"]);
    let _ = read.kubectl_flags(|_| None);
}
