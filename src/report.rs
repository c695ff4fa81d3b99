//! What was judged, and how it is written.

pub(crate) mod human;
pub(crate) mod json;

use std::mem;

use json_patch::Patch;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stable_hooks_policy::shown::Shown;
use stable_hooks_policy::wire::FINDINGS_ANNOTATION;

use crate::engine::Answer;

/// The results of one run, in the order in which the verb judges.
#[derive(Debug, Default)]
pub(crate) struct Report {
    results: Vec<Judged>,
}

/// One object and what was said about it.
#[derive(Debug, Serialize)]
pub(crate) struct Judged {
    source: String,
    operation: String,
    object: ObjectRef,
    verdict: Verdict,
    findings: Vec<Finding>,
    patch: Patch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Allow,
    Normalize,
    Deny,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ObjectRef {
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// A finding as the policy reports it, and where in a chart it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finding {
    rule: String,
    level: Level,
    object: ObjectRef,
    path: String,
    message: String,
    help: String,
    /// In the chart, where that is known.
    #[serde(default)]
    template: Option<Place>,
}

/// Where something is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) file: String,
    /// From 1.
    pub(crate) line: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Deny,
    Warn,
    Fix,
}

impl Report {
    pub(crate) fn push(&mut self, judged: Judged) {
        self.results.push(judged);
    }

    pub(crate) fn denied(&self) -> usize {
        self.count(|judged| judged.verdict == Verdict::Deny)
    }

    pub(crate) fn normalized(&self) -> usize {
        self.count(|judged| judged.verdict == Verdict::Normalize)
    }

    pub(crate) fn warned(&self) -> usize {
        self.count(|judged| judged.findings.iter().any(|finding| finding.level == Level::Warn))
    }

    fn count(&self, is: impl Fn(&Judged) -> bool) -> usize {
        self.results.iter().filter(|judged| is(judged)).count()
    }
}

impl Judged {
    pub(crate) fn new(source: String, request: &Value, answer: Answer) -> Self {
        let object = ObjectRef::new(request);
        let verdict = match (answer.response.accepted, answer.patch.is_empty()) {
            (false, _) => Verdict::Deny,
            (true, true) => Verdict::Allow,
            (true, false) => Verdict::Normalize,
        };
        let findings = findings(&object, &answer);
        let operation = text(request, "/operation").to_owned();
        Self { source, operation, object, verdict, findings, patch: answer.patch }
    }
}

impl Judged {
    /// One result of two that were asked for one thing: the other's object, and what both found, once.
    pub(crate) fn followed_by(self, mut other: Self) -> Self {
        other.verdict = other.verdict.max(self.verdict);
        let mut findings = self.findings;
        findings.extend(mem::take(&mut other.findings));
        for finding in findings {
            if !other.findings.contains(&finding) {
                other.findings.push(finding);
            }
        }
        other
    }

    /// Says of each finding in which template its object's field is written.
    pub(crate) fn in_templates(mut self, template_of: impl Fn(&ObjectRef, &str) -> Option<Place>) -> Self {
        for finding in &mut self.findings {
            finding.template = template_of(&finding.object, &finding.path);
        }
        self
    }
}

/// The findings that our policy puts into its answer; those of another policy are made of its texts.
fn findings(object: &ObjectRef, answer: &Answer) -> Vec<Finding> {
    let response = &answer.response;
    let of_text = |level, message: &String| Finding {
        rule: String::new(),
        level,
        object: object.clone(),
        path: String::new(),
        message: message.clone(),
        help: String::new(),
        template: None,
    };
    let reported = response.audit_annotations.as_ref().and_then(|annotations| annotations.get(FINDINGS_ANNOTATION));
    let mut findings: Vec<Finding> = reported.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    if findings.is_empty() && !response.accepted {
        findings.extend(response.message.iter().map(|message| of_text(Level::Deny, message)));
    }
    // Our policy lists its warnings as the findings have them, then what it could not read.
    let known = findings.iter().filter(|finding| finding.level == Level::Warn).count();
    let others = response.warnings.iter().flatten().skip(known).map(|message| of_text(Level::Warn, message));
    findings.extend(others.collect::<Vec<_>>());
    findings
}

impl ObjectRef {
    fn new(request: &Value) -> Self {
        let either = |first, second| match text(request, first) {
            "" => text(request, second),
            found => found,
        };
        let names = [text(request, "/name"), either("/object/metadata/name", "/oldObject/metadata/name")];
        let prefix = text(request, "/object/metadata/generateName");
        let name = match names.into_iter().find(|name| !name.is_empty()) {
            Some(name) => name.to_owned(),
            None if prefix.is_empty() => String::new(),
            None => format!("{prefix}*"),
        };
        Self {
            group: text(request, "/kind/group").to_owned(),
            kind: text(request, "/kind/kind").to_owned(),
            namespace: either("/namespace", "/object/metadata/namespace").to_owned(),
            name,
        }
    }
}

impl std::fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        let name = if self.name.is_empty() { "(no name)" } else { &self.name };
        write!(f, "{} {}{slash}{}", Shown(&self.kind), Shown(&self.namespace), Shown(name))
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
