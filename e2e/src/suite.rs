//! Runs scenarios side by side in one world, and says how it went.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use libtest_mimic::{Arguments, Trial};

use crate::proof::Proof;

/// More than there are cores: most of the time Helm waits for a Job.
const SIDE_BY_SIDE: usize = 6;

type Body<World> = Box<dyn FnOnce(&World) + Send>;

/// One run of a scenario; it fails by panicking.
pub struct Scenario<World> {
    name: String,
    body: Body<World>,
}

impl<World> Scenario<World> {
    pub fn new(name: String, body: impl FnOnce(&World) + Send + 'static) -> Self {
        Self { name, body: Box::new(body) }
    }
}

/// Runs what the command line asks for, which is that of Rust's own tests; then compares the proof, if there is one.
#[must_use]
pub fn run<World: Send + Sync + 'static>(
    scenarios: Vec<Scenario<World>>,
    start: impl FnOnce() -> Result<World>,
    proof: Option<&Proof>,
) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(SIDE_BY_SIDE);
    run_as(&arguments, scenarios, start, proof)
}

/// The same, one scenario after the other, in the thread that started the world.
#[must_use]
pub fn run_in_order<World: Send + Sync + 'static>(
    scenarios: Vec<Scenario<World>>,
    start: impl FnOnce() -> Result<World>,
    proof: Option<&Proof>,
) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    run_as(&arguments, scenarios, start, proof)
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a test run tells how it went")]
fn run_as<World: Send + Sync + 'static>(
    arguments: &Arguments,
    scenarios: Vec<Scenario<World>>,
    start: impl FnOnce() -> Result<World>,
    proof: Option<&Proof>,
) -> ExitCode {
    if arguments.list {
        let names = scenarios.into_iter().map(|scenario| Trial::test(scenario.name, || Ok(())));
        return libtest_mimic::run(arguments, names.collect()).exit_code();
    }
    // Started here, because the control plane lives no longer than the thread that starts it.
    let world = match start() {
        Ok(world) => Arc::new(world),
        Err(error) => {
            eprintln!("the end-to-end tests cannot start: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    let trials = scenarios.into_iter().map(|Scenario { name, body }| {
        let world = Arc::clone(&world);
        Trial::test(name, move || {
            body(&world);
            Ok(())
        })
    });
    let conclusion = libtest_mimic::run(arguments, trials.collect());
    drop(world);
    let mut failed = conclusion.num_failed;
    match proof {
        Some(proof) if failed > 0 || conclusion.num_filtered_out > 0 => {
            eprintln!("docs/{} was not compared: not all scenarios ran and passed", proof.page.file);
        }
        Some(proof) => {
            if let Err(error) = proof.check() {
                eprintln!("{error:#}");
                failed += 1;
            }
        }
        None => {}
    }
    println!("{} passed, {failed} failed", conclusion.num_passed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
