//! The steps of the rollout page, in their order.

use serde_json::{Value, json};
use stable_hooks_e2e::kubewarden::{Reports, Stack};

use crate::stage::{POLICIES, Stage, migration};
use crate::{Report, Scenario};

const SECTION: &str = "The rollout, step by step";

const WATCH: &str = "## 1. Watch";
const READ: &str = "## 2. Read the reports";
const PROTECT: &str = "## 3. Protect";

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        section: SECTION,
        name: "1. Watch",
        about: "`overlays/monitor` is applied; `upgrade-only-hook` is installed and upgraded, and a hook Job is created.",
        run: watches,
    },
    Scenario {
        section: SECTION,
        name: "2. Read the reports",
        about: "The audit scanner runs while the policies watch; a hook Job without a weight and a plain ServiceAccount live.",
        run: reports,
    },
    Scenario {
        section: SECTION,
        name: "3. Protect",
        about: "`base` is applied after `overlays/monitor`; the same is done again, and somebody wants to go back.",
        run: protects,
    },
];

fn watches(stack: &Stack) -> Report {
    let stage = Stage::new(stack, "watch");
    let _ = stage.run(WATCH);
    stage.settle();
    states(&stage, "monitor", "Ignore");
    let said = stage.with_each_helm(|scene| {
        let _ = scene.install("orders", "upgrade-only-hook", &[]).succeeds();
        scene.settle();
        let before = scene.snapshot();
        let upgrade = scene.upgrade("orders", "upgrade-only-hook", &[]).succeeds();
        let change = before.change_to(&scene.snapshot()).to_string();
        let hook = migration("Job", "by-hand", &json!({"helm.sh/hook": "pre-upgrade"}));
        let created = stage.create(scene, &hook).succeeds();
        assert_eq!(scene.get("Job", "by-hand")["metadata"]["annotations"], hook["metadata"]["annotations"]);
        let warnings = upgrade.warnings().into_iter().chain(created.warnings());
        warnings.map(|warning| scene.shown(&warning)).chain([change]).collect::<Vec<_>>()
    });
    Report::new("Both policies are active, in mode monitor, and their webhooks ignore the server's absence.", said)
}

fn reports(stack: &Stack) -> Report {
    let stage = Stage::with(stack, "reports", "overlays/monitor");
    for scene in &stage.scenes {
        let hook = migration("Job", "by-hand", &json!({"helm.sh/hook": "pre-upgrade"}));
        let _ = stage.create(scene, &hook).succeeds();
    }
    let scanned = stack.scan(Reports::OpenReports).succeeds();
    assert!(!scanned.stdout.contains("\"level\":\"error\""), "{}", scanned.stdout);
    let [shown, _offline] = &stage.run(READ)[..] else { panic!("two commands") };
    let reports = stage.cluster().list("Report", &stage.scene().namespace);
    let said = reports.iter().map(|report| format!("{}: {}", report["scope"]["name"], report["results"]));
    Report::new(&shown.stdout, said.collect())
}

fn protects(stack: &Stack) -> Report {
    let stage = Stage::with(stack, "protect", "overlays/monitor");
    let _ = stage.run(PROTECT);
    stage.settle();
    states(&stage, "protect", "Ignore");
    let said = stage.with_each_helm(|scene| {
        let _ = scene.install("orders", "upgrade-only-hook", &[]).succeeds();
        scene.settle();
        let before = scene.snapshot();
        let upgrade = scene.upgrade("orders", "upgrade-only-hook", &[]).fails();
        assert!(upgrade.is_denied_by("release-identity-flip"), "{}", upgrade.stderr);
        assert_eq!(scene.snapshot(), before);
        let hook = migration("Job", "by-hand", &json!({"helm.sh/hook": "pre-upgrade"}));
        let _ = stage.create(scene, &hook).succeeds();
        scene.get("Job", "by-hand")["metadata"]["annotations"].to_string()
    });
    Report::new(&said, Vec::new())
}

/// Both policies are so, and what the API server obeys is so.
#[track_caller]
fn states(stage: &Stage<'_>, mode: &str, failure_policy: &str) {
    let policies = stage.cluster().list("ClusterAdmissionPolicy", "");
    assert_eq!(policies.len(), 2, "{POLICIES}");
    for policy in &policies {
        let webhook = stage.webhook(policy).expect("the controller makes a webhook");
        let state = [&policy["spec"]["mode"], &policy["status"]["mode"], &webhook["failurePolicy"]].map(Value::as_str);
        assert_eq!(state, [Some(mode), Some(mode), Some(failure_policy)], "{policy}");
    }
}
