//! What our tools say to a pair.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use stable_hooks::engine::{Native, ask};
use stable_hooks::records::StoredRecord;
use stable_hooks::settings::RunSettings;
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_policy::wire::FINDINGS_ANNOTATION;

use crate::helm::Run;
use crate::scene::Scene;

use super::files::RELEASE;
use super::pair::{Operation, Pair, Step, Stored, Via};
use super::reality::{Moment, Reality};
use super::record::Record;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    /// `chart`: one chart, both renders.
    Chart,
    /// `chart --against` the other version.
    Against,
    /// `chart --release`, before the operation.
    ChartRelease,
    /// `release`, after it.
    Release,
    /// The releases policy at the very record, with live objects.
    Live,
    /// The same with `releases.baseline: record`.
    Records,
}

/// One tool's answer.
#[derive(Debug, Clone)]
pub struct Said {
    pub tool: Tool,
    /// As it can be typed.
    pub command: String,
    pub verdict: Verdict,
    pub findings: Vec<Finding>,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Deny,
    CouldNotJudge,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub rule: String,
    pub is_denial: bool,
    pub kind: String,
    pub name: String,
}

impl Tool {
    pub const ALL: [Self; 6] =
        [Self::Chart, Self::Against, Self::ChartRelease, Self::Release, Self::Live, Self::Records];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chart => "chart",
            Self::Against => "chart --against",
            Self::ChartRelease => "chart --release",
            Self::Release => "release",
            Self::Live => "policy, live",
            Self::Records => "policy, record",
        }
    }
}

/// What can be said before the last operation.
#[must_use]
pub fn before(scene: &Scene<'_>, folder: &str, pair: &Pair, moment: &Moment) -> Vec<Said> {
    let step = pair.last();
    // Where the install never came to its record there is no release to upgrade.
    if step.operation != Operation::Upgrade || moment.records.is_empty() {
        return Vec::new();
    }
    let mut said = vec![chart_release(scene, folder, pair)];
    let from_install = matches!(pair.steps.as_slice(), [first, _] if first.operation == Operation::Install);
    let Some(current) = Record::current(&moment.records).filter(|_| from_install) else { return said };
    let values = values(current, step);
    // With what --reuse-values keeps of the old defaults, a file of values says the same.
    let installed = values_of(current);
    let [first, second] = &pair.charts;
    let defaults = Map::from_iter([("global".to_owned(), Value::Object(second.values.clone()))]);
    if first == second && installed == merged(defaults, &values) {
        let file = write(folder, "values", &values);
        said.push(chart(scene, folder, Tool::Chart, &["-f", &file]));
    }
    let (old, new) = (write(folder, "installed", &installed), write(folder, "upgraded", &values));
    let against = format!("{folder}/v1");
    said.push(chart(scene, folder, Tool::Against, &["--against", &against, "--against-values", &old, "-f", &new]));
    said
}

/// What can be said after it.
#[must_use]
pub fn after(scene: &Scene<'_>, pair: &Pair, reality: &Reality) -> Vec<Said> {
    let Some(record) = reality.record() else { return Vec::new() };
    let mut said = vec![release(scene, record)];
    for (tool, settings) in [(Tool::Live, json!({})), (Tool::Records, json!({"releases": {"baseline": "record"}}))] {
        said.extend(policy(tool, &settings, pair.last().operation, record, &reality.before));
    }
    said
}

fn chart(scene: &Scene<'_>, folder: &str, tool: Tool, flags: &[&str]) -> Said {
    let chart = format!("{folder}/v2");
    let mut arguments = vec!["chart", &chart, "-n", &scene.namespace, "--name", RELEASE, "-o", "json"];
    arguments.extend(flags);
    of_run(tool, folder, scene.stable_hooks(&arguments), |_| true)
}

fn chart_release(scene: &Scene<'_>, folder: &str, pair: &Pair) -> Said {
    let (step, number) = (pair.last(), pair.steps.len() - 1);
    let chart = format!("{folder}/v{}", step.chart + 1);
    let mut arguments: Vec<String> =
        ["chart", &chart, "-n", &scene.namespace, "--release", RELEASE, "-o", "json"].map(str::to_owned).into();
    arguments.extend(step.value_flags(&format!("{folder}/values-{number}.yaml")).concat());
    arguments.extend(step.stored_flag().map(str::to_owned));
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    of_run(Tool::ChartRelease, folder, scene.stable_hooks(&arguments), |_| true)
}

fn release(scene: &Scene<'_>, record: &Record) -> Said {
    let run = scene.stable_hooks(&["release", RELEASE, "-n", &scene.namespace, "-o", "json"]);
    let name = format!("sh.helm.release.v1.{RELEASE}.v{}", record.version);
    let is_last = |result: &Value| result.pointer("/object/name").and_then(Value::as_str) == Some(name.as_str());
    of_run(Tool::Release, "", run, is_last)
}

/// The results that count, of what a command wrote as JSON.
fn of_run(tool: Tool, folder: &str, run: Run, counts: impl Fn(&Value) -> bool) -> Said {
    let command = run.command.replace(&format!("{folder}/"), "");
    let document: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
    let results = document.get("results").and_then(Value::as_array).cloned().unwrap_or_default();
    let results: Vec<_> = results.iter().filter(|result| counts(result)).collect();
    let is_denied = results.iter().any(|result| result.get("verdict").and_then(Value::as_str) == Some("deny"));
    let findings: Vec<_> =
        results.iter().filter_map(|result| result.get("findings").and_then(Value::as_array)).flatten().collect();
    let messages = findings.iter().filter_map(|finding| {
        let text = |key: &str| finding.get(key).and_then(Value::as_str);
        Some(format!("{}: {} (rule {})", text("level")?, text("message")?, text("rule")?))
    });
    let text = messages.chain([run.stderr.trim_end().to_owned()]).collect::<Vec<_>>().join("\n");
    let verdict = match (results.is_empty(), is_denied) {
        (true, _) => Verdict::CouldNotJudge,
        (false, true) => Verdict::Deny,
        (false, false) => Verdict::Allow,
    };
    Said { tool, command, verdict, findings: findings.into_iter().filter_map(finding).collect(), text }
}

fn finding(value: &Value) -> Option<Finding> {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Some(Finding {
        rule: text("/rule")?,
        is_denial: text("/level")? == "deny",
        kind: text("/object/kind")?,
        name: text("/object/name")?,
    })
}

/// The webhook's answer to the CREATE of the record, as it saw the cluster then.
fn policy(tool: Tool, settings: &Value, operation: Operation, record: &Record, before: &Moment) -> Option<Said> {
    let limits = RunSettings::new(settings.clone()).record_limits();
    let request = StoredRecord::read(record.when_created(operation), limits).ok()?.request();
    let objects = before.objects.iter().cloned();
    let records = before.records.iter().map(|record| record.secret.clone());
    let view = ClusterView::empty().with_objects(objects.chain(records));
    let answer = ask(&Native::new(Arc::new(view)), &request, settings).expect("the policy answers");
    let annotations = answer.response.audit_annotations.unwrap_or_default();
    let findings: Value = annotations
        .get(FINDINGS_ANNOTATION)
        .and_then(|findings| serde_json::from_str(findings).ok())
        .unwrap_or_default();
    let findings = findings.as_array().into_iter().flatten().filter_map(finding).collect();
    let verdict = if answer.response.accepted { Verdict::Allow } else { Verdict::Deny };
    let said = answer.response.message.into_iter().chain(answer.response.warnings.into_iter().flatten());
    let command = format!("the releases policy with the settings {settings}");
    Some(Said { tool, command, verdict, findings, text: said.collect::<Vec<_>>().join("\n") })
}

fn write(folder: &str, name: &str, values: &Map<String, Value>) -> String {
    let path = format!("{folder}/{name}.json");
    fs::write(&path, format!("{:#}\n", Value::Object(values.clone()))).expect("the values are written");
    path
}

/// All values with which a revision was rendered, defaults and all.
fn values_of(record: &Record) -> Map<String, Value> {
    merged(record.defaults(), &record.config())
}

/// The values with which Helm will render the upgrade: those that override the new chart's defaults.
fn values(current: &Record, step: &Step) -> Map<String, Value> {
    // The file comes first, whatever stands before it.
    let (files, flags): (Vec<_>, Vec<_>) = step.settings.iter().partition(|setting| setting.via == Via::File);
    let given: Map<String, Value> =
        files.into_iter().chain(flags).map(|setting| (setting.key.to_owned(), setting.read())).collect();
    let own = if given.is_empty() { Map::new() } else { Map::from_iter([("global".to_owned(), Value::Object(given))]) };
    match step.stored {
        Stored::Reuse => merged(values_of(current), &own),
        Stored::ResetThenReuse => merged(current.config(), &own),
        Stored::ByDefault if own.is_empty() => current.config(),
        Stored::ByDefault | Stored::Reset => own,
    }
}

fn merged(mut below: Map<String, Value>, above: &Map<String, Value>) -> Map<String, Value> {
    for (key, value) in above {
        let merged = match (below.remove(key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => Value::Object(merged(below, above)),
            (_, value) => value.clone(),
        };
        below.insert(key.clone(), merged);
    }
    below
}

/// The objects that an answer denies, each with the rules that do.
#[must_use]
pub fn denied(said: &Said) -> BTreeMap<(&str, &str), BTreeSet<&str>> {
    by_object(said, true)
}

/// The same with warnings.
#[must_use]
pub fn found(said: &Said) -> BTreeMap<(&str, &str), BTreeSet<&str>> {
    by_object(said, false)
}

fn by_object(said: &Said, only_denials: bool) -> BTreeMap<(&str, &str), BTreeSet<&str>> {
    let mut objects: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for finding in said.findings.iter().filter(|finding| finding.is_denial || !only_denials) {
        let name = finding.name.trim_end_matches('*').trim_end_matches('-');
        objects.entry((finding.kind.as_str(), name)).or_default().insert(finding.rule.as_str());
    }
    objects
}
