//! What Kyverno makes of the policy's answers, and of none.

use serde_json::{Value, json};
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::proof::Entry;
use stable_hooks_e2e::scene::history_text;
use stable_hooks_e2e::world::World;

use crate::stage::Stage;

const VALIDATES: &str = "validating-policy.yaml";
const FAILS_OPEN: &str = "validating-policy-fail-open.yaml";

const JUDGES: &str = "What is denied and what is changed";
const AWAY: &str = "When the server is away";

pub(crate) struct Scenario {
    section: &'static str,
    pub(crate) name: &'static str,
    about: &'static str,
    pub(crate) run: fn(&World) -> Report,
}

/// What a scenario asserts, in words, and what Kyverno said.
pub(crate) struct Report {
    pub(crate) seen: &'static str,
    pub(crate) said: Vec<String>,
}

impl Scenario {
    pub(crate) fn entry(&self) -> Entry {
        Entry { section: self.section, name: self.name, about: self.about, harm: None }
    }
}

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        section: JUDGES,
        name: "A flip of a live Job or ServiceAccount is denied",
        about: "`validating-policy.yaml`; kubectl adds `helm.sh/hook` to what is plain, and takes it from what is a hook.",
        run: flips_are_denied,
    },
    Scenario {
        section: JUDGES,
        name: "Helm 3 is stopped at its record",
        about: "`validating-policy.yaml`; `upgrade-only-hook` is installed and upgraded.",
        run: |world| helm_is_stopped(world, "helm-3", Major::Three),
    },
    Scenario {
        section: JUDGES,
        name: "Helm 4 is stopped at its record",
        about: "The same with Helm 4.",
        run: |world| helm_is_stopped(world, "helm-4", Major::Four),
    },
    Scenario {
        section: JUDGES,
        name: "Live hooks are brought to the normal form",
        about: "`validating-policy.yaml` and `mutating-policy.yaml`; a Job and a ServiceAccount, created and changed.",
        run: hooks_are_normalized,
    },
    Scenario {
        section: AWAY,
        name: "The validating policy fails closed",
        about: "`validating-policy.yaml`; the server is stopped, and comes back.",
        run: validation_fails_closed,
    },
    Scenario {
        section: AWAY,
        name: "The validating policy made for it fails open",
        about: "`validating-policy-fail-open.yaml`; the server is stopped, and comes back.",
        run: validation_fails_open,
    },
    Scenario {
        section: AWAY,
        name: "The mutating policy fails closed",
        about: "`mutating-policy.yaml`; the server is stopped, and comes back.",
        run: mutation_fails_closed,
    },
];

fn flips_are_denied(world: &World) -> Report {
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
    let (before, mut said) = (scene.snapshot(), Vec::new());
    for kind in ["job", "serviceaccount"] {
        for (name, annotation) in [("plain", "helm.sh/hook=pre-upgrade"), ("hook", "helm.sh/hook-")] {
            said.push(stage.denial(scene.kubectl(&["annotate", kind, name, annotation]), "identity-flip"));
        }
    }
    assert_eq!(scene.snapshot(), before);
    Report { seen: "Each of the four is denied, and nothing has changed.", said }
}

fn helm_is_stopped(world: &World, name: &'static str, major: Major) -> Report {
    let stage = Stage::new(world, name, major);
    stage.validates_with(VALIDATES);
    let scene = &stage.scene;
    let _ = scene.install("orders", "upgrade-only-hook", &[]).succeeds();
    scene.settle();
    let before = scene.snapshot();
    let said = stage.denial(scene.upgrade("orders", "upgrade-only-hook", &[]), "release-identity-flip");
    assert_eq!(scene.snapshot(), before);
    assert_eq!(history_text(&scene.helm.history("orders")), "1 deployed");
    Report { seen: "The upgrade is denied, nothing has changed, and revision 1 is the last one.", said: vec![said] }
}

fn hooks_are_normalized(world: &World) -> Report {
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
    let seen = "After the CREATE and after an UPDATE the hooks have the normal form; what is plain stays plain.";
    Report { seen, said: Vec::new() }
}

fn validation_fails_closed(world: &World) -> Report {
    let stage = Stage::new(world, "closed", Major::Four);
    stage.validates_with(VALIDATES);
    fails_closed(&stage)
}

fn mutation_fails_closed(world: &World) -> Report {
    let stage = Stage::new(world, "mutation-closed", Major::Four);
    stage.normalizes();
    fails_closed(&stage)
}

fn fails_closed(stage: &Stage<'_>) -> Report {
    let hook = stage.account("hook", &json!({"helm.sh/hook": "pre-install,pre-upgrade"}));
    stage.webhook.kill();
    let denial = stage.scene.cluster().try_create(&hook).expect_err("nobody has judged it").to_string();
    assert!(denial.contains("denied the request"), "{denial}");
    assert!(stage.scene.find("ServiceAccount", "hook").is_none());
    stage.webhook.come_back();
    stage.scene.cluster().create(&hook);
    Report {
        seen: "A hook is denied while nobody can judge it, and created when the server is back.",
        said: Vec::new(),
    }
}

fn validation_fails_open(world: &World) -> Report {
    let stage = Stage::new(world, "open", Major::Four);
    stage.validates_with(FAILS_OPEN);
    let scene = &stage.scene;
    scene.cluster().create(&stage.account("plain", &json!({})));
    let annotate = |annotation| scene.kubectl(&["annotate", "serviceaccount", "plain", annotation]);
    let said = stage.denial(annotate("helm.sh/hook=pre-upgrade"), "identity-flip");
    stage.webhook.kill();
    let _ = annotate("helm.sh/hook=pre-upgrade").succeeds();
    stage.webhook.come_back();
    let _ = stage.denial(annotate("helm.sh/hook-"), "identity-flip");
    let seen = "A flip is denied; while the server is away it goes through; when it is back the flip back is denied.";
    Report { seen, said: vec![said] }
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
