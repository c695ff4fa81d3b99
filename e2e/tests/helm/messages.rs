//! What people paste: each message that the troubleshooting page quotes is printed here by the real programs.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use stable_hooks_e2e::cluster::wait_for;
use stable_hooks_e2e::helm::{Major, Run};
use stable_hooks_e2e::kubewarden::NAMESPACE;
use stable_hooks_e2e::page::{Page, is_printed};
use stable_hooks_e2e::scene::Scene;
use stable_hooks_e2e::webhook::{Options, Webhook};
use stable_hooks_e2e::world::{LIVE, RECORDS, World, looks_at_objects};

const SECTION: &str = "## What people paste";

/// Where Kubewarden's webhooks lead to; those of the harness lead to ports of this machine.
const ADDRESS: &str = "https://policy-server-stable-hooks.kubewarden.svc:443/validate/clusterwide-stable-hooks";

/// What the charts make for a migration.
const MIGRATIONS: &str = "job,serviceaccount";
const MIGRATION: &str = "app.kubernetes.io/component=migrations";

pub(crate) fn page(world: &World) {
    let printed = Printed::default();
    // A panic in one of them is the scope's.
    thread::scope(|scope| {
        let _ = scope.spawn(|| no_pod(world, &printed));
        for major in Major::ALL {
            let printed = &printed;
            let parts = [denied, deleted, not_answered, stuck, taken, waiting, not_there];
            let _ = scope.spawn(move || parts.iter().for_each(|part| part(world, major, printed)));
        }
    });
    let printed = printed.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    let messages = Page::read("troubleshooting.md").messages_below(SECTION);
    let is_missing = |message: &&String| !printed.iter().any(|printed| is_printed(message, printed));
    let missing: Vec<_> = messages.iter().filter(is_missing).cloned().collect();
    assert!(
        messages.len() > 10 && missing.is_empty(),
        "nobody printed:\n{}\n\nbut this:\n{}",
        missing.join("\n"),
        printed.join("\n")
    );
}

/// All that was printed as an error.
#[derive(Default)]
struct Printed(Mutex<Vec<String>>);

impl Printed {
    /// Keeps what a command said when it failed.
    #[track_caller]
    fn by(&self, scene: &Scene<'_>, run: Run) {
        self.keep(scene.shown(&run.fails().stderr));
    }

    fn keep(&self, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }
}

/// A rule denies: a release, and an object.
fn denied(world: &World, major: Major, printed: &Printed) {
    let scene = Scene::new(world, "denied", major, Some(LIVE));
    let _ = scene.install("orders", "upgrade-only-hook", &[]).succeeds();
    scene.settle();
    printed.by(&scene, scene.upgrade("orders", "upgrade-only-hook", &[]));
    printed.by(&scene, scene.kubectl(&["annotate", "job", "orders-migrations", "helm.sh/hook=pre-upgrade"]));
}

/// The way out that the page's table names where what lives is in the way.
fn deleted(world: &World, major: Major, _: &Printed) {
    for (chart, webhook) in [("never-deleted", LIVE), ("plain-job", RECORDS)] {
        let scene = Scene::new(world, &format!("{chart} deleted"), major, Some(webhook));
        let upgrade = || scene.upgrade("orders", chart, &["--set", "image=orders:2"]);
        let _ = scene.install("orders", chart, &[]).succeeds();
        scene.settle();
        assert!(upgrade().fails().denial().is_some(), "{chart} is denied");
        let _ = scene.kubectl(&["delete", MIGRATIONS, "-l", MIGRATION]).succeeds();
        let _ = upgrade().succeeds();
    }
}

/// The webhook cannot be called, or its answer is none.
fn not_answered(world: &World, major: Major, printed: &Printed) {
    let number = major.number();
    let start = |name: &str, options: Options| -> (Webhook, Scene<'_>) {
        let name = format!("{name}-{number}");
        let webhook = world.webhook(&name, &options, &looks_at_objects());
        let scene = Scene::new(world, &name, major, None);
        scene.is_watched_by(&name);
        (webhook, scene)
    };
    let keep = |webhook: &Webhook, scene: &Scene<'_>, run: Run| {
        let text = scene.shown(&run.fails().stderr);
        // The objects policy is called `stable-hooks`, and the other one after it.
        let text = text.replace(&webhook.url("objects"), ADDRESS);
        printed.keep(text.replace(&webhook.url("releases"), &format!("{ADDRESS}-releases")));
    };

    let (webhook, scene) =
        start("slow", Options { timeout_seconds: 1, delay: Duration::from_secs(2), ..Options::default() });
    keep(&webhook, &scene, scene.install("orders", "stable", &[]));

    let (webhook, scene) = start("gone", Options::default());
    let job = |padding: usize, image: &str| {
        json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "large"},
            "spec": {"suspend": true, "template": {"spec": {"restartPolicy": "Never", "containers": [
                {"name": "migrate", "image": image, "args": ["x".repeat(padding)]},
            ]}}},
        })
    };
    let _ = scene.kubectl(&["create", "-f", &scene.file("large", &job(1_100_000, "orders:1"))]).succeeds();
    keep(&webhook, &scene, scene.kubectl(&["label", "job", "large", "a=b"]));
    webhook.kill();
    keep(&webhook, &scene, scene.install("orders", "stable", &[]));
    webhook.come_back();
    trusts_nobody(&scene, &format!("releases-gone-{number}"));
    wait_for("the webhook is not trusted", || {
        let run = scene.install("orders", "stable", &[]);
        run.stderr.contains("x509").then(|| keep(&webhook, &scene, run))
    });
}

/// The configuration does not know the authority any more, as after one that was renewed only in part.
fn trusts_nobody(scene: &Scene<'_>, name: &str) {
    let kind = "ValidatingWebhookConfiguration";
    let mut webhooks = scene.cluster().find(kind, "", name).expect("the webhook is registered")["webhooks"].clone();
    webhooks[0]["clientConfig"]["caBundle"] = Value::Null;
    let _ = scene.cluster().merge(kind, "", name, &json!({"webhooks": webhooks})).expect("the webhook is changed");
}

/// There is the Service of the policy server, and no Pod behind it.
fn no_pod(world: &World, printed: &Printed) {
    const NAME: &str = "policy-server-stable-hooks";
    let scene = Scene::new(world, "no pod", Major::Four, None);
    let fresh = format!("{}-fresh", scene.namespace);
    let path = "/validate/clusterwide-stable-hooks";
    let address = json!({"namespace": NAMESPACE, "name": NAME, "path": path, "port": 443});
    let rule = json!({
        "apiGroups": [""], "apiVersions": ["v1"], "resources": ["serviceaccounts"], "operations": ["CREATE", "UPDATE"],
    });
    let registration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "no-pod"},
        "webhooks": [{
            "name": "clusterwide-stable-hooks.kubewarden.admission", "clientConfig": {"service": address},
            "namespaceSelector": {"matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [scene.namespace, fresh]},
            ]},
            "rules": [rule], "failurePolicy": "Fail", "timeoutSeconds": 5, "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }],
    });
    scene.has_namespace(NAMESPACE);
    let _ =
        scene.kubectl_of_a_page(&format!("create service clusterip {NAME} --tcp=443:8443 -n {NAMESPACE}")).succeeds();
    let _ = scene.cluster().create(&registration);
    // By itself it connects to the Service, and kube-proxy refuses; with this option it looks for the Pods.
    let (_second, url) =
        world.plane.second_api_server(&world.tools, "--enable-aggregator-routing=true").expect("an API server starts");
    for (server, words) in [(None, "connection refused"), (Some(&url), "no endpoints available")] {
        wait_for(words, || {
            let mut arguments = vec!["create", "serviceaccount", "app", "--dry-run=server"];
            arguments.extend(server.iter().flat_map(|url| ["--server", url.as_str()]));
            let run = scene.kubectl(&arguments);
            run.stderr.contains(words).then(|| printed.by(&scene, run))
        });
    }
    // A namespace that is made meanwhile gets no ServiceAccount.
    let _ = scene.kubectl_of_a_page(&format!("create namespace {fresh}")).succeeds();
    printed.by(&scene, scene.kubectl_of_a_page(&format!("run app --image app:1 -n {fresh}")));
    let _ = scene.kubectl_of_a_page("delete validatingwebhookconfiguration no-pod").succeeds();
    let _ = scene.kubectl_of_a_page(&format!("delete service {NAME} -n {NAMESPACE}")).succeeds();
}

/// Helm was killed before.
fn stuck(world: &World, major: Major, printed: &Printed) {
    let scene = Scene::new(world, "stuck", major, None);
    let chart = scene.chart("stable");
    scene.killed(&["install", "orders", &chart], || scene.find("Secret", "sh.helm.release.v1.orders.v1").map(|_| ()));
    printed.by(&scene, scene.upgrade("orders", "stable", &["--install"]));
    printed.by(&scene, scene.install("orders", "stable", &[]));
}

/// Something of that name is there, and is another's or cannot be changed.
fn taken(world: &World, major: Major, printed: &Printed) {
    let scene = Scene::new(world, "taken", major, None);
    for chart in ["install-only-hook", "never-deleted", "plain-job"] {
        let _ = scene.install("orders", chart, &[]).succeeds();
        printed.by(&scene, scene.upgrade("orders", chart, &["--set", "image=orders:2"]));
        let _ = scene.helm.run(&["uninstall", "orders"]).succeeds();
        let _ = scene.kubectl(&["delete", MIGRATIONS, "-l", MIGRATION]).succeeds();
    }
}

/// A hook waits for what comes after it.
fn waiting(world: &World, major: Major, printed: &Printed) {
    let scene = Scene::new(world, "waiting", major, None);
    printed.by(&scene, scene.install("orders", "needs-own-account", &["--timeout", "4s"]));
}

/// There is no release to upgrade.
fn not_there(world: &World, major: Major, printed: &Printed) {
    let scene = Scene::new(world, "not there", major, None);
    printed.by(&scene, scene.upgrade("orders", "stable", &[]));
}
