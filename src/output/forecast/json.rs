//! JSON, version 1: keys always present, order stable.

use std::io::{self, Write};

use serde::Serialize;

use crate::forecast::{Forecast, Outlook, Summary};
use crate::judged::Finding;

#[derive(Serialize)]
struct Document<'a> {
    version: u8,
    releases: Vec<Release<'a>>,
    summary: Summary,
}

#[derive(Serialize)]
struct Release<'a> {
    namespace: &'a str,
    name: &'a str,
    storage: &'a str,
    chart: &'a str,
    revision: u64,
    outlook: Outlook,
    /// Empty where it could be judged.
    reason: &'a str,
    findings: &'a [Finding],
}

pub(super) fn write(out: &mut dyn Write, forecasts: &[Forecast]) -> io::Result<()> {
    let releases = forecasts.iter().map(|forecast| {
        let (reason, findings) = match &forecast.judged {
            Ok(judged) => ("", judged.findings.as_slice()),
            Err(trouble) => (trouble.reason.as_str(), [].as_slice()),
        };
        let Forecast { namespace, name, storage, chart, revision, .. } = forecast;
        Release {
            namespace,
            name,
            storage: storage.kind(),
            chart,
            revision: *revision,
            outlook: forecast.outlook(),
            reason,
            findings,
        }
    });
    let document = Document { version: 1, releases: releases.collect(), summary: Summary::of(forecasts) };
    writeln!(out, "{}", serde_json::to_string_pretty(&document)?)
}
