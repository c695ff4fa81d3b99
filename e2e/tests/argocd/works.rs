//! What Argo CD does that is no harm by itself, and that one should know.

use serde_json::json;
use stable_hooks_e2e::argocd::{Application, ArgoWorld};
use stable_hooks_e2e::scene::Scene;

use crate::stage::{MIGRATIONS, SYNCED, scene};
use crate::{Case, Report};

const CASE: Case = Case { section: "What else Argo CD does", ..Case::EMPTY };

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "Hooks of events that Argo CD does not know",
        about: "`argocd-never-run`: `pre-rollback`, `post-rollback` and `test`.",
        run: never_run,
        ..CASE
    },
    Case {
        name: "An Application is deleted with all its objects",
        about: "`stable`, synced; then the Application is deleted with its `resources-finalizer`, as `argocd app delete` does.",
        run: deletion,
        ..CASE
    },
];

fn never_run(argocd: &ArgoWorld) -> Report {
    let scene = scene(argocd, "never run", None);
    let application = Application::new(&scene, "argocd-never-run", &json!({}), false);
    for image in ["orders:1", "orders:2"] {
        application.commit(&json!({"image": image}));
        let sync = application.sync().succeeds();
        assert_eq!(sync.phase_of("Job"), None, "{sync:#?}");
        assert_eq!(application.status(), SYNCED);
    }
    assert!(scene.cluster().list("Job", &scene.namespace).is_empty());
    Report::new(&scene, "Two syncs succeed, and all is Synced and Healthy; none of the Jobs was ever made.", [])
}

fn deletion(argocd: &ArgoWorld) -> Report {
    let scene = scene(argocd, "deletion", None);
    let application = Application::new(&scene, "stable", &json!({}), false);
    let _ = application.sync().succeeds();
    application.delete();
    assert_gone(&scene);
    Report::new(&scene, "The Application goes, and the hooks with it.", [])
}

fn assert_gone(scene: &Scene<'_>) {
    for (kind, name) in [("ConfigMap", "orders"), ("Job", MIGRATIONS), ("ServiceAccount", MIGRATIONS)] {
        assert!(scene.find(kind, name).is_none(), "{kind} {name} is still there");
    }
}
