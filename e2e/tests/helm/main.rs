//! What happens on a real API server: each harm without the policy, with it, and guarded; and what must work as before.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a scenario fails by panicking")]

mod charts;
mod failures;
mod flux;
mod forecast;
mod guard;
mod harms;
mod load;
mod messages;
mod objects;
mod orphans;
mod rollout;
mod works;

use std::process::ExitCode;
use std::sync::{Arc, PoisonError, RwLock};

use anyhow::Result;
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::proof::{Entry, Page, Proof, control_plane_versions};
use stable_hooks_e2e::suite::{self, Scenario};
use stable_hooks_e2e::tools::pinned;
use stable_hooks_e2e::world::World;

use crate::harms::{GUARDED, HARMS, Harm};

const PAGE: Page = Page {
    file: "proof.md",
    verb: "make e2e",
    introduction,
    harms: &["the harm", "without the policy", "with it", "guarded"],
};

/// A scenario that does no harm.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    section: &'static str,
    name: &'static str,
    /// The chart and what is done with it.
    about: &'static str,
    /// One is enough where the scenario is not about Helm.
    helms: &'static [Major],
    /// What the scenario's own name ends with.
    how: &'static str,
    /// It takes all of the machine, and others would take its time.
    is_alone: bool,
    run: fn(&World, Major) -> Report,
}

impl Case {
    const EMPTY: Self = Self {
        section: "",
        name: "",
        about: "",
        helms: &Major::ALL,
        how: "with the policy",
        is_alone: false,
        run: |_, _| panic!("a case that does nothing"),
    };

    fn entry(&self) -> Entry {
        Entry { section: self.section, name: self.name, about: self.about, harm: None }
    }
}

/// What a case has seen, and what the policy said.
pub(crate) struct Report {
    seen: String,
    said: Vec<String>,
}

fn main() -> ExitCode {
    let cases = [
        flux::CASES,
        works::CASES,
        objects::CASES,
        failures::CASES,
        load::CASES,
        charts::CASES,
        forecast::CASES,
        orphans::CASES,
        rollout::CASES,
        guard::CASES,
    ]
    .concat();
    let entries = HARMS.iter().map(Harm::entry).chain(cases.iter().map(Case::entry)).collect();
    let proof = Arc::new(Proof::new(PAGE, entries));
    let mut scenarios = Vec::new();
    for (index, harm) in HARMS.iter().enumerate() {
        for major in harm.helms.iter().copied() {
            scenarios.push(scenario(harm.name, major, "without the policy", &proof, move |world, proof| {
                let seen = beside_others(|| harm.happens(world, major));
                proof.harm(index, major, |harm| harm.without = Some(seen));
            }));
            scenarios.push(scenario(harm.name, major, "with the policy", &proof, move |world, proof| {
                let said = beside_others(|| harm.is_denied(world, major));
                proof.harm(index, major, |harm| harm.denial = Some(said));
            }));
            match harm.unguarded {
                Some(why) => proof.harm(index, major, |harm| harm.guarded = Some(why.to_owned())),
                None => scenarios.push(scenario(harm.name, major, "guarded", &proof, move |world, proof| {
                    beside_others(|| harm.is_guarded(world, major));
                    proof.harm(index, major, |harm| harm.guarded = Some(GUARDED.to_owned()));
                })),
            }
        }
    }
    for (index, case) in (HARMS.len()..).zip(cases) {
        for major in case.helms.iter().copied() {
            scenarios.push(scenario(case.name, major, case.how, &proof, move |world, proof| {
                let Report { seen, said } = if case.is_alone {
                    alone(|| (case.run)(world, major))
                } else {
                    beside_others(|| (case.run)(world, major))
                };
                proof.happened(index, major, seen, said);
            }));
        }
    }
    // These two fail by themselves, and have no line on the page.
    scenarios.push(Scenario::new("The messages that people paste".to_owned(), |world| {
        beside_others(|| messages::page(world));
    }));
    scenarios.push(Scenario::new("Records in PostgreSQL, guarded".to_owned(), |world| {
        beside_others(|| guard::sql::in_postgresql(world));
    }));
    suite::run(scenarios, World::start, Some(&proof))
}

/// Held by each scenario, and by one that wants the machine for itself alone.
static TURNS: RwLock<()> = RwLock::new(());

fn beside_others<T>(scenario: impl FnOnce() -> T) -> T {
    let _turn = TURNS.read().unwrap_or_else(PoisonError::into_inner);
    scenario()
}

fn alone<T>(scenario: impl FnOnce() -> T) -> T {
    let _turn = TURNS.write().unwrap_or_else(PoisonError::into_inner);
    scenario()
}

fn introduction() -> Result<String> {
    let plane = control_plane_versions()?;
    let (helm3, helm4) = (pinned("helm3", "helm.sh/helm/v3")?, pinned("helm4", "helm.sh/helm/v4")?);
    Ok(format!(
        "# Proof\n\n\
         What Helm does to migrations without the policy, and with it: seen on a real API server, written by\n\
         `make e2e`, and compared with this page on every run. Namespaces are called `shop` here.\n\n\
         {plane}, Helm {helm3} and Helm {helm4}.\n\
         The policy is the annotated wasm, behind the two webhooks that Kubewarden would register. \"Nothing has\n\
         changed\" means: every object of the namespace has the UID and the resource version that it had before,\n\
         and `helm history` is the same. \"Guarded\" means: no webhook watches the namespace, and `stable-hooks upgrade`\n\
         is run in the place of `helm upgrade`, with the settings of the policy. The charts are in `e2e/charts`.\n"
    ))
}

/// A scenario that writes what it saw into the proof.
fn scenario(
    name: &str,
    major: Major,
    how: &str,
    proof: &Arc<Proof>,
    body: impl FnOnce(&World, &Proof) + Send + 'static,
) -> Scenario<World> {
    let proof = Arc::clone(proof);
    Scenario::new(format!("{name}, Helm {}, {how}", major.number()), move |world| body(world, &proof))
}
