//! One Application, and the git repository that it is synced from.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use kube::api::DeleteParams;
use serde_json::{Value, json};

use super::NAMESPACE;
use crate::cluster::wait_for;
use crate::helm;
use crate::process::mortal;
use crate::scene::{Scene, chart_folder};

const KIND: &str = "Application";

/// A sync that waits for the same thing so long waits for it for ever: all else takes seconds here, and Argo CD has looked at
/// everything anew in between.
const FOR_EVER: Duration = Duration::from_secs(40);

/// Argo CD looks at a deletion again each half a minute, if no event has it look sooner.
const DELETION: Duration = Duration::from_mins(3);

const FINALIZER: &str = "resources-finalizer.argocd.argoproj.io";

/// How a sync ended.
#[derive(Debug)]
pub struct Sync {
    pub phase: String,
    /// With the line breaks of a denial.
    message: String,
    /// The objects that it dealt with.
    resources: Vec<Value>,
}

impl Sync {
    #[must_use]
    #[track_caller]
    pub fn succeeds(self) -> Self {
        assert_eq!(self.phase, "Succeeded", "{self:#?}");
        self
    }

    #[must_use]
    #[track_caller]
    pub fn fails(self) -> Self {
        assert_eq!(self.phase, "Failed", "{self:#?}");
        self
    }

    /// Why it ended so, on one line.
    #[must_use]
    pub fn message(&self) -> String {
        one_line(&self.message)
    }

    /// What the policy said to each object that it denied, without what Argo CD and the API server put around it.
    #[must_use]
    pub fn denials(&self) -> Vec<String> {
        let said = self.message.split("denied the request: ").skip(1);
        // What Argo CD says of the next object begins after a comma.
        let said =
            said.map(|said| [",error when ", ",admission webhook "].iter().fold(said, |said, next| before(said, next)));
        let mut denials: Vec<_> = said.map(helm::unwrapped).collect();
        denials.sort();
        denials
    }

    /// The part of the sync that the object of that kind belonged to: `PreSync`, `Sync` or `PostSync`.
    #[must_use]
    pub fn phase_of(&self, kind: &str) -> Option<&str> {
        self.resource(kind)?.get("syncPhase")?.as_str()
    }

    /// Whether Argo CD took the object for a hook.
    #[must_use]
    pub fn ran_as_hook(&self, kind: &str) -> bool {
        self.resource(kind).is_some_and(|resource| resource.get("hookType").is_some())
    }

    /// What Argo CD notes beside the object of that kind.
    #[must_use]
    pub fn message_about(&self, kind: &str) -> Option<String> {
        self.resource(kind)?.get("message")?.as_str().map(one_line)
    }

    fn resource(&self, kind: &str) -> Option<&Value> {
        self.resources.iter().find(|resource| resource.get("kind") == Some(&json!(kind)))
    }
}

pub struct Application<'scene> {
    scene: &'scene Scene<'scene>,
    repository: PathBuf,
    /// That of the namespace, for there is one in each.
    name: &'scene str,
}

impl<'scene> Application<'scene> {
    /// A release `orders` of the chart, to be synced by hand or, `automated`, by Argo CD itself.
    #[must_use]
    pub fn new(scene: &'scene Scene<'scene>, chart: &str, values: &Value, automated: bool) -> Self {
        let repository = scene.folder().join("repository");
        fs::create_dir_all(&repository).expect("the repository's folder is made");
        let application = Self { scene, repository, name: &scene.namespace };
        application.git(&["init", "--quiet", "--initial-branch=main"]);
        copy(&chart_folder(chart), &application.repository);
        application.commit(values);
        let automated = automated.then(|| json!({"automated": {"prune": true, "selfHeal": true}}));
        scene.cluster().create(&json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": KIND,
            "metadata": {"name": application.name, "namespace": NAMESPACE},
            "spec": {
                "project": "default",
                "source": {
                    "repoURL": format!("file://{}", application.repository.display()),
                    "targetRevision": "main", "path": ".",
                    "helm": {"releaseName": "orders", "valueFiles": ["values.yaml", "more.json"]},
                },
                "destination": {"server": "https://kubernetes.default.svc", "namespace": scene.namespace},
                "syncPolicy": automated,
            },
        }));
        application
    }

    /// Commits values that come after the chart's own.
    pub fn commit(&self, values: &Value) {
        fs::write(self.repository.join("more.json"), values.to_string()).expect("the values are written");
        self.git(&["add", "--all"]);
        self.git(&[
            "-c",
            "user.name=dev",
            "-c",
            "user.email=dev@example.com",
            "commit",
            "--quiet",
            "--allow-empty",
            "--message=change",
        ]);
    }

    /// Syncs by hand, with pruning, to what is committed; how it ended.
    #[must_use]
    pub fn sync(&self) -> Sync {
        self.sync_with(&json!({}))
    }

    /// The same with more to the operation's `sync`.
    #[must_use]
    pub fn sync_with(&self, more: &Value) -> Sync {
        let mut sync = json!({"prune": true});
        sync.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        self.begin(&sync);
        self.ended()
    }

    /// Begins a sync that never ends; what Argo CD says that it waits for.
    #[must_use]
    pub fn hangs(&self) -> String {
        self.begin(&json!({"prune": true}));
        let waits_for = || {
            let state = self.get().pointer("/status/operationState").cloned()?;
            let message = state.get("message")?.as_str()?.to_owned();
            (state.get("phase") == Some(&json!("Running")) && message.starts_with("waiting for")).then_some(message)
        };
        let (mut last, mut since) = (None, Instant::now());
        wait_for("the sync waits for the same thing for ever", || {
            let now = waits_for();
            if now != last {
                (last, since) = (now, Instant::now());
            }
            last.clone().filter(|_| since.elapsed() > FOR_EVER)
        })
    }

    fn begin(&self, sync: &Value) {
        // With the last operation's state still there, Argo CD would go on from its results.
        self.merge(&json!({
            "operation": {"initiatedBy": {"username": "dev"}, "sync": sync}, "status": {"operationState": null},
        }));
    }

    /// Deletes it with all its objects, as `argocd app delete` does; fails with what keeps it.
    pub fn delete(&self) {
        self.merge(&json!({"metadata": {"finalizers": [FINALIZER]}}));
        let cluster = self.scene.cluster();
        cluster.delete(KIND, NAMESPACE, self.name, &DeleteParams::default());
        let start = Instant::now();
        while let Some(application) = cluster.find(KIND, NAMESPACE, self.name) {
            let left = ["Job", "ServiceAccount", "ConfigMap"].map(|kind| cluster.list(kind, &self.scene.namespace));
            assert!(start.elapsed() < DELETION, "not deleted: {application:#}\nwhat is left: {left:#?}");
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Waits for the end of the operation that Argo CD is at or will begin.
    #[must_use]
    pub fn ended(&self) -> Sync {
        wait_for("the sync ends", || {
            let application = self.get();
            let state = application.pointer("/status/operationState")?;
            let text = |field| state.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
            let has_ended = application.get("operation").is_none() && state.get("finishedAt").is_some();
            let resources = state.pointer("/syncResult/resources").and_then(Value::as_array).cloned();
            has_ended.then(|| Sync {
                phase: text("phase"),
                message: without_file(&text("message")),
                resources: resources.unwrap_or_default(),
            })
        })
    }

    /// Compares git and the cluster anew.
    pub fn refresh(&self) {
        let annotation = "argocd.argoproj.io/refresh";
        self.merge(&json!({"metadata": {"annotations": {annotation: "hard"}}}));
        wait_for("Argo CD compares anew", || {
            let application = self.get();
            let annotations = application.pointer("/metadata/annotations");
            annotations.and_then(|annotations| annotations.get(annotation)).is_none().then_some(())
        });
    }

    /// What Argo CD shows after a refresh: `Synced, Healthy`.
    #[must_use]
    pub fn status(&self) -> String {
        self.refresh();
        let application = self.get();
        let status = |pointer| application.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        format!("{}, {}", status("/status/sync/status"), status("/status/health/status"))
    }

    /// How many syncs have succeeded.
    #[must_use]
    pub fn syncs(&self) -> usize {
        self.get().pointer("/status/history").and_then(Value::as_array).map_or(0, Vec::len)
    }

    fn get(&self) -> Value {
        self.scene.cluster().find(KIND, NAMESPACE, self.name).expect("the Application is there")
    }

    fn merge(&self, patch: &Value) {
        self.scene.cluster().merge(KIND, NAMESPACE, self.name, patch).expect("the Application is patched");
    }

    fn git(&self, arguments: &[&str]) {
        let mut command = mortal(Path::new("git"));
        // Without the caller's configuration: a commit might have to be signed.
        command.args(arguments).current_dir(&self.repository);
        command.env("HOME", &self.repository).env("GIT_CONFIG_NOSYSTEM", "1");
        let run = helm::run(command, &format!("git {}", arguments.join(" ")));
        let _ = run.succeeds();
    }
}

fn before<'a>(text: &'a str, mark: &str) -> &'a str {
    text.split_once(mark).map_or(text, |(before, _)| before)
}

/// Argo CD names the file that it gave to kubectl's code, which is another one each time.
fn without_file(text: &str) -> String {
    let mut parts = text.split("error when patching \"");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push_str("error when patching …");
        shown.push_str(part.split_once('"').map_or(part, |(_, rest)| rest));
    }
    shown
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("the chart is there") {
        let entry = entry.expect("the chart can be read");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir_all(&target).expect("the chart's folder is made");
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("the chart is copied");
        }
    }
}
