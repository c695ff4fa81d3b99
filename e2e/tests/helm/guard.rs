//! Helm with the guard in front of it, in namespaces that no webhook watches.

mod called;
mod signals;
pub(crate) mod sql;

use std::fs;
use std::thread;

use serde_json::{Value, json};
use stable_hooks_e2e::helm::{Major, Run};
use stable_hooks_e2e::scene::{Scene, history_text};
use stable_hooks_e2e::world::{LIVE, World};

use crate::{Case, Report};

const CASE: Case = Case { section: "Guarded", how: "guarded", ..Case::EMPTY };

const FLIP: &str = "release-identity-flip";

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "An upgrade in which nothing is found",
        about: "`stable`: the same upgrade by `stable-hooks upgrade` and by `helm upgrade`, each in a namespace of its own.",
        run: finds_nothing,
        ..CASE
    },
    Case {
        name: "What is denied says why, and what is accepted is labelled",
        about: "`upgrade-only-hook`, with the policy in the cluster, too: `--accept release-identity-flip`.",
        run: accepted,
        ..CASE
    },
    Case {
        name: "A guarded rollback across a flip",
        about: "`upgrade-only-hook`, flipped and accepted in revision 2, then back to revision 1.",
        run: rolled_back,
        ..CASE
    },
    Case {
        name: "After an upgrade that has failed",
        about: "`plain-job`: Helm starts from the last revision that was deployed, and so does the guard.",
        run: after_a_failure,
        ..CASE
    },
    Case {
        name: "What can be read only once",
        about: "`stable` and `twice`: `-f -`, `-f <(…)` and `--set-file key=<(…)`, though Helm reads them twice.",
        run: read_once,
        ..CASE
    },
    Case {
        name: "A user without rights",
        about: "`plain-job` with `--kube-as-user`: one who may not read Secrets, and one who may not list Jobs.",
        run: without_rights,
        ..CASE
    },
    Case {
        name: "No release, and one that is pending",
        about: "`stable`: upgraded before it is installed, and after an install was killed.",
        run: not_to_be_upgraded,
        ..CASE
    },
    Case { name: "A plan and nothing else", about: "`upgrade-only-hook`: `--check-only`.", run: planned, ..CASE },
    Case {
        name: "Called `helm`",
        about: "A link of that name, first on the `PATH`; `STABLE_HOOKS_HELM` names the real one.",
        run: called::as_helm,
        ..CASE
    },
    Case {
        name: "Twenty guarded upgrades at once",
        about: "Twenty releases of `stable`.",
        run: twenty_at_once,
        ..CASE
    },
    Case {
        name: "Interrupted",
        about: "SIGINT and SIGTERM while Helm's dry run goes on, and at twelve moments of an upgrade of `stable`.",
        run: signals::interrupted,
        ..CASE
    },
];

/// A release of that chart, in a namespace that no webhook watches.
fn with_release<'world>(world: &'world World, name: &str, major: Major, chart: &str) -> Scene<'world> {
    let scene = Scene::new(world, name, major, None);
    let _ = scene.install("orders", chart, &[]).succeeds();
    scene.settle();
    scene
}

fn report(scene: &Scene<'_>, seen: &str, said: Vec<String>) -> Report {
    Report { seen: scene.shown(seen), said }
}

/// What was written to standard error. It is wrapped at places that depend on the namespace's name: a line each paragraph.
fn said(scene: &Scene<'_>, run: &Run) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in run.stderr.lines() {
        let is_text = |line: &str| line.starts_with("    ");
        match lines.last_mut().filter(|last| is_text(last) && is_text(line) && !line.starts_with("    -> ")) {
            Some(last) => {
                last.push(' ');
                last.push_str(line.trim_start());
            }
            None => lines.push(line.to_owned()),
        }
    }
    scene.shown(&lines.join("\n"))
}

/// What two runs of the same have in common.
fn without_time(scene: &Scene<'_>, text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("LAST DEPLOYED: "));
    scene.shown(&lines.collect::<Vec<_>>().join("\n"))
}

fn finds_nothing(world: &World, major: Major) -> Report {
    let [plain, guarded] = ["plain", "guarded"].map(|name| {
        let scene = with_release(world, &format!("finds nothing {name}"), major, "stable");
        let runs = if name == "guarded" { scene.guarded(&[]) } else { scene.clone() };
        let run = runs.upgrade("orders", "stable", &["--set", "image=orders:2"]);
        let record = scene.get("Secret", "sh.helm.release.v1.orders.v2");
        let labels = &record["metadata"]["labels"];
        let labels = ["name", "owner", "status", "version"].map(|label| labels[label].clone());
        let count = record["metadata"]["labels"].as_object().map(serde_json::Map::len);
        let stored = scene.helm.run(&["get", "all", "orders"]).succeeds().stdout;
        let printed = without_time(&scene, &run.stdout);
        (run.code, printed, scene.shown(&run.stderr), without_time(&scene, &stored), labels, count)
    });
    assert_eq!(plain.0, Some(0), "{plain:?}");
    assert!(plain.1.contains("has been upgraded") && plain.3.contains("orders:2"), "{plain:?}");
    assert_eq!(guarded, plain);
    let seen = "The same on standard output and standard error, the same exit code, the same `helm get all`, and the same labels on \
                the record, but for the time.";
    Report { seen: seen.to_owned(), said: Vec::new() }
}

fn accepted(world: &World, major: Major) -> Report {
    let scene = Scene::new(world, "accepted by the guard", major, Some(LIVE));
    let _ = scene.install("orders", "upgrade-only-hook", &[]).succeeds();
    scene.settle();
    let before = scene.snapshot();
    let denied = scene.guarded(&[]).upgrade("orders", "upgrade-only-hook", &[]).fails();
    assert_eq!((denied.code, denied.stdout.as_str()), (Some(1), ""), "{}", denied.stderr);
    assert!(denied.stderr.contains(&format!("deny {FLIP}")), "{}", denied.stderr);
    // It is the guard that stops it: the policy has not been asked.
    assert_eq!(denied.denial(), None);
    assert_eq!(scene.snapshot(), before);
    let run = scene.guarded(&["--accept", FLIP]).upgrade("orders", "upgrade-only-hook", &[]).succeeds();
    assert!(run.stderr.contains(&format!("warn {FLIP}")), "{}", run.stderr);
    assert!(run.warnings().iter().any(|warning| warning.contains(&format!("(rule {FLIP})"))), "{}", run.stderr);
    let record = scene.get("Secret", "sh.helm.release.v1.orders.v2");
    assert_eq!(record["metadata"]["labels"][format!("stable-hooks/accept-{FLIP}")], "2");
    assert_eq!(history_text(&scene.helm.history("orders")), "1 superseded, 2 deployed");
    let seen = "The first upgrade ends with 1, and nothing has changed. The accepted one goes through, past the policy in the \
                cluster: its record has the label `stable-hooks/accept-release-identity-flip=2`.";
    report(&scene, seen, vec![said(&scene, &denied)])
}

fn rolled_back(world: &World, major: Major) -> Report {
    let life = |name: &str, is_guarded: bool| {
        let scene = with_release(world, name, major, "upgrade-only-hook");
        let accept = ["--labels", "stable-hooks/accept-release-identity-flip=2"];
        let _ = scene.upgrade("orders", "upgrade-only-hook", &accept).succeeds();
        let before = scene.snapshot();
        let runs = if is_guarded { scene.guarded(&[]) } else { scene.clone() };
        let run = runs.helm.run(&["rollback", "orders", "1"]);
        let change = before.change_to(&scene.snapshot()).to_string();
        let history = history_text(&scene.helm.history("orders"));
        (run.code, run.stdout.clone(), format!("{change} Revisions: {history}."), said(&scene, &run))
    };
    let (plain, guarded) = (life("rolled back", false), life("rolled back guarded", true));
    let (code, _, change, said) = &guarded;
    assert_eq!((code, &guarded.1, change), (&plain.0, &plain.1, &plain.2), "{said}");
    assert!(said.contains(&format!("warn {FLIP}")) && !said.contains("deny "), "{said}");
    let outcome = if *code == Some(0) { "succeeds" } else { "fails" };
    let seen = format!(
        "As in the cluster it is a warning, for Helm does what it does without the guard: it {outcome}. {change}"
    );
    Report { seen, said: vec![said.clone()] }
}

fn after_a_failure(world: &World, major: Major) -> Report {
    let scene = with_release(world, "after a failure", major, "plain-job");
    let guarded = scene.guarded(&[]);
    let upgrade = |scene: &Scene<'_>, image: &str| scene.upgrade("orders", "plain-job", &["--set", image]);
    let _ = upgrade(&scene, "image=orders:2").fails();
    let before = scene.snapshot();
    // The revision that has failed holds the same Job.
    let denied = upgrade(&guarded, "image=orders:2").fails();
    assert_eq!(denied.code, Some(1), "{}", denied.stderr);
    assert!(denied.stderr.contains("deny job-template-change"), "{}", denied.stderr);
    assert_eq!(scene.snapshot(), before);
    let _ = upgrade(&guarded, "image=orders:1").succeeds();
    assert_eq!(history_text(&scene.helm.history("orders")), "1 superseded, 2 failed, 3 deployed");
    let seen = "Revision 2 has failed at the Job's new image. The same upgrade, guarded, is denied, and nothing has changed; with \
                the old image it goes through.";
    report(&scene, seen, Vec::new())
}

fn read_once(world: &World, major: Major) -> Report {
    let scene = with_release(world, "read once", major, "stable");
    let upgrade = |before: &str, inputs: &str| {
        let line = format!("{before}stable-hooks upgrade orders ./chart -n shop {inputs}");
        scene.line_of_a_page(&line, "stable")
    };
    let values = || -> Value {
        let run = scene.helm.run(&["get", "values", "orders", "-o", "json"]).succeeds();
        serde_json::from_str(&run.stdout).expect("values are JSON")
    };
    let _ = upgrade("echo image: orders:2 | ", "-f -").succeeds();
    assert_eq!(values(), json!({"image": "orders:2"}));
    let _ = upgrade("", "-f <(echo image: orders:3)").succeeds();
    assert_eq!(values(), json!({"image": "orders:3"}));
    let _ = upgrade("", "--reset-values --set-file note=<(echo one; echo two)").succeeds();
    assert_eq!(values(), json!({"note": "one\ntwo\n"}));
    let all = "--values - -f <(echo b: 2),<(echo c: 3) --set-file d=<(printf 4),e=<(printf 5) --set image=orders:4";
    let _ = upgrade("echo a: 1 | ", all).succeeds();
    assert_eq!(values(), json!({"a": 1, "b": 2, "c": 3, "d": "4", "e": "5", "image": "orders:4"}));
    assert_eq!(scene.get("ConfigMap", "orders")["data"]["image"], "orders:4");
    // What comes through the pipe is what is judged.
    let _ = scene.install("twice", "twice", &[]).succeeds();
    let twice = |hook: bool| {
        let line = format!("echo hook: {hook} | stable-hooks upgrade twice ./chart -n shop -f -");
        scene.line_of_a_page(&line, "twice")
    };
    let before = scene.snapshot();
    let denied = twice(true).fails();
    assert_eq!(denied.code, Some(1), "{}", denied.stderr);
    assert!(denied.stderr.contains("deny release-duplicate-identity"), "{}", denied.stderr);
    assert_eq!(scene.snapshot(), before);
    let _ = twice(false).succeeds();
    report(
        &scene,
        "Each release has the values; and what comes through the pipe is what is judged: with `hook: true` `twice` is denied.",
        Vec::new(),
    )
}

fn without_rights(world: &World, major: Major) -> Report {
    let scene = with_release(world, "without rights", major, "plain-job");
    let api_version = "rbac.authorization.k8s.io/v1";
    let rule = |groups: [&str; 1], resources: &[&str], verbs: &[&str]| json!({"apiGroups": groups, "resources": resources, "verbs": verbs});
    let writes = ["get", "create", "update", "patch", "delete"];
    let all = ["get", "list", "watch", "create", "update", "patch", "delete"];
    for (user, rules) in [
        ("no-secrets", json!([rule([""], &["configmaps"], &all), rule(["batch"], &["jobs"], &all)])),
        (
            "no-jobs",
            json!([
                rule([""], &["configmaps", "secrets", "serviceaccounts"], &all),
                rule(["batch"], &["jobs"], &writes)
            ]),
        ),
    ] {
        let metadata = json!({"name": user, "namespace": scene.namespace});
        let _ = scene.cluster().create(&json!({
            "apiVersion": api_version, "kind": "Role", "metadata": metadata, "rules": rules,
        }));
        let _ = scene.cluster().create(&json!({
            "apiVersion": api_version, "kind": "RoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        }));
    }
    let before = scene.snapshot();
    let upgrade = |scene: &Scene<'_>, user: &str| scene.upgrade("orders", "plain-job", &["--kube-as-user", user]);

    let back = |scene: &Scene<'_>| scene.helm.run(&["rollback", "orders", "1", "--kube-as-user", "no-secrets"]).fails();
    let refused = |scene: &Scene<'_>| [upgrade(scene, "no-secrets"), back(scene)];
    let plain = refused(&scene);
    for options in [&[][..], &["--unjudged", "run"]] {
        for (run, plain) in refused(&scene.guarded(options)).iter().zip(&plain) {
            assert!(plain.stderr.contains("secrets is forbidden"), "{}", plain.stderr);
            assert_eq!((run.code, &run.stdout, &run.stderr), (plain.code, &plain.stdout, &plain.stderr));
        }
    }
    let stopped = upgrade(&scene.guarded(&[]), "no-jobs").fails();
    assert_eq!((stopped.code, stopped.stdout.as_str()), (Some(2), ""), "{}", stopped.stderr);
    assert_eq!(scene.snapshot(), before);
    let run = upgrade(&scene.guarded(&["--unjudged", "run"]), "no-jobs").succeeds();
    assert!(run.stderr.contains("is not judged"), "{}", run.stderr);
    assert_eq!(history_text(&scene.helm.history("orders")), "1 superseded, 2 deployed");
    let seen = "Who may not read Secrets gets Helm's own words and exit code, to an upgrade and to a rollback. Where the Jobs cannot \
                be listed nothing is run, and the exit code is 2; with `--unjudged run` Helm is run.";
    report(&scene, seen, [&stopped, &run].map(|run| said(&scene, run)).to_vec())
}

fn not_to_be_upgraded(world: &World, major: Major) -> Report {
    let scene = Scene::new(world, "not to be upgraded", major, None);
    let same_as_helm = |verb: &str, more: &[&str]| {
        let before = scene.snapshot();
        let [plain, guarded] =
            [scene.clone(), scene.guarded(&[])].map(|scene| scene.operate(verb, "orders", "stable", more).fails());
        assert_eq!((guarded.code, &guarded.stdout, &guarded.stderr), (plain.code, &plain.stdout, &plain.stderr));
        assert_eq!(scene.snapshot(), before);
        plain.error().to_owned()
    };
    let none = same_as_helm("upgrade", &[]);
    assert!(none.contains("has no deployed releases"), "{none}");
    let chart = scene.chart("stable");
    scene.killed(&["install", "orders", &chart], || scene.find("Secret", "sh.helm.release.v1.orders.v1").map(|_| ()));
    let pending = [same_as_helm("upgrade", &[]), same_as_helm("upgrade", &["--install"])];
    report(&scene, "Helm's own words and exit code, and nothing has changed.", [vec![none], pending.to_vec()].concat())
}

fn planned(world: &World, major: Major) -> Report {
    let scene = with_release(world, "planned", major, "upgrade-only-hook");
    let before = scene.snapshot();
    let check = |options: &[&str]| scene.guarded(options).upgrade("orders", "upgrade-only-hook", &[]);
    let run = check(&["--check-only", "-o", "json"]).fails();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let plan: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stdout));
    assert!(plan.is_object(), "{plan}");
    let run = check(&["--check-only", "--accept", FLIP]).succeeds();
    assert!(run.stdout.contains("orders-migrations"), "{}", run.stdout);
    let install = scene.guarded(&["--check-only"]).install("other", "stable", &[]).succeeds();
    assert!(install.stdout.contains("other-migrations"), "{}", install.stdout);
    assert_eq!(scene.snapshot(), before);
    let seen = "It ends with 1 where something is denied, with 0 where that is accepted, and nothing has changed: neither by an \
                upgrade nor by an install.";
    report(&scene, seen, Vec::new())
}

fn twenty_at_once(world: &World, major: Major) -> Report {
    let scene = Scene::new(world, "twenty guarded", major, None);
    let guarded = scene.guarded(&[]);
    let names: Vec<_> = (0..20).map(|number| format!("orders-{number}")).collect();
    let at_once = |operate: &(dyn Fn(&str) -> Run + Sync)| {
        thread::scope(|scope| {
            let running: Vec<_> = names.iter().map(|name| scope.spawn(|| operate(name))).collect();
            for run in running {
                let _ = run.join().expect("the operation ends").succeeds();
            }
        });
    };
    // Without its hooks a release is there at once.
    at_once(&|name| scene.install(name, "stable", &["--no-hooks"]));
    at_once(&|name| guarded.upgrade(name, "stable", &["--set", "image=orders:2"]));
    for name in &names {
        assert_eq!(history_text(&scene.helm.history(name)), "1 superseded, 2 deployed", "{name}");
        assert_eq!(scene.get("ConfigMap", name)["data"]["image"], "orders:2");
    }
    report(&scene, "All succeed; each history has two revisions.", Vec::new())
}

/// An empty folder for temporary files, and the scene with every program of it told to use that one.
fn with_own_temporary_files<'world>(scene: &Scene<'world>) -> (Scene<'world>, std::path::PathBuf) {
    let folder = scene.folder().join("temporary");
    fs::create_dir_all(&folder).expect("the folder is made");
    let mut scene = scene.clone();
    scene.helm.variables.push(("TMPDIR".to_owned(), folder.to_string_lossy().into_owned()));
    (scene, folder)
}
