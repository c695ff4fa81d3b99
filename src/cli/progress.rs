//! A bar on standard error for work that takes long.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that is over sooner needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) struct Progress {
    begun: Instant,
    /// On results that run over the same terminal a bar would only flicker.
    is_wanted: bool,
    total: Option<u64>,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(super) fn new(results_are_shown: bool) -> Self {
        let is_wanted = io::stderr().is_terminal() && !(results_are_shown && io::stdout().is_terminal());
        Self { begun: Instant::now(), is_wanted, total: None, bar: None }
    }

    /// Begins with a file of that many bytes, if that is known.
    pub(super) fn file(&mut self, length: Option<u64>) {
        self.finish();
        self.total = length;
    }

    pub(super) fn advance_to(&mut self, bytes: u64) {
        if !self.is_wanted || self.begun.elapsed() < PATIENCE {
            return;
        }
        let total = self.total;
        self.bar.get_or_insert_with(|| bar(total)).set_position(bytes);
    }

    /// Writes to standard error without mixing with the bar.
    pub(super) fn suspend(&self, write: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    pub(super) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: Option<u64>) -> ProgressBar {
    let template =
        if total.is_some() { "{bar:40} {bytes}/{total_bytes} {eta}" } else { "{spinner} {bytes} {bytes_per_sec}" };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr()).with_style(style)
}
