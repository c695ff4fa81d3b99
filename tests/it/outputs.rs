//! The formats for other programs, held against the schemas that those publish.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use stable_hooks::input::value;
use stable_hooks_policy::RuleId;
use stable_hooks_policy::docs::body;

use crate::cli::{code, run, stderr, stdout};

/// A denied flip, a patch, a warning without a rule and an object with nothing to say, at known lines.
const STREAM: &str = "# a, b\n---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: b%\n  labels: {app: migrate}\n  annotations: {helm.sh/hook: \"pre-upgrade\"}\n\
---\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: both\n  namespace: shop\n  labels: {app: migrate}\n  annotations: {helm.sh/hook: test-failure, meta.helm.sh/release-name: r}\n\
---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n\
---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: odd, annotations: []}\n";

/// The stream from a file whose name needs care.
fn review(format: &str) -> String {
    let path = crate::cli::temporary(&format!("a, b: 100 %.{format}"), STREAM.as_bytes());
    let output = run(&["review", "-o", format, path.to_str().unwrap()], b"");
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    stdout(&output)
}

fn parsed(format: &str) -> Value {
    serde_json::from_str(&review(format)).unwrap()
}

/// A published schema, which `make schemas` puts into the folder that the variable SCHEMAS names.
pub(crate) fn schema(name: &str) -> Option<Value> {
    let Some(folder) = std::env::var_os("SCHEMAS") else {
        assert!(std::env::var_os("CI").is_none(), "SCHEMAS has to name a folder: make schemas");
        eprintln!("SKIPPED against {name}: SCHEMAS names no folder, see make schemas");
        return None;
    };
    Some(value(&std::fs::read(PathBuf::from(folder).join(name)).unwrap()).unwrap())
}

pub(crate) fn assert_valid(schema: &Value, instance: &Value) {
    let validator = jsonschema::validator_for(schema).unwrap();
    let errors: Vec<_> =
        validator.iter_errors(instance).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(errors, [""; 0]);
}

/// The schema of a CRD's version; like an API server with strict field validation it knows no other fields.
pub(crate) fn strict(crd: &Value, version: &str) -> Value {
    fn close(schema: &mut Value) {
        let Value::Object(fields) = schema else { return };
        if let Some(Value::Object(properties)) = fields.get_mut("properties") {
            properties.values_mut().for_each(close);
            fields.insert("additionalProperties".to_owned(), json!(false));
        }
        fields.get_mut("items").into_iter().for_each(close);
    }
    let versions = crd["spec"]["versions"].as_array().unwrap();
    let found = versions.iter().find(|found| found["name"] == version).unwrap();
    let mut schema = found["schema"]["openAPIV3Schema"].clone();
    close(&mut schema);
    schema
}

#[test]
fn outputs_sarif_is_valid_and_says_where() {
    let log = parsed("sarif");
    let results = log["runs"][0]["results"].as_array().unwrap();
    let rule = |result: &Value| result["ruleId"].as_str().unwrap_or("-").to_owned();
    let lines: Vec<_> = results
        .iter()
        .map(|result| {
            let location = &result["locations"][0]["physicalLocation"];
            assert!(location["artifactLocation"]["uri"].as_str().unwrap().ends_with("/a%2C%20b%3A%20100%20%25.sarif"));
            format!("{} {} {}", result["level"].as_str().unwrap(), rule(result), location["region"]["startLine"])
        })
        .collect();
    for line in ["note hook-events 3", "error contradictory-identity 10"] {
        assert!(lines.iter().any(|found| found == line), "{line} is not in {lines:?}");
    }
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), RuleId::ALL.len());
    for (id, rule) in RuleId::ALL.iter().zip(rules) {
        assert_eq!((&rule["id"], &rule["help"]["markdown"]), (&json!(id.as_str()), &json!(body(*id))));
    }
    for result in results {
        let Some(index) = result.get("ruleIndex") else { continue };
        assert_eq!(rules[usize::try_from(index.as_u64().unwrap()).unwrap()]["id"], result["ruleId"]);
    }
    if let Some(mut schema) = schema("sarif-2.1.0.json") {
        for holder in ["run", "toolComponent"] {
            // Published with a bracket too many, and of a field that is not written here.
            schema["definitions"][holder]["properties"]["language"].as_object_mut().unwrap().remove("pattern");
        }
        assert_valid(&schema, &log);
        let mut broken = log.clone();
        broken["runs"][0]["results"][0]["level"] = json!("fatal");
        assert!(!jsonschema::is_valid(&schema, &broken), "the schema checks nothing");
    }
}

#[test]
fn outputs_policy_reports_are_valid_and_count_their_results() {
    for (format, file, version, kind) in [
        ("policyreport", "wgpolicyk8s.io_policyreports.yaml", "v1alpha2", "PolicyReport"),
        ("openreports", "openreports.io_reports.yaml", "v1alpha1", "Report"),
    ] {
        let report = parsed(format);
        assert_eq!(report["kind"], kind);
        let results = report["results"].as_array().unwrap();
        for outcome in ["pass", "fail", "warn", "error", "skip"] {
            let count = results.iter().filter(|result| result["result"] == outcome).count();
            assert_eq!(report["summary"][outcome], json!(count), "{outcome}");
        }
        assert!(report["summary"]["fail"] != json!(0) && report["summary"]["pass"] != json!(0), "{report}");
        let denied = results.iter().find(|result| result["rule"] == "contradictory-identity").unwrap();
        assert_eq!(denied["resources"], json!([{"kind": "ServiceAccount", "namespace": "shop", "name": "both"}]));
        if let Some(crd) = schema(file) {
            let schema = strict(&crd, version);
            assert_valid(&schema, &report);
            let mut broken = report.clone();
            broken["results"][0]["hunter2"] = json!("x");
            assert!(!jsonschema::is_valid(&schema, &broken), "the schema checks nothing");
        }
    }
}

#[test]
fn outputs_github_annotations_are_escaped_and_one_a_line() {
    let text = review("github");
    let lines: Vec<_> = text.lines().collect();
    assert!(
        lines.iter().all(|line| ["::error ", "::warning ", "::notice "].iter().any(|start| line.starts_with(start))),
        "{text}"
    );
    let denial = lines.iter().find(|line| line.contains("title=stable-hooks%3A contradictory-identity::")).unwrap();
    assert!(denial.starts_with("::error file=") && denial.contains("/a%2C b%3A 100 %25.github,line=10,"), "{denial}");
    assert!(text.contains("Job b%25: helm.sh/hook is"), "{text}");
    let piped = stdout(&run(&["review", "-o", "github"], STREAM.as_bytes()));
    assert!(piped.contains("::error title=stable-hooks%3A contradictory-identity::"), "{piped}");
}

#[test]
fn outputs_json_is_that_of_the_whole_at_once() {
    let text = review("json");
    let keys = ["version", "results", "summary"];
    let found: Map<String, Value> = serde_json::from_str(&text).unwrap();
    assert!(keys.iter().all(|key| found.contains_key(*key)) && found.len() == keys.len());
    assert_eq!(found["summary"]["objects"], json!(found["results"].as_array().unwrap().len()));
    assert_eq!(
        stdout(&run(&["review", "-o", "json", "-"], b"# nothing\n")),
        "{\n  \"version\": 1,\n  \"results\": [],\n  \"summary\": {\n    \"objects\": 0,\n    \"denied\": 0,\n    \"normalized\": 0,\n    \"warned\": 0,\n    \"ignored\": 0\n  }\n}\n"
    );
}

#[test]
fn outputs_human_lines_fit_80_columns_and_group_by_template() {
    let text = review("human");
    let is_breakable = |line: &str| line.trim_start().contains(' ');
    assert!(text.lines().filter(|line| is_breakable(line)).all(|line| line.chars().count() <= 80), "{text}");
    assert!(!text.lines().any(|line| line.ends_with(' ')), "{text}");
    let note = text.lines().find(|line| line.contains("metadata.annotations is not an object"));
    assert!(note.is_none_or(|line| line.starts_with("  warn Job odd: ")), "{text}");
}

#[test]
fn outputs_name_the_template_of_what_helm_rendered() {
    let job = |name: &str| {
        format!(
            "---\n# Source: orders/templates/{name}.yaml\n\n# why\napiVersion: batch/v1\nkind: Job\n\
             metadata: {{name: {name}, labels: {{app: migrate}}, annotations: {{helm.sh/hook: pre-upgrade}}}}\n"
        )
    };
    let list = "---\r\n# Source: orders/templates/list.yaml\r\napiVersion: v1\r\nkind: List\r\nitems:\r\n- {apiVersion: batch/v1, \
                kind: Job, metadata: {name: listed, labels: {app: migrate}, annotations: {helm.sh/hook: pre-upgrade}}}\r\n";
    let stream = job("a") + list + &job("b");
    let told = stdout(&run(&["review", "-o", "human"], stream.as_bytes()));
    let templates: Vec<_> = told.lines().filter_map(|line| line.strip_prefix("  orders/templates/")).collect();
    assert_eq!(templates, ["a.yaml", "list.yaml", "b.yaml"], "{told}");
    let piped = stdout(&run(&["review", "-o", "github"], stream.as_bytes()));
    assert!(piped.contains("file=orders/templates/a.yaml,"), "{piped}");
}

#[test]
fn outputs_a_page_has_no_locations() {
    for format in ["sarif", "github", "policyreport", "openreports"] {
        let output = run(&["explain", "-o", format], b"");
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains("[possible values: human, json]"), "{}", stderr(&output));
    }
}

#[test]
fn outputs_completions_know_every_verb() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&run(&["completions", shell], b""));
        for verb in ["review", "release", "fix", "explain", "--complete-events"] {
            assert!(script.contains(verb.trim_start_matches("--")), "{shell} does not know {verb}");
        }
    }
}
