//! What must work with the policy, and what the policy says to it.

use serde_json::{Value, json};
use stable_hooks_e2e::cluster::{has_condition, wait_for};
use stable_hooks_e2e::helm::{Major, Run};
use stable_hooks_e2e::scene::{Scene, history_text};
use stable_hooks_e2e::world::{LIVE, RECORDS, World};

use crate::{Case, Report};

const SECTION: &str = "What works as before";

const CASE: Case = Case { section: SECTION, ..Case::EMPTY };

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "A stable chart lives its whole life",
        about: "`stable`: hooks on install and upgrade.",
        run: |world, major| stable(&Scene::new(world, "a stable chart", major, Some(LIVE))),
        ..CASE
    },
    Case {
        name: "A stable chart lives its whole life, judged by its records",
        about: "The same with `releases.baseline: record`.",
        run: |world, major| stable(&Scene::new(world, "a stable chart and records", major, Some(RECORDS))),
        ..CASE
    },
    Case {
        name: "A flip is accepted once",
        about: "`upgrade-only-hook`: the label counts for the revision that it names, and for no other.",
        run: accepted_flip,
        ..CASE
    },
    Case {
        name: "A rollback across a flip goes through",
        about: "`upgrade-only-hook`, flipped and accepted in revision 2, hooks again in revision 3, then back to revision 1.",
        run: rollback_across_a_flip,
        ..CASE
    },
    Case {
        name: "A template that will flip later is warned about on install",
        about: "`upgrade-only-hook`.",
        run: |world, major| {
            let scene = Scene::new(world, "a template that will flip", major, Some(LIVE));
            let run = scene.install("orders", "upgrade-only-hook", &[]).succeeds();
            assert!(run.warnings().iter().any(|warning| warning.contains("(rule conditional-hook-template)")));
            report(&scene, "`helm install` succeeds.", &[run])
        },
        ..CASE
    },
    Case {
        name: "A plain Job gets another image, with live objects as baseline",
        about: "`plain-job`: a warning, for the live Job carries defaults; then Helm fails, as it does without the policy.",
        run: |world, major| {
            let scene = Scene::new(world, "a plain job and live objects", major, Some(LIVE));
            let install = scene.install("orders", "plain-job", &[]).succeeds();
            scene.settle();
            let run = scene.upgrade("orders", "plain-job", &["--set", "image=orders:2"]).fails();
            assert!(run.error().contains("field is immutable"), "{}", run.stderr);
            assert!(
                run.warnings().iter().any(|warning| warning.contains("(rule job-template-change)")),
                "{}",
                run.stderr
            );
            report(&scene, "`helm upgrade` fails at the Job; the warnings came before.", &[install, run])
        },
        ..CASE
    },
    Case {
        name: "Live hooks are brought to the normal form",
        about: "`off-form`: Helm 3 deletes and creates its hooks; Helm 4 updates the ServiceAccount by server-side apply.",
        run: normal_form,
        ..CASE
    },
    Case {
        name: "Helm tests run",
        about: "`tracebloc`: a test Job, which the policy leaves as it is.",
        run: |world, major| {
            let scene = Scene::new(world, "helm tests", major, Some(LIVE));
            let install = scene.install("orders", "tracebloc", &[]).succeeds();
            let test = scene.helm.run(&["test", "orders"]).succeeds();
            let again = scene.helm.run(&["test", "orders"]).succeeds();
            let job = scene.get("Job", "orders-egress-check");
            assert_eq!(
                annotations(&job),
                &json!({"helm.sh/hook": "test", "helm.sh/hook-delete-policy": "before-hook-creation"})
            );
            report(
                &scene,
                "Installed and tested twice; the test Job has the annotations of its chart.",
                &[install, test, again],
            )
        },
        ..CASE
    },
    Case {
        name: "A chart whose hooks are never deleted is mended by `fix`",
        about: "`never-deleted` with `--post-renderer stable-hooks-fix`, the plugin in `plugins/post-renderer`.",
        helms: &[Major::Four],
        run: mended_by_fix,
        ..CASE
    },
    Case {
        name: "The recipes",
        about: "`recipe-…`, the charts of [docs/recipes.md](recipes.md): installed, upgraded to another image, upgraded again.",
        run: recipes,
        ..CASE
    },
    Case {
        name: "A chart moves from plain to hook and back",
        about: "`moved`, as [docs/recipes.md](recipes.md) says: with `helm.sh/resource-policy: keep` there, and deleted first on the way back.",
        run: moved,
        ..CASE
    },
    Case {
        name: "Formance before its change",
        about: "`formance-before`: no label says that this is a migration, and it flips; the upgrade is denied all the same.",
        run: |world, major| {
            let scene = Scene::new(world, "formance before", major, Some(LIVE));
            let install = scene.install("formance", "formance-before", &[]).succeeds();
            scene.settle();
            let before = scene.snapshot();
            let run = scene.upgrade("formance", "formance-before", &[]).fails();
            assert!(run.denial().is_some_and(|denial| denial.contains("Job")));
            assert!(run.is_denied_by("release-identity-flip"), "{}", run.stderr);
            assert_eq!(scene.snapshot(), before);
            report(&scene, "Installed; the upgrade is denied and nothing has changed.", &[install, run])
        },
        ..CASE
    },
    Case {
        name: "Formance after its change",
        about: "`formance-after`: hooks on both sides, beside a bundled database.",
        run: |world, major| {
            let scene = Scene::new(world, "formance after", major, Some(LIVE));
            let install = scene.install("formance", "formance-after", &[]).succeeds();
            let old = ran(&scene, "formance-membership", None);
            let upgrade = scene.upgrade("formance", "formance-after", &[]).succeeds();
            let _ = ran(&scene, "formance-membership", Some(&old));
            report(&scene, "Installed and upgraded; the migration ran both times.", &[install, upgrade])
        },
        ..CASE
    },
    Case {
        name: "A readiness gate is left alone",
        about: "`aicr`: a plain Job and its ServiceAccount, without labels.",
        run: |world, major| {
            let scene = Scene::new(world, "a readiness gate", major, Some(LIVE));
            let install = scene.install("gpu", "aicr", &[]).succeeds();
            scene.settle();
            let before = scene.get("Job", "gpu-readiness-gate");
            let upgrade = scene.upgrade("gpu", "aicr", &[]).succeeds();
            assert_eq!(uid(&scene.get("Job", "gpu-readiness-gate")), uid(&before));
            report(&scene, "Installed and upgraded; the Job is the same.", &[install, upgrade])
        },
        ..CASE
    },
];

fn stable(scene: &Scene<'_>) -> Report {
    let mut runs = vec![scene.install("orders", "stable", &[]).succeeds()];
    let mut last = ran(scene, "orders-migrations", None);
    for image in ["image=orders:2", "image=orders:3", "image=orders:4"] {
        runs.push(scene.upgrade("orders", "stable", &["--set", image]).succeeds());
        last = ran(scene, "orders-migrations", Some(&last));
    }
    runs.push(scene.helm.run(&["rollback", "orders", "2"]).succeeds());
    assert_eq!(scene.get("ConfigMap", "orders")["data"]["image"], "orders:2");
    runs.push(scene.upgrade("orders", "stable", &["--set", "image=orders:5"]).succeeds());
    let _ = ran(scene, "orders-migrations", Some(&last));
    runs.push(scene.helm.run(&["uninstall", "orders"]).succeeds());
    assert!(scene.helm.history("orders").is_empty());
    assert!(scene.find("ConfigMap", "orders").is_none());
    let seen = "Installed, upgraded three times, rolled back, upgraded, uninstalled; the migration ran at the install and \
                at every upgrade.";
    report(scene, seen, &runs)
}

/// The plugin runs the `stable-hooks` on the PATH, where `make e2e` puts it.
fn mended_by_fix(world: &World, major: Major) -> Report {
    let mut scene = Scene::new(world, "mended by fix", major, Some(LIVE));
    // Where the other scenarios look Helm 3 would complain about it.
    let data = scene.folder().join("data").to_string_lossy().into_owned();
    scene.helm.variables.push(("HELM_DATA_HOME".to_owned(), data));
    let plugin = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins/post-renderer");
    let _ = scene.helm.run(&["plugin", "install", plugin]).succeeds();
    let mended = ["--post-renderer", "stable-hooks-fix"];
    let mut runs = vec![scene.install("orders", "never-deleted", &mended).succeeds()];
    let first = ran(&scene, "orders-migrations", None);
    let _ = (0..3).fold(first, |last, _| {
        runs.push(scene.upgrade("orders", "never-deleted", &mended).succeeds());
        ran(&scene, "orders-migrations", Some(&last))
    });
    report(&scene, "Installed and upgraded three times; the migration ran each time.", &runs)
}

fn accepted_flip(world: &World, major: Major) -> Report {
    let scene = Scene::new(world, "an accepted flip", major, Some(LIVE));
    let _ = scene.install("orders", "upgrade-only-hook", &[]).succeeds();
    scene.settle();
    let before = scene.snapshot();
    for stale in [
        "stable-hooks/accept-release-identity-flip=1",
        "stable-hooks/accept-release-identity-flip=3",
        "stable-hooks/accept-release-identity-flip=true",
    ] {
        let run = scene.upgrade("orders", "upgrade-only-hook", &["--labels", stale]).fails();
        assert!(run.is_denied_by("release-identity-flip"), "{}", run.stderr);
    }
    assert_eq!(scene.snapshot(), before);
    let run = scene
        .upgrade("orders", "upgrade-only-hook", &["--labels", "stable-hooks/accept-release-identity-flip=2"])
        .succeeds();
    assert_eq!(history_text(&scene.helm.history("orders")), "1 superseded, 2 deployed");
    let _ = scene.upgrade("orders", "upgrade-only-hook", &[]).succeeds();
    // Helm carries the label over to revision 3, where it means nothing.
    let back = scene.upgrade("orders", "plain-job", &["--take-ownership"]).fails();
    assert!(back.is_denied_by("release-identity-flip"), "{}", back.stderr);
    let seen = "Revision 2 is denied with the label `stable-hooks/accept-release-identity-flip` at 1, 3 or true, and goes through with 2. \
                Revision 4, which flips back and has inherited the label, is denied again.";
    report(&scene, seen, &[run])
}

fn rollback_across_a_flip(world: &World, major: Major) -> Report {
    let life = |watched_by| {
        let scene = Scene::new(world, "a rollback across a flip", major, watched_by);
        let _ = scene.install("orders", "upgrade-only-hook", &[]).succeeds();
        scene.settle();
        for accept in ["stable-hooks/accept-release-identity-flip=2", "stable-hooks/accept-release-identity-flip=3"] {
            let _ = scene
                .upgrade("orders", "upgrade-only-hook", &["--labels", accept, "--set", "image=orders:2"])
                .succeeds();
        }
        let before = scene.snapshot();
        let run = scene.helm.run(&["rollback", "orders", "1"]);
        let change = before.change_to(&scene.snapshot()).to_string();
        let history = history_text(&scene.helm.history("orders"));
        let outcome = format!("`{}` {} {change} Revisions: {history}.", run.command, outcome(&scene, &run));
        (scene, run, outcome)
    };
    let (_, _, without) = life(None);
    let (scene, run, with) = life(Some(LIVE));
    assert_eq!(with, without, "not as without the policy");
    assert!(run.warnings().iter().any(|warning| warning.contains("(rule release-identity-flip)")), "{}", run.stderr);
    report(&scene, &format!("As without the policy: {with}"), &[run])
}

fn normal_form(world: &World, major: Major) -> Report {
    let scene = Scene::new(world, "normal form", major, Some(LIVE));
    // Under server-side apply a ServiceAccount that is still there is updated, and need not be deleted.
    let policy = if major == Major::Four {
        "accountDeletePolicy=hook-failed"
    } else {
        "accountDeletePolicy=before-hook-creation"
    };
    let mut runs = vec![scene.install("orders", "off-form", &["--set", policy]).succeeds()];
    assert_normal(&scene);
    let account = uid(&scene.get("ServiceAccount", "orders-migrations"));
    for image in ["image=orders:2", "image=orders:3"] {
        runs.push(scene.upgrade("orders", "off-form", &["--set", policy, "--set", image]).succeeds());
        assert_normal(&scene);
    }
    let is_updated = uid(&scene.get("ServiceAccount", "orders-migrations")) == account;
    assert_eq!(is_updated, major == Major::Four);
    report(
        &scene,
        "Installed and upgraded twice without a conflict; the live annotations are in normal form each time.",
        &runs,
    )
}

fn assert_normal(scene: &Scene<'_>) {
    for (kind, weight) in [("ServiceAccount", "0"), ("Job", "1")] {
        let wanted = json!({
            "helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-weight": weight,
            "helm.sh/hook-delete-policy": "before-hook-creation",
        });
        assert_eq!(annotations(&scene.get(kind, "orders-migrations")), &wanted, "{kind}");
    }
}

/// Waits until the Job has completed, and asserts that it is another one than before; its UID.
pub(crate) fn ran(scene: &Scene<'_>, name: &str, before: Option<&str>) -> String {
    let job =
        wait_for("the migration completes", || scene.find("Job", name).filter(|job| has_condition(job, "Complete")));
    let uid = uid(&job);
    assert_ne!(Some(uid.as_str()), before, "the migration did not run again");
    uid
}

pub(crate) fn annotations(object: &Value) -> &Value {
    &object["metadata"]["annotations"]
}

pub(crate) fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

fn outcome(scene: &Scene<'_>, run: &Run) -> String {
    if run.success { "succeeds.".to_owned() } else { scene.shown(&format!("fails: {}", run.error())) }
}

/// What was seen, and all that the policy said on the way.
pub(crate) fn report(scene: &Scene<'_>, seen: &str, runs: &[Run]) -> Report {
    let mut said = Vec::new();
    for run in runs {
        let denial = run.denial();
        for text in run.warnings().into_iter().chain(denial) {
            let text = scene.shown(&text);
            if !said.contains(&text) {
                said.push(text);
            }
        }
    }
    Report { seen: scene.shown(seen), said }
}

fn recipes(world: &World, major: Major) -> Report {
    let scene = Scene::new(world, "the recipes", major, Some(LIVE));
    let mut runs = Vec::new();
    for recipe in ["hook-before", "hook-after", "job-per-image", "init-container"] {
        let chart = format!("recipe-{recipe}");
        runs.push(scene.install(recipe, &chart, &[]).succeeds());
        scene.settle();
        for image in ["image=orders:2", "image=orders:2"] {
            runs.push(scene.upgrade(recipe, &chart, &["--set", image]).succeeds());
            scene.settle();
        }
    }
    for run in &runs {
        assert_eq!(run.warnings(), [""; 0], "{}", run.stderr);
    }
    let jobs = scene.cluster().list("Job", &scene.namespace);
    let migrated = jobs.iter().filter(|job| job["spec"]["template"]["spec"]["containers"][0]["image"] == "orders:2");
    assert_eq!((jobs.len(), migrated.count()), (3, 3), "each recipe with a Job has one, of the second image");
    report(&scene, "All go through without a warning; each Job that is left has run the second image.", &runs)
}

fn moved(world: &World, major: Major) -> Report {
    let scene = Scene::new(world, "a chart that moves", major, Some(LIVE));
    let both = || ["Job", "ServiceAccount"].map(|kind| scene.get(kind, "orders-migrations"));
    let install = scene.install("orders", "moved", &[]).succeeds();
    scene.settle();
    let there = scene.upgrade("orders", "moved", &["--set", "hook=true,image=orders:2"]).succeeds();
    assert!(
        there.warnings().iter().any(|warning| warning.contains("(rule release-identity-flip)")),
        "{}",
        there.stderr
    );
    scene.settle();
    assert!(both().iter().all(|object| annotations(object)["helm.sh/hook"] == "pre-install,pre-upgrade"));
    let stays = scene.upgrade("orders", "moved", &["--set", "hook=true,image=orders:3"]).succeeds();
    assert!(both().iter().all(|object| annotations(object)["helm.sh/hook"] == "pre-install,pre-upgrade"));
    scene.settle();
    let deleted = scene.kubectl(&["delete", "job,serviceaccount", "orders-migrations"]).succeeds();
    let back = scene.upgrade("orders", "moved", &["--set", "hook=false,image=orders:4"]).succeeds();
    assert!(both().iter().all(|object| annotations(object)["meta.helm.sh/release-name"] == "orders"));
    report(
        &scene,
        "Plain, hooks after the second and third revision, plain again after the fourth: both objects were there each time.",
        &[install, there, stays, deleted, back],
    )
}
