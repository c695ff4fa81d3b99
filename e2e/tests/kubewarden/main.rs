//! The whole of Kubewarden: its charts, its controller, its audit scanner, and policy-servers that answer.
//!
//! Its webhooks are asked about the whole cluster, so one scenario runs at a time. Each starts from what it applies.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a scenario fails by panicking")]

mod bad_day;
mod care;
mod reports;
mod rollout;
mod stage;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::kubewarden::Stack;
use stable_hooks_e2e::proof::{Entry, Page, Proof, control_plane_versions};
use stable_hooks_e2e::suite;
use stable_hooks_e2e::tools::pinned;

const PAGE: Page = Page {
    file: "proof-kubewarden.md",
    verb: "make e2e-kubewarden",
    introduction,
    // Kubewarden does no harm of its own.
    harms: &[],
};

pub(crate) struct Scenario {
    section: &'static str,
    name: &'static str,
    about: &'static str,
    run: fn(&Stack) -> Report,
}

/// What a scenario asserts, in words, and what was said to people.
pub(crate) struct Report {
    seen: String,
    said: Vec<String>,
}

impl Report {
    fn new(seen: &str, said: Vec<String>) -> Self {
        Self { seen: seen.to_owned(), said }
    }
}

fn main() -> ExitCode {
    match Stack::enter() {
        Ok(true) => run(),
        Ok(false) => skipped(),
        Err(error) => failed(&error),
    }
}

fn run() -> ExitCode {
    care::assert_complete();
    let scenarios: Vec<_> =
        [rollout::SCENARIOS, care::SCENARIOS, reports::SCENARIOS, bad_day::SCENARIOS].into_iter().flatten().collect();
    let entry = |scenario: &&Scenario| {
        let Scenario { section, name, about, .. } = scenario;
        Entry { section, name, about, harm: None }
    };
    let proof = Arc::new(Proof::new(PAGE, scenarios.iter().map(entry).collect()));
    let trials = scenarios.into_iter().enumerate().map(|(index, scenario)| {
        let proof = Arc::clone(&proof);
        suite::Scenario::new(scenario.name.to_owned(), move |stack: &Stack| {
            let Report { seen, said } = (scenario.run)(stack);
            proof.happened(index, Major::Four, seen, said);
        })
    });
    suite::run_in_order(trials.collect(), Stack::start, Some(&proof))
}

#[expect(clippy::print_stderr, reason = "a test run tells how it went")]
fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("the end-to-end tests cannot start: {error:#}");
    ExitCode::FAILURE
}

#[expect(clippy::print_stderr, reason = "a test run tells what it did not do")]
fn skipped() -> ExitCode {
    eprintln!(
        "SKIPPED: this machine allows no network namespace (unshare --net, ip link), and Services want their addresses"
    );
    if std::env::var_os("CI").is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn introduction() -> Result<String> {
    let (kubewarden, plane) =
        (pinned("kubewarden", "github.com/kubewarden/adm-controller")?, control_plane_versions()?);
    let (helm3, helm4) = (pinned("helm3", "helm.sh/helm/v3")?, pinned("helm4", "helm.sh/helm/v4")?);
    Ok(format!(
        "# Proof: Kubewarden\n\n\
         [rollout.md](rollout.md) step by step, the reports of the audit scanner, and the bad day: seen on a real API server\n\
         with the whole of Kubewarden, written by `make e2e-kubewarden`, and compared with this page on every run of it.\n\
         Namespaces are called `shop` here. What Helm and Kubernetes do without Kubewarden is in [proof.md](proof.md).\n\n\
         Kubewarden {kubewarden}, Helm {helm3} and Helm {helm4}, {plane}.\n\
         Charts, controller and audit scanner are Kubewarden's own. policy-server is its own where it is on the PATH;\n\
         elsewhere a server with the same answers stands in for it, which takes the same ConfigMap, the same Secret and the\n\
         same rights, and runs our modules. There are two of them behind the Service, one for each Pod.\n\
         What is said of Helm holds for both.\n"
    ))
}
