//! The real Kyverno asks the policy, through the policies of `policy/kyverno/`.

#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a scenario fails by panicking")]

mod scenarios;
mod stage;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::kyverno::KyvernoWorld;
use stable_hooks_e2e::proof::{Page, Proof, control_plane_versions};
use stable_hooks_e2e::suite;
use stable_hooks_e2e::tools::pinned;

use crate::scenarios::{Report, SCENARIOS, Scenario};

const PAGE: Page = Page {
    file: "proof-kyverno.md",
    verb: "make e2e-kyverno",
    introduction,
    // Kyverno does no harm of its own.
    harms: &[],
};

fn main() -> ExitCode {
    let proof = Arc::new(Proof::new(PAGE, SCENARIOS.iter().map(Scenario::entry).collect()));
    let scenarios = SCENARIOS.iter().enumerate().map(|(index, scenario)| {
        let proof = Arc::clone(&proof);
        suite::Scenario::new(scenario.name.to_owned(), move |kyverno: &KyvernoWorld| {
            let Report { seen, said } = (scenario.run)(&kyverno.world);
            proof.happened(index, Major::Four, seen.to_owned(), said);
        })
    });
    suite::run(scenarios.collect(), KyvernoWorld::start, Some(&proof))
}

fn introduction() -> Result<String> {
    let (kyverno, plane) = (pinned("kyverno", "github.com/kyverno/kyverno")?, control_plane_versions()?);
    let (helm3, helm4) = (pinned("helm3", "helm.sh/helm/v3")?, pinned("helm4", "helm.sh/helm/v4")?);
    Ok(format!(
        "# Proof: Kyverno\n\n\
         What the policy says through Kyverno ([kyverno.md](kyverno.md)): seen on a real API server, written by\n\
         `make e2e-kyverno`, and compared with this page on every run of it. Namespaces are called `shop` here.\n\n\
         Kyverno {kyverno}, Helm {helm3} and Helm {helm4}, {plane}.\n\
         Kyverno asks the annotated wasm over HTTPS, with the files of `policy/kyverno` as they are but for the address\n\
         and one label, by which each watches its own namespace.\n"
    ))
}
