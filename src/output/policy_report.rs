//! A PolicyReport (wgpolicyk8s.io/v1alpha2), or a Report of its successor (openreports.io/v1alpha1): the same fields.
use std::io::{self, Write};

use serde::Serialize;
use serde_json::json;
use stable_hooks_policy::name::Name;

use super::results::Pretty;
use super::writer::Writer;
use crate::judged::{Finding, Judged, Level, Summary};

const NAME: &str = env!("CARGO_PKG_NAME");

pub(super) struct PolicyReport {
    api: Api,
    report: Pretty,
    counts: Counts,
}

#[derive(Clone, Copy)]
pub(super) enum Api {
    PolicyReport,
    OpenReports,
}

/// How many results came to what.
#[derive(Default, Serialize)]
struct Counts {
    error: usize,
    fail: usize,
    pass: usize,
    skip: usize,
    warn: usize,
}

impl PolicyReport {
    pub(super) fn new(api: Api) -> Self {
        Self { api, report: Pretty::default(), counts: Counts::default() }
    }

    fn push(&mut self, out: &mut dyn Write, item: &Item<'_>) -> io::Result<()> {
        let count = match item.result {
            Outcome::Pass => &mut self.counts.pass,
            Outcome::Fail => &mut self.counts.fail,
            Outcome::Warn => &mut self.counts.warn,
            Outcome::Skip => &mut self.counts.skip,
        };
        *count += 1;
        self.report.item(out, item)
    }
}

impl Writer for PolicyReport {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let (api_version, kind) = match self.api {
            Api::PolicyReport => ("wgpolicyk8s.io/v1alpha2", "PolicyReport"),
            Api::OpenReports => ("openreports.io/v1alpha1", "Report"),
        };
        self.report.open_object(out)?;
        self.report.field(out, "apiVersion", &api_version)?;
        self.report.field(out, "kind", &kind)?;
        self.report.field(out, "metadata", &json!({"name": NAME}))?;
        self.report.open_list(out, "results")
    }

    fn result(&mut self, out: &mut dyn Write, judged: &Judged) -> io::Result<()> {
        if judged.findings.is_empty() && judged.ignored.is_empty() {
            self.push(out, &Item::new(Outcome::Pass, &judged.object))?;
        }
        judged.findings.iter().try_for_each(|finding| self.push(out, &Item::of(finding)))?;
        judged
            .ignored
            .iter()
            .try_for_each(|finding| self.push(out, &Item { result: Outcome::Skip, ..Item::of(finding) }))
    }

    fn end(&mut self, out: &mut dyn Write, _: &Summary) -> io::Result<()> {
        self.report.close(out)?;
        self.report.field(out, "summary", &self.counts)?;
        self.report.close(out)
    }
}

/// One result. Fields that are not known are left out: the API server refuses null for a string.
#[derive(Serialize)]
struct Item<'a> {
    source: &'static str,
    policy: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    rule: &'a str,
    result: Outcome,
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    resources: [Resource<'a>; 1],
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Pass,
    Fail,
    Warn,
    /// The object has switched the rule off.
    Skip,
}

#[derive(Serialize)]
struct Resource<'a> {
    kind: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
    name: &'a str,
}

impl<'a> Item<'a> {
    fn new(result: Outcome, object: &'a Name) -> Self {
        let Name { kind, namespace, name, .. } = object;
        Self {
            source: NAME,
            policy: NAME,
            rule: "",
            result,
            message: String::new(),
            resources: [Resource { kind, namespace, name }],
        }
    }

    fn of(finding: &'a Finding) -> Self {
        let outcome = match finding.level {
            Level::Deny => Outcome::Fail,
            Level::Warn | Level::Fix => Outcome::Warn,
        };
        Self { rule: finding.rule_text(), message: finding.text(), ..Self::new(outcome, &finding.object) }
    }
}
