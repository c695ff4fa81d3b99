//! Runs scenarios side by side in one world, and says how it went.

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};

use crate::proof::Proof;
use crate::world::World;

/// More than there are cores: most of the time Helm waits for a Job.
const SIDE_BY_SIDE: usize = 6;

type Body = Box<dyn FnOnce(&World, &Proof) + Send>;

/// One run of a scenario; it writes what it saw into the proof, and fails by panicking.
pub struct Scenario {
    name: String,
    body: Body,
}

impl Scenario {
    pub fn new(name: String, body: impl FnOnce(&World, &Proof) + Send + 'static) -> Self {
        Self { name, body: Box::new(body) }
    }
}

/// Runs what the command line asks for, which is that of Rust's own tests.
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a test run tells how it went")]
#[must_use]
pub fn run(scenarios: Vec<Scenario>, proof: Proof) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(SIDE_BY_SIDE);
    if arguments.list {
        let names = scenarios.into_iter().map(|scenario| Trial::test(scenario.name, || Ok(())));
        return libtest_mimic::run(&arguments, names.collect()).exit_code();
    }
    // Started here, because the control plane lives no longer than the thread that starts it.
    let world = match World::start() {
        Ok(world) => Arc::new(world),
        Err(error) => {
            eprintln!("the end-to-end tests cannot start: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    let proof = Arc::new(proof);
    let trials = scenarios.into_iter().map(|Scenario { name, body }| {
        let (world, proof) = (Arc::clone(&world), Arc::clone(&proof));
        Trial::test(name, move || {
            body(&world, &proof);
            Ok(())
        })
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    drop(world);
    let mut failed = conclusion.num_failed;
    if failed > 0 || conclusion.num_filtered_out > 0 {
        eprintln!("docs/proof.md was not compared: not all scenarios ran and passed");
    } else if let Err(error) = proof.check() {
        eprintln!("{error:#}");
        failed += 1;
    }
    println!("{} passed, {failed} failed", conclusion.num_passed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
