//! `tests/cases/<release rule>/<accepts|warns|denies>-<what>.yaml`: what a record gets, one sentence a file.
//!
//! The release is `orders` in namespace `shop`; `record` is the rendered text of the revision that is being created,
//! 1 on an install and else 2, `baseline` that of revision 1. Without `live` nobody can see the cluster, unless
//! `releases.baseline: record` wants to read revision 1 there. `data` stands in the place of a record's bytes.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use stable_hooks::engine::Answer;
use stable_hooks_host::cluster::ClusterView;

use crate::cases::{all_hold, in_one_line, read};
use crate::engines::{ask_with, cluster, files, root};
use crate::releases::render::{Revision, creation};
use crate::releases::{listed, notes, reported};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Case {
    #[serde(default)]
    settings: Value,
    operation: Operation,
    baseline: Option<String>,
    /// `deployed` where it is not said.
    baseline_status: Option<String>,
    live: Option<Vec<Value>>,
    #[serde(default)]
    record: String,
    data: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    apply_method: Option<String>,
    #[serde(default)]
    templates: BTreeMap<String, String>,
    expect: Expectation,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Operation {
    Install,
    Upgrade,
    Rollback,
    /// Of a backup: nothing is pending.
    Restore,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expectation {
    verdict: String,
    findings: Vec<String>,
    /// Those that the objects have switched off.
    #[serde(default)]
    ignored: Vec<String>,
    #[serde(default)]
    message: Vec<String>,
    #[serde(default)]
    notes: usize,
}

/// The case lies in the folder of a release rule.
pub(crate) fn is_release_case(path: &Path) -> bool {
    path.parent().unwrap().file_name().is_some_and(|folder| is_release_rule(folder.to_str().unwrap()))
}

pub(crate) fn is_release_rule(id: &str) -> bool {
    root().join(format!("policy/src/rules/release/{}.rs", id.replace('-', "_"))).exists()
}

#[test]
fn release_cases_hold_natively_and_inside_the_wasm() {
    all_hold(is_release_case, check);
}

/// What every case is answered.
pub(crate) fn answers() -> impl Iterator<Item = Answer> {
    files("tests/cases", "yaml")
        .into_iter()
        .filter(|path| is_release_case(path))
        .map(|path| read::<Case>(&path).unwrap().ask())
}

fn check(path: &Path) -> Result<(), String> {
    let case = read::<Case>(path)?;
    let answer = case.ask();
    case.expect.compare(&answer)?;
    case.expect.fits_name(path)
}

impl Case {
    fn ask(&self) -> Answer {
        let (version, status) = match self.operation {
            Operation::Install => (1, "pending-install"),
            Operation::Upgrade => (2, "pending-upgrade"),
            Operation::Rollback => (2, "pending-rollback"),
            Operation::Restore => (2, "superseded"),
        };
        let revision = Revision {
            apply_method: self.apply_method.as_deref(),
            templates: self.templates.clone(),
            labels: self.labels.clone(),
            ..Revision::new("orders", "shop", version, status, &self.record)
        };
        let secret = self.data.as_ref().map_or_else(|| revision.secret(), |data| revision.secret_with(data));
        ask_with(&creation(&secret), &self.settings, self.cluster())
    }

    fn cluster(&self) -> ClusterView {
        let mut objects = self.live.clone().unwrap_or_default();
        for object in objects.iter_mut().filter(|object| !object["metadata"]["namespace"].is_string()) {
            object["metadata"]["namespace"] = json!("shop");
        }
        let reads_records = self.settings["releases"]["baseline"] == "record";
        let baseline = self.baseline.as_ref().filter(|_| reads_records);
        let status = self.baseline_status.as_deref().unwrap_or("deployed");
        objects.extend(baseline.map(|rendered| Revision::new("orders", "shop", 1, status, rendered).secret()));
        if self.live.is_none() && objects.is_empty() { ClusterView::default() } else { cluster(&objects) }
    }
}

impl Expectation {
    fn compare(&self, answer: &Answer) -> Result<(), String> {
        let response = &answer.response;
        let verdict = match (response.accepted, response.code) {
            (true, _) => "allow",
            (false, Some(400)) => "refuse",
            (false, _) => "deny",
        };
        let notes = notes(answer);
        let warnings = response.warnings.iter().flatten().cloned().collect::<Vec<_>>().join("\n");
        let texts = in_one_line(&format!("{}\n{warnings}", response.message.as_deref().unwrap_or_default()));
        let sorted = |findings: &[String]| {
            let mut findings = findings.to_vec();
            findings.sort();
            findings
        };
        let (wanted, found) = (sorted(&self.findings), sorted(&reported(answer)));
        if (verdict, &found, notes.len()) != (self.verdict.as_str(), &wanted, self.notes) {
            return Err(format!(
                "expected {} {wanted:?} and {} notes, found {verdict} {found:?}\n{texts}",
                self.verdict, self.notes
            ));
        }
        let ignored = sorted(&listed(answer, "ignored"));
        if ignored != sorted(&self.ignored) {
            return Err(format!("ignored: expected {:?}, found {ignored:?}", self.ignored));
        }
        match self.message.iter().find(|part| !texts.contains(*part)) {
            Some(part) => Err(format!("no {part:?} in\n{texts}")),
            None => Ok(()),
        }
    }

    fn fits_name(&self, path: &Path) -> Result<(), String> {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let warns = self.notes > 0 || self.findings.iter().any(|finding| finding.contains(" warn "));
        let fits = match name.split('-').next().unwrap() {
            "accepts" => self.verdict == "allow" && self.findings.is_empty(),
            "warns" => self.verdict == "allow" && warns,
            "denies" => matches!(self.verdict.as_str(), "deny" | "refuse"),
            _ => false,
        };
        if fits { Ok(()) } else { Err(format!("the file's name does not fit its verdict {}", self.verdict)) }
    }
}
