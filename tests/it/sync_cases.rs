//! `tests/cases/<rule for charts>/<accepts|warns|denies>-<what>.yaml`: what Argo CD's syncs of a text get, or Helm's
//! upgrade, one sentence a file.
//!
//! `new` is the text that is synced, `old` the one that was synced before, `again` the new one rendered once more, and
//! `asRevision2` that with another revision. The application is in namespace `shop`. Where Helm deploys, `install` is what
//! is installed, as `revision` if a record holds it, and `upgrade` the upgrade over it; with a `value` it is the one that
//! changes that, and `release-identity-flip` says what flips. No policy is asked: the rules for charts are the command
//! line's.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use stable_hooks_policy::evaluate::{evaluate_renders, evaluate_syncs};
use stable_hooks_policy::finding::Finding;
use stable_hooks_policy::name::Name;
use stable_hooks_policy::renders::{Flip, Renders, ValueChange};
use stable_hooks_policy::rule::{Effect, Family};
use stable_hooks_policy::sync::{Manifest, Syncs};
use stable_hooks_policy::verdict::Found;
use stable_hooks_policy::{RuleId, Settings};

use crate::cases::{all_hold, in_one_line, read};
use crate::engines::{annotated, ask_with, cluster, files};
use crate::releases::render::{self, Revision};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Case {
    #[serde(default)]
    settings: Value,
    install: Option<String>,
    #[serde(default)]
    upgrade: String,
    revision: Option<u64>,
    value: Option<ValueOfCase>,
    old: Option<String>,
    #[serde(default)]
    new: String,
    again: Option<String>,
    as_revision2: Option<String>,
    expect: Expectation,
}

/// A value of the chart, and what it is in the two renders.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ValueOfCase {
    #[serde(default)]
    given: String,
    path: String,
    from: String,
    to: String,
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

/// The case lies in the folder of a rule for charts.
pub(crate) fn is_sync_case(path: &Path) -> bool {
    let folder = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
    folder.parse().is_ok_and(|rule: RuleId| rule.family() == Family::Chart)
}

#[test]
fn sync_cases_hold() {
    all_hold(is_sync_case, check);
}

/// What is said to all cases.
pub(crate) fn said() -> impl Iterator<Item = String> {
    let cases = files("tests/cases", "yaml").into_iter().filter(|path| is_sync_case(path));
    cases.flat_map(|path| read::<Case>(&path).unwrap().found().findings).map(|finding| text(&finding))
}

/// The findings about texts, each behind a line that says which one it is: `# next` and `# again`, `# upgrade`,
/// or `# value` where a value makes the difference.
pub(crate) fn judge(text: &str, settings: &Value) -> Vec<Finding> {
    if let Some((before, after)) = text.split_once("\n# value\n") {
        let [path, from, to] = ["migration.asHook", "false", "true"].map(str::to_owned);
        let value = ValueOfCase { given: String::new(), path, from, to };
        return evaluate_value([before, after], &value, settings).findings;
    }
    if let Some((install, upgrade)) = text.split_once("\n# upgrade\n") {
        return evaluate_upgrade([install, upgrade], None, settings).findings;
    }
    let (first, next) = match text.split_once("\n# next\n") {
        Some((first, next)) => (Some(first), next),
        None => (None, text),
    };
    let (new, again) = match next.split_once("\n# again\n") {
        Some((new, again)) => (new, Some(again)),
        None => (next, None),
    };
    evaluate(new, [first, again, None], settings).findings
}

/// The findings about a text: the one before, the same again, and that as revision 2.
fn evaluate(new: &str, others: [Option<&str>; 3], settings: &Value) -> Found {
    let [old, again, as_revision_2] = others.map(|text| text.map(manifest));
    let new = manifest(new);
    let syncs = Syncs { old: old.as_ref(), new: &new, again: again.as_ref(), as_revision_2: as_revision_2.as_ref() };
    evaluate_syncs(&syncs, &Settings::parse(settings).unwrap())
}

fn evaluate_upgrade(texts: [&str; 2], revision: Option<u64>, settings: &Value) -> Found {
    let [install, upgrade] = texts.map(render::read);
    let renders = Renders::of(&install.documents, &upgrade.documents, "shop", revision);
    evaluate_renders(&renders, &Settings::parse(settings).unwrap())
}

fn evaluate_value(texts: [&str; 2], value: &ValueOfCase, settings: &Value) -> Found {
    let [there, back] = [texts, [texts[1], texts[0]]].map(flips);
    let mut flips = BTreeMap::new();
    for name in there.keys().chain(back.keys()) {
        let flip = match (there.get(name).cloned(), back.get(name).cloned()) {
            (Some(there), Some(back)) => Flip::Both { there, back },
            (Some(there), None) => Flip::There(there),
            (None, back) => Flip::Back(back.unwrap()),
        };
        flips.insert(name.clone(), flip);
    }
    let [before, after] = texts.map(render::read);
    let ValueOfCase { given, path, from, to } = value;
    let renders = Renders::of(&before.documents, &after.documents, "shop", None);
    let renders = renders.after(ValueChange { given, path, from, to, flips });
    evaluate_renders(&renders, &Settings::parse(settings).unwrap())
}

/// The objects that flip in the upgrade from one to the other, and what is said of each.
fn flips([before, after]: [&str; 2]) -> BTreeMap<Name, String> {
    let mut live = render::read(before).left_by_install("orders", "shop");
    live.push(Revision::new("orders", "shop", 1, "deployed", before).secret());
    let upgrade = Revision::new("orders", "shop", 2, "pending-upgrade", after).secret();
    let answer = ask_with(&render::creation(&upgrade), &json!({"releases": {"baseline": "record"}}), cluster(&live));
    let findings = annotated(&answer, "findings").into_iter();
    let flips = findings.filter(|finding| finding["rule"] == RuleId::ReleaseIdentityFlip.as_str());
    let told = |finding: Value| {
        let name = serde_json::from_value(finding["object"].clone()).unwrap();
        (name, finding["message"].as_str().unwrap().to_owned())
    };
    flips.map(told).collect()
}

pub(crate) fn reported(findings: &[Finding]) -> Vec<String> {
    let line = |finding: &Finding| {
        let level = match finding.effect {
            Effect::Deny => "deny",
            Effect::Warn => "warn",
            Effect::Fix => "fix",
        };
        format!("{} {level} {}/{}", finding.rule, finding.object.kind, finding.object.name)
    };
    findings.iter().map(line).collect()
}

fn manifest(text: &str) -> Manifest {
    Manifest::of(&render::read(text).documents, "shop")
}

fn text(finding: &Finding) -> String {
    in_one_line(&format!("{} {} {}", finding.object, finding.message, finding.remedy))
}

fn check(path: &Path) -> Result<(), String> {
    let case = read::<Case>(path)?;
    let Found { findings, ignored, notes } = case.found();
    let verdict = if findings.iter().any(|finding| finding.effect == Effect::Deny) { "deny" } else { "allow" };
    let texts = findings.iter().map(text).chain(notes.iter().map(|note| note.message.clone()));
    let texts = texts.collect::<Vec<_>>().join("\n");
    let (mut found, mut wanted) = (reported(&findings), case.expect.findings.clone());
    found.sort();
    wanted.sort();
    if (verdict, &found) != (case.expect.verdict.as_str(), &wanted) {
        return Err(format!("expected {} {wanted:?}, found {verdict} {found:?}\n{texts}", case.expect.verdict));
    }
    let ignored = reported(&ignored);
    if (&ignored, notes.len()) != (&case.expect.ignored, case.expect.notes) {
        return Err(format!("found {ignored:?} ignored and {} notes\n{texts}", notes.len()));
    }
    if let Some(part) = case.expect.message.iter().find(|part| !texts.contains(*part)) {
        return Err(format!("no {part:?} in\n{texts}"));
    }
    let fits = match path.file_stem().unwrap().to_str().unwrap().split('-').next().unwrap() {
        "accepts" => found.is_empty(),
        "warns" => verdict == "allow" && (!found.is_empty() || case.expect.notes > 0),
        "denies" => verdict == "deny",
        _ => false,
    };
    if fits { Ok(()) } else { Err(format!("the file's name does not fit its verdict {verdict}")) }
}

impl Case {
    fn found(&self) -> Found {
        if let (Some(install), Some(value)) = (&self.install, &self.value) {
            return evaluate_value([install, &self.upgrade], value, &self.settings);
        }
        if let Some(install) = &self.install {
            return evaluate_upgrade([install, &self.upgrade], self.revision, &self.settings);
        }
        let others = [&self.old, &self.again, &self.as_revision2].map(Option::as_deref);
        evaluate(&self.new, others, &self.settings)
    }
}
