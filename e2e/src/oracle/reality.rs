//! What really happened: the last operation of a pair, and what was there before and after it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use kube::api::DeleteParams;
use serde_json::Value;

use crate::cluster::has_condition;
use crate::helm::{Major, Run};
use crate::scene::Scene;
use crate::world::World;

use super::files::files;
use super::pair::{Kind, Operation, Pair};
use super::record::{Record, Side};

/// A Job of a hook that waits for what never comes is not waited for.
const PATIENCE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(100);

/// A namespace at one moment.
#[derive(Debug, Clone)]
pub struct Moment {
    /// Jobs and `ServiceAccounts`.
    pub objects: Vec<Value>,
    pub records: Vec<Record>,
}

/// All that happened to a pair.
#[derive(Clone)]
pub struct Reality {
    pub runs: Vec<Run>,
    pub before: Moment,
    pub after: Moment,
}

/// What became of an object in the last operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    NeverThere,
    New,
    Kept,
    Replaced,
    Gone,
}

/// Why Helm failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    Ownership,
    AlreadyExists,
    Immutable,
    Timeout,
    /// The API server refused an object, or Helm a chart.
    Other,
}

/// Whether an object changed sides, and whether that did harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flip {
    /// It did not.
    None,
    /// It did; it is still there or was made as it should be, and Helm succeeded.
    Harmless,
    /// A hook with `helm.sh/resource-policy: keep`: made anew, and not pruned. A warning is enough.
    Recreated,
    /// It was lost, replaced, or Helm failed because of it.
    Harmful,
    /// Helm failed before it came to it, or there was nothing to lose.
    Unclear,
}

impl Failure {
    pub const ALL: [Self; 5] = [Self::Ownership, Self::AlreadyExists, Self::Immutable, Self::Timeout, Self::Other];

    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Ownership => "invalid ownership",
            Self::AlreadyExists => "already exists",
            Self::Immutable => "immutable",
            Self::Timeout => "timed out",
            Self::Other => "other",
        }
    }

    #[must_use]
    pub fn of(run: &Run) -> Option<Self> {
        if run.success {
            return None;
        }
        let error = run.error();
        let says = |words: &str| error.contains(words);
        Some(if says("invalid ownership metadata") {
            Self::Ownership
        } else if says("already exists") {
            Self::AlreadyExists
        } else if says("field is immutable") || says("spec.selector: Required value") {
            Self::Immutable
        } else if says("timed out waiting") || says("context deadline exceeded") {
            Self::Timeout
        } else {
            Self::Other
        })
    }
}

/// Lets a pair happen in a namespace of its own; `while_there` is called before the last operation and after it, while
/// the release is there.
pub fn play<T>(
    world: &World,
    name: &str,
    pair: &Pair,
    major: Major,
    before_last: impl FnOnce(&Scene<'_>, &str, &Moment) -> T,
    after_last: impl FnOnce(&Scene<'_>, &Reality, T) -> T,
) -> (Reality, T) {
    let scene = Scene::new(world, name, major, None);
    let folder = scene.folder();
    write(&folder, pair);
    let folder = folder.to_string_lossy().into_owned();
    let mut runs = Vec::new();
    let last = pair.steps.len().saturating_sub(1);
    for (number, step) in pair.steps.iter().enumerate().take(last) {
        runs.push(operate(&scene, &folder, number, step));
        settle(&scene);
    }
    let before = moment(&scene);
    let told = before_last(&scene, &folder, &before);
    runs.push(operate(&scene, &folder, last, pair.last()));
    let after = moment(&scene);
    let reality = Reality { runs, before, after };
    let told = after_last(&scene, &reality, told);
    scene.cluster().delete("Namespace", "", &scene.namespace, &DeleteParams::background());
    let _ = fs::remove_dir_all(&folder);
    (reality, told)
}

fn operate(scene: &Scene<'_>, folder: &str, number: usize, step: &super::pair::Step) -> Run {
    let arguments = step.arguments(folder, number);
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let run = scene.helm.run(&arguments);
    Run { command: run.command.replace(&format!("{folder}/"), ""), ..run }
}

fn write(folder: &Path, pair: &Pair) {
    for version in 0..pair.charts.len() {
        for (path, content) in files(pair, version) {
            let path = folder.join(format!("v{}", version + 1)).join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).expect("the chart's folder is made");
            }
            fs::write(path, content).expect("the chart is written");
        }
    }
    for (number, step) in pair.steps.iter().enumerate() {
        if let Some(content) = step.values_file() {
            fs::write(folder.join(format!("values-{number}.yaml")), content).expect("the values are written");
        }
    }
}

fn settle(scene: &Scene<'_>) {
    let start = Instant::now();
    let is_over = |job: &Value| has_condition(job, "Complete") || has_condition(job, "Failed");
    // A Job with a TTL is over when it is gone, so that what follows does not depend on how fast this machine is.
    let has_ttl = |job: &Value| job.pointer("/spec/ttlSecondsAfterFinished").is_some();
    while start.elapsed() < PATIENCE
        && !scene.cluster().list("Job", &scene.namespace).iter().all(|job| is_over(job) && !has_ttl(job))
    {
        thread::sleep(POLL);
    }
}

fn moment(scene: &Scene<'_>) -> Moment {
    let of = |kind: Kind, api_version: &str| {
        let objects = scene.cluster().list(kind.name(), &scene.namespace).into_iter();
        let typed = objects.map(|mut object| {
            if let Some(fields) = object.as_object_mut() {
                fields.extend([("apiVersion".to_owned(), api_version.into()), ("kind".to_owned(), kind.name().into())]);
            }
            object
        });
        typed.collect::<Vec<_>>()
    };
    let mut objects = of(Kind::Job, "batch/v1");
    objects.extend(
        of(Kind::ServiceAccount, "v1").into_iter().filter(|object| text(object, "/metadata/name") != "default"),
    );
    // What is being deleted is not there any more.
    objects.retain(|object| object.pointer("/metadata/deletionTimestamp").is_none());
    Moment { objects, records: Record::all(&scene.cluster().list("Secret", &scene.namespace)) }
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

impl Moment {
    /// The UIDs of the objects of that name, or of those that Kubernetes named so.
    fn uids(&self, (kind, name): (Kind, &str)) -> BTreeSet<&str> {
        let is_it = |object: &&Value| {
            let own = text(object, "/metadata/name");
            let generated = text(object, "/metadata/generateName").strip_suffix('-');
            text(object, "/kind") == kind.name() && (own == name || generated == Some(name))
        };
        self.objects.iter().filter(is_it).map(|object| text(object, "/metadata/uid")).collect()
    }
}

impl Reality {
    #[must_use]
    pub fn last(&self) -> &Run {
        self.runs.last().expect("a pair has steps")
    }

    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        Failure::of(self.last())
    }

    /// The record that the last operation wrote, if it came so far.
    #[must_use]
    pub fn record(&self) -> Option<&Record> {
        let known = self.before.records.last().map_or(0, |record| record.version);
        self.after.records.last().filter(|record| record.version > known)
    }

    /// The record that the last operation began with.
    #[must_use]
    pub fn baseline(&self, pair: &Pair) -> Option<&Record> {
        match pair.last().operation {
            Operation::Install | Operation::Replace => None,
            Operation::Rollback => self.before.records.last(),
            _ => Record::current(&self.before.records),
        }
    }

    #[must_use]
    pub fn fate(&self, object: (Kind, &str)) -> Fate {
        let (before, after) = (self.before.uids(object), self.after.uids(object));
        match (before.is_empty(), after.is_empty()) {
            (true, true) => Fate::NeverThere,
            (true, false) => Fate::New,
            (false, true) => Fate::Gone,
            (false, false) if before.is_subset(&after) => Fate::Kept,
            (false, false) => Fate::Replaced,
        }
    }

    #[must_use]
    pub fn sides(&self, pair: &Pair, object: (Kind, &str)) -> (Side, Option<Side>) {
        let before = self.baseline(pair).map_or(Side::Absent, |record| record.side(object));
        (before, self.record().map(|record| record.side(object)))
    }

    /// Whether Helm's error is about that object.
    #[must_use]
    pub fn blames(&self, pair: &Pair, (kind, name): (Kind, &str)) -> bool {
        let error = self.last().error();
        let (spellings, go_kind): (&[&str], _) = match kind {
            Kind::Job => (&["jobs.batch", "Job", "Job.batch"], "Kind=Job"),
            Kind::ServiceAccount => (&["serviceaccounts", "ServiceAccount"], "Kind=ServiceAccount"),
        };
        let is_named = spellings.iter().any(|spelling| error.contains(&format!("{spelling} \"{name}\"")))
            || (error.contains(go_kind) && error.contains(&format!("/{name} ")));
        let objects = pair.charts.get(pair.last().chart).map(|chart| &chart.objects);
        let file =
            objects.and_then(|objects| objects.iter().position(|object| object.kind == kind && object.name == name));
        is_named || file.is_some_and(|number| error.contains(&format!("/o{number}.yaml")))
    }

    #[must_use]
    pub fn flip(&self, pair: &Pair, object: (Kind, &str)) -> Flip {
        let fate = self.fate(object);
        let failure = self.failure();
        let (before, after) = self.sides(pair, object);
        let Some(after) = after else {
            // Helm stopped before it wrote a record: it says which object it cannot import.
            let was_hook = self.before.records.iter().any(|record| record.side(object) == Side::Hook);
            return match failure {
                Some(Failure::Ownership) if was_hook && self.blames(pair, object) => Flip::Harmful,
                Some(_) => Flip::Unclear,
                None => Flip::None,
            };
        };
        let (version, is_upgrade) = match pair.last().operation {
            // To revision 1, which was an install.
            Operation::Rollback => (0, false),
            operation => (pair.last().chart, operation == Operation::Upgrade),
        };
        let is_present = self.record().is_some_and(|record| record.has_value("present"));
        let is_rendered = pair.object(version, object).is_some_and(|object| object.is_rendered(is_upgrade, is_present));
        let turned = match (before, after) {
            (Side::Resource, Side::Hook) | (Side::Hook, Side::Resource) => true,
            // Its events are none that Helm knows.
            (Side::Resource, Side::Absent) => is_rendered,
            _ => false,
        };
        let is_blamed = failure.is_some() && self.blames(pair, object);
        match (turned, fate) {
            (false, _) => Flip::None,
            (true, Fate::Replaced) if !is_blamed && self.record().is_some_and(|record| record.keeps(object)) => {
                Flip::Recreated
            }
            (true, Fate::Gone | Fate::Replaced) => Flip::Harmful,
            (true, _) if is_blamed => Flip::Harmful,
            (true, _) if failure.is_some() => Flip::Unclear,
            // A Job whose TTL had removed it: the hook runs, and what it leaves is pruned.
            (true, Fate::NeverThere | Fate::New) if before == Side::Resource => Flip::Unclear,
            (true, _) => Flip::Harmless,
        }
    }
}
