//! The page for the worst hour, command by command, on a real API server with Kubewarden's own controller.
//!
//! Its webhooks are asked about the whole cluster, so this is a cluster of its own, and one scenario runs at a time.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a scenario fails by panicking")]

mod hour;
mod stuck;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use stable_hooks_e2e::world::World;

type Scenario = (&'static str, fn(&World));

const SCENARIOS: [Scenario; 2] = [
    ("The worst hour: Helm is stuck in pending", stuck::page),
    // Last, because it is asked about every namespace.
    ("The worst hour: the server is down, a rule denies", hour::page),
];

#[expect(clippy::print_stderr, reason = "a test run tells how it went")]
fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    // Started here, because the control plane lives no longer than the thread that starts it.
    match World::without_webhooks() {
        Ok(world) => {
            let world = Arc::new(world);
            let trial = |(name, scenario): Scenario| {
                let world = Arc::clone(&world);
                Trial::test(name, move || {
                    scenario(&world);
                    Ok(())
                })
            };
            libtest_mimic::run(&arguments, SCENARIOS.map(trial).into()).exit_code()
        }
        Err(error) => {
            eprintln!("the end-to-end tests cannot start: {error:#}");
            ExitCode::FAILURE
        }
    }
}
