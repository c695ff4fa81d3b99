//! Each harm: it happens without the policy; with it Helm is stopped before it touches anything.

use serde_json::Value;
use stable_hooks_e2e::cluster::{has_condition, wait_for};
use stable_hooks_e2e::helm::{Major, Run};
use stable_hooks_e2e::proof::Entry;
use stable_hooks_e2e::scene::{Change, Scene, history_text};
use stable_hooks_e2e::world::{LIVE, RECORDS, STRICT, World, settings};

const SECTION: &str = "Harm, and how it is stopped";

/// What the guard comes to.
pub(crate) const GUARDED: &str = "denied; nothing has changed";

pub(crate) struct Harm {
    section: &'static str,
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// What `harmed` asserts, in words.
    without: &'static str,
    /// The rule that denies it.
    rule: &'static str,
    /// What the denial names, and where it says to mend it.
    names: &'static [&'static str],
    /// The webhook that judges it.
    watched_by: &'static str,
    driver: &'static str,
    /// Whether the records lie in another namespace than the objects.
    records_apart: bool,
    /// Why the guard cannot stand in its way.
    pub(crate) unguarded: Option<&'static str>,
    pub(crate) helms: &'static [Major],
    /// What was there before.
    prepare: fn(&Scene<'_>),
    /// The operation that does the harm.
    act: fn(&Scene<'_>) -> Run,
    /// Asserts that the harm has happened.
    harmed: fn(&Scene<'_>, &After<'_>),
}

/// The namespace after the operation.
struct After<'a> {
    run: &'a Run,
    change: &'a Change,
    history: String,
}

const HARM: Harm = Harm {
    section: SECTION,
    name: "",
    about: "",
    without: "success is reported; the Job and its ServiceAccount are gone",
    rule: "release-identity-flip",
    names: &["Job", "ServiceAccount"],
    watched_by: LIVE,
    driver: "secret",
    records_apart: false,
    unguarded: None,
    helms: &Major::ALL,
    prepare: |_| {},
    act: |_| panic!("a harm without an operation"),
    harmed: |_, _| panic!("a harm without harm"),
};

pub(crate) const HARMS: &[Harm] = &[
    Harm {
        name: "A resource becomes a hook",
        about: "`upgrade-only-hook`: the Job and its ServiceAccount are plain on install and `pre-upgrade` hooks on upgrade.",
        prepare: |scene| ready(scene, "upgrade-only-hook"),
        act: |scene| scene.upgrade("orders", "upgrade-only-hook", &[]),
        harmed: objects_are_gone_after_a_success,
        ..HARM
    },
    Harm {
        name: "A resource becomes a hook, and a failure would be undone",
        about: "The same with `--atomic` (Helm 3) or `--rollback-on-failure` (Helm 4): there is no failure to undo.",
        prepare: |scene| ready(scene, "upgrade-only-hook"),
        act: |scene| scene.upgrade("orders", "upgrade-only-hook", &[scene.helm.major.rollback_on_failure()]),
        harmed: objects_are_gone_after_a_success,
        ..HARM
    },
    Harm {
        name: "A resource becomes a hook, and the records are ConfigMaps",
        about: "The same with `HELM_DRIVER=configmap`.",
        driver: "configmap",
        prepare: |scene| ready(scene, "upgrade-only-hook"),
        act: |scene| scene.upgrade("orders", "upgrade-only-hook", &[]),
        harmed: objects_are_gone_after_a_success,
        ..HARM
    },
    Harm {
        name: "A hook becomes a resource and is taken over",
        about: "`install-only-hook`: `pre-install` hooks on install, plain on upgrade; with `--take-ownership`, and another image.",
        without: "the upgrade fails at the Job; the ServiceAccount has been taken over",
        prepare: |scene| ready(scene, "install-only-hook"),
        act: |scene| scene.upgrade("orders", "install-only-hook", &["--take-ownership", "--set", "image=orders:2"]),
        harmed: |scene, after| {
            assert!(!after.run.success, "{}", after.run.stdout);
            assert!(after.run.error().contains("field is immutable"), "{}", after.run.stderr);
            assert_eq!(after.history, "1 deployed, 2 failed");
            let account = scene.get("ServiceAccount", "orders-migrations");
            let annotations = &account["metadata"]["annotations"];
            assert_eq!(annotations["meta.helm.sh/release-name"], "orders");
            // With Helm 3 it is now both.
            assert_eq!(annotations.get("helm.sh/hook").is_some(), scene.helm.major == Major::Three);
        },
        ..HARM
    },
    Harm {
        name: "A hook that is never deleted, at the second upgrade",
        about: "`never-deleted`: hooks on install and upgrade whose delete policy is `hook-failed` alone.",
        without: "Helm 3 fails; Helm 4 reports success, and the migration has not run",
        rule: "hook-never-deleted",
        names: &["Job", "before-hook-creation"],
        prepare: |scene| ready(scene, "never-deleted"),
        act: |scene| scene.upgrade("orders", "never-deleted", &[]),
        harmed: |scene, after| match scene.helm.major {
            Major::Three => {
                assert!(after.run.error().contains("already exists"), "{}", after.run.stderr);
                assert_eq!(after.history, "1 deployed, 2 failed");
            }
            // It says that all is well, and the migration has not run: its Job is the old one.
            Major::Four => {
                assert!(after.run.success, "{}", after.run.stderr);
                assert_eq!(after.history, "1 superseded, 2 deployed");
                assert!(!after.change.replaced.contains(&"Job orders-migrations".to_owned()), "{}", after.change);
            }
        },
        ..HARM
    },
    Harm {
        name: "A hook needs an object of its own release",
        about: "`needs-own-account`: a `pre-install` Job runs as a ServiceAccount that Helm creates after it.",
        without: "the install runs into its timeout and fails; the Job stays behind",
        rule: "hook-missing-dependency",
        act: |scene| scene.install("orders", "needs-own-account", &["--timeout", "6s"]),
        harmed: |scene, after| {
            assert!(!after.run.success, "{}", after.run.stdout);
            assert_eq!(after.history, "1 failed");
            assert!(scene.find("ServiceAccount", "orders").is_none());
            assert!(scene.find("Job", "orders-migrations").is_some(), "the Job stays behind");
        },
        ..HARM
    },
    Harm {
        name: "A hook needs a hook that runs later",
        about: "`hook-order`: at equal weights Helm goes by name, so the Job waits for a ServiceAccount that comes after it.",
        without: "the install runs into its timeout and fails",
        rule: "hook-order",
        act: |scene| scene.install("orders", "hook-order", &["--timeout", "6s"]),
        harmed: |scene, after| {
            assert!(!after.run.success, "{}", after.run.stdout);
            assert_eq!(after.history, "1 failed");
            assert!(scene.find("ServiceAccount", "orders-migrate-account").is_none());
        },
        ..HARM
    },
    Harm {
        name: "A hook takes the object of another release",
        about: "`shared-account`: the release `first` owns a ServiceAccount; `orders` renders a hook of the same name.",
        without: "success is reported; the other release's object is another one",
        rule: "foreign-takeover",
        names: &["ServiceAccount", "first"],
        prepare: |scene| {
            let _ = scene.install("first", "shared-account", &[]).succeeds();
        },
        act: |scene| scene.install("orders", "shared-account", &["--set", "hook=true"]),
        harmed: |scene, after| {
            assert!(after.run.success, "{}", after.run.stderr);
            assert_eq!(after.change.replaced, ["ServiceAccount migrations"]);
            assert_eq!(history_text(&scene.helm.history("first")), "1 deployed");
        },
        ..HARM
    },
    Harm {
        name: "A plain Job gets another image",
        about: "`plain-job`, with `releases.baseline: record`. (With the live Job as baseline it is a warning.)",
        without: "the upgrade fails halfway",
        rule: "job-template-change",
        names: &["Job", "spec.template"],
        watched_by: RECORDS,
        prepare: |scene| ready(scene, "plain-job"),
        act: |scene| scene.upgrade("orders", "plain-job", &["--set", "image=orders:2"]),
        harmed: |scene, after| {
            assert!(after.run.error().contains("field is immutable"), "{}", after.run.stderr);
            assert_eq!(after.history, "1 deployed, 2 failed");
            // Half an upgrade: what comes before the Job is new.
            assert_eq!(after.change.changed, ["ConfigMap orders"]);
            assert_eq!(scene.get("ConfigMap", "orders")["data"]["image"], "orders:2");
        },
        ..HARM
    },
    Harm {
        name: "A hook reads yesterday's configuration",
        about: "`old-configuration`: a `pre-upgrade` Job reads a ConfigMap that the upgrade changes. With `releases.baseline: \
                record` and `hook-stale-dependency: deny`: as it is shipped the rule warns.",
        without: "success is reported; the hook was over when the ConfigMap got its new value",
        rule: "hook-stale-dependency",
        names: &["Job", "ConfigMap", "DATABASE"],
        watched_by: RECORDS,
        prepare: |scene| ready(scene, "old-configuration"),
        act: |scene| scene.upgrade("orders", "old-configuration", &["--set", "database=new"]),
        harmed: |scene, after| {
            assert!(after.run.success, "{}", after.run.stderr);
            let (job, config) = (scene.get("Job", "orders-migrations"), scene.get("ConfigMap", "orders"));
            assert!(has_condition(&job, "Complete"), "{job}");
            assert_eq!(config["data"]["DATABASE"], "new");
            // The Job changes for the last time when it completes.
            assert!(version(&job) < version(&config), "{job} {config}");
        },
        ..HARM
    },
    Harm {
        name: "One object is a hook and a resource",
        about: "`twice`: the upgrade renders the ServiceAccount of the release a second time, as a hook.",
        without: "success is reported; the release's ServiceAccount is deleted and made anew",
        rule: "release-duplicate-identity",
        names: &["ServiceAccount"],
        prepare: |scene| ready(scene, "twice"),
        act: |scene| scene.upgrade("orders", "twice", &["--set", "hook=true"]),
        harmed: |scene, after| {
            assert!(after.run.success, "{}", after.run.stderr);
            assert_eq!(after.change.replaced, ["ServiceAccount orders-migrations"]);
            // With Helm 3 it is now both.
            let account = scene.get("ServiceAccount", "orders-migrations");
            let is_hook = account["metadata"]["annotations"].get("helm.sh/hook").is_some();
            assert_eq!(is_hook, scene.helm.major == Major::Three);
        },
        ..HARM
    },
    Harm {
        name: "A hook asks the API server before it may",
        about: "`late-binding`: a `pre-install` Job runs kubectl; the RoleBinding of its account is a resource. With \
                `hook-missing-rbac: deny`: as it is shipped the rule warns.",
        without: "the RoleBinding is made when the hook is over, which had no rights (no container runs here that could fail)",
        rule: "hook-missing-rbac",
        names: &["Job", "RoleBinding"],
        watched_by: STRICT,
        act: |scene| scene.install("orders", "late-binding", &[]),
        harmed: |scene, after| {
            assert!(after.run.success, "{}", after.run.stderr);
            let [job, binding] = ["Job", "RoleBinding"].map(|kind| scene.get(kind, "orders-migrations"));
            assert!(has_condition(&job, "Complete"), "{job}");
            // The Job changes for the last time when it completes.
            assert!(version(&job) < version(&binding), "{job} {binding}");
        },
        ..HARM
    },
    Harm {
        name: "A hook goes away under the Deployment that needs it",
        about: "`shared-object`: a Deployment needs a ServiceAccount and a ConfigMap that are `pre-install` hooks with \
                `hook-succeeded`. With `shared-hook-object: deny`: as it is shipped the rule warns.",
        without: "success is reported; both are gone, and the Deployment gets no Pod",
        rule: "shared-hook-object",
        names: &["ServiceAccount", "ConfigMap", "hook-succeeded"],
        watched_by: STRICT,
        act: |scene| scene.install("orders", "shared-object", &[]),
        harmed: |scene, after| {
            assert!(after.run.success, "{}", after.run.stderr);
            assert_eq!(after.change.new, ["Deployment orders"]);
            wait_for("the API server refuses the Deployment's Pods", || {
                has_condition(&scene.get("Deployment", "orders"), "ReplicaFailure").then_some(())
            });
            assert_eq!(scene.cluster().list("Pod", &scene.namespace), [] as [Value; 0]);
        },
        ..HARM
    },
    Harm {
        name: "A resource becomes a hook under Flux",
        about: "`upgrade-only-hook`, with the options of Flux's controller; the records lie in another namespace.",
        prepare: |scene| flux_ready(scene, "upgrade-only-hook"),
        act: |scene| scene.flux("upgrade", "orders", "upgrade-only-hook", &[]),
        harmed: objects_are_gone_after_a_success,
        ..FLUX
    },
    Harm {
        name: "A hook becomes a resource under Flux",
        about: "`install-only-hook`: Flux takes ownership by default, and says nothing.",
        without: "success is reported; the hooks have silently become resources",
        prepare: |scene| flux_ready(scene, "install-only-hook"),
        act: |scene| scene.flux("upgrade", "orders", "install-only-hook", &[]),
        harmed: |scene, after| {
            assert!(after.run.success, "{}", after.run.stderr);
            assert_eq!(after.change.changed, ["Job orders-migrations", "ServiceAccount orders-migrations"]);
            for kind in ["Job", "ServiceAccount"] {
                let annotations = &scene.get(kind, "orders-migrations")["metadata"]["annotations"];
                assert_eq!(annotations["meta.helm.sh/release-name"], "orders");
                assert!(annotations.get("helm.sh/hook").is_none());
            }
        },
        ..FLUX
    },
];

const FLUX: Harm = Harm {
    section: "Flux's way",
    records_apart: true,
    unguarded: Some("Flux does not run this program"),
    helms: &[Major::Four],
    ..HARM
};

/// Versions grow with each write of any object.
fn version(object: &Value) -> u64 {
    let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    version.and_then(|version| version.parse().ok()).unwrap_or_else(|| panic!("no version in {object}"))
}

fn flux_ready(scene: &Scene<'_>, chart: &str) {
    let _ = scene.flux("install", "orders", chart, &[]).succeeds();
    scene.settle();
}

fn ready(scene: &Scene<'_>, chart: &str) {
    let _ = scene.install("orders", chart, &[]).succeeds();
    scene.settle();
}

fn objects_are_gone_after_a_success(scene: &Scene<'_>, after: &After<'_>) {
    assert!(after.run.success, "{}", after.run.stderr);
    assert_eq!(after.history, "1 superseded, 2 deployed");
    assert_eq!(after.change.gone, ["Job orders-migrations", "ServiceAccount orders-migrations"]);
    assert!(scene.find("ConfigMap", "orders").is_some());
}

impl Harm {
    pub(crate) fn entry(&self) -> Entry {
        let denied = format!("denied by `{}`", self.rule);
        let guarded = self.unguarded.map_or_else(|| denied.clone(), str::to_owned);
        let harm = vec![self.without.to_owned(), denied, guarded];
        Entry { section: self.section, name: self.name, about: self.about, harm: Some(harm) }
    }

    fn scene<'world>(&self, world: &'world World, name: &str, major: Major, watched_by: Option<&str>) -> Scene<'world> {
        let mut scene = Scene::new(world, name, major, watched_by);
        if self.records_apart {
            scene = scene.with_records_apart(watched_by);
        }
        scene.helm.driver = self.driver;
        (self.prepare)(&scene);
        scene
    }

    /// Without the policy; says what was seen.
    pub(crate) fn happens(&self, world: &World, major: Major) -> String {
        let scene = self.scene(world, self.name, major, None);
        let before = scene.snapshot();
        let run = (self.act)(&scene);
        let change = before.change_to(&scene.snapshot());
        let after = After { run: &run, change: &change, history: history_text(&scene.helm.history("orders")) };
        (self.harmed)(&scene, &after);
        let outcome = if run.success { "succeeds.".to_owned() } else { format!("fails: {}", run.error()) };
        let text = format!("`{}` {outcome}\n{change}\nRevisions: {}.", run.command, after.history);
        scene.shown(&text)
    }

    /// With the policy: stopped, and nothing has changed; says what the policy said.
    pub(crate) fn is_denied(&self, world: &World, major: Major) -> String {
        let scene = self.scene(world, self.name, major, Some(self.watched_by));
        let (before, history) = (scene.snapshot(), scene.helm.history("orders"));
        let run = (self.act)(&scene).fails();
        let denial = run.denial().unwrap_or_else(|| panic!("not stopped by the policy: {}", run.stderr));
        assert!(run.is_denied_by(self.rule), "{denial}");
        assert!(denial.contains("/templates/"), "the denial does not say where to mend it: {denial}");
        for name in self.names {
            assert!(denial.contains(name), "`{name}` is not in the denial: {denial}");
        }
        assert_eq!(scene.snapshot(), before, "something has changed");
        assert_eq!(scene.helm.history("orders"), history);
        scene.shown(&denial)
    }

    /// With the guard alone, which has the same settings: stopped, and nothing has changed.
    pub(crate) fn is_guarded(&self, world: &World, major: Major) {
        // The namespace of the half without the policy is watched by nobody either.
        let scene = self.scene(world, &format!("guarded {}", self.name), major, None);
        let settings = scene.file("settings", &settings(self.watched_by));
        let (before, history) = (scene.snapshot(), scene.helm.history("orders"));
        let run = (self.act)(&scene.guarded(&["--settings", &settings])).fails();
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{}", run.stderr);
        let said = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(&format!("deny {}", self.rule)), "{said}");
        assert!(said.contains("/templates/"), "the denial does not say where to mend it: {said}");
        for name in self.names {
            assert!(said.contains(name), "`{name}` is not in the denial: {said}");
        }
        assert_eq!(scene.snapshot(), before, "something has changed");
        assert_eq!(scene.helm.history("orders"), history);
    }
}
