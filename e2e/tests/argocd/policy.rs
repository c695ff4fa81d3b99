//! What the policy says under Argo CD, and what must work with it as before.

use serde_json::json;
use stable_hooks_e2e::argocd::{Application, ArgoWorld, Sync};
use stable_hooks_e2e::cluster::has_condition;
use stable_hooks_e2e::scene::Scene;
use stable_hooks_e2e::world::LIVE;

use crate::stage::{HOOK, MIGRATIONS, SYNCED, annotations, scene, uid};
use crate::{Case, Report};

const KINDS: [&str; 2] = ["ServiceAccount", "Job"];
const SERVER_SIDE: &str = "ServerSideApply=true";
const FINALIZER: &str = "argocd.argoproj.io/hook-finalizer";

const CASE: Case = Case { section: "With the policy", ..Case::EMPTY };

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "A stable hook is synced three times",
        about: "`stable`, with another image each time.",
        run: stable_hook,
        ..CASE
    },
    Case {
        name: "Hooks off the normal form stay synced",
        about: "`switched` with `pre-upgrade, pre-install ,pre-upgrade` and no delete policy, synced automatically.",
        run: normal_form,
        ..CASE
    },
    Case {
        name: "Hooks that are patched are brought to the normal form again",
        about: "`switched` with `hook-failed`, which has Argo CD patch the hooks that are there.",
        run: normal_form_of_a_patch,
        ..CASE
    },
    Case {
        name: "A finalizer is removed from a hook that is being deleted",
        about: "`stable`; Argo CD's `hook-finalizer` is put back, as after a sync that was cut off, and the hooks are deleted.",
        run: finalizer,
        ..CASE
    },
    Case {
        name: "A resource that becomes a hook is deleted and made anew",
        about: "`switched`, first plain, then a hook.",
        run: resource_to_hook,
        ..CASE
    },
    Case {
        name: "A resource that becomes a hook by a patch goes through",
        about: "The same with `hook-failed`. A denial would cost the objects: Argo CD deletes them when their update fails.",
        run: resource_to_patched_hook,
        ..CASE
    },
    Case {
        name: "With the policy a hook stays a hook",
        about: "`switched`, first a hook, then plain; synced, synced again, and synced with force.",
        run: hook_to_resource,
        ..CASE
    },
    Case {
        name: "With the policy a hook stays a hook under server-side apply",
        about: "The same with `ServerSideApply=true`.",
        run: hook_to_resource_server_side,
        ..CASE
    },
    Case {
        name: "With the policy a hook stays a hook on the way to server-side apply",
        about: "Synced once without `ServerSideApply=true`, then plain with it.",
        run: hook_to_resource_migrating,
        ..CASE
    },
    Case {
        name: "A flip that is meant goes through as the denial says",
        about: "`switched`, first a hook, then plain; the objects get the label that the denial names.",
        run: meant_flip,
        ..CASE
    },
];

fn stable_hook(argocd: &ArgoWorld) -> Report {
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
    Report::new(
        &scene,
        "The hooks are made anew and run at each sync, without a warning; all is Synced and Healthy.",
        [],
    )
}

/// Argo CD compares with the manifests in git, and hooks not at all: what the policy has changed starts no sync.
fn normal_form(argocd: &ArgoWorld) -> Report {
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
    let seen = "The live hooks have the normal form, the Application stays Synced, and no further sync begins.";
    Report::new(&scene, seen, [])
}

/// Without before-hook-creation Argo CD patches the hook that is there, and so brings back what git says.
fn normal_form_of_a_patch(argocd: &ArgoWorld) -> Report {
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
    let seen =
        "After each of three syncs, the last with `ServerSideApply=true`, the live hooks have the normal form again.";
    Report::new(&scene, seen, [])
}

/// The finalizer is Argo CD's own; here it is put back, as it would be after a sync that was cut off.
fn finalizer(argocd: &ArgoWorld) -> Report {
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
    Report::new(&scene, "The next sync takes the finalizers off, and makes both anew.", [])
}

/// What Argo CD does as DELETE and CREATE no policy can see as a flip; the migration runs.
fn resource_to_hook(argocd: &ArgoWorld) -> Report {
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
    let seen =
        "The sync succeeds and the migration runs: what Argo CD does as DELETE and CREATE no policy can see as a flip.";
    Report::new(&scene, seen, [])
}

/// A denial would cost the objects themselves: hook-failed has Argo CD delete them when their update fails.
fn resource_to_patched_hook(argocd: &ArgoWorld) -> Report {
    let scene = scene(argocd, "resource to patched hook", Some(LIVE));
    let application = Application::new(&scene, "switched", &json!({}), false);
    let _ = application.sync().succeeds();
    scene.settle();
    let before = KINDS.map(|kind| uid(&scene.get(kind, MIGRATIONS)));
    application.commit(&json!({"hook": HOOK, "deletePolicy": "hook-failed"}));
    let _ = application.sync().succeeds();
    let mut said = Vec::new();
    for (kind, before) in KINDS.iter().zip(&before) {
        let live = scene.get(kind, MIGRATIONS);
        assert_eq!(&uid(&live), before);
        assert_eq!(annotations(&live)["helm.sh/hook"], HOOK);
        let about = format!("{kind} {}/{MIGRATIONS}: was a resource", scene.namespace);
        let warnings = argocd.warnings(&scene.namespace);
        let warning =
            warnings.into_iter().find(|warning| warning.contains(&about) && warning.contains("(rule identity-flip)"));
        said.push(warning.unwrap_or_else(|| panic!("no warning about {kind}")));
    }
    assert_no_finalizers(&scene);
    assert_eq!(application.status(), SYNCED);
    let seen = "The sync succeeds, and the objects are the same. In the controller's log, and nowhere else, stand the warnings:";
    Report::new(&scene, seen, said)
}

fn hook_to_resource(argocd: &ArgoWorld) -> Report {
    let scene = scene(argocd, "hook to resource", Some(LIVE));
    let application = Application::new(&scene, "switched", &json!({"hook": HOOK}), false);
    let _ = application.sync().succeeds();
    scene.settle();
    let before = scene.snapshot();
    application.commit(&json!({"hook": ""}));
    let mut said = Vec::new();
    // A second time, and with force, which makes Argo CD delete and create what an API server refuses as invalid.
    let force = json!({"syncStrategy": {"hook": {"force": true}}});
    for more in [json!({}), json!({}), force] {
        said.push(denials(&application.sync_with(&more).fails()));
        assert_eq!(scene.snapshot(), before);
    }
    said.dedup();
    let said = said.into_iter().flatten();
    assert_hooks(&scene);
    // Only the operation tells: Argo CD compares no hook.
    assert_eq!(application.status(), SYNCED);
    // The chart made a hook again, the sync goes through.
    application.commit(&json!({"hook": HOOK, "note": "second"}));
    let _ = application.sync().succeeds();
    assert_eq!(application.status(), SYNCED);
    let seen = "Each sync fails with the denial, and no object has changed; the Application itself is shown as Synced. Made a \
                hook again, it is synced as before.";
    Report::new(&scene, seen, said)
}

fn hook_to_resource_server_side(argocd: &ArgoWorld) -> Report {
    let scene = scene(argocd, "hook to resource, server-side", Some(LIVE));
    let application = Application::new(&scene, "switched", &json!({"hook": HOOK}), false);
    let server_side = json!({"syncOptions": [SERVER_SIDE]});
    let _ = application.sync_with(&server_side).succeeds();
    scene.settle();
    let before = scene.snapshot();
    application.commit(&json!({"hook": ""}));
    let sync = application.sync_with(&server_side).fails();
    let said = denials(&sync);
    assert_eq!(scene.snapshot(), before);
    assert_hooks(&scene);
    Report::new(&scene, "The sync fails with the denial, and no object has changed.", said)
}

/// A first server-side apply leaves the annotations that a client-side one has set. Argo CD takes them off afterwards,
/// and when that is denied it notes it beside the object and calls the sync a success all the same.
fn hook_to_resource_migrating(argocd: &ArgoWorld) -> Report {
    let scene = scene(argocd, "hook to resource, migrating", Some(LIVE));
    let application = Application::new(&scene, "switched", &json!({"hook": HOOK}), false);
    let _ = application.sync().succeeds();
    let before = KINDS.map(|kind| uid(&scene.get(kind, MIGRATIONS)));
    application.commit(&json!({"hook": ""}));
    let sync = application.sync_with(&json!({"syncOptions": [SERVER_SIDE]})).succeeds();
    let said = KINDS.map(|kind| {
        let said = sync.message_about(kind).unwrap_or_default();
        assert!(said.contains("(rule identity-flip)"), "{sync:#?}");
        said
    });
    assert_eq!(KINDS.map(|kind| uid(&scene.get(kind, MIGRATIONS))), before);
    assert_hooks(&scene);
    let seen =
        "The sync succeeds all the same, the objects stay hooks, and Argo CD notes beside each what it could not do:";
    Report::new(&scene, seen, said)
}

/// The chart flips, and is meant to.
fn meant_flip(argocd: &ArgoWorld) -> Report {
    let scene = scene(argocd, "meant flip", Some(LIVE));
    let application = Application::new(&scene, "switched", &json!({"hook": HOOK}), false);
    let _ = application.sync().succeeds();
    application.commit(&json!({"hook": ""}));
    let denied = application.sync().fails();
    for kind in KINDS {
        let remedy = format!("label {} {MIGRATIONS} stable-hooks/migration=false --overwrite", kind.to_lowercase());
        assert!(denied.message().contains(&format!("kubectl -n {} {remedy}", scene.namespace)), "{denied:#?}");
        let _ = scene.kubectl(&remedy.split(' ').collect::<Vec<_>>()).succeeds();
    }
    let _ = application.sync().succeeds();
    for kind in KINDS {
        let _ = scene.kubectl(&["label", kind, MIGRATIONS, "stable-hooks/migration-"]).succeeds();
        assert!(annotations(&scene.get(kind, MIGRATIONS)).get("helm.sh/hook").is_none());
    }
    let _ = application.sync().succeeds();
    assert_eq!(application.status(), SYNCED);
    Report::new(&scene, "Denied first; with the labels the sync succeeds, and both are resources.", [])
}

/// What a sync that the policy has denied says of each of the two.
fn denials(sync: &Sync) -> Vec<String> {
    let denials = sync.denials();
    assert_eq!(denials.len(), KINDS.len(), "{sync:#?}");
    assert!(denials.iter().all(|denial| denial.contains("(rule identity-flip)")), "{denials:#?}");
    denials
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
