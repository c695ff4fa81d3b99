//! One scenario: a namespace of its own, and one Helm.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::cluster::{Cluster, has_condition, wait_for};
use crate::helm::{Helm, Major, Run, run};
use crate::webhook::registration::WATCHED_BY;
use crate::world::World;

/// In what is written down every namespace is called so.
const NAMESPACE: &str = "shop";
const RECORDS: &str = "flux-system";

/// What charts are made of here, besides Helm's records.
const KINDS: [&str; 9] =
    ["ConfigMap", "Deployment", "Job", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount", "StatefulSet"];

#[derive(Clone)]
pub struct Scene<'world> {
    pub world: &'world World,
    pub helm: Helm,
    pub namespace: String,
    /// Where the records are, if not beside the objects.
    records: Option<String>,
}

impl<'world> Scene<'world> {
    /// A new namespace, watched by the webhook of that name or by none.
    #[must_use]
    pub fn new(world: &'world World, name: &str, major: Major, watched_by: Option<&str>) -> Self {
        let namespace = namespace_name(name, major, watched_by);
        create_namespace(world.cluster(), &namespace, watched_by);
        let helm = Helm::new(major, &world.tools, &world.plane.kubeconfig, world.plane.folder(), &namespace);
        Self { world, helm, namespace, records: None }
    }

    /// The same with a second namespace for the records, as Flux can have it; both are watched or neither is.
    #[must_use]
    pub fn with_records_apart(mut self, watched_by: Option<&str>) -> Self {
        let records = format!("{}-records", self.namespace);
        create_namespace(self.cluster(), &records, watched_by);
        records.clone_into(&mut self.helm.namespace);
        self.records = Some(records);
        self
    }

    /// The same with the guard in Helm's place, which gets these options.
    #[must_use]
    pub fn guarded(&self, options: &[&str]) -> Self {
        let mut scene = self.clone();
        scene.helm.guard = Some(options.iter().map(|option| (*option).to_owned()).collect());
        scene
    }

    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        self.world.cluster()
    }

    #[must_use]
    pub fn find(&self, kind: &str, name: &str) -> Option<Value> {
        self.cluster().find(kind, &self.namespace, name)
    }

    /// An object that has to be there.
    #[must_use]
    #[track_caller]
    pub fn get(&self, kind: &str, name: &str) -> Value {
        self.find(kind, name).unwrap_or_else(|| panic!("{kind} {name} is not there"))
    }

    #[must_use]
    pub fn install(&self, release: &str, chart: &str, more: &[&str]) -> Run {
        self.operate("install", release, chart, more)
    }

    #[must_use]
    pub fn upgrade(&self, release: &str, chart: &str, more: &[&str]) -> Run {
        self.operate("upgrade", release, chart, more)
    }

    /// Where one of our charts lies.
    #[must_use]
    pub fn chart(&self, chart: &str) -> String {
        chart_folder(chart).to_string_lossy().into_owned()
    }

    /// Helm that is killed as soon as this holds, as a CI job that is cancelled.
    pub fn killed(&self, arguments: &[&str], when: impl FnMut() -> Option<()>) {
        let mut command = self.helm.in_namespace(arguments);
        let mut child: Child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("Helm starts");
        wait_for("the moment in which Helm is killed", when);
        child.kill().expect("Helm still runs");
        let _ = child.wait().expect("Helm ends");
    }

    #[must_use]
    pub fn records_namespace(&self) -> &str {
        self.records.as_deref().unwrap_or(&self.namespace)
    }

    /// Helm with Flux's options.
    #[must_use]
    pub fn flux(&self, verb: &str, release: &str, chart: &str, set: &[&str]) -> Run {
        let mut command = self.helm.command(&self.world.tools.flux.join("flux"));
        command
            .args([verb, release])
            .arg(chart_folder(chart))
            .args([self.namespace.as_str(), self.records_namespace()])
            .args(set);
        run(command, format!("flux {verb} {release} {chart} {}", set.join(" ")).trim_end())
    }

    #[must_use]
    pub fn operate(&self, verb: &str, release: &str, chart: &str, more: &[&str]) -> Run {
        let path = chart_folder(chart);
        let path = path.to_string_lossy();
        let mut arguments = vec![verb, release, &path];
        arguments.extend(more);
        let run = self.helm.run(&arguments);
        Run { command: run.command.replace(&*path, chart), ..run }
    }

    /// Runs the command line with this Helm and kubectl on the PATH.
    #[must_use]
    pub fn stable_hooks(&self, arguments: &[&str]) -> Run {
        let mut command = self.helm.command(Path::new("stable-hooks"));
        command.args(arguments);
        run(command, &format!("stable-hooks {}", arguments.join(" ")))
    }

    /// Runs a line of our pages as a shell does, with this Helm, and in the scene's namespace where the page says `shop`.
    #[must_use]
    pub fn line_of_a_page(&self, line: &str, chart: &str) -> Run {
        let line = line.replace("-n shop", &format!("-n {}", self.namespace));
        let line = line.replace("./chart", &self.chart(chart));
        // What a line writes shall not lie in this repository.
        let (folder, policy) = (self.folder(), concat!(env!("CARGO_MANIFEST_DIR"), "/../policy"));
        if !folder.join("policy").exists() {
            std::os::unix::fs::symlink(policy, folder.join("policy")).expect("the manifests are linked");
        }
        let mut command = self.helm.command(Path::new("bash"));
        command.args(["-o", "pipefail", "-c", &line]).current_dir(folder);
        run(command, &line)
    }

    /// Runs kubectl in the namespace.
    #[must_use]
    pub fn kubectl(&self, arguments: &[&str]) -> Run {
        self.kubectl_with(arguments, "false")
    }

    /// Runs a kubectl command of our pages as it stands there: in this repository, and in no namespace that it does not
    /// name.
    #[must_use]
    pub fn kubectl_of_a_page(&self, arguments: &str) -> Run {
        let mut command = self.helm.command(&self.world.tools.kubernetes.join("kubectl"));
        command.args(arguments.split(' ')).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        run(command, &format!("kubectl {arguments}"))
    }

    /// Runs `kubectl edit` with sed as the editor.
    #[must_use]
    pub fn kubectl_edit(&self, kind: &str, name: &str, script: &str) -> Run {
        self.kubectl_with(&["edit", kind, name], &format!("sed -i '{script}'"))
    }

    fn kubectl_with(&self, arguments: &[&str], editor: &str) -> Run {
        let mut command = self.helm.command(&self.world.tools.kubernetes.join("kubectl"));
        command.args(arguments).args(["--namespace", &self.namespace]).env("KUBE_EDITOR", editor);
        run(command, &format!("kubectl {}", arguments.join(" ")))
    }

    /// Makes a namespace that other scenarios may want too.
    pub fn has_namespace(&self, name: &str) {
        let made =
            self.cluster().try_create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
        assert!(
            made.is_ok() || self.cluster().find("Namespace", "", name).is_some(),
            "the namespace {name} is not made"
        );
    }

    /// From now on the namespace is watched by the webhook of that name.
    pub fn is_watched_by(&self, webhook: &str) {
        let labels = json!({"metadata": {"labels": {WATCHED_BY: webhook}}});
        let _ = self.cluster().merge("Namespace", "", &self.namespace, &labels).expect("the namespace is labelled");
        // The API server learns of the label a moment later.
        let probe = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {
                "name": "probe", "namespace": self.namespace, "labels": {"stable-hooks/migration": "true"},
                "annotations": {"helm.sh/hook": "pre-upgrade"},
            },
        });
        wait_for("the webhook watches the namespace", || {
            match self.cluster().dry_create(&probe) {
                Ok(object) => object.pointer("/metadata/annotations/helm.sh~1hook-weight").map(|_| ()),
                // So does a webhook that fails.
                Err(_) => Some(()),
            }
        });
    }

    /// A folder of its own, removed at the end.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        let folder = self.world.plane.folder().join("scenes").join(&self.namespace);
        std::fs::create_dir_all(&folder).expect("the folder is made");
        folder
    }

    /// Writes a manifest into a file for kubectl.
    #[must_use]
    pub fn file(&self, name: &str, content: &Value) -> String {
        let path = self.folder().join(format!("{name}.json"));
        std::fs::write(&path, content.to_string()).expect("the file is written");
        path.to_string_lossy().into_owned()
    }

    /// Waits until no Job runs any more.
    pub fn settle(&self) {
        wait_for("all Jobs have ended", || {
            let jobs = self.cluster().list("Job", &self.namespace);
            jobs.iter().all(|job| has_condition(job, "Complete") || has_condition(job, "Failed")).then_some(())
        });
    }

    /// All objects as they are now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let mut objects = BTreeMap::new();
        let namespaces = [Some(&self.namespace), self.records.as_ref()];
        for (kind, namespace) in
            KINDS.iter().flat_map(|kind| namespaces.iter().flatten().map(move |namespace| (*kind, *namespace)))
        {
            for object in self.cluster().list(kind, namespace) {
                let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
                let name = text("/metadata/name");
                // These two are the control plane's.
                if name != "kube-root-ca.crt" && (kind, name.as_str()) != ("ServiceAccount", "default") {
                    objects
                        .insert(format!("{kind} {name}"), (text("/metadata/uid"), text("/metadata/resourceVersion")));
                }
            }
        }
        Snapshot(objects)
    }

    /// The text with nothing in it that differs from run to run.
    #[must_use]
    pub fn shown(&self, text: &str) -> String {
        let text = self.records.iter().fold(text.to_owned(), |text, records| text.replace(records, RECORDS));
        without_dump(&text.replace(&self.namespace, NAMESPACE))
    }
}

/// The API server shows the whole pod template that it refuses, UIDs and all.
fn without_dump(text: &str) -> String {
    let (begin, end) = ("Invalid value: {", "}: field is immutable");
    match text.split_once(begin) {
        Some((before, rest)) => match rest.rsplit_once(end) {
            Some((_, after)) => format!("{before}{begin}…{end}{after}"),
            None => text.to_owned(),
        },
        None => text.to_owned(),
    }
}

fn create_namespace(cluster: &Cluster, namespace: &str, watched_by: Option<&str>) {
    let labels = watched_by.map(|webhook| json!({WATCHED_BY: webhook}));
    cluster
        .create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}));
    // Without it no Pod of the namespace is created.
    wait_for("the namespace's ServiceAccount", || cluster.find("ServiceAccount", namespace, "default"));
}

pub(crate) fn chart_folder(chart: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("charts").join(chart)
}

fn namespace_name(name: &str, major: Major, watched_by: Option<&str>) -> String {
    let words: String =
        name.chars().map(|char| if char.is_ascii_alphanumeric() { char.to_ascii_lowercase() } else { '-' }).collect();
    let words: String = words.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    let short: String = words.chars().take(40).collect();
    let with = if watched_by.is_some() { "with" } else { "without" };
    format!("{}-{}-{with}", short.trim_end_matches('-'), major.number())
}

/// The objects of a namespace: for each its UID and resource version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot(BTreeMap<String, (String, String)>);

impl Snapshot {
    /// What became of them.
    #[must_use]
    pub fn change_to(&self, after: &Self) -> Change {
        let mut change = Change::default();
        for (object, (uid, version)) in self.visible() {
            match after.0.get(object) {
                None => change.gone.push(object.clone()),
                Some((new, _)) if new != uid => change.replaced.push(object.clone()),
                Some((_, new)) if new != version => change.changed.push(object.clone()),
                Some(_) => {}
            }
        }
        change.new = after
            .visible()
            .filter(|(object, _)| !self.0.contains_key(*object))
            .map(|(object, _)| object.clone())
            .collect();
        change
    }

    fn visible(&self) -> impl Iterator<Item = (&String, &(String, String))> {
        self.0.iter().filter(|(object, _)| !object.contains("sh.helm.release.v1."))
    }
}

/// What an operation did to a namespace, Helm's records aside.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Change {
    pub gone: Vec<String>,
    /// Deleted, and another object of that name is there.
    pub replaced: Vec<String>,
    pub changed: Vec<String>,
    pub new: Vec<String>,
}

impl Display for Change {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let parts = [
            ("Gone", &self.gone),
            ("Deleted and made anew", &self.replaced),
            ("Changed", &self.changed),
            ("New", &self.new),
        ];
        let parts: Vec<_> = parts
            .iter()
            .filter(|(_, objects)| !objects.is_empty())
            .map(|(what, objects)| format!("{what}: {}.", objects.join(", ")))
            .collect();
        if parts.is_empty() { f.write_str("No object changed.") } else { f.write_str(&parts.join(" ")) }
    }
}

/// `1 superseded, 2 deployed`.
#[must_use]
pub fn history_text(history: &[(u64, String)]) -> String {
    if history.is_empty() {
        return "none".to_owned();
    }
    history.iter().map(|(revision, status)| format!("{revision} {status}")).collect::<Vec<_>>().join(", ")
}
