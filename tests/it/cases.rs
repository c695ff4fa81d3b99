//! `tests/cases/<folder>/<accepts|warns|fixes|denies>-<what>.yaml`: behaviour, one sentence a file.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use stable_hooks::engine::Answer;
use stable_hooks::input::value;

use crate::engines::{annotated, ask, files, relative};
use crate::release_cases::is_release_case;
use crate::sync_cases::is_sync_case;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Case {
    #[serde(default)]
    settings: Value,
    operation: Option<String>,
    #[serde(default)]
    object: Value,
    #[serde(default)]
    old_object: Value,
    request: Option<Value>,
    expect: Expectation,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expectation {
    verdict: String,
    findings: Vec<String>,
    /// Those that the object has switched off.
    #[serde(default)]
    ignored: Vec<String>,
    annotations: Option<Map<String, Value>>,
    #[serde(default)]
    message: Vec<String>,
    #[serde(default)]
    notes: usize,
}

#[test]
fn every_case_holds_natively_and_inside_the_wasm() {
    all_hold(is_object_case, check);
}

/// Checks every case of a kind, or those that `CASE` names, and tells all that fail.
pub(crate) fn all_hold(is_one: impl Fn(&Path) -> bool, check: impl Fn(&Path) -> Result<(), String>) {
    let mut failures = Vec::new();
    let only = std::env::var("CASE").unwrap_or_default();
    for path in files("tests/cases", "yaml").into_iter().filter(|path| is_one(path)) {
        if relative(&path).contains(&only)
            && let Err(reason) = check(&path)
        {
            failures.push(format!("{}: {reason}", relative(&path)));
        }
    }
    assert!(failures.is_empty(), "{} cases fail:\n{}", failures.len(), failures.join("\n"));
}

/// A case as its file has it.
pub(crate) fn read<C: DeserializeOwned>(path: &Path) -> Result<C, String> {
    let file = value(&std::fs::read(path).unwrap()).map_err(|error| format!("{error:?}"))?;
    serde_json::from_value(file).map_err(|error| error.to_string())
}

fn is_object_case(path: &Path) -> bool {
    !is_release_case(path) && !is_sync_case(path)
}

/// What every case is answered.
pub(crate) fn answers() -> impl Iterator<Item = Answer> {
    requests().map(|(settings, request)| ask(&request, &settings))
}

/// What every case asks, with its settings.
pub(crate) fn requests() -> impl Iterator<Item = (Value, Value)> {
    let cases = files("tests/cases", "yaml").into_iter().filter(|path| is_object_case(path));
    cases.map(|path| {
        let case = read::<Case>(&path).unwrap();
        let request = case.request.clone().unwrap_or_else(|| case.admission_request());
        (case.settings, request)
    })
}

fn check(path: &Path) -> Result<(), String> {
    let case = read::<Case>(path)?;
    let request = case.request.clone().unwrap_or_else(|| case.admission_request());
    let answer = ask(&request, &case.settings);
    case.expect.compare(&answer)?;
    case.expect.fits_name(path)?;
    patched_twice_is_patched_once(&request, &case.settings, &answer)
}

impl Case {
    fn admission_request(&self) -> Value {
        let operation = self.operation.as_deref().unwrap();
        let subject = if self.object.is_null() { &self.old_object } else { &self.object };
        let (group, version) = subject["apiVersion"].as_str().unwrap().rsplit_once('/').unwrap_or(("", "v1"));
        let is_audit = operation == "AUDIT";
        let uid = if is_audit { subject["metadata"]["uid"].clone() } else { json!("0000-1") };
        json!({
            "uid": if uid.is_null() { json!("") } else { uid },
            "kind": {"group": group, "version": version, "kind": subject["kind"]},
            "operation": if is_audit { "CREATE" } else { operation },
            "name": subject["metadata"]["name"], "namespace": subject["metadata"]["namespace"],
            "userInfo": if is_audit { json!({}) } else { json!({"username": "admin"}) },
            "object": self.object, "oldObject": self.old_object,
        })
    }
}

impl Expectation {
    fn compare(&self, answer: &Answer) -> Result<(), String> {
        let response = &answer.response;
        let verdict = match (response.accepted, response.code) {
            (true, _) if answer.patch.is_empty() => "allow",
            (true, _) => "normalize",
            (false, Some(400)) => "refuse",
            (false, _) => "deny",
        };
        let findings = reported(answer);
        let warnings = response.warnings.as_deref().unwrap_or_default();
        let texts =
            in_one_line(&format!("{}\n{}", response.message.as_deref().unwrap_or_default(), warnings.join("\n")));
        let warned = findings.iter().filter(|finding| finding.ends_with(" warn")).count();
        let annotations =
            response.mutated_object.as_ref().and_then(|object| object["metadata"]["annotations"].as_object());
        let differs =
            |what: &str, expected: String, found: String| Err(format!("{what}: expected {expected}, found {found}"));
        if verdict != self.verdict {
            return differs("verdict", self.verdict.clone(), format!("{verdict}\n{texts}"));
        }
        if findings != self.findings {
            return differs("findings", format!("{:?}", self.findings), format!("{findings:?}"));
        }
        let ignored = listed(answer, "ignored");
        if ignored != self.ignored {
            return differs("ignored", format!("{:?}", self.ignored), format!("{ignored:?}"));
        }
        if annotations != self.annotations.as_ref() {
            return differs("annotations", format!("{:?}", self.annotations), format!("{annotations:?}"));
        }
        if warnings.len() - warned != self.notes {
            return differs("notes", self.notes.to_string(), format!("{warnings:?}"));
        }
        match self.message.iter().find(|part| !texts.contains(*part)) {
            Some(part) => differs("message", format!("{part:?}"), texts),
            None => Ok(()),
        }
    }

    fn fits_name(&self, path: &Path) -> Result<(), String> {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let fits = match name.split('-').next().unwrap() {
            "accepts" => self.verdict == "allow" && self.findings.is_empty(),
            "warns" => {
                self.verdict == "allow"
                    && (self.notes > 0 || self.findings.iter().any(|finding| finding.ends_with(" warn")))
            }
            "fixes" => self.verdict == "normalize",
            "denies" => matches!(self.verdict.as_str(), "deny" | "refuse"),
            _ => false,
        };
        if fits { Ok(()) } else { Err(format!("the file's name does not fit its verdict {}", self.verdict)) }
    }
}

/// A denial is wrapped, wherever its words end.
pub(crate) fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// "<rule> <level>" of every finding, in order.
pub(crate) fn reported(answer: &Answer) -> Vec<String> {
    listed(answer, "findings")
}

fn listed(answer: &Answer, annotation: &str) -> Vec<String> {
    annotated(answer, annotation)
        .iter()
        .map(|finding| format!("{} {}", finding["rule"].as_str().unwrap(), finding["level"].as_str().unwrap()))
        .collect()
}

/// The patched object, sent again, is allowed without a patch.
pub(crate) fn patched_twice_is_patched_once(request: &Value, settings: &Value, answer: &Answer) -> Result<(), String> {
    let Some(mutated) = &answer.response.mutated_object else { return Ok(()) };
    let mut again = request.clone();
    again["object"] = mutated.clone();
    let second = ask(&again, settings);
    if second.response.accepted && second.patch.is_empty() {
        return Ok(());
    }
    Err(format!("patched a second time: {}", second.patch))
}
