//! What people and controllers do to Jobs and ServiceAccounts, without Helm.

use std::slice;

use kube::api::DeleteParams;
use serde_json::{Value, json};
use stable_hooks_e2e::cluster::{has_condition, wait_for};
use stable_hooks_e2e::helm::{Major, Run};
use stable_hooks_e2e::scene::Scene;
use stable_hooks_e2e::webhook::Options;
use stable_hooks_e2e::world::{LIVE, World, looks_at_objects};

use crate::works::{annotations, report, uid};
use crate::{Case, Report};

const CASE: Case = Case { section: "What people and controllers do", helms: &[Major::Four], ..Case::EMPTY };

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "kubectl apply, edit, annotate and delete",
        about: "A hook Job and a hook ServiceAccount, selected by their label, off the normal form.",
        run: kubectl,
        ..CASE
    },
    Case {
        name: "Server-side apply by hand",
        about: "The same ServiceAccount, applied three times: normalized each time, and never a conflict.",
        run: server_side_apply,
        ..CASE
    },
    Case {
        name: "A flip by hand is refused",
        about: "With `kubectl annotate`, `apply` and `apply --server-side`, in both directions.",
        run: flips_by_hand,
        ..CASE
    },
    Case {
        name: "Jobs that a CronJob makes",
        about: "A CronJob whose Jobs carry the migration label and a hook annotation: the controller's Jobs are left alone.",
        run: cron_job,
        ..CASE
    },
    Case {
        name: "Jobs that another controller owns",
        about: "The vworkspace operator's Job: a `helm.sh/hook` that Helm does not know; tracebloc's Job: spawned at run time.",
        run: owned_jobs,
        ..CASE
    },
    Case {
        name: "Finalizers come and go",
        about: "On objects that were off the normal form, or contradictory, before the policy came.",
        run: finalizers,
        ..CASE
    },
    Case {
        name: "Other Secrets and ConfigMaps",
        about: "Without Helm's label, with somebody else's, and a restored record: the API server asks about none of them.",
        run: other_secrets,
        ..CASE
    },
    Case {
        name: "Deletion in the foreground",
        about: "A hook Job with a Pod, deleted with `--cascade=foreground`.",
        run: |world, major| {
            let scene = scene(world, major, "foreground");
            scene.cluster().create(&job(&scene, "migrations", json!({"helm.sh/hook": "pre-upgrade"})));
            wait_for("the Job's Pod", || (!scene.cluster().list("Pod", &scene.namespace).is_empty()).then_some(()));
            let run = scene.kubectl(&["delete", "job", "migrations", "--cascade=foreground"]).succeeds();
            assert!(scene.find("Job", "migrations").is_none());
            report(&scene, "The Job and its Pods are gone.", slice::from_ref(&run))
        },
        ..CASE
    },
    Case {
        name: "Deletion of a namespace",
        about: "With a hook Job, a hook ServiceAccount and a release in it.",
        run: |world, major| {
            let scene = scene(world, major, "namespace deletion");
            let install = scene.install("orders", "stable", &[]).succeeds();
            scene.cluster().create(&job(&scene, "more", json!({"helm.sh/hook": "pre-upgrade"})));
            scene.cluster().delete("Namespace", "", &scene.namespace, &DeleteParams::default());
            wait_for("the namespace is gone", || {
                scene.cluster().find("Namespace", "", &scene.namespace).is_none().then_some(())
            });
            report(&scene, "The namespace is gone.", &[install])
        },
        ..CASE
    },
];

fn scene<'world>(world: &'world World, major: Major, name: &str) -> Scene<'world> {
    Scene::new(world, name, major, Some(LIVE))
}

fn job(scene: &Scene<'_>, name: &str, annotations: Value) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "name": name, "namespace": scene.namespace, "annotations": annotations,
            "labels": {"app.kubernetes.io/component": "migrations"},
        },
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "migrate", "image": "orders:1"}]}}},
    })
}

fn account(scene: &Scene<'_>, name: &str, annotations: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {
            "name": name, "namespace": scene.namespace, "annotations": annotations,
            "labels": {"app.kubernetes.io/component": "migrations"},
        },
    })
}

fn kubectl(world: &World, major: Major) -> Report {
    let scene = scene(world, major, "kubectl");
    let hook = json!({"helm.sh/hook": "Pre-Upgrade"});
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [job(&scene, "a", hook.clone()), account(&scene, "b", hook)]});
    let file = scene.file("objects", &list);
    let apply = || scene.kubectl(&["apply", "-f", &file]).succeeds();
    let mut runs = vec![apply(), apply()];
    for (kind, name) in [("Job", "a"), ("ServiceAccount", "b")] {
        assert_eq!(annotations(&scene.get(kind, name))["helm.sh/hook"], "pre-install,pre-upgrade");
        runs.push(scene.kubectl(&["label", kind, name, "team=db"]).succeeds());
        runs.push(scene.kubectl(&["annotate", kind, name, "note=checked"]).succeeds());
    }
    let job = uid(&scene.get("Job", "a"));
    runs.push(scene.kubectl_edit("ServiceAccount", "b", "s/note: checked/note: edited/").succeeds());
    assert_eq!(annotations(&scene.get("ServiceAccount", "b"))["note"], "edited");
    runs.push(apply());
    assert_eq!(uid(&scene.get("Job", "a")), job);
    runs.push(scene.kubectl(&["delete", "-f", &file]).succeeds());
    assert!(scene.find("Job", "a").is_none() && scene.find("ServiceAccount", "b").is_none());
    report(
        &scene,
        "Applied three times, labelled, annotated, edited, deleted; live in normal form all the while.",
        &runs,
    )
}

fn server_side_apply(world: &World, major: Major) -> Report {
    let scene = scene(world, major, "server-side apply");
    let mut runs = Vec::new();
    for note in ["one", "two", "two"] {
        let file = scene.file("account", &account(&scene, "b", json!({"helm.sh/hook": "Pre-Upgrade", "note": note})));
        runs.push(scene.kubectl(&["apply", "--server-side", "-f", &file]).succeeds());
        let live = scene.get("ServiceAccount", "b");
        assert_eq!(annotations(&live)["helm.sh/hook"], "pre-install,pre-upgrade");
        assert_eq!(annotations(&live)["note"], note);
    }
    report(&scene, "Applied three times without a conflict.", &runs)
}

fn flips_by_hand(world: &World, major: Major) -> Report {
    let scene = scene(world, major, "flips by hand");
    let hook = json!({"helm.sh/hook": "pre-install,pre-upgrade"});
    let create = |object| scene.cluster().create(&object);
    create(account(&scene, "hook", hook.clone()));
    let plain = scene.file("plain", &account(&scene, "plain", json!({})));
    let _ = scene.kubectl(&["apply", "-f", &plain]).succeeds();
    create(job(&scene, "plain", json!({})));
    scene.settle();
    let before = scene.snapshot();
    let becomes_hook = scene.file("becomes-hook", &account(&scene, "plain", hook));
    let becomes_plain = scene.file("becomes-plain", &account(&scene, "hook", json!({})));
    let refused = [
        scene.kubectl(&["annotate", "job", "plain", "helm.sh/hook=pre-upgrade"]),
        scene.kubectl(&["annotate", "serviceaccount", "hook", "helm.sh/hook-"]),
        scene.kubectl(&["apply", "-f", &becomes_hook]),
        scene.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", &becomes_hook]),
        scene.kubectl(&["replace", "-f", &becomes_plain]),
    ];
    for run in refused.iter().cloned().map(Run::fails) {
        assert!(
            run.denial().is_some_and(|denial| denial.contains("(rule identity-flip)")),
            "{}: {}",
            run.command,
            run.stderr
        );
    }
    assert_eq!(scene.snapshot(), before);
    report(&scene, "All are refused, and nothing has changed.", &refused)
}

fn cron_job(world: &World, major: Major) -> Report {
    let scene = scene(world, major, "cron job");
    let template = job(&scene, "", json!({"helm.sh/hook": "Pre-Upgrade"}));
    scene.cluster().create(&json!({
        "apiVersion": "batch/v1", "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": scene.namespace},
        "spec": {"schedule": "* * * * *", "jobTemplate": {
            "metadata": {"labels": template["metadata"]["labels"], "annotations": template["metadata"]["annotations"]},
            "spec": template["spec"],
        }},
    }));
    let by_hand = scene.kubectl(&["create", "job", "now", "--from=cronjob/nightly"]).succeeds();
    // The controller makes one at the next full minute.
    let made = wait_for("the CronJob makes a Job", || {
        scene.cluster().list("Job", &scene.namespace).into_iter().find(|job| job["metadata"]["name"] != "now")
    });
    for job in [&made, &scene.get("Job", "now")] {
        assert_eq!(annotations(job)["helm.sh/hook"], "Pre-Upgrade");
        assert!(annotations(job).get("helm.sh/hook-weight").is_none());
    }
    scene.settle();
    report(&scene, "Made by the schedule and by hand, and run; no annotation was touched.", &[by_hand])
}

fn owned_jobs(world: &World, major: Major) -> Report {
    let scene = scene(world, major, "owned jobs");
    let operation = scene.cluster().create(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "operation", "namespace": scene.namespace},
    }));
    let mut owned = job(&scene, "nextcloud-upgrade", json!({"helm.sh/hook": "nextcloud-pre-upgrade"}));
    owned["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "operation", "uid": operation["metadata"]["uid"], "controller": true,
    }]);
    let mut spawned = job(&scene, "training-run", json!({}));
    spawned["metadata"]["labels"] = json!({"tracebloc.io/job-type": "training"});
    let mut runs = Vec::new();
    for (name, object) in [("owned", &owned), ("spawned", &spawned)] {
        let file = scene.file(name, object);
        runs.push(scene.kubectl(&["create", "-f", &file]).succeeds());
    }
    scene.settle();
    assert_eq!(annotations(&scene.get("Job", "nextcloud-upgrade")), &json!({"helm.sh/hook": "nextcloud-pre-upgrade"}));
    assert!(annotations(&scene.get("Job", "training-run")).is_null());
    report(&scene, "Both run; no annotation was touched.", &runs)
}

fn finalizers(world: &World, major: Major) -> Report {
    let scene = Scene::new(world, "finalizers", major, None);
    let both = json!({"helm.sh/hook": "Pre-Upgrade", "meta.helm.sh/release-name": "orders"});
    let with_finalizer = |mut object: Value| {
        object["metadata"]["finalizers"] = json!(["argocd.argoproj.io/hook-finalizer"]);
        scene.cluster().create(&object);
    };
    with_finalizer(job(&scene, "off-form", json!({"helm.sh/hook": "Pre-Upgrade"})));
    with_finalizer(account(&scene, "both", both.clone()));
    with_finalizer(account(&scene, "deleted", both));
    scene.cluster().delete("ServiceAccount", &scene.namespace, "deleted", &DeleteParams::default());
    scene.is_watched_by(LIVE);
    let mut runs = Vec::new();
    let mut patch =
        |kind, name, patch| runs.push(scene.kubectl(&["patch", kind, name, "--type=merge", "-p", patch]).succeeds());
    for (kind, name) in [("Job", "off-form"), ("ServiceAccount", "both")] {
        patch(kind, name, r#"{"metadata": {"finalizers": null}}"#);
        patch(kind, name, r#"{"metadata": {"finalizers": ["example.com/more"]}}"#);
        patch(kind, name, r#"{"metadata": {"finalizers": null}}"#);
        assert_eq!(annotations(&scene.get(kind, name))["helm.sh/hook"], "Pre-Upgrade");
    }
    patch("ServiceAccount", "deleted", r#"{"metadata": {"finalizers": null}}"#);
    assert!(scene.find("ServiceAccount", "deleted").is_none());
    let job =
        wait_for("the Job completes", || scene.find("Job", "off-form").filter(|job| has_condition(job, "Complete")));
    assert_eq!(annotations(&job), &json!({"helm.sh/hook": "Pre-Upgrade"}));
    report(
        &scene,
        "Removed, added and removed again, on live objects and on one that was being deleted; nothing else has changed.",
        &runs,
    )
}

fn other_secrets(world: &World, major: Major) -> Report {
    let name = "other-secrets";
    let webhook = world.webhook(name, &Options::default(), &looks_at_objects());
    let scene = Scene::new(world, "other secrets", major, Some(name));
    // The API server asks about this one, for it is a ServiceAccount.
    wait_for("the namespace's own ServiceAccount", || scene.find("ServiceAccount", "default"));
    let before = webhook.requests();
    for kind in ["Secret", "ConfigMap"] {
        for labels in [json!({}), json!({"owner": "somebody"}), json!({"owner": "helm", "status": "deployed"})] {
            let metadata = json!({"generateName": "other-", "namespace": scene.namespace, "labels": labels});
            scene.cluster().create(&json!({"apiVersion": "v1", "kind": kind, "metadata": metadata}));
        }
    }
    assert_eq!(webhook.requests(), before, "the policy has seen what is none of its business");
    let install = scene.install("orders", "stable", &[]).succeeds();
    assert!(webhook.requests() > before, "the policy is asked about releases");
    report(&scene, "None of them was sent to the policy; the record of an install was.", &[install])
}
