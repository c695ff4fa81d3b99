//! The charts of docs/recipes.md under Argo CD.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use serde_json::json;
use stable_hooks_e2e::argocd::{Application, ArgoWorld};
use stable_hooks_e2e::cluster::wait_for;
use stable_hooks_e2e::scene::Scene;
use stable_hooks_e2e::world::LIVE;

use crate::stage::{MIGRATIONS, SYNCED, scene};
use crate::{Case, Report};

const RECIPES: [&str; 4] = ["recipe-hook-before", "recipe-hook-after", "recipe-job-per-image", "recipe-init-container"];

pub(crate) const CASE: Case = Case {
    section: "The recipes",
    name: "Each recipe is synced three times",
    about: "The charts of [docs/recipes.md](recipes.md), with the policy: the first sync, one in which nothing has changed, \
            and one with another image.",
    run,
};

fn run(argocd: &ArgoWorld) -> Report {
    let mut table =
        String::from("| | first sync | nothing changed | another image | in short |\n|---|---|---|---|---|");
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/recipes.md")).expect("the page is there");
    for chart in RECIPES {
        let (scene, [first, second, third], means) = synced(argocd, chart);
        write!(table, "\n| `{chart}` | {first} | {second} | {third} | {means} |").expect("a String takes all");
        assert_eq!(argocd.warnings(&scene.namespace), [""; 0], "{chart}");
        let row =
            page.lines().find(|line| line.starts_with(&format!("| [{chart}]"))).expect("docs/recipes.md has each");
        assert!(
            row.ends_with(&format!(" | {means} |")),
            "docs/recipes.md does not say what was seen: {means}\n  {row}"
        );
    }
    table.push_str("\n\nAll syncs succeed without a warning, and all is Synced and Healthy after them.");
    Report { seen: table, said: Vec::new() }
}

/// What each of the three syncs did, and all of them together.
fn synced<'world>(argocd: &'world ArgoWorld, chart: &str) -> (Scene<'world>, [String; 3], String) {
    let scene = scene(argocd, chart, Some(LIVE));
    let (ran, phase) = {
        let application = Application::new(&scene, chart, &json!({}), false);
        let (mut before, mut phase) = (BTreeSet::new(), None);
        let ran = ["orders:1", "orders:1", "orders:2"].map(|image| {
            application.commit(&json!({"image": image}));
            let sync = application.sync().succeeds();
            assert!(["Job", "ServiceAccount", "ConfigMap"].iter().all(|kind| sync.phase_of(kind) != Some("SyncFail")));
            wait_for("all is synced and healthy", || (application.status() == SYNCED).then_some(()));
            phase = sync.phase_of("Job").map(str::to_owned);
            let pods = pods(&scene, image);
            let ran = pods.difference(&before).count() > 0;
            before = pods;
            ran
        });
        (ran, phase)
    };
    if chart == "recipe-hook-before" {
        // What the Job needs was there before it.
        let created = |kind| scene.get(kind, MIGRATIONS)["metadata"]["creationTimestamp"].to_string();
        assert!(created("ConfigMap") < created("Job") && created("ServiceAccount") < created("Job"));
    }
    let place = match phase.as_deref() {
        Some("PreSync") => "before the release (PreSync)",
        Some("PostSync") => "after the release (PostSync)",
        Some("Sync") => "with the release (Sync)",
        None => "in each Pod, before it starts",
        Some(other) => panic!("{chart}: the Job ran in the phase {other}"),
    };
    let how_often = match ran {
        [true, true, true] => "at every sync",
        [true, false, true] => "once for each image",
        other => panic!("{chart}: ran {other:?}"),
    };
    let each = ran.map(|ran| if ran { "runs" } else { "does not run" }.to_owned());
    (scene, each, format!("runs {how_often}, {place}"))
}

/// The Pods that run or ran this image.
fn pods(scene: &Scene<'_>, image: &str) -> BTreeSet<String> {
    let pods = scene.cluster().list("Pod", &scene.namespace);
    let pods = pods.iter().filter(|pod| pod["spec"]["containers"][0]["image"] == image);
    pods.map(|pod| pod["metadata"]["uid"].to_string()).collect()
}
