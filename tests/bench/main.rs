//! What a request costs: deterministic counts, and times only as ratios to plain JSON parsing in the same run.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::cast_precision_loss,
    clippy::panic,
    reason = "a benchmark prints, and stops where it cannot measure"
)]

#[path = "../canonical.rs"]
mod canonical;
mod chart;
#[path = "../it/fuel/meter.rs"]
mod meter;
mod record;
mod stream;

use std::fs;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use stable_hooks::cluster::ClusterView;
use stable_hooks::host::{DEFAULT_TIMEOUT, Policy};
use stable_hooks_policy::cluster::NoCluster;
use stable_hooks_policy::wire::validate;

use meter::Guest;

const ROUNDS: u32 = 300;
const RECORD_ROUNDS: u32 = 20;

/// How many components make a record of the size that Kubernetes stores at most, 1 MiB in a Secret, and a typical one.
const LARGE: usize = 460;
const TYPICAL: usize = 4;

fn main() {
    requests();
    records();
    stream::measure();
    chart::measure(env!("CARGO_BIN_EXE_stable-hooks")).expect("a chart can be written");
}

fn requests() {
    let wasm = fs::read("annotated-policy.wasm").expect("make annotated-policy.wasm");
    let policy =
        Policy::from_bytes(&wasm, Arc::new(ClusterView::default()), DEFAULT_TIMEOUT).expect("the policy loads");
    println!("annotated module: {} bytes", wasm.len());
    println!("{:<12}{:>12}{:>16}{:>16}", "request", "fuel", "native/parse", "wasm/parse");
    let metered = Guest::new(&wasm, true);
    for (name, payload) in canonical::payloads() {
        let fuel = metered.cost("validate", &payload).fuel;
        let parse = best(|| drop(black_box(serde_json::from_slice::<Value>(&payload))));
        let native = best(|| drop(black_box(validate(&payload, &NoCluster))));
        let guest = best(|| drop(black_box(policy.validate(&payload))));
        println!("{name:<12}{fuel:>12}{:>16.2}{:>16.2}", ratio(native, parse), ratio(guest, parse));
    }
    println!(
        "native/parse, wasm/parse: time relative to parsing the payload natively into a JSON tree, best of {ROUNDS};"
    );
    println!("wasm: a fresh instance for each request, as policy-server does");
}

/// What a release record costs inside the wasm, against a guest that only inflates the same bytes and checks that they
/// are text.
fn records() {
    let read = |file: &str| fs::read(file).unwrap_or_else(|_| panic!("make {file}"));
    let (policy, yardstick) = (read("annotated-policy.wasm"), read("yardstick.wasm"));
    let guests = [&policy, &yardstick].map(|wasm| [false, true].map(|metered| Guest::new(wasm, metered)));
    let [[judge, judge_metered], [inflate, inflate_metered]] = &guests;
    println!(
        "\n{:<10}{:>10}{:>12}{:>12}{:>14}{:>14}{:>8}{:>18}",
        "record", "stored", "inflated", "documents", "time/inflate", "fuel/inflate", "ms", "memory/inflated"
    );
    for (name, components) in [("large", LARGE), ("typical", TYPICAL)] {
        let record = record::packed(components);
        let time = |guest: &Guest, operation, payload: &[u8]| {
            best_of(RECORD_ROUNDS, || assert!(guest.cost(operation, payload).memory > 0))
        };
        let judging = time(judge, "validate", &record.payload);
        let judged = judge_metered.cost("validate", &record.payload);
        // A record that cannot be read would be quick.
        assert!(judged.answer.starts_with(b"{\"accepted\":true"), "{}", String::from_utf8_lossy(&judged.answer));
        println!(
            "{name:<10}{:>10}{:>12}{:>12}{:>14.2}{:>14.2}{:>8.2}{:>18.2}",
            record.stored,
            record.inflated,
            record.documents,
            ratio(judging, time(inflate, "inflate", &record.gzip)),
            count_ratio(judged.fuel, inflate_metered.cost("inflate", &record.gzip).fuel),
            judging.as_secs_f64() * 1000.0,
            count_ratio(judged.memory as u64, record.inflated as u64)
        );
    }
    println!("time, fuel: relative to inflating and a UTF-8 check of the same bytes in wasm, best of {RECORD_ROUNDS};");
    println!(
        "memory: the linear memory at its peak; goals: 3 times and 4 times for the large record, 1 ms for the typical"
    );
}

fn count_ratio(count: u64, baseline: u64) -> f64 {
    count as f64 / baseline as f64
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
