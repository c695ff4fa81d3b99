//! A bar on standard error for work that takes long.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that is over sooner needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) struct Progress {
    begun: Instant,
    /// A bar would only flicker where results run over the same terminal.
    is_wanted: bool,
    total: Option<u64>,
    template: &'static str,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(super) fn new(results_are_shown: bool) -> Self {
        let is_wanted = io::stderr().is_terminal() && !(results_are_shown && io::stdout().is_terminal());
        Self { begun: Instant::now(), is_wanted, total: None, template: "", bar: None }
    }

    /// Begins with a file of that many bytes, if that is known.
    pub(super) fn file(&mut self, length: Option<u64>) {
        let known = "{bar:40} {bytes}/{total_bytes} {eta}";
        self.begin(length, if length.is_some() { known } else { "{spinner} {bytes} {bytes_per_sec}" });
    }

    /// Begins with that many releases.
    pub(super) fn releases(&mut self, count: usize) {
        self.begin(Some(count as u64), "{bar:40} {pos}/{len} releases {eta}");
    }

    /// Begins with that many records.
    pub(super) fn records(&mut self, count: usize) {
        self.begin(Some(count as u64), "{bar:40} {pos}/{len} records {eta}");
    }

    /// Begins with that many charts.
    pub(super) fn charts(&mut self, count: usize) {
        self.begin(Some(count as u64), "{bar:40} {pos}/{len} charts {eta}");
    }

    /// Begins with that many versions of a chart.
    pub(super) fn versions(&mut self, count: usize) {
        self.begin(Some(count as u64), "{bar:40} {pos}/{len} versions {eta}");
    }

    /// Begins with that many values of one chart.
    pub(super) fn values(&mut self, count: usize) {
        self.begin(Some(count as u64), "{bar:40} {pos}/{len} values {eta}");
    }

    fn begin(&mut self, total: Option<u64>, template: &'static str) {
        self.finish();
        (self.total, self.template) = (total, template);
    }

    pub(super) fn advance_to(&mut self, position: u64) {
        if !self.is_wanted || self.begun.elapsed() < PATIENCE {
            return;
        }
        let (total, template) = (self.total, self.template);
        self.bar.get_or_insert_with(|| bar(total, template)).set_position(position);
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

fn bar(total: Option<u64>, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr()).with_style(style)
}
