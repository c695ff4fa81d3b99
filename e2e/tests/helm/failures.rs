//! What happens when parts of the policy fail, or are asked for much.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use stable_hooks_e2e::cluster::wait_for;
use stable_hooks_e2e::helm::{Major, Run};
use stable_hooks_e2e::scene::{Scene, history_text};
use stable_hooks_e2e::webhook::{Answered, Options, Webhook};
use stable_hooks_e2e::world::{LIVE, World, looks_at_objects, may_get};

use crate::works::report;
use crate::{Case, Report};

const CASE: Case = Case { section: "When parts fail", ..Case::EMPTY };

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "The policy server is stopped, and failures are ignored",
        about: "`failurePolicy: Ignore`: the flip of `upgrade-only-hook` goes through as if there were no policy.",
        run: |world, major| {
            let stage =
                Stage::new(world, major, "stopped ignore", Options { failure_policy: "Ignore", ..Options::default() });
            let scene = stage.with_release();
            stage.webhook.kill();
            let run = scene.upgrade("orders", "upgrade-only-hook", &[]).succeeds();
            assert!(scene.find("Job", "orders-migrations").is_none(), "the harm is done");
            report(&scene, "`helm upgrade` succeeds; the Job and its ServiceAccount are gone.", &[run])
        },
        ..CASE
    },
    Case {
        name: "The policy server is stopped, and failures count",
        about: "`failurePolicy: Fail`, Kubewarden's default; then the server comes back.",
        run: |world, major| {
            let stage = Stage::new(world, major, "stopped fail", Options::default());
            let scene = stage.with_release();
            stage.webhook.kill();
            let before = scene.snapshot();
            let run = scene.upgrade("orders", "upgrade-only-hook", &[]).fails();
            assert!(run.error().contains("failed calling webhook"), "{}", run.stderr);
            assert_eq!(scene.snapshot(), before);
            stage.webhook.come_back();
            let again = scene.upgrade("orders", "upgrade-only-hook", &[]).fails();
            assert!(again.denial().is_some(), "{}", again.stderr);
            let seen = "`helm upgrade` fails (`failed calling webhook`) and nothing has changed. As soon as the server is \
                        back, it denies the flip.";
            report(&scene, seen, &[])
        },
        ..CASE
    },
    Case {
        name: "The policy server is killed in the middle of an upgrade",
        about: "`stable`: killed when the record is written, before the hooks are; then it comes back.",
        run: killed_midway,
        ..CASE
    },
    Case {
        name: "The policy server is too slow, and failures are ignored",
        about: "It answers after 3 seconds, and the API server waits for 1.",
        run: |world, major| {
            let options = Options { failure_policy: "Ignore", ..slow() };
            let stage = Stage::new(world, major, "slow ignore", options);
            let scene = stage.scene();
            let run = scene.install("orders", "stable", &[]).succeeds();
            report(&scene, "`helm install` succeeds, later; nothing is judged or normalized.", &[run])
        },
        ..CASE
    },
    Case {
        name: "The policy server is too slow, and failures count",
        about: "The same with `failurePolicy: Fail`.",
        run: |world, major| {
            let stage = Stage::new(world, major, "slow fail", slow());
            // Watched from the start, the namespace would not even get its default ServiceAccount.
            let scene = Scene::new(world, &stage.name, major, None);
            scene.is_watched_by(&stage.name);
            let before = scene.snapshot();
            let run = scene.install("orders", "stable", &[]).fails();
            assert!(run.error().contains("failed calling webhook"), "{}", run.stderr);
            assert_eq!(scene.snapshot(), before);
            report(&scene, "`helm install` fails (`failed calling webhook`) and nothing has changed.", &[])
        },
        ..CASE
    },
    Case {
        name: "No right to read Jobs",
        about: "`upgrade-only-hook`: the flip of the ServiceAccount is still seen.",
        run: |world, major| {
            let may = json!([may_get("", "serviceaccounts")]);
            is_denied_with_a_warning(
                world,
                major,
                "no jobs",
                may,
                json!({}),
                "ServiceAccount shop/orders-migrations: is live",
            )
        },
        ..CASE
    },
    Case {
        name: "No right to read ServiceAccounts",
        about: "`upgrade-only-hook`: the flip of the Job is still seen.",
        run: |world, major| {
            let may = json!([may_get("batch", "jobs")]);
            is_denied_with_a_warning(world, major, "no accounts", may, json!({}), "Job shop/orders-migrations: is live")
        },
        ..CASE
    },
    Case {
        name: "No right to read Secrets",
        about: "`upgrade-only-hook` with `releases.baseline: record`: the live objects are still compared.",
        run: |world, major| {
            let settings = json!({"releases": {"baseline": "record"}});
            is_denied_with_a_warning(
                world,
                major,
                "no secrets",
                looks_at_objects(),
                settings,
                "ServiceAccount and Job shop/orders-migrations: each is live",
            )
        },
        ..CASE
    },
    Case {
        name: "No right to read anything",
        about: "`upgrade-only-hook`: what could not be looked up is named, and nothing is denied for it.",
        run: |world, major| {
            let stage = Stage::permitted(world, major, "nothing", Options::default(), json!([]));
            let scene = stage.with_release();
            let run = scene.upgrade("orders", "upgrade-only-hook", &[]).succeeds();
            assert!(run.stderr.contains("RBAC"), "{}", run.stderr);
            report(&scene, "`helm upgrade` succeeds, and does its harm.", &[run])
        },
        ..CASE
    },
    Case {
        name: "A record of one MiB",
        about: "`upgrade-only-hook` with a large file in it that cannot be compressed: as large as Kubernetes takes a Secret.",
        run: large_record,
        ..CASE
    },
    Case {
        name: "Twenty operations at once",
        about: "Ten releases of `upgrade-only-hook` are upgraded while ten of `stable` are installed.",
        run: twenty_at_once,
        ..CASE
    },
    Case {
        name: "Garbage for the webhook",
        about: "No JSON, no AdmissionReview, the wrong content type, more than 2 MiB, no HTTP, an unknown policy; then a release.",
        run: garbage,
        helms: &[Major::Four],
        ..CASE
    },
];

/// A webhook of its own, and a namespace that it watches.
struct Stage<'world> {
    world: &'world World,
    major: Major,
    name: String,
    webhook: Webhook,
}

impl<'world> Stage<'world> {
    fn new(world: &'world World, major: Major, name: &str, options: Options) -> Self {
        Self::permitted(world, major, name, options, looks_at_objects())
    }

    fn permitted(world: &'world World, major: Major, name: &str, options: Options, may: Value) -> Self {
        let name = format!("{}-{}", name.replace(' ', "-"), major.number());
        let webhook = world.webhook(&name, &options, &may);
        Self { world, major, name, webhook }
    }

    fn scene(&self) -> Scene<'world> {
        Scene::new(self.world, &self.name, self.major, Some(&self.name))
    }

    fn with_release(&self) -> Scene<'world> {
        let scene = self.scene();
        let _ = scene.install("orders", "upgrade-only-hook", &[]).succeeds();
        scene.settle();
        scene
    }
}

fn slow() -> Options {
    Options { timeout_seconds: 1, delay: Duration::from_secs(3), ..Options::default() }
}

fn killed_midway(world: &World, major: Major) -> Report {
    // Slow enough that it can be killed between the record and the hooks.
    let stage = Stage::new(world, major, "killed", Options { delay: Duration::from_secs(1), ..Options::default() });
    let scene = stage.scene();
    let _ = scene.install("orders", "stable", &[]).succeeds();
    let run = thread::scope(|scope| {
        let upgrade = scope.spawn(|| scene.upgrade("orders", "stable", &["--set", "image=orders:2"]));
        wait_for("the record of revision 2", || scene.find("Secret", "sh.helm.release.v1.orders.v2"));
        stage.webhook.kill();
        upgrade.join().expect("the upgrade ends")
    })
    .fails();
    assert!(run.error().contains("failed calling webhook"), "{}", run.stderr);
    assert_eq!(history_text(&scene.helm.history("orders")), "1 deployed, 2 failed");
    stage.webhook.come_back();
    let again = scene.upgrade("orders", "stable", &["--set", "image=orders:2"]).succeeds();
    assert_eq!(history_text(&scene.helm.history("orders")), "1 superseded, 2 failed, 3 deployed");
    let seen = "The upgrade fails (`failed calling webhook`) as revision 2. When the server is back, the next upgrade \
                succeeds as revision 3.";
    report(&scene, seen, &[again])
}

fn is_denied_with_a_warning(
    world: &World,
    major: Major,
    name: &str,
    may: Value,
    settings: Value,
    denial: &str,
) -> Report {
    let stage = Stage::permitted(world, major, name, Options { settings, ..Options::default() }, may);
    let scene = stage.with_release();
    let before = scene.snapshot();
    let run = scene.upgrade("orders", "upgrade-only-hook", &[]).fails();
    let denied = run.denial().map(|text| scene.shown(&text)).unwrap_or_default();
    assert!(denied.contains(denial), "{}", run.stderr);
    assert!(run.warnings().iter().any(|warning| warning.contains("RBAC")), "{}", run.stderr);
    assert_eq!(scene.snapshot(), before);
    report(&scene, "The upgrade is denied and nothing has changed.", &[run])
}

fn large_record(world: &World, major: Major) -> Report {
    let scene = Scene::new(world, "a large record", major, Some(LIVE));
    let chart = scene.folder().join("upgrade-only-hook");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/upgrade-only-hook"), &chart);
    fs::write(chart.join("large"), noise(740 * 1024)).expect("the file is written");
    let chart = chart.to_string_lossy();
    let _ = scene.helm.run(&["install", "orders", &chart]).succeeds();
    scene.settle();
    let record = scene.get("Secret", "sh.helm.release.v1.orders.v1");
    // Base64 of what counts against the limit of 1,048,576 bytes.
    let bytes = record["data"]["release"].as_str().map_or(0, str::len) / 4 * 3;
    assert!(bytes > 1_000_000, "{bytes} bytes");
    let before = scene.snapshot();
    let run = scene.helm.run(&["upgrade", "orders", &chart]).fails();
    assert!(run.is_denied_by("release-identity-flip"), "{}", run.stderr);
    assert_eq!(scene.snapshot(), before);
    report(&scene, "Installed; the flip is denied and nothing has changed.", &[])
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder is made");
    for entry in fs::read_dir(from).expect("the chart is read") {
        let path = entry.expect("the chart is read").path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            let _ = fs::copy(&path, &target).expect("the file is copied");
        }
    }
}

/// Bytes that do not compress, the same each time.
fn noise(length: usize) -> Vec<u8> {
    let mut state: u64 = 1;
    let mut next = || {
        // Marsaglia's xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..length / 8).flat_map(|_| next()).collect()
}

fn twenty_at_once(world: &World, major: Major) -> Report {
    let scene = Scene::new(world, "twenty at once", major, Some(LIVE));
    let names: Vec<_> = (0..10).map(|number| (format!("flips-{number}"), format!("stable-{number}"))).collect();
    let at_once = |operations: Vec<(&'static str, &str, &'static str)>| -> Vec<Run> {
        let run = |(verb, release, chart)| scene.operate(verb, release, chart, &[]);
        thread::scope(|scope| {
            let running: Vec<_> = operations.into_iter().map(|operation| scope.spawn(move || run(operation))).collect();
            running.into_iter().map(|operation| operation.join().expect("the operation ends")).collect()
        })
    };
    for run in at_once(names.iter().map(|(flips, _)| ("install", flips.as_str(), "upgrade-only-hook")).collect()) {
        let _ = run.succeeds();
    }
    scene.settle();
    let (flips, stables): (Vec<_>, Vec<_>) = names
        .iter()
        .map(|(flips, stable)| {
            (("upgrade", flips.as_str(), "upgrade-only-hook"), ("install", stable.as_str(), "stable"))
        })
        .unzip();
    for run in at_once([flips, stables].concat()) {
        if run.command.contains("upgrade-only-hook") {
            let run = run.fails();
            assert!(run.is_denied_by("release-identity-flip"), "{}", run.stderr);
        } else {
            let _ = run.succeeds();
        }
    }
    report(&scene, "The ten flips are denied, the ten installs succeed.", &[])
}

fn garbage(world: &World, major: Major) -> Report {
    let stage = Stage::new(world, major, "garbage", Options::default());
    let json = "application/json";
    let large = vec![b' '; 2 * 1024 * 1024 + 1];
    let request = br#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1"}}"#;
    let mut seen = Vec::new();
    for (what, policy, content_type, body) in [
        ("no JSON", "objects", json, &b"\xff{garbage"[..]),
        ("no AdmissionReview", "objects", json, b"[]"),
        ("the wrong content type", "objects", "text/plain", b"{}"),
        ("more than 2 MiB", "objects", json, &large),
        ("an unknown policy", "unknown", json, request),
        ("a request without an operation", "objects", json, request),
    ] {
        let Answered { status, body } = stage.webhook.post(policy, content_type, body);
        let answer: Value = serde_json::from_str(&body).unwrap_or(Value::Null);
        let code =
            answer.pointer("/response/status/code").map(|code| format!(", denied with {code}")).unwrap_or_default();
        seen.push(format!("{what}: HTTP {status}{code}"));
    }
    stage.webhook.send_no_http();
    let scene = stage.with_release();
    let run = scene.upgrade("orders", "upgrade-only-hook", &[]).fails();
    assert!(run.denial().is_some(), "{}", run.stderr);
    report(&scene, &format!("Answered: {}. After all that it still denies a flip.", seen.join("; ")), &[])
}
