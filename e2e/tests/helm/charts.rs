//! Harm that a chart shows before anything is installed, and that comes true.

use serde_json::Value;
use stable_hooks_e2e::helm::{Major, Run};
use stable_hooks_e2e::scene::{Scene, history_text};
use stable_hooks_e2e::world::{LIVE, World};

use crate::works::report;
use crate::{Case, Report};

const CASE: Case = Case { section: "What a chart shows", ..Case::EMPTY };

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "Pods and a post hook wait for each other",
        about: "`waits-for-hook`: an init container waits for a `post-install` Job. Without `--wait` it installs; with it Helm \
                waits for the pods first. The policy warns: no record says whether Helm waits. (No container runs here: the \
                pods are held back by a node selector.)",
        run: waits_for_hook,
        ..CASE
    },
    Case {
        name: "Only the install renders a Secret",
        about: "`install-only`, where no webhook watches: `stable-hooks chart`, the install, `stable-hooks forecast`, and the \
                upgrade with the same chart and values.",
        run: install_only,
        ..CASE
    },
];

fn waits_for_hook(world: &World, major: Major) -> Report {
    let scene = Scene::new(world, "pods and a hook wait", major, Some(LIVE));
    let held = ["--set", "nodeSelector.no=node", "--wait", "--timeout", "6s"];
    let run = scene.install("orders", "waits-for-hook", &held).fails();
    assert!(run.warnings().iter().any(|warning| warning.contains("(rule hook-wait-deadlock)")), "{}", run.stderr);
    assert_eq!(history_text(&scene.helm.history("orders")), "1 failed");
    assert!(scene.find("Deployment", "orders").is_some());
    assert!(scene.find("Job", "orders-migrations").is_none(), "Helm has not come to the hook");
    let _ = scene.install("first", "waits-for-hook", &["--set", "nodeSelector.no=node"]).succeeds();
    assert!(scene.find("Job", "first-migrations").is_some());
    let seen = "`helm install --wait` runs into its timeout and fails; the Job that the pods wait for was never made. \
                Without `--wait` it is made.";
    report(&scene, seen, &[run])
}

fn install_only(world: &World, major: Major) -> Report {
    let scene = Scene::new(world, "only the install", major, None);
    let rule = |run: &Run| {
        assert!(run.stdout.contains("install-only-resource"), "{}{}", run.stdout, run.stderr);
    };
    let chart = scene.chart("install-only");
    rule(&scene.stable_hooks(&["chart", &chart, "--name", "orders", "-n", &scene.namespace]).succeeds());
    let _ = scene.install("orders", "install-only", &[]).succeeds();
    let forecast = scene.stable_hooks(&["forecast", "orders", "-n", &scene.namespace, "-o", "json"]);
    let foretold: Value = serde_json::from_str(&forecast.stdout).unwrap_or_else(|_| panic!("{}", forecast.stderr));
    assert!(foretold.to_string().contains("is in revision 1, and the upgrade with the same chart"), "{foretold:#}");
    let _ = scene.upgrade("orders", "install-only", &[]).succeeds();
    assert!(scene.find("Secret", "orders").is_none(), "Helm has deleted it");
    // It is over: nothing is lost a second time.
    let after = scene.stable_hooks(&["forecast", "orders", "-n", &scene.namespace]).succeeds();
    assert!(!after.stdout.contains("install-only-resource"), "{}", after.stdout);
    let seen = "`chart` and `forecast` name the Secret; the upgrade succeeds, and the Secret is gone.";
    report(&scene, seen, &[])
}
