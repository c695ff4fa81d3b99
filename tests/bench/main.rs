//! Writes `docs/performance.md`: deterministic counts, and times only as ratios to a baseline of the same run.

#![expect(
    clippy::cast_precision_loss,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops where it cannot measure"
)]

#[path = "../canonical.rs"]
mod canonical;
mod chart;
mod growth;
#[path = "../it/fuel/meter.rs"]
mod meter;
mod module;
mod playground;
#[path = "../it/fuel/record.rs"]
mod record;
mod release;
mod request;
mod stream;
mod sweep;

use std::env;
use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

use meter::Guest;

const PAGE: &str = "docs/performance.md";
const PLOT: &str = "docs/growth.svg";

const INTRODUCTION: &str = "\
# What it costs

Written by `make bench`; the figures of a change are its difference.

- **Fuel** is wasmtime's count of executed wasm instructions: the same on every machine.
- **Times** are ratios to a baseline that was measured in the same run, in turns with what is compared: the median of the \
pairs, ± half of the range that holds the middle half of them. Where ms or MB/s are given, they are those of the machine \
that wrote this page. No time is a test: the tests hold fuel \
([tests/fuel.json](../tests/fuel.json), the bombs and the growth in `tests/it/fuel`), bytes and memory.
- The **floor** is a guest of the same workspace, built with the same flags ([tests/yardstick](../tests/yardstick)): it only \
reads the same JSON into a tree, or only inflates the same record. What is below 1 does less than reading everything.
- Elsewhere: policy-servers [under load](load.md), [forecasts](forecast.md#what-it-costs) of a thousand releases, [the \
guard](guard.md#what-it-costs).
";

/// With this and the name of a form the program only parses what it is given.
const PARSE: &str = "--parse";

fn main() {
    let mut arguments = env::args().skip_while(|argument| argument != PARSE).skip(1);
    if let Some(form) = arguments.next() {
        return stream::parse(&form);
    }
    let guests = Guests::load();
    let growth = growth::Growth::measure(&guests);
    fs::write(PLOT, growth.plot()).expect("docs can be written");
    let sections = [
        INTRODUCTION.to_owned(),
        request::section(&guests),
        release::section(&guests),
        growth.section(),
        module::section(&guests),
        stream::section(),
        chart::section(env!("CARGO_BIN_EXE_stable-hooks")).expect("a chart can be written"),
        sweep::section(env!("CARGO_BIN_EXE_stable-hooks")).expect("a chart can be swept"),
        playground::section().expect("make playground-files"),
    ];
    let page = sections.join("\n");
    fs::write(PAGE, &page).expect("docs can be written");
    print!("{page}");
}

/// A guest, its bytes, and compiled with and without a count of fuel, which costs time.
struct Compiled {
    wasm: Vec<u8>,
    quick: Guest,
    metered: Guest,
}

/// The policy and what it is measured against.
struct Guests {
    policy: Compiled,
    floor: Compiled,
}

impl Guests {
    fn load() -> Self {
        let compiled = |file: &str| {
            let wasm = fs::read(file).unwrap_or_else(|_| panic!("make {file}"));
            Compiled { quick: Guest::new(&wasm, false), metered: Guest::new(&wasm, true), wasm }
        };
        Self { policy: compiled("annotated-policy.wasm"), floor: compiled("yardstick.wasm") }
    }
}

/// How many times as long one thing takes as another.
struct Ratio {
    median: f64,
    /// Half of the range that holds the middle half.
    spread: f64,
}

impl Ratio {
    /// Measures both in turns, so that a busy moment of the machine meets both.
    fn of(rounds: usize, mut work: impl FnMut(), mut baseline: impl FnMut()) -> Self {
        Self::from((0..rounds).map(|_| seconds(&mut work) / seconds(&mut baseline)).collect())
    }

    fn from(mut ratios: Vec<f64>) -> Self {
        ratios.sort_by(f64::total_cmp);
        let at = |quarter: usize| ratios.get(ratios.len() * quarter / 4).copied().unwrap_or(f64::NAN);
        Self { median: at(2), spread: (at(3) - at(1)) / 2.0 }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} ± {:.2}", self.median, self.spread)
    }
}

fn seconds(work: &mut impl FnMut()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_secs_f64()
}

/// The quickest of many runs: the one that was disturbed least.
fn best_of(rounds: u32, mut work: impl FnMut()) -> Duration {
    (0..rounds).map(|_| Duration::from_secs_f64(seconds(&mut work))).min().unwrap_or_default()
}

fn count_ratio(count: u64, baseline: u64) -> f64 {
    count as f64 / baseline as f64
}

/// 1234567 as 1,234,567.
fn grouped(count: impl TryInto<u64>) -> String {
    let digits = count.try_into().unwrap_or_default().to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// A table in Markdown; all columns but the first are numbers.
fn table<const COLUMNS: usize>(header: [&str; COLUMNS], rows: &[[String; COLUMNS]]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule: Vec<_> = (0..COLUMNS).map(|column| if column == 0 { "---" } else { "---:" }.to_owned()).collect();
    let rows: String = rows.iter().map(|row| line(row)).collect();
    format!("{}{}{rows}", line(&header.map(str::to_owned)), line(&rule))
}
