//! What Helm leaves behind, and whether `stable-hooks orphans` finds it and nothing else.

use serde_json::Value;
use stable_hooks_e2e::cluster::wait_for;
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::scene::Scene;
use stable_hooks_e2e::world::World;

use crate::works::report;
use crate::{Case, Report};

pub(crate) const CASES: &[Case] = &[Case {
    section: "What is left behind",
    name: "Hooks stay when a release is uninstalled",
    about: "`stable`, twice in one namespace, one of them uninstalled: `stable-hooks orphans -n shop`.",
    run: stay,
    ..Case::EMPTY
}];

/// `<Kind> <name>` of each hook that is left over, which must be an orphan, and the commands.
fn left(scene: &Scene<'_>) -> (Vec<String>, Vec<String>) {
    let run = scene.stable_hooks(&["orphans", "-n", &scene.namespace, "-o", "json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
    let mut found = (Vec::new(), Vec::new());
    for hook in report["hooks"].as_array().into_iter().flatten() {
        assert_eq!(hook["state"], "orphan", "{report:#} {}", run.stderr);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        found.0.push(format!("{} {}", text(&hook["object"]["kind"]), text(&hook["object"]["name"])));
        found.1.push(text(&hook["command"]));
    }
    found
}

fn stay(world: &World, major: Major) -> Report {
    let scene = Scene::new(world, "orphans", major, None);
    for release in ["orders", "billing"] {
        let _ = scene.install(release, "stable", &[]).succeeds();
    }
    // The same hooks, deployed by Argo CD.
    let mark = "argocd.argoproj.io/tracking-id=app:batch/Job:shop/argo";
    let _ = scene.kubectl(&["create", "job", "argo", "--image=orders:1"]).succeeds();
    let _ = scene.kubectl(&["annotate", "job", "argo", "helm.sh/hook=pre-install", mark]).succeeds();
    scene.settle();
    let (found, _) = left(&scene);
    assert!(found.is_empty(), "the hooks of releases that are there: {found:?}");

    let _ = scene.helm.run(&["uninstall", "orders"]).succeeds();
    let (found, commands) = left(&scene);
    assert_eq!(found, ["Job orders-migrations", "ServiceAccount orders-migrations"]);
    let before = scene.get("Job", "billing-migrations");
    for command in &commands {
        let _ = scene.line_of_a_page(command, "stable").succeeds();
    }
    wait_for("the orphans to be gone", || left(&scene).0.is_empty().then_some(()));
    for kind in ["Job", "ServiceAccount"] {
        assert!(scene.find(kind, "orders-migrations").is_none(), "{kind}");
        let _ = scene.get(kind, "billing-migrations");
    }
    assert_eq!(scene.get("Job", "billing-migrations")["metadata"]["uid"], before["metadata"]["uid"]);
    report(
        &scene,
        "The uninstalled release leaves its Job and its ServiceAccount. Both are named, with what removes each, and nothing of \
         the other release or of Argo CD; the commands remove them, and none is left.",
        &[],
    )
}
