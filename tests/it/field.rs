//! Real charts that real Helm rendered, where they lie beside this repository: none is part of it.
//!
//! Each comes with the flips and duplicates that an independent reading of Helm's rules found.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

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

/// The folders of all charts; none where they are not at hand.
fn cases() -> Vec<PathBuf> {
    let Ok(folder) = fs::read_dir(root().join(FIELD)) else {
        eprintln!("SKIPPED: there are no real charts at {FIELD}");
        return Vec::new();
    };
    let mut cases: Vec<_> = folder.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    cases.sort();
    assert!(cases.len() >= 116, "only {} charts", cases.len());
    cases
}

fn renders(case: &Path) -> [String; 2] {
    ["install.yaml", "upgrade.yaml"].map(|file| case.join(file).display().to_string())
}

#[test]
fn field_charts_are_told_by_every_verb_in_every_format() {
    const JUDGED: [&str; 7] = ["human", "json", "markdown", "sarif", "github", "policyreport", "openreports"];
    const LISTED: [&str; 3] = ["human", "json", "markdown"];
    const DRAWN: [&str; 5] = ["human", "markdown", "svg", "html", "json"];
    const HOOKS: &[&str] = &["--diff", "--show-values"];
    // One format of each for each chart: all of them meet more than a dozen.
    for (number, case) in cases().iter().enumerate() {
        let [install, upgrade] = renders(case);
        let both = ["--install", &install, "--upgrade", &upgrade];
        let told = |verb: &[&str], formats: &[&str], rest: &[&str]| {
            let format = formats[number % formats.len()];
            let arguments = [verb, &["-o", format], rest].concat();
            let output = run(&arguments, b"");
            assert!(code(&output) <= 1 && stderr(&output).is_empty(), "{arguments:?}: {}", stderr(&output));
            // Annotations of nothing are nothing.
            assert!(format == "github" || !output.stdout.is_empty(), "{arguments:?}");
        };
        told(&["chart"], &JUDGED, &both);
        told(&["chart"], &LISTED, &[&both[..], HOOKS].concat());
        told(&["chart", "--argocd"], &LISTED, &both);
        told(&["timeline"], &DRAWN, &both);
        told(&["timeline", "--argocd"], &DRAWN, &both);
        told(&["review"], &JUDGED, &[&install, &upgrade]);
        told(&["review", "--audit", "--all"], &JUDGED, &[&upgrade]);
        let mended = run(&["fix", &upgrade], b"");
        assert_eq!(run(&["fix"], &mended.stdout).stdout, mended.stdout, "{upgrade}: mended twice is not mended once");
    }
}

#[test]
fn field_charts_flip_where_an_independent_reading_says_so_and_nowhere_else() {
    let cases = cases();
    if cases.is_empty() {
        return;
    }
    let mut failures = Vec::new();
    let mut denied = BTreeSet::new();
    for case in &cases {
        let name = case.file_name().unwrap().to_str().unwrap();
        let oracle: Value = serde_json::from_slice(&fs::read(case.join("case.json")).unwrap()).unwrap();
        let oracle = &oracle["oracle"];
        let [install, upgrade] = renders(case);
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
