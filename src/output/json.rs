//! JSON, version 1: keys always present, order stable.

use std::io::{self, Write};

use serde::Serialize;

use super::results::Results;
use super::writer::Writer;
use crate::judged::{Judged, Summary};

#[derive(Default)]
pub(super) struct Json(Results);

#[derive(Serialize)]
struct Document<'a> {
    version: u8,
    results: [(); 0],
    summary: &'a Summary,
}

fn document(summary: &Summary) -> Document<'_> {
    Document { version: 1, results: [], summary }
}

impl Writer for Json {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.0 = Results::begin(out, &document(&Summary::default()))?;
        Ok(())
    }

    fn result(&mut self, out: &mut dyn Write, judged: &Judged) -> io::Result<()> {
        self.0.push(out, judged)
    }

    fn end(&mut self, out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
        self.0.end(out, &document(summary))
    }
}
