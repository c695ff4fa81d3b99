//! JSON, version 1: keys always present, order stable.

use std::io::{self, Write};

use super::results::Pretty;
use super::writer::Writer;
use crate::judged::{Judged, Summary};

#[derive(Default)]
pub(super) struct Json(Pretty);

impl Writer for Json {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.0.open_object(out)?;
        self.0.field(out, "version", &1)?;
        self.0.open_list(out, "results")
    }

    fn result(&mut self, out: &mut dyn Write, judged: &Judged) -> io::Result<()> {
        self.0.item(out, judged)
    }

    fn end(&mut self, out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
        self.0.close(out)?;
        self.0.field(out, "summary", summary)?;
        self.0.close(out)
    }
}
