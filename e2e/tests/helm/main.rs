//! What happens on a real API server: each harm without the policy and with it, and what must work untouched.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a scenario fails by panicking, and a test run tells how it went"
)]

mod failures;
mod flux;
mod harms;
mod objects;
mod works;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::proof::{Entry, Proof};
use stable_hooks_e2e::world::World;

use crate::harms::HARMS;

/// More than there are cores: most of the time Helm waits for a Job.
const SIDE_BY_SIDE: usize = 6;

/// A scenario with the policy alone.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    section: &'static str,
    name: &'static str,
    /// The chart and what is done with it.
    about: &'static str,
    /// One is enough where the scenario is not about Helm.
    helms: &'static [Major],
    run: fn(&World, Major) -> Report,
}

impl Case {
    const EMPTY: Self =
        Self { section: "", name: "", about: "", helms: &Major::ALL, run: |_, _| panic!("a case that does nothing") };
}

/// What a case has seen, and what the policy said.
pub(crate) struct Report {
    seen: String,
    said: Vec<String>,
}

/// A scenario that can be run, with its place in the proof.
struct Run {
    name: String,
    body: Box<dyn FnOnce(&World, &Proof) + Send>,
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(SIDE_BY_SIDE);
    let (entries, runs) = scenarios();
    let proof = Arc::new(Proof::new(entries));
    let is_whole = arguments.filter.is_none() && arguments.skip.is_empty();
    // Started here, because the control plane lives no longer than the thread that starts it.
    let world = if arguments.list {
        None
    } else {
        match World::start() {
            Ok(world) => Some(Arc::new(world)),
            Err(error) => {
                eprintln!("the control plane does not start: {error:?}");
                return ExitCode::FAILURE;
            }
        }
    };
    let trials = runs.into_iter().map(|run| {
        let (world, proof) = (world.clone(), Arc::clone(&proof));
        Trial::test(run.name, move || {
            (run.body)(&world.expect("listed trials do not run"), &proof);
            Ok(())
        })
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    drop(world);
    if arguments.list {
        return ExitCode::SUCCESS;
    }
    let mut failed = conclusion.num_failed;
    if is_whole && failed == 0 {
        if let Err(error) = proof.check() {
            eprintln!("{error:#}");
            failed += 1;
        }
    } else {
        eprintln!("docs/proof.md was not compared: not all scenarios ran and passed");
    }
    println!("{} passed, {failed} failed", conclusion.num_passed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// All scenarios, each with both Helms, in the order of the proof.
fn scenarios() -> (Vec<Entry>, Vec<Run>) {
    let (mut entries, mut runs) = (Vec::new(), Vec::new());
    for harm in HARMS {
        let index = entries.len();
        entries.push(harm.entry());
        for major in harm.helms.iter().copied() {
            runs.push(trial(harm.name, major, "without the policy", move |world, proof| {
                proof.harm(index, major, harm.happens(world, major));
            }));
            runs.push(trial(harm.name, major, "with the policy", move |world, proof| {
                proof.denial(index, major, harm.is_denied(world, major));
            }));
        }
    }
    for case in [works::CASES, objects::CASES, failures::CASES, flux::CASES].concat() {
        let index = entries.len();
        entries.push(Entry { section: case.section, name: case.name, about: case.about });
        for major in case.helms.iter().copied() {
            runs.push(trial(case.name, major, "with the policy", move |world, proof| {
                let Report { seen, said } = (case.run)(world, major);
                proof.untouched(index, major, seen, said);
            }));
        }
    }
    (entries, runs)
}

fn trial(name: &str, major: Major, how: &str, body: impl FnOnce(&World, &Proof) + Send + 'static) -> Run {
    Run { name: format!("{name}, Helm {}, {how}", major.number()), body: Box::new(body) }
}
