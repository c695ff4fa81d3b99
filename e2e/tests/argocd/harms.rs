//! Each harm that Argo CD does, without the policy: the chart, what it was before, and what becomes of the objects.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use stable_hooks_e2e::argocd::{Application, ArgoWorld, Sync};
use stable_hooks_e2e::cluster::{has_condition, wait_for};
use stable_hooks_e2e::helm::Run;
use stable_hooks_e2e::proof::Entry;
use stable_hooks_e2e::scene::{Change, Scene, Snapshot};

use crate::Report;
use crate::stage::{HOOK, MIGRATIONS, SYNCED, annotations, scene, uid};

type Values = &'static [(&'static str, &'static str)];

const IMMUTABLE: &str = "field is immutable";

pub(crate) struct Harm {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// What `seen` asserts, in words.
    without: &'static str,
    /// The rule that foresees it.
    rule: &'static str,
    chart: &'static str,
    /// The values that were synced before; `None` where the first sync does the harm.
    old: Option<Values>,
    /// The values that do the harm.
    new: Values,
    /// Syncs, and asserts that the harm has happened; what was seen.
    seen: fn(&Before<'_>) -> String,
}

/// All is as the old values want it, and the new ones are committed.
struct Before<'a> {
    scene: &'a Scene<'a>,
    application: &'a Application<'a>,
    objects: Snapshot,
}

pub(crate) const HARMS: &[Harm] = &[
    Harm {
        name: "A PreSync hook needs an object of the sync",
        about: "`argocd-first-sync`: a `post-install,pre-upgrade` Job runs as a ServiceAccount that is no hook.",
        without: "the first sync never ends; the ServiceAccount is never made",
        rule: "argocd-first-sync",
        chart: "argocd-first-sync",
        old: None,
        new: &[],
        seen: |before| {
            let waits = before.application.hangs();
            assert!(waits.contains(MIGRATIONS), "{waits}");
            assert!(before.scene.find("ServiceAccount", "orders").is_none());
            assert_eq!(before.pods(), 0);
            format!(
                "The first sync is running, for ever: {waits}. The Job has no Pod, for the ServiceAccount is not there."
            )
        },
    },
    Harm {
        name: "The same hook has a deadline",
        about: "`argocd-first-sync` with `activeDeadlineSeconds` on the Job.",
        without: "the first sync fails at the deadline, and the next one too",
        rule: "argocd-first-sync",
        chart: "argocd-first-sync",
        old: None,
        new: &[("deadline", "5")],
        seen: |before| {
            let [first, second] = [(), ()].map(|()| {
                let sync = before.application.sync().fails();
                assert!(before.scene.find("ServiceAccount", "orders").is_none());
                sync.message_about("Job").expect("the Job is in the result")
            });
            assert_eq!(first, second);
            format!("The first sync and the second one fail at the Job: {first}. The ServiceAccount is not there.")
        },
    },
    Harm {
        name: "A hook has events of both sides",
        about: "`argocd-runs-twice`: `pre-install,post-install,pre-upgrade,post-upgrade`.",
        without: "the migration runs before and after each sync",
        rule: "argocd-runs-twice",
        chart: "argocd-runs-twice",
        old: None,
        new: &[],
        seen: |before| {
            for runs in [2, 4] {
                let _ = before.application.sync().succeeds();
                wait_for("the Job's events", || (before.jobs_that_ran() == runs).then_some(()));
            }
            "Two Jobs were completed in the first sync, and two more in the second, in which nothing had changed."
                .to_owned()
        },
    },
    Harm {
        name: "A resource becomes a hook",
        about: "`switched`: plain in the revision before, a `pre-install,pre-upgrade` hook in this one.",
        without: "the Job and its ServiceAccount are deleted and made anew; the migration runs again",
        rule: "argocd-flip",
        chart: "switched",
        old: Some(&[]),
        new: &[("hook", HOOK)],
        seen: |before| {
            let sync = before.application.sync().succeeds();
            let job = before.scene.get("Job", MIGRATIONS);
            assert!(has_condition(&job, "Complete"));
            assert_eq!(before.change().replaced, ["Job orders-migrations", "ServiceAccount orders-migrations"]);
            before.ended(&sync)
        },
    },
    Harm {
        name: "A resource becomes a hook that is deleted when it fails",
        about: "The same with `hook-failed` as its delete policy, and another image.",
        without: "the sync fails, and the Job and its ServiceAccount are deleted",
        rule: "argocd-flip",
        chart: "switched",
        old: Some(&[]),
        new: &[("hook", HOOK), ("deletePolicy", "hook-failed"), ("image", "orders:2")],
        seen: both_are_gone,
    },
    Harm {
        name: "A hook becomes plain, and its template is the same",
        about: "`switched`: a hook in the revision before, plain in this one; nothing else has changed.",
        without: "Argo CD shows Synced, nothing runs, and a sync by hand makes the hook a resource without a run",
        rule: "argocd-flip",
        chart: "switched",
        old: Some(&[("hook", HOOK)]),
        new: &[],
        seen: |before| {
            assert_eq!(before.application.status(), SYNCED);
            assert_eq!(before.change().to_string(), "No object changed.");
            let old = before.scene.get("Job", MIGRATIONS);
            assert_eq!(annotations(&old)["helm.sh/hook"], HOOK);
            let sync = before.application.sync().succeeds();
            assert!(!sync.ran_as_hook("Job"));
            let job = before.scene.get("Job", MIGRATIONS);
            assert_eq!(uid(&job), uid(&old), "the migration ran again");
            assert!(annotations(&job).get("helm.sh/hook").is_none());
            format!("Argo CD shows {SYNCED}, and no object changed. Then it is synced by hand. {}", before.ended(&sync))
        },
    },
    Harm {
        name: "A hook becomes plain, and its image is another",
        about: "The same with another image, and another value in the ConfigMap.",
        without: "the sync fails at the Job, after other objects were changed",
        rule: "argocd-flip",
        chart: "switched",
        old: Some(&[("hook", HOOK)]),
        new: &[("image", "orders:2"), ("note", "second")],
        seen: |before| {
            let sync = before.application.sync().fails();
            assert!(sync.message().contains(IMMUTABLE), "{sync:#?}");
            assert_eq!(before.change().changed, ["ConfigMap orders", "ServiceAccount orders-migrations"]);
            before.ended(&sync)
        },
    },
    Harm {
        name: "A resource becomes a hook that no sync runs",
        about: "`switched`: plain in the revision before, a `test` hook in this one.",
        without: "the Job and its ServiceAccount are deleted, and nothing is made in their place",
        rule: "argocd-flip",
        chart: "switched",
        old: Some(&[]),
        new: &[("hook", "test")],
        seen: |before| {
            let sync = before.application.sync().succeeds();
            before.scene.settle();
            assert_eq!(before.change().gone, ["Job orders-migrations", "ServiceAccount orders-migrations"]);
            before.ended(&sync)
        },
    },
    Harm {
        name: "A plain Job gets another image",
        about: "`plain-job`.",
        without: "the sync fails at the Job, after other objects were changed",
        rule: "argocd-immutable-job",
        chart: "plain-job",
        old: Some(&[]),
        new: &[("image", "orders:2")],
        seen: |before| {
            let sync = before.application.sync().fails();
            assert!(sync.message().contains(IMMUTABLE), "{sync:#?}");
            assert_eq!(before.change().changed, ["ConfigMap orders"]);
            before.ended(&sync)
        },
    },
    Harm {
        name: "A hook that is deleted only when it fails gets another image",
        about: "`never-deleted`: `hook-failed` is the only delete policy, so Argo CD patches the Job that is there.",
        without: "the sync fails, and the Job and its ServiceAccount are deleted",
        rule: "argocd-immutable-job",
        chart: "never-deleted",
        old: Some(&[]),
        new: &[("image", "orders:2")],
        seen: both_are_gone,
    },
    Harm {
        name: "A Job has the revision in its name",
        about: "`argocd-drift-revision`: under Helm each revision has a Job of its own.",
        without: "the revision is 1 at every sync, so the name is the same, and another image makes the sync fail",
        rule: "argocd-drift",
        chart: "argocd-drift-revision",
        old: Some(&[]),
        new: &[("image", "orders:2")],
        seen: |before| {
            let sync = before.application.sync().fails();
            assert!(sync.message().contains(IMMUTABLE), "{sync:#?}");
            assert!(sync.message().contains("orders-migrations-1"), "{sync:#?}");
            assert_eq!(before.jobs_that_ran(), 1);
            before.ended(&sync)
        },
    },
    Harm {
        name: "A Secret is random at each render",
        about: "`argocd-drift-random`: `randAlphaNum` in a Secret.",
        without: "the Application is out of sync after every sync, and each one gives the Secret another value",
        rule: "argocd-drift",
        chart: "argocd-drift-random",
        old: None,
        new: &[],
        seen: |before| {
            let values = [(), (), ()].map(|()| {
                let _ = before.application.sync().succeeds();
                assert_eq!(before.application.status(), "OutOfSync, Healthy");
                before.scene.get("Secret", "orders")["data"]["password"].clone()
            });
            assert!(values[0] != values[1] && values[1] != values[2] && values[0] != values[2]);
            "After each of three syncs the Application is OutOfSync, and the Secret has another value.".to_owned()
        },
    },
    Harm {
        name: "A Job has the time in its name",
        about: "`argocd-drift-time`: `now` in the name; the same commit is rendered anew before the second sync.",
        without: "each render makes the Application out of sync, and each sync deletes the Job and runs another",
        rule: "argocd-drift",
        chart: "argocd-drift-time",
        old: Some(&[]),
        new: &[],
        seen: |before| {
            assert!(before.application.status().starts_with("OutOfSync"));
            let _ = before.application.sync().succeeds();
            before.scene.settle();
            let change = before.change();
            assert_eq!((change.gone.len(), change.new.len()), (1, 1), "{change}");
            assert_eq!(before.jobs_that_ran(), 2);
            "Rendered anew, the Application is OutOfSync. The sync deletes the Job and runs one with another name."
                .to_owned()
        },
    },
];

/// Argo CD deletes the hooks of a sync that failed, where their delete policy says so.
fn both_are_gone(before: &Before<'_>) -> String {
    let sync = before.application.sync().fails();
    assert!(sync.message().contains(IMMUTABLE), "{sync:#?}");
    wait_for("the hooks are deleted", || before.scene.find("Job", MIGRATIONS).is_none().then_some(()));
    wait_for("the account is deleted", || before.scene.find("ServiceAccount", MIGRATIONS).is_none().then_some(()));
    before.ended(&sync)
}

impl Before<'_> {
    fn change(&self) -> Change {
        self.objects.change_to(&self.scene.snapshot())
    }

    /// How a sync ended, and what it changed.
    fn ended(&self, sync: &Sync) -> String {
        let change = self.change();
        match sync.phase.as_str() {
            "Succeeded" => format!("The sync succeeds. {change}"),
            _ => format!("The sync fails: {}. {change}", sync.message()),
        }
    }

    fn pods(&self) -> usize {
        self.scene.cluster().list("Pod", &self.scene.namespace).len()
    }

    /// How many Jobs were completed so far, those that are deleted too: their events stay.
    fn jobs_that_ran(&self) -> usize {
        let events = self.scene.cluster().list("Event", &self.scene.namespace);
        let completed = events.iter().filter(|event| event["reason"] == "Completed");
        let uids = completed.map(|event| event["involvedObject"]["uid"].to_string());
        uids.collect::<BTreeSet<_>>().len()
    }
}

impl Harm {
    pub(crate) fn entry(&self) -> Entry {
        let harm = vec![self.without.to_owned(), format!("`{}`", self.rule)];
        Entry { section: "Harm", name: self.name, about: self.about, harm: Some(harm) }
    }

    pub(crate) fn happens(&self, argocd: &ArgoWorld) -> Report {
        let scene = scene(argocd, self.name, None);
        self.is_foreseen(&scene);
        let application = Application::new(&scene, self.chart, &values(self.old.unwrap_or(self.new)), false);
        if self.old.is_some() {
            let _ = application.sync().succeeds();
            scene.settle();
        }
        let objects = scene.snapshot();
        application.commit(&values(self.new));
        let seen = (self.seen)(&Before { scene: &scene, application: &application, objects });
        Report::new(&scene, &seen, [])
    }
}

impl Harm {
    /// `chart --argocd` finds it with the rule that the page names: in the new text, or in the sync over the old one.
    fn is_foreseen(&self, scene: &Scene<'_>) {
        let chart = scene.chart(self.chart);
        let new = scene.file("new-values", &values(self.new));
        let alone = ["chart", &chart, "--argocd", "-n", "shop", "--name", "orders", "-f", &new, "-o", "json"];
        let mut found = rules(&scene.stable_hooks(&alone));
        if let Some(old) = self.old {
            let old = scene.file("old-values", &values(old));
            let over = ["--against", &chart, "--against-values", &old];
            found.extend(rules(&scene.stable_hooks(&[&alone[..], &over].concat())));
        }
        assert!(found.contains(self.rule), "{} is not among {found:?}", self.rule);
    }
}

/// The rules of what was found.
fn rules(run: &Run) -> BTreeSet<String> {
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
    let findings = report["results"][0]["findings"].as_array().into_iter().flatten();
    findings.filter_map(|finding| finding["rule"].as_str().map(str::to_owned)).collect()
}

fn values(values: Values) -> Value {
    values.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect::<Map<_, _>>().into()
}
