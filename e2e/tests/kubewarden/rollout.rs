//! The four steps of the rollout page, in their order.

use serde_json::{Value, json};
use stable_hooks_e2e::cluster::wait_for;
use stable_hooks_e2e::kubewarden::{Reports, Stack};
use stable_hooks_e2e::scene::Scene;

use crate::stage::{POLICIES, Stage, create, migration, without_address};
use crate::{Report, Scenario};

const SECTION: &str = "The rollout, step by step";

pub(crate) const WATCH: &str = "## 1. Watch";
pub(crate) const READ: &str = "## 2. Read the reports";
pub(crate) const PROTECT: &str = "## 3. Protect";
pub(crate) const FAIL_CLOSED: &str = "## 4. Fail closed";

pub(crate) const RECORD: &str = "sh.helm.release.v1.orders.v2";

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        section: SECTION,
        name: "1. Watch",
        about: "`overlays/monitor` is applied. `upgrade-only-hook` is installed and upgraded; a hook Job without a weight and a\n\
                ServiceAccount with an event that Helm does not know are created.",
        run: watches,
    },
    Scenario {
        section: SECTION,
        name: "2. Read the reports",
        about: "The policies watch, and the same hook Job lives. The audit scanner runs as its CronJob says.",
        run: reports,
    },
    Scenario {
        section: SECTION,
        name: "3. Protect",
        about: "`base` is applied after `overlays/monitor`, and the same is done. Then somebody wants to go back.",
        run: protects,
    },
    Scenario {
        section: SECTION,
        name: "4. Fail closed",
        about: "No server answers: while `base` is there, and after `overlays/fail-closed`.",
        run: fails_closed,
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
        assert_eq!(upgrade.warnings(), Vec::<String>::new());
        assert_eq!(
            before.change_to(&scene.snapshot()).to_string(),
            "Gone: Job orders-migrations, ServiceAccount orders-migrations."
        );
        let hook = hook_without_weight();
        let created = create(scene, &hook).succeeds();
        assert_eq!(created.warnings(), Vec::<String>::new());
        assert_eq!(scene.get("Job", "by-hand")["metadata"]["annotations"], hook["metadata"]["annotations"]);
        assert!(found_in_audit(stack, scene, RECORD).contains("release-identity-flip"));
        assert!(found_in_audit(stack, scene, "by-hand").contains("hook-weight"));
        let unknown = migration("ServiceAccount", "unknown", &json!({"helm.sh/hook": "pre-update"}));
        let warned = create(scene, &unknown).succeeds();
        warned.warnings().iter().map(|warning| scene.shown(warning)).collect::<Vec<_>>()
    });
    let seen = "Both policies are active and their webhooks let a server's absence pass. The upgrade goes through, and nobody is\n\
                told: the Job and its ServiceAccount are gone. The hook Job stays as it was written. The API server's audit log\n\
                names both findings. What rules only warn of is said:";
    Report::new(seen, said)
}

fn reports(stack: &Stack) -> Report {
    let stage = Stage::with(stack, "reports", "overlays/monitor");
    let _ = create(stage.scene(), &hook_without_weight()).succeeds();
    let scanned = stack.scan(Reports::OpenReports).succeeds();
    assert!(!scanned.stdout.contains("\"level\":\"error\""), "{}", scanned.stdout);
    let [shown, offline] = &stage.run(READ)[..] else { panic!("two commands") };
    let namespace = &stage.scene().namespace;
    let lines = shown.stdout.lines().filter(|line| line.starts_with(namespace));
    let mut counted: Vec<_> =
        lines.map(|line| line.split_whitespace().skip(2).take(5).collect::<Vec<_>>().join(" ")).collect();
    counted.sort();
    // Pass, fail, warn, error, skip: the releases policy is not audited.
    assert_eq!(counted, ["0 1 0 0 1", "1 0 0 0 1"], "{}", shown.stdout);
    assert!(offline.stdout.contains("\"hook-weight\"") && !offline.success, "{}", offline.stdout);
    let reports = stage.cluster().list("Report", namespace);
    let of_job = reports.iter().find(|report| report["scope"]["kind"] == "Job").expect("a report of the Job");
    let message = of_job["results"][0]["message"].as_str().unwrap_or_default();
    let words: Vec<_> = message.split_whitespace().collect();
    let seen = "Each Job and each ServiceAccount has a report of its own, with one result: the plain ServiceAccount passes, the\n\
                hook Job fails, and `kubectl get reports -A` counts them. The releases policy counts as skipped. Offline, at once,\n\
                the same Job fails.";
    Report::new(seen, vec![stage.scene().shown(&words.join(" "))])
}

fn protects(stack: &Stack) -> Report {
    let stage = Stage::with(stack, "protect", "overlays/monitor");
    let _ = stage.run(PROTECT);
    stage.settle();
    states(&stage, "protect", "Ignore");
    let mut said = stage.with_each_helm(|scene| {
        let denial = flip_is_denied(scene);
        let _ = create(scene, &hook_without_weight()).succeeds();
        let normal = json!({
            "helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-delete-policy": "before-hook-creation",
            "helm.sh/hook-weight": "10",
        });
        assert_eq!(scene.get("Job", "by-hand")["metadata"]["annotations"], normal);
        vec![denial]
    });
    let back = stage.kubectl(&format!(
        "patch {POLICIES} stable-hooks-releases --type merge -p {{\"spec\":{{\"mode\":\"monitor\"}}}}"
    ));
    said.push(back.fails().stderr.trim_end().to_owned());
    let seen = "Both policies protect. The upgrade is denied and nothing has changed; the hook Job is stored in its normal form.\n\
                Kubewarden does not let a policy go back.";
    Report::new(seen, said)
}

fn fails_closed(stack: &Stack) -> Report {
    let stage = Stage::with(stack, "fail closed", "base");
    stage.with_each_helm(|scene| {
        let _ = scene.install("orders", "upgrade-only-hook", &[]).succeeds();
        let _ = scene.install("let-in", "upgrade-only-hook", &[]).succeeds();
        scene.settle();
    });
    stack.outage();
    stage.with_each_helm(|scene| {
        let _ = scene.upgrade("let-in", "upgrade-only-hook", &[]).succeeds();
        let unjudged = stack.let_in_unjudged(&scene.namespace);
        assert!(unjudged.contains(&"sh.helm.release.v1.let-in.v2".to_owned()), "{unjudged:?}");
    });
    stack.outage_is_over();
    stage.settle();
    let _ = stage.run(FAIL_CLOSED);
    stage.settle();
    states(&stage, "protect", "Fail");
    stage.with_each_helm(|scene| assert!(!flip_is_denied_again(scene).is_empty()));
    stack.outage();
    let said = stage.with_each_helm(|scene| {
        let before = scene.snapshot();
        let refused = scene.upgrade("orders", "upgrade-only-hook", &[]).fails();
        assert_eq!(scene.snapshot(), before);
        let _ = scene.helm.run(&["uninstall", "let-in"]).succeeds();
        let (_, why) = refused.error().split_once("Internal error occurred: ").expect("the API server says why");
        vec![without_address(why)]
    });
    stack.outage_is_over();
    stage.settle();
    stage.with_each_helm(|scene| assert!(!flip_is_denied_again(scene).is_empty()));
    let seen = "With `Ignore` the upgrade goes through unjudged, and the API server's audit log names its record (`failed-open`).\n\
                With `Fail` it is refused, nothing has changed, and a release can still be uninstalled. When the servers are back\n\
                everything is judged again, without anybody's doing.";
    Report::new(seen, said)
}

/// What the policy wants to mend.
fn hook_without_weight() -> Value {
    migration("Job", "by-hand", &json!({"helm.sh/hook": "pre-upgrade"}))
}

/// A release is installed, and its upgrade is denied with this.
pub(crate) fn flip_is_denied(scene: &Scene<'_>) -> String {
    let _ = scene.install("orders", "upgrade-only-hook", &[]).succeeds();
    scene.settle();
    flip_is_denied_again(scene)
}

pub(crate) fn flip_is_denied_again(scene: &Scene<'_>) -> String {
    let before = scene.snapshot();
    let upgrade = scene.upgrade("orders", "upgrade-only-hook", &[]).fails();
    assert!(upgrade.is_denied_by("release-identity-flip"), "{}", upgrade.stderr);
    assert_eq!(scene.snapshot(), before);
    scene.shown(&upgrade.denial().expect("a denial says why"))
}

/// The policy's findings about an object, where the API server writes them down.
fn found_in_audit(stack: &Stack, scene: &Scene<'_>, name: &str) -> String {
    wait_for(&format!("the audit log names {name}"), || {
        let audited = stack.audited(&scene.namespace);
        let mut annotations =
            audited.into_iter().filter(|(found, _)| found == name).flat_map(|(_, annotations)| annotations);
        let findings = annotations.find(|(key, _)| key.ends_with(".kubewarden.admission/findings"))?;
        findings.1.as_str().map(str::to_owned)
    })
}

/// Both policies are so, and what the API server obeys is so.
#[track_caller]
pub(crate) fn states(stage: &Stage<'_>, mode: &str, failure_policy: &str) {
    let policies = stage.cluster().list("ClusterAdmissionPolicy", "");
    assert_eq!(policies.len(), 2, "{POLICIES}");
    for policy in &policies {
        let webhook = stage.webhook(policy).expect("the controller makes a webhook");
        let found = [&policy["spec"]["mode"], &policy["status"]["mode"], &webhook["failurePolicy"]].map(Value::as_str);
        assert_eq!(found, [Some(mode), Some(mode), Some(failure_policy)], "{policy}");
    }
}
