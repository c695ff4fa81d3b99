//! What Kubewarden's audit scanner makes of our answers, and that the command line says the same.

use std::fmt::Write as _;

use serde_json::{Value, json};
use stable_hooks::input::{Content, documents};
use stable_hooks_policy::RuleId;
use stable_hooks_policy::docs::body;
use stable_hooks_policy::rule::Family;

use crate::cli::{code, run, stdout, temporary};
use crate::docs::assert_block;
use crate::engines::ask;

/// What the scanner writes into its report: a message even where the object passes.
struct Reported {
    result: &'static str,
    message: String,
}

/// The exact request of the scanner: no user, the object's own uid, and its kind in the place of the resource.
fn scanner_request(object: &Value) -> Value {
    let api_version = object["apiVersion"].as_str().unwrap();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = json!({"group": group, "version": version, "kind": object["kind"]});
    json!({
        "uid": object["metadata"]["uid"],
        "kind": kind, "requestKind": kind,
        "resource": {"group": group, "version": version, "resource": object["kind"]},
        "name": object["metadata"]["name"], "namespace": object["metadata"]["namespace"],
        "operation": "CREATE", "userInfo": {}, "object": object, "oldObject": null, "options": null,
    })
}

/// As the scanner reads an answer.
fn scan(object: &Value, settings: &Value) -> Reported {
    let response = ask(&scanner_request(object), settings).response;
    assert!(response.code != Some(500), "the scanner would take it for an error");
    assert!(response.mutated_object.is_none(), "a patch would pass");
    let result = if response.accepted { "pass" } else { "fail" };
    // A denial is wrapped for terminals.
    Reported { result, message: response.message.unwrap_or_default().replace('\n', " ") }
}

/// What the command line's report says about one object: the results, and what they tell.
fn review(object: &Value, settings: &Value, name: &str) -> (Vec<String>, String) {
    let settings = temporary(&format!("{name}.settings.json"), settings.to_string().as_bytes());
    let arguments = ["review", "--audit", "-o", "policyreport", "--settings", settings.to_str().unwrap()];
    let output = run(&arguments, object.to_string().as_bytes());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stdout(&output)));
    let results = report["results"].as_array().unwrap();
    let text =
        |field: &'static str| results.iter().map(move |result| result[field].as_str().unwrap_or_default().to_owned());
    let results: Vec<_> = text("result").collect();
    assert_eq!(code(&output), i32::from(results.iter().any(|result| result == "fail")));
    (results, text("message").collect::<Vec<_>>().join("\n"))
}

/// The rule at one level, all others off.
fn only(rule: RuleId, level: &str) -> Value {
    let others = RuleId::ALL.iter().map(|id| (id.to_string(), json!("off")));
    let mut rules: serde_json::Map<_, _> = others.collect();
    rules.insert(rule.to_string(), json!(level));
    json!({ "rules": rules })
}

/// The object on the rule's page, as it lives: the last state where there are two.
fn example(rule: RuleId) -> Value {
    let body = body(rule);
    let yaml = body.split_once("```yaml\n").unwrap().1.split_once("```").unwrap().0;
    let mut object = match documents(yaml.as_bytes()).last().unwrap().unwrap().content {
        Content::Manifest(object) => object,
        Content::Request(_) => panic!("{rule}: a page shows manifests"),
    };
    object["metadata"]["uid"] = json!("6f3a9f2e-0f9b-4a53-9d0c-52f0f6a8f1de");
    object["metadata"]["namespace"] = json!("shop");
    object["metadata"]["resourceVersion"] = json!("42");
    object["metadata"]["managedFields"] = json!([{"manager": "helm", "operation": "Update"}]);
    object
}

fn object_rules() -> impl Iterator<Item = RuleId> {
    RuleId::ALL.iter().copied().filter(|id| matches!(id.family(), Family::Identity | Family::Form))
}

#[test]
fn audit_passes_and_fails_as_the_page_says() {
    let mut table = "| rule | default | off | warn | deny | fix |\n|---|---|---|---|---|---|\n".to_owned();
    for rule in object_rules() {
        let object = example(rule);
        let levels: Vec<_> = rule.levels().iter().map(|level| level.as_str()).collect();
        let _ = write!(table, "| `{rule}` | {} |", rule.default_level().as_str());
        for level in ["off", "warn", "deny", "fix"] {
            if !levels.contains(&level) {
                table.push_str(" |");
                continue;
            }
            let Reported { result, message } = scan(&object, &only(rule, level));
            let told = if message.is_empty() { "" } else { ", told" };
            let expected = match level {
                "off" => ("pass", ""),
                // It judges a change, and an audit sees none.
                _ if rule == RuleId::IdentityFlip => ("pass", ""),
                "warn" => ("pass", ", told"),
                _ => ("fail", ", told"),
            };
            assert_eq!((result, told), expected, "{rule}: {level}: {message}");
            let tells_rule = message.is_empty() || message.contains(&format!("(rule {rule})"));
            assert!(tells_rule && message.is_empty() == told.is_empty(), "{rule}: {level}: {message}");
            let _ = write!(table, " {result}{} |", if result == "fail" { "" } else { told });
        }
        table.push('\n');
    }
    assert_block("docs/audit.md", "audit", &table);
}

#[test]
fn audit_offline_says_the_same() {
    for rule in object_rules() {
        let object = example(rule);
        for level in rule.levels().iter().map(|level| level.as_str()) {
            let settings = only(rule, level);
            let scanned = scan(&object, &settings);
            let (results, told) = review(&object, &settings, &format!("{rule}-{level}"));
            let expected = match (scanned.result, scanned.message.is_empty()) {
                ("fail", _) => "fail",
                (_, false) => "warn",
                (_, true) => "pass",
            };
            assert_eq!(results, [expected], "{rule}: {level}");
            // The report has a field for the rule, and no link behind the words.
            let words =
                scanned.message.replace(&format!(" (rule {rule})"), "").replace(&format!(" {}", rule.page()), "");
            assert_eq!(words, told, "{rule}: {level}");
        }
    }
}

#[test]
fn audit_fails_an_object_for_each_of_its_findings_and_passes_its_correction() {
    let mut object = example(RuleId::HookWeight);
    object["metadata"]["annotations"] = json!({"helm.sh/hook": "pre-upgrade"});
    let drifted = scan(&object, &json!({}));
    assert_eq!(drifted.result, "fail");
    for rule in ["hook-events", "hook-delete-policy", "hook-weight"] {
        assert!(drifted.message.contains(&format!("(rule {rule})")), "{}", drifted.message);
    }
    object["metadata"]["annotations"] = json!({
        "helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-delete-policy": "before-hook-creation", "helm.sh/hook-weight": "10",
    });
    assert_eq!(scan(&object, &json!({})).result, "pass");
}
