//! What Argo CD does with migrations, and what the policy says to it.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a scenario fails by panicking")]

mod harms;
mod policy;
mod recipes;
mod stage;
mod works;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use stable_hooks_e2e::argocd::ArgoWorld;
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::proof::{Entry, Page, Proof, control_plane_versions};
use stable_hooks_e2e::scene::Scene;
use stable_hooks_e2e::suite::{self, Scenario};
use stable_hooks_e2e::tools::pinned;

use crate::harms::{HARMS, Harm};

const PAGE: Page = Page {
    file: "proof-argocd.md",
    verb: "make e2e-argocd",
    introduction,
    harms: &["the harm", "what Argo CD does", "the rule of `chart --argocd`"],
};

/// A scenario that does no harm.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    section: &'static str,
    name: &'static str,
    /// The chart and what is done with it.
    about: &'static str,
    run: fn(&ArgoWorld) -> Report,
}

impl Case {
    const EMPTY: Self = Self { section: "", name: "", about: "", run: |_| panic!("a case that does nothing") };

    fn entry(&self) -> Entry {
        Entry { section: self.section, name: self.name, about: self.about, harm: None }
    }
}

/// What a scenario has seen, and what was said.
pub(crate) struct Report {
    seen: String,
    said: Vec<String>,
}

impl Report {
    /// With nothing in it that differs from run to run.
    fn new(scene: &Scene<'_>, seen: &str, said: impl IntoIterator<Item = String>) -> Self {
        Self { seen: scene.shown(seen), said: said.into_iter().map(|text| scene.shown(&text)).collect() }
    }
}

fn main() -> ExitCode {
    let (before, after) = ([recipes::CASE], [works::CASES, policy::CASES].concat());
    let entries = before.iter().map(Case::entry);
    let entries = entries.chain(HARMS.iter().map(Harm::entry)).chain(after.iter().map(Case::entry)).collect();
    let proof = Arc::new(Proof::new(PAGE, entries));
    let cases = |cases: Vec<Case>| cases.into_iter().map(|case| (case.name, Run::Case(case)));
    let harms = HARMS.iter().map(|harm| (harm.name, Run::Harm(harm)));
    let runs = cases(before.to_vec()).chain(harms).chain(cases(after));
    let scenarios = runs.enumerate().map(|(index, (name, run))| {
        let proof = Arc::clone(&proof);
        Scenario::new(name.to_owned(), move |argocd: &ArgoWorld| {
            let Report { seen, said } = match run {
                Run::Case(case) => (case.run)(argocd),
                Run::Harm(harm) => harm.happens(argocd),
            };
            proof.happened(index, Major::Three, seen, said);
        })
    });
    suite::run(scenarios.collect(), ArgoWorld::start, Some(&proof))
}

enum Run {
    Case(Case),
    Harm(&'static Harm),
}

fn introduction() -> Result<String> {
    let (argocd, plane) = (pinned("argocd", "github.com/argoproj/argo-cd/v3")?, control_plane_versions()?);
    let helm = pinned("helm3", "helm.sh/helm/v3")?;
    Ok(format!(
        "# Proof: Argo CD\n\n\
         What Argo CD does with migrations: seen on a real API server, written by `make e2e-argocd`, and compared with\n\
         this page on every run of it. Namespaces are called `shop` here. What Helm does is in [proof.md](proof.md).\n\n\
         Argo CD {argocd}, Helm {helm}, {plane}.\n\
         Each sync is of one Application and prunes; a harm is shown without the policy. \"For ever\" means that Argo CD\n\
         waited for the same thing for 40 seconds, where all else takes a few. The charts are in `e2e/charts`.\n"
    ))
}
