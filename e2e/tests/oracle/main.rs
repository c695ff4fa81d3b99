//! Pairs of small charts: what real Helm does to each Job and `ServiceAccount`, and whether our tools foresee it.
//!
//! `PAIRS` says how many, `SEED` which is the first, `HELM` with which Helm alone. A pair that our tools are wrong about is
//! printed whole, made as small as it gets.

use std::collections::BTreeMap;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::oracle::Trial;
use stable_hooks_e2e::oracle::compare::{Disagreement, Wrong};
use stable_hooks_e2e::oracle::generate::pair;
use stable_hooks_e2e::oracle::limits::limit;
use stable_hooks_e2e::oracle::said::Tool;
use stable_hooks_e2e::oracle::tally::Tally;
use stable_hooks_e2e::world::World;

const PAIRS: u64 = 50;

/// More than there are cores: most of the time Helm waits for a Job.
const SIDE_BY_SIDE: usize = 6;

/// A long run tells how it stands after so many trials: it may be stopped.
const TOLD_EVERY: usize = 200;

/// So many of one kind are made small and printed; of the others the seed.
const SHOWN: usize = 1;

/// Which tool is wrong, and how.
type Class = (Tool, Wrong, String);

struct Session {
    world: World,
    tally: Mutex<Tally>,
    wrong: Mutex<BTreeMap<Class, Vec<String>>>,
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a test run tells how it went")]
fn main() -> ExitCode {
    let number = |name: &str, default| env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (pairs, seed) = (number("PAIRS", PAIRS), number("SEED", 1));
    let helms: Vec<Major> = match env::var("HELM").as_deref() {
        Ok("3") => vec![Major::Three],
        Ok("4") => vec![Major::Four],
        _ => Major::ALL.into(),
    };
    let world = match World::without_webhooks() {
        Ok(world) => world,
        Err(error) => {
            eprintln!("the oracle cannot start: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    println!("{pairs} pairs, PAIRS={pairs} SEED={seed}");
    let session = Session { world, tally: Mutex::default(), wrong: Mutex::default() };
    let todo: Vec<_> =
        (0..pairs).flat_map(|number| helms.iter().map(move |major| (seed.wrapping_add(number), *major))).collect();
    let (next, broken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some((seed, major)) = todo.get(number) else { break };
                    if number > 0 && number.is_multiple_of(TOLD_EVERY) {
                        println!("\nbegun: {number} of {}\n{}", todo.len(), session.tally());
                    }
                    let judged = catch_unwind(AssertUnwindSafe(|| session.judge(*seed, *major)));
                    if judged.is_err() {
                        eprintln!("PAIRS=1 SEED={seed} HELM={} did not come to its end, see above", major.number());
                        broken.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    println!("\n{}", session.tally());
    let wrong = session.wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
    for ((tool, what, rule), seeds) in &wrong {
        println!("{what:?} {} {rule}: {}", tool.name(), seeds.join(", "));
    }
    if wrong.is_empty() && broken.into_inner() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Session {
    fn judge(&self, seed: u64, major: Major) {
        let mut trial = Trial::of(&self.world, &pair(seed), major);
        if trial.disagreements().next().is_some() {
            // A machine that is busy can make Helm wait too long; what is wrong stays wrong.
            trial = Trial::of(&self.world, &trial.pair, major);
        }
        self.tally().count(seed, &trial);
        let wrong: Vec<_> = trial.disagreements().cloned().collect();
        for disagreement in wrong {
            if let Some(limit) = limit(&trial, &disagreement) {
                self.tally().limit(limit);
            } else if self.is_new(&disagreement, seed, major) {
                show(seed, &trial, &disagreement);
                let smaller = trial.shrunk(&self.world, &disagreement);
                if smaller.pair != trial.pair {
                    show(seed, &smaller, &disagreement);
                }
            }
        }
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_new(&self, disagreement: &Disagreement, seed: u64, major: Major) -> bool {
        let class = (disagreement.tool, disagreement.what, disagreement.rule.clone());
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let seeds = wrong.entry(class).or_default();
        let entry = format!("{seed}/{}", major.number());
        if seeds.last() != Some(&entry) {
            seeds.push(entry);
        }
        seeds.len() <= SHOWN
    }
}

#[expect(clippy::print_stdout, reason = "a test run tells how it went")]
fn show(seed: u64, trial: &Trial, disagreement: &Disagreement) {
    let (helm, title) = (trial.major.number(), disagreement.title(trial.major));
    println!("\n=== PAIRS=1 SEED={seed} HELM={helm}\n{title}\n{}", trial.shown(disagreement));
}
