//! The registry polices itself.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};
use stable_hooks::input::{Content, documents};
use stable_hooks_policy::RuleId;
use stable_hooks_policy::docs::{body, page};

use crate::cases::reported;
use crate::engines::{ask, files, relative, root};

const SECTIONS: [&str; 5] = ["## What it does", "## Why is this bad?", "## Example", "## Use instead", "## References"];

#[test]
fn rules_names_are_unique_kebab_case_and_parse_back() {
    let names: BTreeSet<_> = RuleId::ALL.iter().map(|rule| rule.as_str()).collect();
    assert_eq!(names.len(), RuleId::ALL.len());
    for rule in RuleId::ALL {
        assert_eq!(rule.as_str().parse(), Ok(*rule));
        assert!(rule.as_str().chars().all(|character| character.is_ascii_lowercase() || character == '-'));
        assert!(!rule.as_str().starts_with("no-"), "a rule is named after the pattern, not after its absence");
    }
}

#[test]
fn rules_have_a_file_of_their_name_and_cases_that_accept_and_that_do_not() {
    let rule_files: BTreeSet<_> = files("policy/src/rules", "rs").iter().map(|path| relative(path)).collect();
    let names: BTreeSet<_> = RuleId::ALL
        .iter()
        .map(|rule| format!("policy/src/rules/object/{}.rs", rule.as_str().replace('-', "_")))
        .collect();
    assert_eq!(rule_files, names);
    for rule in RuleId::ALL {
        let folder = root().join("tests/cases").join(rule.as_str());
        let cases: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert!(cases.iter().any(|name| name.starts_with("accepts-")), "{rule} has no accepting case");
        assert!(cases.iter().any(|name| !name.starts_with("accepts-")), "{rule} has no case that finds something");
    }
}

#[test]
fn rules_pages_have_every_section_in_order() {
    for rule in RuleId::ALL {
        let page = page(*rule);
        let mut rest = page.as_str();
        for section in SECTIONS {
            rest = rest.split_once(section).unwrap_or_else(|| panic!("{rule}: no section {section:?} in its place")).1;
        }
        assert!(page.starts_with(&format!("# {rule}\n")));
    }
}

#[test]
fn rules_examples_trigger_the_rule_and_their_correction_does_not() {
    for rule in RuleId::ALL {
        let body = body(*rule);
        let (example, correction) = body.split_once("## Use instead").unwrap();
        assert!(finds(*rule, example), "{rule}: the example does not trigger it");
        assert!(!finds(*rule, correction), "{rule}: the correction still triggers it");
    }
}

/// Judges the first YAML block of a text: one object is a CREATE, two are an UPDATE.
fn finds(rule: RuleId, text: &str) -> bool {
    let yaml = text.split_once("```yaml\n").unwrap().1.split_once("```").unwrap().0;
    let objects: Vec<Value> = documents(yaml.as_bytes())
        .map(|document| match document.unwrap().content {
            Content::Manifest(object) => object,
            Content::Request(_) => panic!("a rule's page shows manifests"),
        })
        .collect();
    let (old, new, operation) = match &objects[..] {
        [new] => (Value::Null, new, "CREATE"),
        [old, new] => (old.clone(), new, "UPDATE"),
        _ => panic!("{rule}: an example is one object, or one before and one after"),
    };
    let group = if new["kind"] == "Job" { "batch" } else { "" };
    let request = json!({
        "uid": "1", "operation": operation, "userInfo": {"username": "admin"},
        "kind": {"group": group, "version": "v1", "kind": new["kind"]}, "object": new, "oldObject": old,
    });
    let answer = ask(&request, &json!({}));
    reported(&answer).iter().any(|finding| finding.split(' ').next() == Some(rule.as_str()))
}
