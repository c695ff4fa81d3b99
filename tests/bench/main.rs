//! What a request costs: deterministic counts, and times only as ratios to plain JSON parsing in the same run.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::cast_precision_loss,
    reason = "a benchmark prints, and stops where it cannot measure"
)]

#[path = "../canonical.rs"]
mod canonical;
mod chart;
#[path = "../it/fuel/meter.rs"]
mod meter;
mod stream;

use std::fs;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use stable_hooks::cluster::ClusterView;
use stable_hooks::host::{DEFAULT_TIMEOUT, Policy};
use stable_hooks_policy::cluster::NoCluster;
use stable_hooks_policy::wire::validate;

const ROUNDS: u32 = 300;

fn main() -> ExitCode {
    let wasm = fs::read("annotated-policy.wasm").expect("make annotated-policy.wasm");
    let policy =
        Policy::from_bytes(&wasm, Arc::new(ClusterView::default()), DEFAULT_TIMEOUT).expect("the policy loads");
    println!("annotated module: {} bytes", wasm.len());
    println!("{:<12}{:>12}{:>16}{:>16}", "request", "fuel", "native/parse", "wasm/parse");
    for (name, payload) in canonical::payloads() {
        let fuel = meter::fuel(&wasm, "validate", &payload);
        let parse = best(|| drop(black_box(serde_json::from_slice::<Value>(&payload))));
        let native = best(|| drop(black_box(validate(&payload, &NoCluster))));
        let guest = best(|| drop(black_box(policy.validate(&payload))));
        println!("{name:<12}{fuel:>12}{:>16.2}{:>16.2}", ratio(native, parse), ratio(guest, parse));
    }
    println!(
        "native/parse, wasm/parse: time relative to parsing the payload natively into a JSON tree, best of {ROUNDS};"
    );
    println!("wasm: a fresh instance for each request, as policy-server does\n");
    stream::measure();
    let is_quick = chart::run(env!("CARGO_BIN_EXE_stable-hooks")).expect("a chart can be written");
    if is_quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn best(work: impl FnMut()) -> Duration {
    best_of(ROUNDS, work)
}

/// The quickest of many runs: the one that was disturbed least.
fn best_of(rounds: u32, mut work: impl FnMut()) -> Duration {
    let run = |_| {
        let begin = Instant::now();
        work();
        begin.elapsed()
    };
    (0..rounds).map(run).min().unwrap_or_default()
}

fn ratio(time: Duration, baseline: Duration) -> f64 {
    time.as_secs_f64() / baseline.as_secs_f64()
}
