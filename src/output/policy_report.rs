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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    PolicyReport,
    OpenReports,
}

impl Api {
    /// Its version, and the kind of a report.
    pub(super) fn kind(self) -> (&'static str, &'static str) {
        match self {
            Self::PolicyReport => ("wgpolicyk8s.io/v1alpha2", "PolicyReport"),
            Self::OpenReports => ("openreports.io/v1alpha1", "Report"),
        }
    }

    /// As `kubectl` and RBAC call the reports.
    #[cfg(feature = "cli")]
    pub(crate) fn resource(self) -> &'static str {
        match self {
            Self::PolicyReport => "policyreports.wgpolicyk8s.io",
            Self::OpenReports => "reports.openreports.io",
        }
    }
}

/// How many results came to what.
#[derive(Default, Serialize)]
pub(super) struct Counts {
    error: usize,
    fail: usize,
    pass: usize,
    skip: usize,
    warn: usize,
}

impl Counts {
    pub(super) fn add(&mut self, outcome: Outcome) {
        let count = match outcome {
            Outcome::Error => &mut self.error,
            Outcome::Fail => &mut self.fail,
            Outcome::Pass => &mut self.pass,
            Outcome::Skip => &mut self.skip,
            Outcome::Warn => &mut self.warn,
        };
        *count += 1;
    }
}

impl PolicyReport {
    pub(super) fn new(api: Api) -> Self {
        Self { api, report: Pretty::default(), counts: Counts::default() }
    }

    fn push(&mut self, out: &mut dyn Write, item: &Item<'_>) -> io::Result<()> {
        self.counts.add(item.result);
        self.report.item(out, item)
    }
}

impl Writer for PolicyReport {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let (api_version, kind) = self.api.kind();
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
        judged.ignored.iter().try_for_each(|finding| self.push(out, &Item::ignored(finding)))
    }

    fn end(&mut self, out: &mut dyn Write, _: &Summary) -> io::Result<()> {
        self.report.close(out)?;
        self.report.field(out, "summary", &self.counts)?;
        self.report.close(out)
    }
}

/// One result. Fields that are not known are left out: the API server refuses null for a string.
#[derive(Serialize)]
pub(super) struct Item<'a> {
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
pub(super) enum Outcome {
    /// It could not be judged.
    Error,
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
    pub(super) fn new(result: Outcome, object: &'a Name) -> Self {
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

    /// The same with a message.
    pub(super) fn saying(self, message: String) -> Self {
        Self { message, ..self }
    }

    pub(super) fn outcome(&self) -> Outcome {
        self.result
    }

    /// A finding that its object has switched off.
    pub(super) fn ignored(finding: &'a Finding) -> Self {
        Self { result: Outcome::Skip, ..Self::of(finding) }
    }

    pub(super) fn of(finding: &'a Finding) -> Self {
        let outcome = match finding.level {
            Level::Deny => Outcome::Fail,
            Level::Warn | Level::Fix => Outcome::Warn,
        };
        Self { rule: finding.rule_text(), message: finding.text(), ..Self::new(outcome, &finding.object) }
    }
}
