//! What is generated from the code is as the code says; `make docs` writes it.

use std::fs;

use stable_hooks_policy::docs::{rules_table, settings_table};

use crate::cli::stdout;
use crate::engines::root;
use crate::timeline::flip;

#[test]
fn docs_the_readme_tables_are_current() {
    let path = root().join("README.md");
    let mut readme = fs::read_to_string(&path).unwrap();
    for (name, table) in [("rules", rules_table()), ("settings", settings_table())] {
        readme = with_block(&readme, name, &table);
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &readme).unwrap();
    }
    assert!(fs::read_to_string(&path).unwrap() == readme, "the tables in README.md are stale: make docs");
}

/// The text with the block between its two marks replaced.
fn with_block(text: &str, name: &str, block: &str) -> String {
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
    let (before, rest) = text.split_once(&begin).expect("the begin mark");
    let (_, after) = rest.split_once(&end).expect("the end mark");
    format!("{before}{begin}\n{block}\n{end}{after}")
}

#[test]
fn docs_the_version_is_the_same_everywhere() {
    let version = env!("CARGO_PKG_VERSION");
    for (file, line) in [
        ("policy/metadata.yml", format!("io.kubewarden.policy.version: {version}")),
        ("artifacthub-pkg.yml", format!("version: {version}")),
        ("artifacthub-pkg.yml", format!("policies/stable-hooks:v{version}")),
    ] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        assert!(text.contains(&line), "{file} does not say {line:?}");
    }
}

#[test]
fn docs_the_picture_of_a_flip_is_current() {
    let path = root().join("docs/flip.svg");
    let picture = stdout(&flip(&["-o", "svg"]));
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &picture).unwrap();
    }
    assert!(fs::read_to_string(&path).unwrap() == picture, "docs/flip.svg is stale: make docs");
}
