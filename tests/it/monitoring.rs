//! The watch over the policies: what the alerts and the dashboard ask for exists, and their page tells of it. What the
//! alerts fire on is tested by promtool: `make monitoring`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::engines::root;
use crate::packages::yaml;

const RULES: &str = "policy/manifests/monitoring/rules.yaml";
const DASHBOARD: &str = "policy/manifests/monitoring/dashboard.json";
const METRICS: &str = "tests/monitoring/metrics.yaml";
const TESTS: &str = "tests/monitoring/rules.yaml";
const PAGE: &str = "docs/monitoring.md";

/// What the query language itself says in our queries.
const PROMQL: &str =
    "by count histogram_quantile ignoring increase label_replace last_over_time offset on or sum time unless vector";

fn text(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

/// The rules that have this field: `record` or `alert`.
fn rules(field: &str) -> Vec<Value> {
    let rules = yaml(RULES);
    let groups = rules["spec"]["groups"].as_array().unwrap();
    let rules = groups.iter().flat_map(|group| group["rules"].as_array().unwrap());
    rules.filter(|rule| rule.get(field).is_some()).cloned().collect()
}

fn panels() -> Vec<Value> {
    let dashboard: Value = serde_json::from_str(&text(DASHBOARD)).unwrap();
    dashboard["panels"].as_array().unwrap().clone()
}

/// Every query, without the strings in it.
fn queries() -> Vec<String> {
    let rules = [rules("record"), rules("alert")].concat();
    let rules = rules.iter().map(|rule| &rule["expr"]);
    let panels = panels();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let queries = rules.chain(targets.map(|target| &target["expr"]));
    queries.map(|query| query.as_str().unwrap().split('"').step_by(2).collect()).collect()
}

fn words(query: &str) -> impl Iterator<Item = &str> {
    let words = query.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_' || letter == ':'));
    words.filter(|word| word.starts_with(|first: char| first.is_ascii_alphabetic()))
}

/// The metrics that there are, and with their labels those that the rules record.
fn known() -> (BTreeSet<String>, BTreeMap<String, BTreeSet<String>>) {
    let metrics = yaml(METRICS);
    let names =
        |labels: &Value| labels.as_array().unwrap().iter().map(|label| label.as_str().unwrap().to_owned()).collect();
    let counted: BTreeMap<_, BTreeSet<String>> =
        metrics["metrics"].as_object().unwrap().iter().map(|(name, labels)| (name.clone(), names(labels))).collect();
    let recorded = rules("record").into_iter().map(|rule| {
        let (_, labels) = rule["expr"].as_str().unwrap().split_once("sum by (").unwrap();
        let labels = words(labels.split(')').next().unwrap()).map(str::to_owned).collect();
        (rule["record"].as_str().unwrap().to_owned(), labels)
    });
    (counted.keys().cloned().collect(), counted.into_iter().chain(recorded).collect())
}

#[test]
fn monitoring_asks_for_metrics_and_labels_that_there_are() {
    let (mut unasked, known) = known();
    let labels: BTreeSet<_> = known.values().flatten().map(String::as_str).collect();
    let queries = queries();
    for query in &queries {
        for word in words(query) {
            unasked.remove(word);
            let is_known =
                PROMQL.split(' ').any(|said| said == word) || known.contains_key(word) || labels.contains(word);
            assert!(is_known, "nobody counts {word}: {query}");
        }
        let parts: Vec<_> = query.split('{').collect();
        for pair in parts.windows(2) {
            let metric = words(pair[0]).last().unwrap();
            for label in words(pair[1].split('}').next().unwrap()) {
                assert!(known[metric].contains(label), "{metric} has no {label}: {query}");
            }
        }
    }
    assert_eq!(unasked, BTreeSet::new());
    assert!(queries.len() > 15, "{} queries", queries.len());
}

#[test]
fn monitoring_alerts_are_tested_and_lead_to_what_to_do() {
    let (page, tests) = (text(PAGE), text(TESTS));
    let alerts = rules("alert");
    for alert in &alerts {
        let name = alert["alert"].as_str().unwrap();
        assert!(alert["labels"]["severity"].is_string(), "{name}");
        for field in ["summary", "description"] {
            assert!(alert["annotations"][field].is_string(), "{name}: {field}");
        }
        let to_do = format!("{}/blob/main/{PAGE}#{}", env!("CARGO_PKG_REPOSITORY"), name.to_lowercase());
        assert_eq!(alert["annotations"]["runbook_url"], to_do);
        assert!(page.contains(&format!("### {name}\n")), "{name}");
        assert!(tests.contains(&format!("alertname=\"{name}\", alertstate=\"firing\"")), "{name}");
    }
    assert!(alerts.len() > 5, "{} alerts", alerts.len());
}

#[test]
fn monitoring_is_told_of_on_its_page() {
    let (page, (_, known)) = (text(PAGE), known());
    for word in known.iter().flat_map(|(name, labels)| labels.iter().chain([name])) {
        assert!(page.contains(&format!("`{word}`")), "{word}");
    }
}

#[test]
fn monitoring_knows_the_time_limits_of_the_manifests() {
    let metrics = yaml(METRICS);
    let bounds = metrics["bounds"].as_array().unwrap().iter().map(|bound| bound.as_u64().unwrap());
    let slow = rules("alert").into_iter().find(|alert| alert["alert"] == "StableHooksSlow").unwrap();
    let panels = panels();
    for policy in ["objects", "releases"] {
        let manifest = yaml(&format!("policy/manifests/base/{policy}-policy.yaml"));
        let limit = manifest["spec"]["timeoutEvalSeconds"].as_u64().unwrap() * 1000;
        let half = bounds.clone().min_by_key(|bound| bound.abs_diff(limit / 2)).unwrap();
        assert!(slow["expr"].as_str().unwrap().contains(&format!("le=\"{half}\"}}")), "{policy}: {half}");
        let title = format!("Time of the {policy} policy");
        let panel = panels.iter().find(|panel| panel["title"] == title.as_str()).unwrap();
        assert_eq!(panel["targets"][1]["expr"], format!("vector({limit})"));
    }
}
