//! The real Kyverno asks the policy, through the policies of `policy/kyverno/`.

#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a scenario fails by panicking")]

mod scenarios;
mod stage;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use libtest_mimic::{Arguments, Trial};
use stable_hooks_e2e::kyverno::Kyverno;
use stable_hooks_e2e::world::World;

use crate::scenarios::{SCENARIOS, Scenario};

#[expect(clippy::print_stderr, reason = "a test run tells how it went")]
fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    // Both live no longer than the thread that starts them.
    match start() {
        Ok((mut kyverno, world)) => {
            let conclusion = libtest_mimic::run(&arguments, trials(&world));
            if let Some(failure) = kyverno.failure() {
                eprintln!("{failure}");
            }
            conclusion.exit_code()
        }
        Err(error) => {
            eprintln!("the tests with Kyverno cannot start: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start() -> Result<(Kyverno, Arc<World>)> {
    let world = World::start()?;
    let kyverno = Kyverno::start(&world.plane, &world.tools)?;
    Ok((kyverno, Arc::new(world)))
}

fn trials(world: &Arc<World>) -> Vec<Trial> {
    let trial = |(name, scenario): &Scenario| {
        let (world, scenario) = (Arc::clone(world), *scenario);
        Trial::test(*name, move || {
            scenario(&world);
            Ok(())
        })
    };
    SCENARIOS.iter().map(trial).collect()
}
