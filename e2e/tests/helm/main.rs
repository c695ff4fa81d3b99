//! What happens on a real API server: each harm without the policy and with it, and what must work as before.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a scenario fails by panicking")]

mod failures;
mod flux;
mod harms;
mod objects;
mod works;

use std::process::ExitCode;

use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::proof::{Entry, Proof};
use stable_hooks_e2e::suite::{self, Scenario};
use stable_hooks_e2e::world::World;

use crate::harms::HARMS;

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

fn main() -> ExitCode {
    let (mut entries, mut scenarios) = (Vec::new(), Vec::new());
    for harm in HARMS {
        let index = entries.len();
        entries.push(harm.entry());
        for major in harm.helms.iter().copied() {
            scenarios.push(scenario(harm.name, major, "without the policy", move |world, proof| {
                proof.harm(index, major, harm.happens(world, major));
            }));
            scenarios.push(scenario(harm.name, major, "with the policy", move |world, proof| {
                proof.denial(index, major, harm.is_denied(world, major));
            }));
        }
    }
    for case in [flux::CASES, works::CASES, objects::CASES, failures::CASES].concat() {
        let index = entries.len();
        entries.push(Entry { section: case.section, name: case.name, about: case.about, harm: None });
        for major in case.helms.iter().copied() {
            scenarios.push(scenario(case.name, major, "with the policy", move |world, proof| {
                let Report { seen, said } = (case.run)(world, major);
                proof.untouched(index, major, seen, said);
            }));
        }
    }
    suite::run(scenarios, Proof::new(entries))
}

fn scenario(name: &str, major: Major, how: &str, body: impl FnOnce(&World, &Proof) + Send + 'static) -> Scenario {
    Scenario::new(format!("{name}, Helm {}, {how}", major.number()), body)
}
