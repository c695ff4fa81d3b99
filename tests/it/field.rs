//! Real charts that real Helm rendered, where they lie beside this repository: none is part of it.
//!
//! Each comes with the flips and duplicates that an independent reading of Helm's rules found.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::chart_renders::denials;
use crate::cli::{code, run, stderr};
use crate::engines::root;

const FIELD: &str = "../shared/corpus/field";

/// Denials that are no flips, each of them read and right.
const OTHER_DENIALS: &[(&str, &str)] = &[
    // The ConfigMap that the pre-install hook mounts is a resource of the same release: the first install waits for it
    // until the timeout.
    ("flexprice-migration", "hook-missing-dependency deny Job/fp-flexprice-migration-0cf00494"),
];

fn named(objects: &Value) -> BTreeSet<String> {
    let text = |object: &Value| object["object"].as_str().unwrap().to_owned();
    objects.as_array().unwrap().iter().map(text).collect()
}

/// What one rule found, in the words of the independent reading.
fn found(result: &Value, rule: &str) -> BTreeSet<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let name = |finding: &Value| {
        let object = &finding["object"];
        let [group, kind, namespace, name] =
            [&object["group"], &object["kind"], &object["namespace"], &object["name"]].map(text);
        let group = if group.is_empty() { group } else { format!(" ({group})") };
        let place = if namespace.is_empty() { namespace } else { format!(" in {namespace}") };
        format!("{kind}/{name}{group}{place}")
    };
    result["findings"].as_array().unwrap().iter().filter(|finding| finding["rule"] == rule).map(name).collect()
}

#[test]
fn field_charts_flip_where_an_independent_reading_says_so_and_nowhere_else() {
    let Ok(folder) = fs::read_dir(root().join(FIELD)) else {
        eprintln!("SKIPPED: there are no real charts at {FIELD}");
        return;
    };
    let mut cases: Vec<_> = folder.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    cases.sort();
    assert!(cases.len() >= 116, "only {} charts", cases.len());
    let mut failures = Vec::new();
    let mut denied = BTreeSet::new();
    for case in &cases {
        let name = case.file_name().unwrap().to_str().unwrap();
        let oracle: Value = serde_json::from_slice(&fs::read(case.join("case.json")).unwrap()).unwrap();
        let oracle = &oracle["oracle"];
        let [install, upgrade] = ["install.yaml", "upgrade.yaml"].map(|file| case.join(file).display().to_string());
        let arguments = ["chart", "--install", &install, "--upgrade", &upgrade, "-n", "apps", "-o", "json"];
        let output = run(&arguments, b"");
        let result = crate::chart_renders::result(&output);
        let told = stderr(&output);
        if code(&output) > 1 || !told.is_empty() {
            failures.push(format!("{name}: exit code {}, {told}", code(&output)));
        }
        for (rule, wanted) in [("release-identity-flip", "flips"), ("release-duplicate-identity", "duplicates")] {
            let (found, wanted) = (found(&result, rule), named(&oracle[wanted]));
            if found != wanted {
                failures.push(format!("{name}: {rule} finds {found:?} where {wanted:?} is right"));
            }
        }
        let others = denials(&output).into_iter().filter(|denial| !denial.starts_with("release-identity-flip "));
        denied.extend(others.map(|denial| (name.to_owned(), denial)));
    }
    let read = OTHER_DENIALS.iter().map(|(name, denial)| ((*name).to_owned(), (*denial).to_owned())).collect();
    assert_eq!(denied, read, "a denial that nobody has read, or one that is gone");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
