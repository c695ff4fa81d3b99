//! What is generated from the code is as the code says; `make docs` writes it.

use std::fs;

use stable_hooks_policy::docs::{Policy, questions, rules_table, settings_table};

use crate::engines::root;

#[test]
fn docs_the_tables_are_current() {
    for (file, name, table) in [
        ("README.md", "rules", rules_table()),
        ("README.md", "settings", settings_table()),
        ("policy/usage.md", "settings", settings_table()),
    ] {
        assert_block(file, name, &table);
    }
}

#[test]
fn docs_the_forms_ask_for_what_each_policy_obeys() {
    assert_current("policy/questions-ui.yml", &questions(Policy::Objects));
    assert_current("policy/releases/questions-ui.yml", &questions(Policy::Releases));
}

/// The block between the two marks in a file is as the code says.
pub(crate) fn assert_block(file: &str, name: &str, block: &str) {
    let text = fs::read_to_string(root().join(file)).unwrap();
    assert_current(file, &with_block(&text, name, block));
}

/// The file is as the code says; with BLESS it is made so.
fn assert_current(file: &str, expected: &str) {
    let path = root().join(file);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{file} is not what the code says: make docs");
}

/// The text with the block between its two marks replaced.
fn with_block(text: &str, name: &str, block: &str) -> String {
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
    let (before, rest) = text.split_once(&begin).expect("the begin mark");
    let (_, after) = rest.split_once(&end).expect("the end mark");
    format!("{before}{begin}\n{block}\n{end}{after}")
}
