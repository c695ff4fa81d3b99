//! The policy server is down and `Fail` is set, or a rule denies: with Kubewarden's own controller.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use stable_hooks_e2e::cluster::{has_condition, wait_for};
use stable_hooks_e2e::helm::{Major, Run};
use stable_hooks_e2e::kubewarden::{Kubewarden, NAMESPACE};
use stable_hooks_e2e::page::{Page, is_printed};
use stable_hooks_e2e::scene::Scene;
use stable_hooks_e2e::world::World;

use crate::stuck::SECTION as STUCK;

const DOWN: &str = "## The policy server is down and Fail is set";
const LOOK: &str = "### Look";
const ANEW: &str = "### 1. Start it anew";
const IGNORE: &str = "### 2. Let its absence deny nothing";
const AWAY: &str = "### 3. Take both policies away, and let them come back by themselves";
const CONTROLLER: &str = "### 4. The controller is down too";
const BACK: &str = "### Back to Fail";

const DENIED: &str = "## Everything is denied by a rule";
const ACCEPT: &str = "### 1. Accept one operation";
const ONE_WARNS: &str = "### 2. Let one rule only warn";
const ALL_WARN: &str = "### 3. Let everything only warn";

const POLICIES: &str = "clusteradmissionpolicies.policies.kubewarden.io";
const REFUSED: &str = "failed calling webhook \"clusterwide-stable-hooks-releases.kubewarden.admission\"";

pub(crate) fn page(world: &World) {
    let kubewarden = Kubewarden::start(&world.plane, &world.tools).expect("Kubewarden starts");
    let hour = Hour {
        kubewarden,
        page: Page::read("worst-hour.md"),
        scenes: Major::ALL.map(|major| Scene::new(world, "the worst hour", major, None)),
    };
    let headings = [LOOK, ANEW, IGNORE, AWAY, CONTROLLER, BACK];
    hour.assert_complete(DOWN, &headings);
    hour.assert_complete(DENIED, &[ACCEPT, ONE_WARNS, ALL_WARN]);
    let known: Vec<_> = [DOWN, DENIED, STUCK].iter().flat_map(|section| hour.page.commands_below(section)).collect();
    assert_eq!(known, hour.page.commands(), "each command of the page is in one of these sections");
    hour.with_each_helm(|scene| {
        let _ = scene.install("before", "stable", &[]).succeeds();
    });
    hour.kubectl("apply -k policy/manifests/overlays/fail-closed");
    hour.wait_until_protected();
    hour.refuses_what_the_page_says();
    hour.starts_anew();
    hour.ignores();
    hour.takes_policies_away();
    hour.controller_is_down();
    hour.accepts_one_operation();
    hour.one_rule_warns();
    hour.everything_warns();
    // What follows shall not be asked.
    hour.kubectl(&format!("delete {POLICIES} --all"));
}

fn install(scene: &Scene<'_>) -> Run {
    scene.install("orders", "stable", &[])
}

struct Hour<'world> {
    kubewarden: Kubewarden,
    page: Page,
    scenes: [Scene<'world>; 2],
}

impl Hour<'_> {
    #[track_caller]
    fn assert_complete(&self, section: &str, headings: &[&str]) {
        let run: Vec<_> = headings.iter().flat_map(|heading| self.page.commands_below(heading)).collect();
        assert_eq!(run, self.page.commands_below(section), "each command of the section is run");
    }

    fn scene(&self) -> &Scene<'_> {
        &self.scenes[0]
    }

    #[track_caller]
    fn kubectl(&self, arguments: &str) -> Run {
        self.scene().kubectl_of_a_page(arguments).succeeds()
    }

    /// Runs what stands below a heading; the controller goes where its Deployment goes.
    #[track_caller]
    fn run(&self, heading: &str) {
        for command in self.page.commands_below(heading) {
            let run = self.scene().line_of_a_page(&command, "stable");
            // 1 is a finding of ours, in what was let in unjudged.
            assert!(run.success || command.contains("stable-hooks "), "`{command}` failed:\n{}", run.stderr);
            if command.ends_with("--replicas=0") {
                self.kubewarden.stop();
            } else if command.ends_with("--replicas=1") {
                self.kubewarden.come_back().expect("the controller starts again");
            }
        }
    }

    /// What the API server does when either webhook cannot be called: `Fail`, `Ignore`, or nothing where there is none.
    fn webhooks(&self) -> [Option<String>; 2] {
        [
            ("MutatingWebhookConfiguration", "clusterwide-stable-hooks"),
            ("ValidatingWebhookConfiguration", "clusterwide-stable-hooks-releases"),
        ]
        .map(|(kind, name)| {
            let found = self.scene().cluster().find(kind, "", name)?;
            found.pointer("/webhooks/0/failurePolicy").and_then(Value::as_str).map(str::to_owned)
        })
    }

    #[track_caller]
    fn wait_for_webhooks(&self, wanted: Option<&str>) {
        let wanted = [wanted.map(str::to_owned), wanted.map(str::to_owned)];
        wait_for(&format!("webhooks: {wanted:?}"), || (self.webhooks() == wanted).then_some(()));
    }

    /// The webhooks stay as they are while the controller, which looks every two seconds, could change them.
    #[track_caller]
    fn webhooks_stay(&self, wanted: Option<&str>) {
        thread::sleep(Duration::from_millis(2500));
        self.webhooks_are(wanted);
    }

    #[track_caller]
    fn webhooks_are(&self, wanted: Option<&str>) {
        let wanted = [wanted.map(str::to_owned), wanted.map(str::to_owned)];
        assert_eq!(self.webhooks(), wanted);
    }

    fn wait_until_protected(&self) {
        self.wait_for_webhooks(Some("Fail"));
        self.with_each_helm(|scene| {
            wait_for("a release is refused", || install(scene).stderr.contains(REFUSED).then_some(()));
        });
    }

    #[track_caller]
    fn is_let_in(&self) {
        self.with_each_helm(|scene| {
            // The API server learns of a configuration a moment later.
            wait_for("a release is let in", || install(scene).success.then_some(()));
            let _ = scene.helm.run(&["uninstall", "orders"]).succeeds();
        });
    }

    fn with_each_helm(&self, act: impl Fn(&Scene<'_>) + Sync) {
        thread::scope(|scope| {
            for scene in &self.scenes {
                let act = &act;
                // A panic in one of them is the scope's.
                let _ = scope.spawn(move || act(scene));
            }
        });
    }

    /// No Pod of the policy server can be made: all are gone, and none comes.
    fn outage(&self) {
        self.kubectl(&format!("create quota outage --hard=pods=0 -n {NAMESPACE}"));
        wait_for("the quota counts", || {
            let quota = self.scene().cluster().find("ResourceQuota", NAMESPACE, "outage")?;
            quota.pointer("/status/hard/pods").map(|_| ())
        });
        self.run(ANEW);
        wait_for("the server is down", || self.pods().is_empty().then_some(()));
    }

    fn outage_ends(&self) {
        self.kubectl(&format!("delete quota outage -n {NAMESPACE}"));
        // The Deployment tries again later and later, so it is told to.
        self.kubectl(&format!("delete replicasets -n {NAMESPACE} -l kubewarden/policy-server=stable-hooks"));
    }

    /// The server's Pods: whether each is ready, by UID.
    fn pods(&self) -> Vec<(String, bool)> {
        let pods = self.scene().cluster().list("Pod", NAMESPACE);
        let is_server = |pod: &&Value| pod["metadata"]["labels"]["kubewarden/policy-server"] == "stable-hooks";
        pods.iter()
            .filter(is_server)
            .map(|pod| (pod["metadata"]["uid"].to_string(), has_condition(pod, "Ready")))
            .collect()
    }

    fn refuses_what_the_page_says(&self) {
        for scene in &self.scenes {
            let file = |name: &str, object: &Value| scene.file(name, object);
            let pod = json!({"containers": [{"name": "app", "image": "app:1"}], "restartPolicy": "Never"});
            let meta = json!({"name": "app"});
            for (api, kind, spec, is_refused) in [
                ("batch/v1", "Job", json!({"template": {"spec": pod}}), true),
                ("v1", "Pod", pod.clone(), false),
                (
                    "apps/v1",
                    "Deployment",
                    json!({"selector": {"matchLabels": {"app": "app"}},
                        "template": {"metadata": {"labels": {"app": "app"}}, "spec": {"containers": pod["containers"]}}}),
                    false,
                ),
            ] {
                let object = json!({"apiVersion": api, "kind": kind, "metadata": meta, "spec": spec});
                let run = scene.kubectl(&["create", "-f", &file(kind, &object)]);
                assert_eq!(!run.success, is_refused, "{kind}: {}", run.stderr);
            }
            for (arguments, is_refused) in [
                (["create", "serviceaccount", "app"], true),
                (["create", "configmap", "app"], false),
                (["delete", "configmap", "app"], false),
                (["label", "serviceaccount/default", "a=b"], true),
            ] {
                let run = scene.kubectl(&arguments);
                assert_eq!(!run.success, is_refused, "{arguments:?}: {}", run.stderr);
            }
            for run in [scene.upgrade("before", "stable", &[]), scene.helm.run(&["rollback", "before", "1"])] {
                assert!(run.stderr.contains(REFUSED), "{}: {}", run.command, run.stderr);
            }
            let _ = scene.helm.run(&["uninstall", "before"]).succeeds();
            let fresh = format!("{}-new", scene.namespace);
            let _ = scene.kubectl(&["create", "namespace", &fresh]).succeeds();
        }
        self.webhooks_stay(Some("Fail"));
        for scene in &self.scenes {
            let fresh = format!("{}-new", scene.namespace);
            assert!(scene.cluster().find("ServiceAccount", &fresh, "default").is_none(), "no ServiceAccount is made");
            let _ = scene.kubectl(&["delete", "pod/app", "deployment/app"]).succeeds();
        }
        self.run(LOOK);
    }

    fn starts_anew(&self) {
        let before = self.pods();
        assert_eq!(before.len(), 2, "{before:?}");
        self.run(ANEW);
        wait_for("new Pods are ready", || {
            let pods = self.pods();
            let is_new = |(uid, is_ready): &(String, bool)| *is_ready && before.iter().all(|(old, _)| old != uid);
            (pods.len() == 2 && pods.iter().all(is_new)).then_some(())
        });
        self.wait_until_protected();
    }

    fn ignores(&self) {
        let commands = self.page.commands_below(IGNORE);
        // While every Pod is ready the controller takes a patch of its webhook back.
        let _ = self.scene().line_of_a_page(&commands[1], "stable").succeeds();
        self.wait_for_webhooks(Some("Fail"));
        self.outage();
        // While one is not, the policy alone changes nothing.
        let _ = self.scene().line_of_a_page(&commands[0], "stable").succeeds();
        self.webhooks_stay(Some("Fail"));
        self.run(IGNORE);
        self.is_let_in();
        self.webhooks_stay(Some("Ignore"));
        self.outage_ends();
        self.wait_for_active();
        self.webhooks_are(Some("Ignore"));
        self.run(BACK);
        self.wait_until_protected();
    }

    /// Both policies' webhooks are made by what is ready now.
    fn wait_for_active(&self) {
        self.kubectl(&format!("wait {POLICIES} --all --for=condition=PolicyActive --timeout=2m"));
    }

    fn takes_policies_away(&self) {
        self.outage();
        let commands = self.page.commands_below(AWAY);
        let _ = self.scene().line_of_a_page(&commands[0], "stable").succeeds();
        self.wait_for_webhooks(None);
        let _ = self.scene().line_of_a_page(&commands[1], "stable").succeeds();
        self.is_let_in();
        self.webhooks_stay(None);
        let status = self.kubectl(&format!("get {POLICIES} -o jsonpath={{.items[*].status.policyStatus}}"));
        assert_eq!(status.stdout, "pending pending");
        self.outage_ends();
        self.wait_until_protected();
    }

    fn controller_is_down(&self) {
        self.outage();
        self.run(CONTROLLER);
        self.wait_for_webhooks(None);
        self.is_let_in();
        let refused = self.scene().kubectl_of_a_page(&format!("label {POLICIES} stable-hooks a=b")).fails();
        let words = "failed calling webhook \"mclusteradmissionpolicy.kb.io\"";
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
        self.kubectl(&format!("delete {POLICIES} stable-hooks --wait=false"));
        let deleted = self.kubectl(&format!("get {POLICIES} stable-hooks -o jsonpath={{.metadata.finalizers}}"));
        assert_eq!(deleted.stdout, r#"["kubewarden.io/finalizer"]"#, "it stays until the controller is back");
        self.outage_ends();
        self.run(BACK);
        // The one that was to be deleted is gone at last, and comes with the next apply.
        self.kubectl("apply -k policy/manifests/overlays/fail-closed");
        self.wait_until_protected();
    }

    /// The settings and the mode of the releases policy, as the controller hands them to the policy server.
    fn served(&self) -> Value {
        let served =
            self.scene().cluster().find("ConfigMap", NAMESPACE, "policy-server-stable-hooks").expect("a ConfigMap");
        let policies = served["data"]["policies.yml"].as_str().expect("policies").to_owned();
        let policies: Value = serde_json::from_str(&policies).expect("the controller writes JSON");
        policies["clusterwide-stable-hooks-releases"].clone()
    }

    fn accepts_one_operation(&self) {
        self.run(ACCEPT);
        wait_for("the server gets the entry", || {
            (self.served()["settings"]["releases"]["accept"] == json!(["shop/orders@8"])).then_some(())
        });
    }

    fn one_rule_warns(&self) {
        self.run(ONE_WARNS);
        wait_for("the server gets the settings", || {
            (self.served()["settings"]["rules"]["release-identity-flip"] == "warn").then_some(())
        });
        // The command line judges with them as the server would, which is not there.
        let settings = self.scene().file("settings", &self.served()["settings"]);
        let chart = self.scene().chart("upgrade-only-hook");
        let denied = self.scene().stable_hooks(&["chart", &chart]).fails();
        let warned = self.scene().stable_hooks(&["chart", &chart, "--settings", &settings]).succeeds();
        for run in [denied, warned] {
            assert!(run.stdout.contains("release-identity-flip"), "{}{}", run.stdout, run.stderr);
        }
    }

    fn everything_warns(&self) {
        let [message] = &self.page.messages_below(ALL_WARN)[..] else { panic!("one message") };
        let patch =
            format!("patch {POLICIES} stable-hooks-releases --type merge -p {{\"spec\":{{\"mode\":\"monitor\"}}}}");
        let refused = self.scene().kubectl_of_a_page(&patch).fails();
        assert!(is_printed(message, &refused.stderr), "{}", refused.stderr);
        let commands = self.page.commands_below(ALL_WARN);
        for (command, mode) in commands.iter().zip(["", "monitor", "protect"]) {
            let _ = self.scene().line_of_a_page(command, "stable").succeeds();
            if !mode.is_empty() {
                wait_for("the server gets the mode", || (self.served()["policyMode"] == mode).then_some(()));
            }
        }
        self.wait_until_protected();
    }
}
