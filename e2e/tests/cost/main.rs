//! What the guard and the forecast cost, on the real API server; each measurement rewrites the table of its page.
//!
//! The guard: a guarded upgrade beside `helm upgrade --dry-run=server` and `helm upgrade` by hand, in turns, with the same
//! chart on the same cluster.

#![expect(clippy::indexing_slicing, reason = "a measurement fails by panicking")]

mod forecast;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::scene::Scene;
use stable_hooks_e2e::world::World;

const ROUNDS: usize = 20;
/// One without a hook, and one whose hook Helm waits for.
const CHARTS: [&str; 2] = ["plain-job", "stable"];
const MARKS: [&str; 2] = ["<!-- begin cost -->\n", "<!-- end cost -->"];

fn main() -> Result<()> {
    let world = World::without_webhooks()?;
    if std::env::args().nth(1).as_deref() == Some("forecast") { forecast::measure(&world) } else { guard(&world) }
}

fn guard(world: &World) -> Result<()> {
    let mut table =
        "| chart | Helm | by hand | one `kubectl` | guarded | ratio |\n|---|---:|---:|---:|---:|---:|\n".to_owned();
    for chart in CHARTS {
        for major in [Major::Three, Major::Four] {
            table.push_str(&measured(world, chart, major)?);
        }
    }
    rewrite("guard", &table)
}

/// Puts the table into a page.
fn rewrite(page: &str, table: &str) -> Result<()> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../docs/{page}.md"));
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
    let lookup = || {
        let _ = scene.kubectl(&["get", "jobs.batch,serviceaccounts", "-o", "json"]).succeeds();
    };
    let ways: [&dyn Fn(); 3] = [&by_hand, &lookup, &guard];
    let mut times = [const { Vec::new() }; 3];
    // The first round fills caches. In each round another one comes first.
    for round in 0..=ROUNDS {
        for way in (0..3).map(|way| (way + round) % 3) {
            let time = time(ways[way]);
            times[way].extend((round > 0).then_some(time.as_secs_f64()));
        }
    }
    let [by_hand, lookup, guarded] = times.map(median);
    let (major, ratio) = (major.number(), guarded / (by_hand + lookup));
    let mut line = String::new();
    writeln!(line, "| {chart} | {major} | {by_hand:.2} s | {lookup:.2} s | {guarded:.2} s | {ratio:.2} |")?;
    Ok(line)
}

fn time(run: &dyn Fn()) -> Duration {
    let begun = Instant::now();
    run();
    begun.elapsed()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
