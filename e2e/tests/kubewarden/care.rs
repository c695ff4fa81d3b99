//! What the rollout page says beside its four steps: exceptions, settings, other ways to install, versions, the end.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use stable_hooks_e2e::cluster::{has_condition, wait_for};
use stable_hooks_e2e::helm::Run;
use stable_hooks_e2e::kubewarden::{NAMESPACE, NEXT, Reports, SERVER, Stack};
use stable_hooks_e2e::page::Page;

use crate::rollout::{self, flip_is_denied, flip_is_denied_again, states};
use crate::stage::{POLICIES, Stage, create, migration};
use crate::{Report, Scenario};

const SECTION: &str = "What else the rollout page says";

const ACCEPT: &str = "## To accept a finding once";
const RECORDS: &str = "## To compare with records";
const SETTINGS: &str = "## To change settings";
const ONE_NAMESPACE: &str = "## In one namespace";
const VERSION: &str = "## Policy-server in your controller's version";
const AWAY: &str = "## To take it away";

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        section: SECTION,
        name: "A finding is accepted once",
        about: "`base`; the upgrade that is denied is repeated with the label for its revision, and then once more without it.",
        run: accepts_once,
    },
    Scenario {
        section: SECTION,
        name: "Releases are compared with records",
        about: "`plain-job` with another image, with `base` and then with `overlays/records`.",
        run: records,
    },
    Scenario {
        section: SECTION,
        name: "Settings are changed",
        about: "`overlays/fail-closed`; one rule is set to warn by a patch.",
        run: settings,
    },
    Scenario {
        section: SECTION,
        name: "Settings are wrong",
        about: "`overlays/fail-closed`; a rule is misspelt in a patch, and then mended.",
        run: wrong_settings,
    },
    Scenario {
        section: SECTION,
        name: "The next version, while Helm works",
        about: "`overlays/fail-closed`; both policies get the module of another version, then of one that cannot be fetched. All\n\
                the while Helm upgrades a stable release and a flipping one.",
        run: next_version,
    },
    Scenario {
        section: SECTION,
        name: "One namespace, on Kubewarden's own server",
        about: "`one-namespace` alone is applied in `shop`; somebody makes a hook of a live ServiceAccount there and elsewhere.",
        run: one_namespace,
    },
    Scenario {
        section: SECTION,
        name: "policy-server in the controller's version",
        about: "The kustomization of the page, with another image.",
        run: image,
    },
    Scenario {
        section: SECTION,
        name: "Kubewarden's own namespace",
        about: "`base`; an event that Helm does not know, in the namespace `kubewarden`, before and after\n\
                `allowInsideAdmissionControllerNamespace`.",
        run: own_namespace,
    },
    Scenario {
        section: SECTION,
        name: "It is taken away without a trace",
        about: "Every overlay of the page is applied, one after the other, and `base` deleted. Then the audit scanner runs.",
        run: taken_away,
    },
];

/// Each command of the page is run by a scenario.
pub(crate) fn assert_complete() {
    let page = Page::read("rollout.md");
    let steps = [rollout::WATCH, rollout::READ, rollout::PROTECT, rollout::FAIL_CLOSED];
    let others = [ACCEPT, RECORDS, SETTINGS, ONE_NAMESPACE, VERSION, AWAY];
    let run: BTreeSet<_> = steps.iter().chain(&others).flat_map(|heading| page.commands_below(heading)).collect();
    assert_eq!(
        run,
        page.commands().into_iter().collect(),
        "each command of docs/rollout.md is below one of these headings"
    );
}

fn accepts_once(stack: &Stack) -> Report {
    let stage = Stage::with(stack, "accept", "base");
    let said = stage.with_each_helm(|scene| {
        let _ = flip_is_denied(scene);
        let [command] = &stage.page.commands_below(ACCEPT)[..] else { panic!("one command") };
        let accepted = scene.line_of_a_page(&command.replace("=7", "=2"), "upgrade-only-hook").succeeds();
        // Once more it is a flip for the rule, as nothing of it is left; and the label was for revision 2.
        let again = scene.upgrade("orders", "upgrade-only-hook", &[]);
        assert!(again.success, "{}", again.stderr);
        accepted.warnings().iter().map(|warning| scene.shown(warning)).collect::<Vec<_>>()
    });
    Report::new(
        "It goes through, and what it costs is said as a warning. The next upgrade flips nothing any more.",
        said,
    )
}

fn records(stack: &Stack) -> Report {
    let stage = Stage::with(stack, "records", "base");
    stage.with_each_helm(|scene| {
        let _ = scene.install("orders", "plain-job", &[]).succeeds();
        scene.settle();
        let upgrade = scene.upgrade("orders", "plain-job", &["--set", "image=orders:2"]).fails();
        assert!(upgrade.warnings().iter().any(|warning| warning.contains("job-template-change")), "{}", upgrade.stderr);
        assert_eq!(scene.get("ConfigMap", "orders")["data"]["image"], "orders:2", "half an upgrade");
        let _ = scene.helm.run(&["uninstall", "orders"]).succeeds();
    });
    let _ = stage.run(RECORDS);
    stage.settle();
    let said = stage.with_each_helm(|scene| {
        let _ = scene.install("orders", "plain-job", &[]).succeeds();
        scene.settle();
        let before = scene.snapshot();
        let upgrade = scene.upgrade("orders", "plain-job", &["--set", "image=orders:2"]).fails();
        assert!(upgrade.is_denied_by("job-template-change"), "{}", upgrade.stderr);
        assert_eq!(scene.snapshot(), before);
        vec![scene.shown(&upgrade.denial().expect("a denial says why"))]
    });
    Report::new(
        "With `base` there is a warning, and Helm fails halfway. With records it is denied, and nothing has changed.",
        said,
    )
}

fn settings(stack: &Stack) -> Report {
    let stage = Stage::with(stack, "settings", "overlays/fail-closed");
    stage.with_each_helm(|scene| assert!(!flip_is_denied(scene).is_empty()));
    let _ = stage.run(SETTINGS);
    stage.settle();
    let said = stage.with_each_helm(|scene| {
        let upgrade = scene.upgrade("orders", "upgrade-only-hook", &[]).succeeds();
        upgrade.warnings().iter().map(|warning| scene.shown(warning)).collect::<Vec<_>>()
    });
    Report::new("All Pods are new and have the settings; the flip is let in with a warning.", said)
}

fn wrong_settings(stack: &Stack) -> Report {
    let stage = Stage::with(stack, "wrong settings", "overlays/fail-closed");
    let patch = |rule: &str| {
        let patch = json!({"spec": {"settings": {"rules": {rule: "warn"}}}});
        let _ = stage.kubectl(&format!("patch {POLICIES} stable-hooks-releases --type merge -p {patch}")).succeeds();
    };
    patch("release-identity-flips");
    let why = wait_for("a new Pod fails", || stack.ended().first().cloned());
    assert!(why.contains("rules.release-identity-flips: unknown field, expected one of"), "{why}");
    let pods = stage.pods(SERVER);
    let ready = pods.iter().filter(|pod| has_condition(pod, "Ready")).count();
    assert_eq!((pods.len(), ready), (3, 2), "two old ones, one new");
    stage.with_each_helm(|scene| assert!(!flip_is_denied(scene).is_empty(), "the old settings count"));
    let policy = wait_for("the controller says so", || {
        let policy = stage.cluster().find("ClusterAdmissionPolicy", "", "stable-hooks-releases")?;
        (!has_condition(&policy, "PolicyUniquelyReachable")).then_some(policy)
    });
    assert_eq!(policy["status"]["policyStatus"], "active");
    assert!(!has_condition(&policy, "PolicyActive"));
    let webhook = stage.webhook(&policy).expect("the webhook stays");
    assert_eq!(webhook["failurePolicy"], "Fail");
    let said = policy["status"]["conditions"].as_array().into_iter().flatten().map(|condition| {
        let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        format!("{}: {} ({})", text("type"), text("status"), text("message"))
    });
    let said: Vec<_> = said.filter(|line| !line.starts_with("PolicyServerConfig")).collect();
    // A merge patch would leave the misspelt one.
    let _ = stage.kubectl(&format!("patch {POLICIES} stable-hooks-releases --type json -p [{{\"op\":\"replace\",\"path\":\"/spec/settings\",\"value\":{{}}}}]")).succeeds();
    stage.settle();
    stage.with_each_helm(|scene| assert!(!flip_is_denied_again(scene).is_empty()));
    let seen = "The first new Pod ends with the reason in its log: `rules.release-identity-flips: unknown field, expected one of`\n\
                and the rules that there are. The two old ones go on with the old settings: a flip is denied. The policy's status still says `active`, and only its\n\
                conditions say that something is amiss. With good settings the Pods are replaced.";
    Report::new(seen, said)
}

fn next_version(stack: &Stack) -> Report {
    let stage = Stage::with(stack, "next version", "overlays/fail-closed");
    stage.with_each_helm(|scene| {
        assert!(!flip_is_denied(scene).is_empty());
        let _ = scene.install("stable", "stable", &[]).succeeds();
    });
    let modules = |version: &str| {
        for (policy, module) in [("stable-hooks", "stable-hooks"), ("stable-hooks-releases", "stable-hooks-releases")] {
            let module = format!("registry://ghcr.io/stable-hooks/policies/{module}:{version}");
            let patch = json!({"spec": {"module": module}});
            let _ = stage.kubectl(&format!("patch {POLICIES} {policy} --type merge -p {patch}")).succeeds();
        }
    };
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        let workers = stage.scenes.each_ref().map(|scene| {
            let ends = &ends;
            scope.spawn(move || {
                let mut rounds = 0;
                while !ends.load(Ordering::Relaxed) {
                    let image = format!("image=orders:{rounds}");
                    let _ = answered(|| scene.upgrade("stable", "stable", &["--set", &image])).succeeds();
                    let before = scene.snapshot();
                    let flip = answered(|| scene.upgrade("orders", "upgrade-only-hook", &[])).fails();
                    assert!(flip.is_denied_by("release-identity-flip"), "{}", flip.stderr);
                    assert_eq!(scene.snapshot(), before);
                    rounds += 1;
                }
                rounds
            })
        });
        modules(NEXT);
        stage.settle();
        modules("v0.0.0-none");
        let why = wait_for("a new Pod fails", || stack.ended().first().cloned());
        assert!(Stack::is_real() || why.contains("v0.0.0-none"), "{why}");
        thread::sleep(Duration::from_secs(3));
        assert_eq!(stage.pods(SERVER).iter().filter(|pod| has_condition(pod, "Ready")).count(), 2);
        modules(NEXT);
        stage.settle();
        ends.store(true, Ordering::Relaxed);
        for worker in workers {
            let rounds: i32 = worker.join().expect("Helm is judged all the while");
            assert!(rounds > 3, "{rounds}");
        }
    });
    let seen = "Every upgrade of the stable release goes through and every flip is denied, while the Pods are replaced and while\n\
                the new ones cannot start; none goes unjudged. policy-server ends without a word to those who are with it, so what\n\
                asks it in that very moment may be refused (`EOF`), and goes through when it is repeated.";
    Report::new(seen, Vec::new())
}

/// What is asked of a server in the moment in which that ends is refused, and asked again.
fn answered(ask: impl Fn() -> Run) -> Run {
    let run = ask();
    let is_cut = run.stderr.contains("failed calling webhook")
        && ["EOF", "connection reset by peer"].iter().any(|word| run.stderr.contains(word));
    if is_cut { ask() } else { run }
}

fn one_namespace(stack: &Stack) -> Report {
    let stage = Stage::new(stack, "one namespace");
    let _ = stage.run(ONE_NAMESPACE);
    let [elsewhere, shop] = &stage.scenes;
    let namespace = shop.namespace.as_str();
    wait_for("the policy is served", || stage.is_settled("default", "AdmissionPolicy", namespace).then_some(()));
    let plain = migration("ServiceAccount", "plain", &json!({}));
    for scene in [elsewhere, shop] {
        let _ = create(scene, &plain).succeeds();
    }
    let flip = ["annotate", "serviceaccount", "plain", "helm.sh/hook=pre-upgrade"];
    let denied = wait_for("the API server asks", || {
        Some(shop.kubectl(&[&flip[..], &["--dry-run=server"]].concat())).filter(|run| !run.success)
    });
    assert!(denied.is_denied_by("identity-flip"), "{}", denied.stderr);
    let _ = elsewhere.kubectl(&flip).succeeds();
    // A release's record is nothing that this policy looks at; its objects are.
    let _ = shop.install("orders", "upgrade-only-hook", &[]).succeeds();
    let _ = shop.upgrade("orders", "upgrade-only-hook", &[]).succeeds();
    let _ = stage.kubectl(&format!("delete -n {namespace} -k policy/manifests/one-namespace")).succeeds();
    wait_for("it is gone", || stage.is_settled("default", "AdmissionPolicy", namespace).then_some(()));
    let seen = "The policy is active on the server `default`. In `shop` it is denied, elsewhere not. Helm's flip, a deletion and a\n\
                creation for the API server, goes through in `shop` too: no AdmissionPolicy sees the records.";
    Report::new(seen, vec![shop.shown(&denied.denial().expect("a denial says why"))])
}

fn image(stack: &Stack) -> Report {
    let stage = Stage::with(stack, "image", "overlays/monitor");
    let [shown] = &stage.run(VERSION)[..] else { panic!("one command") };
    let shipped = stage.cluster().find("PolicyServer", "", SERVER).expect("our server");
    assert_eq!(shipped["spec"]["image"], shown.stdout.trim(), "the manifests are for the Kubewarden that runs here");
    let page = crate::stage::read("docs/rollout.md");
    let (_, rest) = page.split_once("```yaml\n").expect("a kustomization");
    let (kustomization, _) = rest.split_once("```").expect("its end");
    let (before, rest) =
        kustomization.split_once("https://github.com/stable-hooks/stable-hooks//").expect("the overlay");
    let (folder, after) = rest.split_once("?ref=").expect("its version");
    let (_, after) = after.split_once('\n').expect("more");
    let own = stage.scene().folder().join("own");
    fs::create_dir_all(&own).expect("a folder");
    // kustomize wants a path that begins nowhere.
    fs::create_dir_all(own.join("policy")).expect("a folder");
    let manifests = concat!(env!("CARGO_MANIFEST_DIR"), "/../policy/manifests");
    let copied = std::process::Command::new("cp").args(["-R", manifests]).arg(own.join("policy")).status();
    assert!(copied.expect("cp runs").success());
    fs::write(own.join("kustomization.yaml"), format!("{before}{folder}\n{after}")).expect("the file is written");
    let _ = stage.kubectl(&format!("apply -k {}", own.display())).succeeds();
    stage.settle();
    wait_for("the Pods have the image", || {
        let pods = stage.pods(SERVER);
        let is_new = |pod: &Value| {
            pod["spec"]["containers"][0]["image"].as_str().is_some_and(|image| image.ends_with(":v1.36.1"))
        };
        (pods.len() == 2 && pods.iter().all(|pod| is_new(pod) && has_condition(pod, "Ready"))).then_some(())
    });
    states(&stage, "monitor", "Ignore");
    let seen = "The command prints the image that the manifests name. With the kustomization both Pods have the other one, and\n\
                both policies are active.";
    Report::new(seen, Vec::new())
}

fn own_namespace(stack: &Stack) -> Report {
    let stage = Stage::with(stack, "own namespace", "base");
    let account = migration("ServiceAccount", "unknown", &json!({"helm.sh/hook": "pre-update"}));
    let file = stage.scene().file("own", &account);
    let dry_run = || -> Run { stage.kubectl(&format!("create --dry-run=server -n {NAMESPACE} -f {file}")).succeeds() };
    assert_eq!(dry_run().warnings(), Vec::<String>::new());
    let patch = json!({"spec": {"allowInsideAdmissionControllerNamespace": true}});
    let _ = stage.kubectl(&format!("patch {POLICIES} stable-hooks --type merge -p {patch}")).succeeds();
    wait_for("the API server asks there too", || Some(dry_run().warnings()).filter(|warnings| !warnings.is_empty()));
    Report::new("Before, nothing is said; after, the policy warns there as everywhere.", Vec::new())
}

fn taken_away(stack: &Stack) -> Report {
    let stage = Stage::new(stack, "taken away");
    let _ = stack.scan(Reports::OpenReports).succeeds();
    let before = stage.traces();
    for overlay in ["overlays/monitor", "base", "overlays/records", "overlays/fail-closed"] {
        stage.apply(overlay);
    }
    let _ = stack.scan(Reports::OpenReports).succeeds();
    let there: Vec<_> = stage.traces().difference(&before).cloned().collect();
    assert!(there.iter().any(|trace| trace.starts_with("Report ")) && there.len() > 12, "{there:?}");
    let _ = stage.run(AWAY);
    let _ = stack.scan(Reports::OpenReports).succeeds();
    wait_for("the controller and the garbage collector are done", || (stage.traces() == before).then_some(()));
    let mut kinds: Vec<_> = there.iter().filter_map(|trace| trace.split(' ').next()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let seen = format!("Nothing is left of what had been made, in these kinds: {}.", kinds.join(", "));
    Report::new(&seen, Vec::new())
}
