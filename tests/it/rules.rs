//! The registry polices itself.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};
use stable_hooks::input::{Content, documents};
use stable_hooks_policy::RuleId;
use stable_hooks_policy::docs::{body, page};
use stable_hooks_policy::rule::{Family, Level};

use crate::cases::reported;
use crate::engines::{ask, ask_with, cluster, files, relative, root};
use crate::releases::render::{self, Revision};
use crate::{releases, sync_cases};

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
    let folders = ["object", "release", "chart"].map(|folder| files(&format!("policy/src/rules/{folder}"), "rs"));
    let rule_files: BTreeSet<_> = folders.iter().flatten().map(|path| relative(path)).collect();
    let file = |rule: &RuleId| {
        let folder = match rule.family() {
            Family::Identity | Family::Form => "object",
            Family::Release => "release",
            Family::Chart => "chart",
        };
        format!("policy/src/rules/{folder}/{}.rs", rule.as_str().replace('-', "_"))
    };
    let names: BTreeSet<_> = RuleId::ALL.iter().map(file).collect();
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

/// Judges the first YAML block of a text.
fn finds(rule: RuleId, text: &str) -> bool {
    let yaml = text.split_once("```yaml\n").unwrap().1.split_once("```").unwrap().0;
    let found = match rule.family() {
        Family::Identity | Family::Form => judge_object(rule, yaml),
        Family::Release => judge_release(rule, yaml),
        Family::Chart => sync_cases::reported(&sync_cases::judge(yaml, &json!({"rules": on(rule)}))),
    };
    found.iter().any(|finding| finding.split(' ').next() == Some(rule.as_str()))
}

/// A rendered text is an install; after a line `# upgrade` comes the upgrade over it, after `# live` what lives in the
/// cluster. The first line can be `# template: ...`, the source of it all.
fn judge_release(rule: RuleId, yaml: &str) -> Vec<String> {
    let template = yaml.lines().next().and_then(|line| line.strip_prefix("# template: "));
    let split = |text: &'_ str, mark: &str| text.split_once(mark).map(|(a, b)| (a.to_owned(), b.to_owned()));
    let (rendered, live) = split(yaml, "\n# live\n").unwrap_or_else(|| (yaml.to_owned(), String::new()));
    let mut live: Vec<Value> = render::read(&live).documents.into_iter().map(|document| document.object).collect();
    for object in &mut live {
        object["metadata"]["namespace"] = json!("shop");
    }
    let upgrade = split(&rendered, "\n# upgrade\n");
    let revision = |version, status, rendered| Revision {
        templates: template.iter().map(|source| ("templates/all.yaml".to_owned(), (*source).to_owned())).collect(),
        ..Revision::new("second", "shop", version, status, rendered)
    };
    let judged = match &upgrade {
        Some((install, upgrade)) => {
            live.extend(render::read(install).left_by_install("second", "shop"));
            live.push(revision(1, "deployed", install).secret());
            revision(2, "pending-upgrade", upgrade).secret()
        }
        None => revision(1, "pending-install", &rendered).secret(),
    };
    let settings = json!({"rules": on(rule), "releases": {"baseline": "record"}});
    releases::reported(&ask_with(&render::creation(&judged), &settings, cluster(&live)))
}

/// A rule that is off by default is switched on for its page.
fn on(rule: RuleId) -> Value {
    if rule.default_level() == Level::Off { json!({ rule.as_str(): "warn" }) } else { json!({}) }
}

/// One object is a CREATE, two are an UPDATE.
fn judge_object(rule: RuleId, yaml: &str) -> Vec<String> {
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
    reported(&ask(&request, &json!({"rules": on(rule)})))
}
