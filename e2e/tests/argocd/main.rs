//! What Argo CD does with migrations, and what the policy says to it.

#![expect(clippy::indexing_slicing, reason = "a scenario fails by panicking")]

use std::process::ExitCode;

use serde_json::{Value, json};
use stable_hooks_e2e::argocd::{Application, ArgoWorld};
use stable_hooks_e2e::cluster::has_condition;
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::scene::Scene;
use stable_hooks_e2e::suite::{self, Scenario};
use stable_hooks_e2e::world::LIVE;

const KINDS: [&str; 2] = ["ServiceAccount", "Job"];
const MIGRATIONS: &str = "orders-migrations";
const HOOK: &str = "pre-install,pre-upgrade";
const SYNCED: &str = "Synced, Healthy";
const SERVER_SIDE: &str = "ServerSideApply=true";
const FINALIZER: &str = "argocd.argoproj.io/hook-finalizer";

type Case = (&'static str, fn(&ArgoWorld));

const CASES: &[Case] = &[
    ("a stable hook is synced three times", stable_hook),
    ("hooks off the normal form stay synced", normal_form),
    ("hooks that are patched are brought to the normal form again", normal_form_of_a_patch),
    ("a finalizer is removed from a hook that is being deleted", finalizer),
    ("a resource that becomes a hook is deleted and made anew", resource_to_hook),
    ("a resource that becomes a hook by a patch goes through", resource_to_patched_hook),
    ("without the policy a hook silently becomes a resource", hook_to_resource_without),
    ("with the policy a hook stays a hook", hook_to_resource),
    ("with the policy a hook stays a hook under server-side apply", hook_to_resource_server_side),
    ("with the policy a hook stays a hook on the way to server-side apply", hook_to_resource_migrating),
    ("a flip that is meant goes through as the denial says", meant_flip),
];

fn main() -> ExitCode {
    let scenarios = CASES.iter().map(|(name, run)| Scenario::new((*name).to_owned(), run)).collect();
    suite::run(scenarios, ArgoWorld::start, None)
}

fn stable_hook(argocd: &ArgoWorld) {
    let scene = scene(argocd, "a stable hook", Some(LIVE));
    let application = Application::new(&scene, "stable", &json!({}), false);
    let mut last = None;
    for image in ["orders:1", "orders:2", "orders:3"] {
        application.commit(&json!({"image": image}));
        let sync = application.sync().succeeds();
        assert!(KINDS.iter().all(|kind| sync.ran_as_hook(kind)), "{sync:#?}");
        let uids = KINDS.map(|kind| uid(&scene.get(kind, MIGRATIONS)));
        assert!(last.is_none_or(|last: [String; 2]| last.iter().zip(&uids).all(|(old, new)| old != new)));
        last = Some(uids);
        let job = scene.get("Job", MIGRATIONS);
        assert!(has_condition(&job, "Complete"));
        assert_eq!(job["spec"]["template"]["spec"]["containers"][0]["image"], image);
        assert_eq!(scene.get("ConfigMap", "orders")["data"]["image"], image);
        assert_no_finalizers(&scene);
        assert_eq!(application.status(), SYNCED);
    }
    assert_eq!(application.syncs(), 3);
    assert_eq!(argocd.warnings(&scene.namespace), [""; 0]);
}

/// Argo CD compares with the manifests in git, and hooks not at all: what the policy has changed starts no sync.
fn normal_form(argocd: &ArgoWorld) {
    let scene = scene(argocd, "normal form", Some(LIVE));
    let off_form = json!({"hook": "pre-upgrade, pre-install ,pre-upgrade", "deletePolicy": ""});
    let application = Application::new(&scene, "switched", &off_form, true);
    let _ = application.ended().succeeds();
    assert_normal(&scene);
    let before = scene.snapshot();
    for _ in 0..3 {
        assert_eq!(application.status(), SYNCED);
    }
    assert_eq!(application.syncs(), 1);
    assert_eq!(scene.snapshot(), before);
}

/// Without before-hook-creation Argo CD patches the hook that is there, and so brings back what git says.
fn normal_form_of_a_patch(argocd: &ArgoWorld) {
    let scene = scene(argocd, "normal form of a patch", Some(LIVE));
    let values = |note| json!({"hook": HOOK, "deletePolicy": "hook-failed", "note": note});
    let application = Application::new(&scene, "switched", &values("one"), false);
    let mut uids = Vec::new();
    for (note, options) in [("one", json!([])), ("two", json!([])), ("three", json!([SERVER_SIDE]))] {
        application.commit(&values(note));
        let _ = application.sync_with(&json!({"syncOptions": options})).succeeds();
        assert_eq!(scene.get("ConfigMap", "orders")["data"]["note"], note);
        assert_normal(&scene);
        assert_no_finalizers(&scene);
        assert_eq!(application.status(), SYNCED);
        uids.push(uid(&scene.get("Job", MIGRATIONS)));
    }
    uids.dedup();
    assert_eq!(uids.len(), 1, "the Job was not patched but made anew");
}

/// The finalizer is Argo CD's own; here it is put back, as it would be after a sync that was cut off.
fn finalizer(argocd: &ArgoWorld) {
    let scene = scene(argocd, "finalizer", Some(LIVE));
    let application = Application::new(&scene, "stable", &json!({}), false);
    let _ = application.sync().succeeds();
    let before = KINDS.map(|kind| {
        let patch = format!(r#"{{"metadata": {{"finalizers": ["{FINALIZER}"]}}}}"#);
        let _ = scene.kubectl(&["patch", kind, MIGRATIONS, "--type=merge", "-p", &patch]).succeeds();
        let _ = scene.kubectl(&["delete", kind, MIGRATIONS, "--wait=false"]).succeeds();
        let object = scene.get(kind, MIGRATIONS);
        assert!(object["metadata"]["deletionTimestamp"].is_string(), "{object}");
        uid(&object)
    });
    let _ = application.sync().succeeds();
    for (kind, before) in KINDS.iter().zip(&before) {
        assert_ne!(&uid(&scene.get(kind, MIGRATIONS)), before);
    }
    assert_no_finalizers(&scene);
    assert_eq!(application.status(), SYNCED);
}

/// What Argo CD does as DELETE and CREATE no policy can see as a flip; the migration runs.
fn resource_to_hook(argocd: &ArgoWorld) {
    let scene = scene(argocd, "resource to hook", Some(LIVE));
    let application = Application::new(&scene, "switched", &json!({}), false);
    let sync = application.sync().succeeds();
    assert!(!sync.ran_as_hook("Job"));
    scene.settle();
    assert_eq!(application.status(), SYNCED);
    let before = KINDS.map(|kind| uid(&scene.get(kind, MIGRATIONS)));
    application.commit(&json!({"hook": HOOK, "image": "orders:2"}));
    let sync = application.sync().succeeds();
    for (kind, before) in KINDS.iter().zip(&before) {
        assert!(sync.ran_as_hook(kind));
        assert_ne!(&uid(&scene.get(kind, MIGRATIONS)), before);
    }
    assert_normal(&scene);
    assert!(has_condition(&scene.get("Job", MIGRATIONS), "Complete"));
    assert_eq!(application.status(), SYNCED);
}

/// A denial would cost the objects themselves: hook-failed has Argo CD delete them when their update fails.
fn resource_to_patched_hook(argocd: &ArgoWorld) {
    let scene = scene(argocd, "resource to patched hook", Some(LIVE));
    let application = Application::new(&scene, "switched", &json!({}), false);
    let _ = application.sync().succeeds();
    scene.settle();
    let before = KINDS.map(|kind| uid(&scene.get(kind, MIGRATIONS)));
    application.commit(&json!({"hook": HOOK, "deletePolicy": "hook-failed"}));
    let _ = application.sync().succeeds();
    for (kind, before) in KINDS.iter().zip(&before) {
        let live = scene.get(kind, MIGRATIONS);
        assert_eq!(&uid(&live), before);
        assert_eq!(annotations(&live)["helm.sh/hook"], HOOK);
        let about = format!("{kind} {}/{MIGRATIONS}: was a resource", scene.namespace);
        let warnings = argocd.warnings(&scene.namespace);
        assert!(
            warnings.iter().any(|warning| warning.contains(&about) && warning.contains("(rule identity-flip)")),
            "{warnings:#?}"
        );
    }
    assert_no_finalizers(&scene);
    assert_eq!(application.status(), SYNCED);
}

fn hook_to_resource_without(argocd: &ArgoWorld) {
    let scene = scene(argocd, "hook to resource", None);
    let application = Application::new(&scene, "switched", &json!({"hook": HOOK}), false);
    let _ = application.sync().succeeds();
    let before = uid(&scene.get("Job", MIGRATIONS));
    application.commit(&json!({"hook": "", "note": "second"}));
    let sync = application.sync().succeeds();
    assert!(!sync.ran_as_hook("Job"));
    let job = scene.get("Job", MIGRATIONS);
    assert_eq!(uid(&job), before, "the migration ran again");
    assert!(annotations(&job).get("helm.sh/hook").is_none());
    assert_eq!(application.status(), SYNCED);
}

fn hook_to_resource(argocd: &ArgoWorld) {
    let scene = scene(argocd, "hook to resource", Some(LIVE));
    let application = Application::new(&scene, "switched", &json!({"hook": HOOK}), false);
    let _ = application.sync().succeeds();
    scene.settle();
    let before = scene.snapshot();
    application.commit(&json!({"hook": ""}));
    // A second time, and with force, which makes Argo CD delete and create what an API server refuses as invalid.
    let force = json!({"syncStrategy": {"hook": {"force": true}}});
    for more in [json!({}), json!({}), force] {
        let sync = application.sync_with(&more).fails();
        assert!(sync.denial().is_some_and(|denial| denial.contains("(rule identity-flip)")), "{sync:#?}");
        assert_eq!(scene.snapshot(), before);
    }
    assert_hooks(&scene);
    // Only the operation tells: Argo CD compares no hook.
    assert_eq!(application.status(), SYNCED);
    // The chart made a hook again, the sync goes through.
    application.commit(&json!({"hook": HOOK, "note": "second"}));
    let _ = application.sync().succeeds();
    assert_eq!(application.status(), SYNCED);
}

fn hook_to_resource_server_side(argocd: &ArgoWorld) {
    let scene = scene(argocd, "hook to resource, server-side", Some(LIVE));
    let application = Application::new(&scene, "switched", &json!({"hook": HOOK}), false);
    let server_side = json!({"syncOptions": [SERVER_SIDE]});
    let _ = application.sync_with(&server_side).succeeds();
    scene.settle();
    let before = scene.snapshot();
    application.commit(&json!({"hook": ""}));
    let sync = application.sync_with(&server_side).fails();
    assert!(sync.denial().is_some_and(|denial| denial.contains("(rule identity-flip)")), "{sync:#?}");
    assert_eq!(scene.snapshot(), before);
    assert_hooks(&scene);
}

/// A first server-side apply leaves the annotations that a client-side one has set. Argo CD takes them off afterwards,
/// and when that is denied it notes it beside the object and calls the sync a success all the same.
fn hook_to_resource_migrating(argocd: &ArgoWorld) {
    let scene = scene(argocd, "hook to resource, migrating", Some(LIVE));
    let application = Application::new(&scene, "switched", &json!({"hook": HOOK}), false);
    let _ = application.sync().succeeds();
    let before = KINDS.map(|kind| uid(&scene.get(kind, MIGRATIONS)));
    application.commit(&json!({"hook": ""}));
    let sync = application.sync_with(&json!({"syncOptions": [SERVER_SIDE]})).succeeds();
    for kind in KINDS {
        assert!(sync.message_about(kind).is_some_and(|said| said.contains("(rule identity-flip)")), "{sync:#?}");
    }
    assert_eq!(KINDS.map(|kind| uid(&scene.get(kind, MIGRATIONS))), before);
    assert_hooks(&scene);
}

/// The chart flips, and is meant to.
fn meant_flip(argocd: &ArgoWorld) {
    let scene = scene(argocd, "meant flip", Some(LIVE));
    let application = Application::new(&scene, "switched", &json!({"hook": HOOK}), false);
    let _ = application.sync().succeeds();
    application.commit(&json!({"hook": ""}));
    let denied = application.sync().fails();
    for kind in KINDS {
        let remedy = format!("label {} {MIGRATIONS} stable-hooks/migration=false --overwrite", kind.to_lowercase());
        assert!(denied.message.contains(&format!("kubectl -n {} {remedy}", scene.namespace)), "{denied:#?}");
        let _ = scene.kubectl(&remedy.split(' ').collect::<Vec<_>>()).succeeds();
    }
    let _ = application.sync().succeeds();
    for kind in KINDS {
        let _ = scene.kubectl(&["label", kind, MIGRATIONS, "stable-hooks/migration-"]).succeeds();
        assert!(annotations(&scene.get(kind, MIGRATIONS)).get("helm.sh/hook").is_none());
    }
    assert_eq!(application.sync().succeeds().denial(), None);
    assert_eq!(application.status(), SYNCED);
}

fn scene<'world>(argocd: &'world ArgoWorld, name: &str, watched_by: Option<&str>) -> Scene<'world> {
    Scene::new(&argocd.world, &format!("argocd {name}"), Major::Three, watched_by)
}

fn assert_normal(scene: &Scene<'_>) {
    for (kind, weight) in [("ServiceAccount", "-1"), ("Job", "10")] {
        let live = scene.get(kind, MIGRATIONS);
        let wanted = [("hook", HOOK), ("hook-weight", weight), ("hook-delete-policy", "before-hook-creation")];
        for (key, value) in wanted {
            assert_eq!(annotations(&live)[format!("helm.sh/{key}")], value, "{kind} {key}");
        }
    }
}

fn assert_hooks(scene: &Scene<'_>) {
    for kind in KINDS {
        assert_eq!(annotations(&scene.get(kind, MIGRATIONS))["helm.sh/hook"], HOOK, "{kind}");
    }
}

fn assert_no_finalizers(scene: &Scene<'_>) {
    for kind in KINDS {
        let live = scene.get(kind, MIGRATIONS);
        assert!(live["metadata"]["finalizers"].is_null(), "{kind}: {live}");
    }
}

fn annotations(object: &Value) -> &Value {
    &object["metadata"]["annotations"]
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}
