//! The reports of the real audit scanner, beside what `review --audit` says offline.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use stable_hooks::input::{Content, documents};
use stable_hooks_e2e::kubewarden::{Reports, Stack};
use stable_hooks_e2e::scene::Scene;
use stable_hooks_policy::RuleId;
use stable_hooks_policy::docs::body;
use stable_hooks_policy::rule::Family;

use crate::stage::{POLICIES, Stage};
use crate::{Report, Scenario};

const SECTION: &str = "The reports";

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        section: SECTION,
        name: "Each rule at each level, in OpenReports",
        about: "For each rule about objects the example of its page lives, and for each of its levels there is a policy with that\n\
                rule alone. The audit scanner asks each policy about each object; `review --audit -o openreports` judges the same\n\
                objects with the same settings.",
        run: |stack| compares(stack, Reports::OpenReports, "openreports"),
    },
    Scenario {
        section: SECTION,
        name: "The same in PolicyReports",
        about: "The scanner writes PolicyReports of wgpolicyk8s.io, and `review --audit -o policyreport` the same offline.",
        run: |stack| compares(stack, Reports::PolicyReports, "policyreport"),
    },
];

/// A policy that has one rule at one level.
struct Asked {
    rule: RuleId,
    level: &'static str,
}

impl Asked {
    fn all() -> Vec<Self> {
        let levels = |rule: RuleId| rule.levels().iter().map(move |level| Self { rule, level: level.as_str() });
        rules().flat_map(levels).collect()
    }

    fn name(&self) -> String {
        format!("audit-{}-{}", self.rule, self.level)
    }

    fn settings(&self) -> Value {
        let mut rules: Map<_, _> = RuleId::ALL.iter().map(|id| (id.to_string(), json!("off"))).collect();
        rules.insert(self.rule.to_string(), json!(self.level));
        json!({ "rules": rules })
    }

    /// As the shipped one, but for the name and the settings.
    fn policy(&self, shipped: &Value) -> Value {
        let mut spec = shipped["spec"].clone();
        spec["settings"] = self.settings();
        let metadata = json!({"name": self.name(), "annotations": {
            "io.kubewarden.policy.category": "Resource validation", "io.kubewarden.policy.severity": "medium",
        }});
        json!({"apiVersion": shipped["apiVersion"], "kind": shipped["kind"], "metadata": metadata, "spec": spec})
    }
}

fn rules() -> impl Iterator<Item = RuleId> {
    RuleId::ALL.iter().copied().filter(|id| matches!(id.family(), Family::Identity | Family::Form))
}

/// What is said about an object: `pass` or `fail`, and the words.
type Said = (String, String);

fn compares(stack: &Stack, reports: Reports, format: &str) -> Report {
    let stage = Stage::with(stack, &format!("in {format}"), "overlays/monitor");
    let scene = stage.scene();
    for rule in rules() {
        scene.cluster().create(&example(rule, scene));
    }
    let asked = Asked::all();
    let shipped = scene.cluster().find("ClusterAdmissionPolicy", "", "stable-hooks").expect("the policy is applied");
    let policies: Vec<_> = asked.iter().map(|asked| asked.policy(&shipped)).collect();
    let file = scene.file("policies", &json!({"apiVersion": "v1", "kind": "List", "items": policies}));
    let _ = scene.kubectl(&["create", "-f", &file]).succeeds();
    stage.settle();
    let scanned = stack.scan(reports).succeeds();
    assert!(!scanned.stdout.contains("\"level\":\"error\""), "{}", scanned.stdout);
    let found = scene.cluster().list(reports.kind(), &scene.namespace);
    let (mut table, mut compared) = (BTreeMap::<_, Vec<_>>::new(), 0);
    for asked in &asked {
        let scanned = by_scanner(&found, &format!("clusterwide-{}", asked.name()));
        let offline = offline(scene, asked, format);
        assert_eq!(scanned.keys().collect::<Vec<_>>(), offline.keys().collect::<Vec<_>>(), "the same objects");
        for (object, (result, words)) in &scanned {
            assert_eq!(offline[object], (result.clone(), words.clone()), "{}: {object}", asked.name());
            compared += 1;
        }
        let (result, words) = &scanned[&object_of(asked.rule)];
        let told = if words.is_empty() || result == "fail" { "" } else { ", told" };
        table.entry(asked.rule.to_string()).or_default().push((asked.level, format!("{result}{told}")));
    }
    let names: Vec<_> = asked.iter().map(Asked::name).collect();
    let _ = stage.kubectl(&format!("delete {POLICIES} {}", names.join(" "))).succeeds();
    let mut seen = format!(
        "{compared} results of {} policies about {} objects: offline the same objects pass and fail, in the same words. The\n\
         report of an object is gone with it. The rule's own example:\n\n| rule | off | warn | deny | fix |\n|---|---|---|---|---|\n",
        asked.len(),
        found.len(),
    );
    for (rule, results) in &table {
        let cell =
            |level: &str| results.iter().find(|(found, _)| *found == level).map_or("", |(_, result)| result.as_str());
        let _ = writeln!(seen, "| `{rule}` | {} |", ["off", "warn", "deny", "fix"].map(cell).join(" | "));
    }
    is_gone_with_its_object(scene, reports, &found);
    Report::new(seen.trim_end(), Vec::new())
}

/// The objects of the rules have their names; the namespace has an account of its own.
fn object_of(rule: RuleId) -> String {
    let object = page_object(rule);
    format!("{} {rule}", object["kind"].as_str().unwrap_or_default())
}

/// The example of a rule's page, the last state where there are two.
fn page_object(rule: RuleId) -> Value {
    let body = body(rule);
    let yaml = body.split_once("```yaml\n").expect("an example").1.split_once("```").expect("an end").0;
    match documents(yaml.as_bytes()).last().expect("a document").expect("YAML").content {
        Content::Manifest(object) => object,
        Content::Request(_) => panic!("{rule}: a page shows manifests"),
    }
}

/// As an object that the API server takes, and that no controller takes away while it is looked at.
fn example(rule: RuleId, scene: &Scene<'_>) -> Value {
    let mut object = page_object(rule);
    object["metadata"]["name"] = json!(rule.to_string());
    object["metadata"]["namespace"] = json!(scene.namespace);
    if object["kind"] == "Job" {
        object["spec"]["suspend"] = json!(true);
        object["spec"]["template"]["spec"] =
            json!({"restartPolicy": "Never", "containers": [{"name": "migrate", "image": "orders:1"}]});
    }
    object
}

fn by_scanner(reports: &[Value], policy: &str) -> BTreeMap<String, Said> {
    let one = |report: &Value| {
        let results = report["results"].as_array().cloned().unwrap_or_default();
        let own: Vec<_> = results.iter().filter(|result| result["policy"] == policy).collect();
        let [result] = own[..] else { panic!("{policy}: {} results", own.len()) };
        // Severity is the scanner's: what only watches is for information.
        assert_eq!([&result["severity"], &result["source"]], ["info", "kubewarden"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let object = format!("{} {}", text(&report["scope"]["kind"]), text(&report["scope"]["name"]));
        (object, (text(&result["result"]), words(&text(&result["message"]))))
    };
    reports.iter().map(one).collect()
}

/// The link behind the words, and the rule in them, are fields of our own report.
fn words(message: &str) -> String {
    let without_rules: String = message
        .split("(rule ")
        .enumerate()
        .map(|(index, part)| if index == 0 { part } else { part.split_once(')').map_or(part, |(_, rest)| rest) })
        .collect();
    let words = without_rules.split_whitespace().filter(|word| !word.starts_with("https://"));
    words.collect::<Vec<_>>().join(" ")
}

fn offline(scene: &Scene<'_>, asked: &Asked, format: &str) -> BTreeMap<String, Said> {
    let settings = scene.file("settings", &asked.settings());
    let line = format!(
        "kubectl get jobs,serviceaccounts -n shop -o json | stable-hooks review --audit -o {format} --settings {settings}"
    );
    let printed = scene.line_of_a_page(&line, "stable").stdout;
    let report: Value = serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{printed}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut said: BTreeMap<String, Said> = BTreeMap::new();
    for result in report["results"].as_array().into_iter().flatten() {
        let object = format!("{} {}", text(&result["resources"][0]["kind"]), text(&result["resources"][0]["name"]));
        let (worst, words) = said.entry(object).or_insert_with(|| ("pass".to_owned(), String::new()));
        // The scanner knows pass and fail, and a warning is a pass that says something.
        if result["result"] == "fail" {
            "fail".clone_into(worst);
        }
        format!("{words} {}", text(&result["message"])).trim().clone_into(words);
    }
    said
}

/// A report is owned by its object, so the garbage collector has it.
fn is_gone_with_its_object(scene: &Scene<'_>, reports: Reports, found: &[Value]) {
    let jobs = scene.kubectl(&["delete", "jobs,serviceaccounts", "--all"]);
    let _ = jobs.succeeds();
    let scanned: Vec<_> = found.iter().map(|report| report["metadata"]["name"].clone()).collect();
    stable_hooks_e2e::cluster::wait_for("the reports are gone", || {
        let left = scene.cluster().list(reports.kind(), &scene.namespace);
        left.iter().all(|report| !scanned.contains(&report["metadata"]["name"])).then_some(())
    });
}
