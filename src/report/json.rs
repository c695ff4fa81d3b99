//! JSON, version 1: keys always present, order stable.

use std::io::{self, Write};

use serde::Serialize;

use super::{Judged, Report};

#[derive(Serialize)]
struct Document<'a> {
    version: u8,
    results: &'a [Judged],
    summary: Summary,
}

#[derive(Serialize)]
struct Summary {
    objects: usize,
    denied: usize,
    normalized: usize,
    warned: usize,
}

pub(crate) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let summary = Summary {
        objects: report.results.len(),
        denied: report.denied(),
        normalized: report.normalized(),
        warned: report.warned(),
    };
    serde_json::to_writer_pretty(&mut *out, &Document { version: 1, results: &report.results, summary })?;
    writeln!(out)
}
