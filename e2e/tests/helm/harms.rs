//! Each harm: it happens without the policy; with it Helm is stopped before it touches anything.

use stable_hooks_e2e::helm::{Major, Run};
use stable_hooks_e2e::proof::Entry;
use stable_hooks_e2e::scene::{Change, Scene, history_text};
use stable_hooks_e2e::world::{LIVE, RECORDS, World};

const SECTION: &str = "Harm, and how it is stopped";

pub(crate) struct Harm {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// The rule that denies it.
    rule: &'static str,
    /// What the denial names, and where it says to mend it.
    names: &'static [&'static str],
    /// The webhook that judges it.
    watched_by: &'static str,
    driver: &'static str,
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
    name: "",
    about: "",
    rule: "release-identity-flip",
    names: &["Job", "ServiceAccount"],
    watched_by: LIVE,
    driver: "secret",
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
        harmed: |scene, after| objects_are_gone_after_a_success(scene, after),
        ..HARM
    },
];

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
        Entry { section: SECTION, name: self.name, about: self.about }
    }

    fn scene<'world>(&self, world: &'world World, major: Major, watched_by: Option<&str>) -> Scene<'world> {
        let mut scene = Scene::new(world, self.name, major, watched_by);
        scene.helm.driver = self.driver;
        (self.prepare)(&scene);
        scene
    }

    /// Without the policy; says what was seen.
    pub(crate) fn happens(&self, world: &World, major: Major) -> String {
        let scene = self.scene(world, major, None);
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
        let scene = self.scene(world, major, Some(self.watched_by));
        let (before, history) = (scene.snapshot(), scene.helm.history("orders"));
        let run = (self.act)(&scene).fails();
        let denial = run.denial().unwrap_or_else(|| panic!("not stopped by the policy: {}", run.stderr));
        assert!(denial.contains(&format!("(rule {})", self.rule)), "{denial}");
        for name in self.names {
            assert!(denial.contains(name), "`{name}` is not in the denial: {denial}");
        }
        assert_eq!(scene.snapshot(), before, "something has changed");
        assert_eq!(scene.helm.history("orders"), history);
        scene.shown(denial)
    }
}
