//! What the guard costs: a guarded upgrade beside `helm upgrade --dry-run=server` and `helm upgrade` by hand, in turns, with
//! the same chart on the same cluster. Rewrites the table in docs/guard.md.

#![expect(clippy::expect_used, clippy::panic, reason = "a measurement fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::scene::Scene;
use stable_hooks_e2e::world::World;

const PAIRS: usize = 20;
/// One without a hook, and one whose hook Helm waits for.
const CHARTS: [&str; 2] = ["plain-job", "stable"];
const MARKS: [&str; 2] = ["<!-- begin cost -->\n", "<!-- end cost -->"];

fn main() -> Result<()> {
    let world = World::without_webhooks()?;
    let mut table = "| chart | Helm | by hand | guarded | ratio |\n|---|---:|---:|---:|---:|\n".to_owned();
    for chart in CHARTS {
        for major in [Major::Three, Major::Four] {
            table.push_str(&measured(&world, chart, major)?);
        }
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guard.md");
    let text = fs::read_to_string(&page)?;
    let (before, rest) = text.split_once(MARKS[0]).context("the page has no place for the table")?;
    let (_, after) = rest.split_once(MARKS[1]).context("the table has no end")?;
    fs::write(page, format!("{before}{}\n{table}\n{}{after}", MARKS[0], MARKS[1]))?;
    Ok(())
}

/// A line of the table.
fn measured(world: &World, chart: &str, major: Major) -> Result<String> {
    let scene = Scene::new(world, &format!("cost-{chart}"), major, None);
    let guarded = scene.guarded(&[]);
    for release in ["by-hand", "guarded"] {
        let _ = scene.install(release, chart, &[]).succeeds();
    }
    let by_hand = || {
        let _ = scene.upgrade("by-hand", chart, &["--dry-run=server", "-o", "json"]).succeeds();
        let _ = scene.upgrade("by-hand", chart, &[]).succeeds();
    };
    let guard = || {
        let _ = guarded.upgrade("guarded", chart, &[]).succeeds();
    };
    let mut times = Vec::new();
    // The first pair fills caches. Whoever comes first changes from pair to pair.
    for pair in 0..=PAIRS {
        let found = if pair % 2 == 0 {
            let by_hand = time(by_hand);
            (by_hand, time(guard))
        } else {
            let guarded = time(guard);
            (time(by_hand), guarded)
        };
        times.extend((pair > 0).then_some(found));
    }
    let by_hand = median(times.iter().map(|(by_hand, _)| by_hand.as_secs_f64()));
    let guarded = median(times.iter().map(|(_, guarded)| guarded.as_secs_f64()));
    let ratio = median(times.iter().map(|(by_hand, guarded)| guarded.as_secs_f64() / by_hand.as_secs_f64()));
    let mut line = String::new();
    writeln!(line, "| {chart} | {} | {by_hand:.2} s | {guarded:.2} s | {ratio:.2} |", major.number())?;
    Ok(line)
}

fn time(run: impl Fn()) -> Duration {
    let begun = Instant::now();
    run();
    begun.elapsed()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().expect("there is a pair")
}
