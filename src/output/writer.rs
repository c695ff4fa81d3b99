//! The interface of every format.

use std::io::{self, Write};

use crate::judged::{Judged, Summary};

/// Writes the results of a run, each as soon as it is there.
pub(crate) trait Writer {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()>;
    fn result(&mut self, out: &mut dyn Write, judged: &Judged) -> io::Result<()>;
    fn end(&mut self, out: &mut dyn Write, summary: &Summary) -> io::Result<()>;
}
