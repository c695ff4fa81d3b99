//! The interface of every format.

use std::io::{self, Write};

use crate::judged::{Judged, Summary};

/// Writes the results of a run, each as soon as it is there.
pub(crate) trait Writer {
    /// Writes the part before the first result.
    fn begin(&mut self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn result(&mut self, out: &mut dyn Write, judged: &Judged) -> io::Result<()>;

    /// Writes the part behind the last one.
    fn end(&mut self, _: &mut dyn Write, _: &Summary) -> io::Result<()> {
        Ok(())
    }
}
