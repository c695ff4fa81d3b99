//! What Kyverno makes of the policy's answers, and of none.

use serde_json::{Value, json};
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::scene::history_text;
use stable_hooks_e2e::world::World;

use crate::stage::{Stage, is_denied_by};

const VALIDATES: &str = "validating-policy.yaml";
const FAILS_OPEN: &str = "validating-policy-fail-open.yaml";

/// What it shows, and how.
pub(crate) type Scenario = (&'static str, fn(&World));

pub(crate) const SCENARIOS: &[Scenario] = &[
    ("a flip of a live Job or ServiceAccount is denied with the policy's message", flips_are_denied),
    ("Helm 3 is stopped at its record, and nothing has changed", |world| {
        helm_is_stopped(world, "helm-3", Major::Three);
    }),
    ("Helm 4 is stopped at its record, and nothing has changed", |world| {
        helm_is_stopped(world, "helm-4", Major::Four);
    }),
    ("live hooks are normalized on CREATE and on UPDATE", hooks_are_normalized),
    ("the validating policy fails closed when the server is away", validation_fails_closed),
    ("the validating policy made for it fails open when the server is away", validation_fails_open),
    ("the mutating policy fails closed when the server is away", mutation_fails_closed),
];

fn flips_are_denied(world: &World) {
    let stage = Stage::new(world, "flips", Major::Four);
    stage.validates_with(VALIDATES);
    let (scene, hook) = (&stage.scene, json!({"helm.sh/hook": "pre-install,pre-upgrade"}));
    for object in [
        stage.job("plain", &json!({})),
        stage.job("hook", &hook),
        stage.account("plain", &json!({})),
        stage.account("hook", &hook),
    ] {
        scene.cluster().create(&object);
    }
    scene.settle();
    let before = scene.snapshot();
    for kind in ["job", "serviceaccount"] {
        is_denied_by(scene.kubectl(&["annotate", kind, "plain", "helm.sh/hook=pre-upgrade"]), "identity-flip");
        is_denied_by(scene.kubectl(&["annotate", kind, "hook", "helm.sh/hook-"]), "identity-flip");
    }
    assert_eq!(scene.snapshot(), before);
}

fn helm_is_stopped(world: &World, name: &'static str, major: Major) {
    let stage = Stage::new(world, name, major);
    stage.validates_with(VALIDATES);
    let scene = &stage.scene;
    let _ = scene.install("orders", "upgrade-only-hook", &[]).succeeds();
    scene.settle();
    let before = scene.snapshot();
    is_denied_by(scene.upgrade("orders", "upgrade-only-hook", &[]), "release-identity-flip");
    assert_eq!(scene.snapshot(), before);
    assert_eq!(history_text(&scene.helm.history("orders")), "1 deployed");
}

fn hooks_are_normalized(world: &World) {
    let stage = Stage::new(world, "normal", Major::Four);
    stage.validates_with(VALIDATES);
    stage.normalizes();
    let (scene, off_form) = (&stage.scene, json!({"helm.sh/hook": "Pre-Upgrade", "helm.sh/hook-weight": "first"}));
    for (object, kind, weight) in
        [(stage.job("hook", &off_form), "Job", "10"), (stage.account("hook", &off_form), "ServiceAccount", "0")]
    {
        scene.cluster().create(&object);
        assert_eq!(annotations(&scene.get(kind, "hook")), &normal(weight), "{kind}");
        let _ = scene.kubectl(&["annotate", "--overwrite", kind, "hook", "helm.sh/hook-weight=last"]).succeeds();
        assert_eq!(annotations(&scene.get(kind, "hook")), &normal(weight), "{kind}");
    }
    // Nothing is made a hook.
    scene.cluster().create(&stage.account("plain", &json!({})));
    assert_eq!(annotations(&scene.get("ServiceAccount", "plain")), &Value::Null);
}

fn validation_fails_closed(world: &World) {
    let stage = Stage::new(world, "closed", Major::Four);
    stage.validates_with(VALIDATES);
    fails_closed(&stage);
}

fn mutation_fails_closed(world: &World) {
    let stage = Stage::new(world, "mutation-closed", Major::Four);
    stage.normalizes();
    fails_closed(&stage);
}

fn fails_closed(stage: &Stage<'_>) {
    let hook = stage.account("hook", &json!({"helm.sh/hook": "pre-install,pre-upgrade"}));
    stage.webhook.kill();
    let denial = stage.scene.cluster().try_create(&hook).expect_err("nobody has judged it").to_string();
    assert!(denial.contains("denied the request"), "{denial}");
    assert!(stage.scene.find("ServiceAccount", "hook").is_none());
    stage.webhook.come_back();
    stage.scene.cluster().create(&hook);
}

fn validation_fails_open(world: &World) {
    let stage = Stage::new(world, "open", Major::Four);
    stage.validates_with(FAILS_OPEN);
    let scene = &stage.scene;
    scene.cluster().create(&stage.account("plain", &json!({})));
    let annotate = |annotation| scene.kubectl(&["annotate", "serviceaccount", "plain", annotation]);
    is_denied_by(annotate("helm.sh/hook=pre-upgrade"), "identity-flip");
    stage.webhook.kill();
    let _ = annotate("helm.sh/hook=pre-upgrade").succeeds();
    stage.webhook.come_back();
    is_denied_by(annotate("helm.sh/hook-"), "identity-flip");
}

fn annotations(object: &Value) -> &Value {
    &object["metadata"]["annotations"]
}

fn normal(weight: &str) -> Value {
    json!({
        "helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-weight": weight,
        "helm.sh/hook-delete-policy": "before-hook-creation",
    })
}
