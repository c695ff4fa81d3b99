//! The reader of templates against Helm itself: a value that it leaves out never changes an object that is judged.

mod chance;
mod generated;
mod grammar;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::{Value, json};
use stable_hooks::reach::{Chart, Key, Pattern, Reach};

use crate::helms::{folder, helms};

const CHARTS: usize = 50;
/// How many charts with that many subcharts are made where `PARENTS` says no other number.
const PARENTS: u64 = 5;
/// Of so many parents one shows what happens with the values that decide.
const DECIDED: u64 = 5;
/// How many misses of one chart are told.
const MOST_SHOWN: usize = 3;

type Documents = BTreeMap<String, Vec<String>>;

/// What the test has seen: it proves nothing where little was changed, or little was there to be changed.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    charts: usize,
    objects: usize,
    hooks: usize,
    /// Values outside of what is reached, and of what decides.
    unread: usize,
    undecided: usize,
    /// Templates without objects that changed with the values outside of what the others read.
    plain_changed: usize,
    /// Templates that had other objects, or other hooks, when values changed that decide.
    decided: usize,
}

impl Seen {
    fn and(self, other: Self) -> Self {
        Self {
            charts: self.charts + other.charts,
            objects: self.objects + other.objects,
            hooks: self.hooks + other.hooks,
            unread: self.unread + other.unread,
            undecided: self.undecided + other.undecided,
            plain_changed: self.plain_changed + other.plain_changed,
            decided: self.decided + other.decided,
        }
    }
}

/// One parent chart, written to a folder for Helm.
struct Rendered<'h> {
    helm: &'h Path,
    folder: PathBuf,
    files: BTreeMap<String, String>,
    values: Value,
}

impl Rendered<'_> {
    /// The documents of every template.
    fn render(&self, values: &Value) -> Documents {
        let given = self.folder.join("given.json");
        fs::write(&given, values.to_string()).unwrap();
        let output = Command::new(self.helm).args(["template", "r"]).arg(&self.folder).arg("-f").arg(&given).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}: {}", self.folder.display(), String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let mut documents = Documents::new();
        for document in text.split("---\n").filter_map(|document| document.strip_prefix("# Source: ")) {
            let (template, document) = document.split_once('\n').unwrap();
            documents.entry(template.to_owned()).or_default().push(document.to_owned());
        }
        for documents in documents.values_mut() {
            documents.sort();
        }
        documents
    }

    /// Names one value that alone changes a template's documents, or the fewest that do so together.
    fn culprits(
        &self,
        template: &str,
        before: &Documents,
        may_change: impl Fn(&[String]) -> bool,
        shown: Shown,
    ) -> String {
        let mut paths = Vec::new();
        Changer { may_change: &may_change, changed: &mut paths }.changed(&self.values, &mut Vec::new());
        let old = shown(before.get(template));
        let mut new = String::new();
        let mut changes = |paths: &[Vec<String>]| {
            let only = |other: &[String]| paths.iter().any(|path| path == other);
            let after = shown(self.render_changed(&only).0.get(template));
            let changes = after != old;
            if changes {
                new = after;
            }
            changes
        };
        while paths.len() > 1 {
            let (left, right) = paths.split_at(paths.len() / 2);
            if changes(left) {
                paths = left.to_vec();
            } else if changes(right) {
                paths = right.to_vec();
            } else {
                break;
            }
        }
        let paths: Vec<_> = paths.iter().map(|path| path.join(".")).collect();
        format!("{template} in {} changes with {}:\n{old}\nnow\n{new}", self.folder.display(), paths.join(", "))
    }

    fn check(&self, shows_decided: bool) -> Seen {
        let mut seen = Seen { charts: CHARTS, ..Seen::default() };
        let reach = Reach::of(&Chart::of(&self.files), &self.values).unwrap();
        assert!(reach.blind.is_empty(), "{}: {:?}", self.folder.display(), reach.blind);
        let before = self.render(&json!({}));

        let mut missed = Vec::new();
        let (reached, deciders) = (Patterns::of(&reach.reached), Patterns::of(reach.deciders.keys()));
        let is_unread = |path: &[String]| !reached.touch(path);
        let (after, changed) = self.render_changed(&is_unread);
        seen.unread = changed;
        for template in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
            let (old, new) = (before.get(template), after.get(template));
            if roles(old).is_empty() && roles(new).is_empty() {
                seen.plain_changed += usize::from(old != new);
            } else if old != new && missed.len() < MOST_SHOWN {
                missed.push(format!("Not reached, and yet {}", self.culprits(template, &before, is_unread, whole)));
            }
        }

        let is_undecided = |path: &[String]| !deciders.touch(path);
        let (after, changed) = self.render_changed(&is_undecided);
        seen.undecided = changed;
        for template in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
            let (old, new) = (roles(before.get(template)), roles(after.get(template)));
            seen.objects += old.len();
            seen.hooks += old.iter().filter(|(_, _, is_hook)| *is_hook).count();
            if old != new && missed.len() < MOST_SHOWN {
                let told = self.culprits(template, &before, is_undecided, shown_roles);
                missed.push(format!("Does not decide, and yet {told}"));
            }
        }
        assert!(missed.is_empty(), "{}", missed.join("\n\n"));

        if shows_decided {
            let (after, _) = self.render_changed(&|path: &[String]| !is_undecided(path));
            let all: BTreeSet<_> = before.keys().chain(after.keys()).collect();
            seen.decided = all.iter().filter(|one| roles(before.get(**one)) != roles(after.get(**one))).count();
        }
        seen
    }

    fn render_changed(&self, may_change: &dyn Fn(&[String]) -> bool) -> (Documents, usize) {
        let mut changed = Vec::new();
        let values = Changer { may_change, changed: &mut changed }.changed(&self.values, &mut Vec::new());
        (self.render(&values), changed.len())
    }
}

/// The patterns step by step: there are thousands, and thousands of values are looked for among them.
#[derive(Default)]
struct Patterns {
    ends: bool,
    any: Option<Box<Self>>,
    named: BTreeMap<String, Self>,
}

impl Patterns {
    fn of<'p>(patterns: impl IntoIterator<Item = &'p Pattern>) -> Self {
        let mut all = Self::default();
        for pattern in patterns {
            let last = pattern.0.iter().fold(&mut all, |node, key| match key {
                Key::Any => node.any.get_or_insert_default(),
                Key::Named(name) => node.named.entry(name.clone()).or_default(),
            });
            last.ends = true;
        }
        all
    }

    /// One of them is the path, or lies above it or below it.
    fn touch(&self, path: &[String]) -> bool {
        let Some((step, rest)) = path.split_first() else { return true };
        self.ends || self.any.iter().map(Box::as_ref).chain(self.named.get(step)).any(|next| next.touch(rest))
    }
}

/// Puts another value of the same sort wherever one may change.
struct Changer<'c> {
    may_change: &'c dyn Fn(&[String]) -> bool,
    changed: &'c mut Vec<Vec<String>>,
}

impl Changer<'_> {
    fn changed(&mut self, value: &Value, path: &mut Vec<String>) -> Value {
        match value {
            Value::Object(fields) => {
                let mut fields: serde_json::Map<_, _> =
                    fields.iter().map(|(key, value)| (key.clone(), self.below(key, value, path))).collect();
                let is_of_maps = path.last().is_some_and(|key| key.starts_with("mm"));
                let more: &[_] = if path.len() < 2 { &["x0", "x1", "x2", "x3", "x4", "x5"] } else { &["extra"] };
                for key in more {
                    path.push((*key).to_owned());
                    if !fields.contains_key(*key) && self.changes(path) {
                        let value = if is_of_maps { fields["one"].clone() } else { json!("on") };
                        fields.insert((*key).to_owned(), value);
                    }
                    path.pop();
                }
                Value::Object(fields)
            }
            Value::Array(_) if self.changes(path) => other_list(value, path),
            Value::Array(items) => {
                items.iter().enumerate().map(|(at, item)| self.below(&at.to_string(), item, path)).collect()
            }
            value if self.changes(path) => other_scalar(value),
            value => value.clone(),
        }
    }

    fn below(&mut self, key: &str, value: &Value, path: &mut Vec<String>) -> Value {
        path.push(key.to_owned());
        let changed = self.changed(value, path);
        path.pop();
        changed
    }

    fn changes(&mut self, path: &[String]) -> bool {
        let changes = (self.may_change)(path);
        if changes {
            self.changed.push(path.to_vec());
        }
        changes
    }
}

fn other_list(list: &Value, path: &[String]) -> Value {
    let key = path.last().map_or("", String::as_str);
    match (key, list.as_array().is_some_and(Vec::is_empty)) {
        (_, false) => json!([]),
        // A value that says what an object is reaches it only where it says so before.
        (key, _) if key.starts_with('o') => json!([generated::object("Pod")]),
        (key, _) if key.starts_with("ls") => json!(["on", "x", "on"]),
        _ => {
            json!([{"on": true, "name": "on", "sub": {"flag": true}}, {"on": false, "name": "x", "sub": {"flag": true}}])
        }
    }
}

fn other_scalar(value: &Value) -> Value {
    match value {
        Value::Bool(value) => json!(!value),
        Value::Number(number) => json!(if number.as_u64() == Some(3) { 1 } else { 3 }),
        Value::String(text) if text.starts_with("apiVersion") => {
            json!(generated::manifest(if text.contains("Job") { "ConfigMap" } else { "Pod" }))
        }
        Value::String(text) if text.contains("{{") => json!("{{ .Values.b3 }}"),
        Value::String(text) if text == "Job" => json!("ConfigMap"),
        Value::String(text) if ["ConfigMap", "Pod"].contains(&text.as_str()) => json!("Job"),
        Value::String(text) => json!(if text == "on" { "off" } else { "on" }),
        other => other.clone(),
    }
}

/// The objects of a template that are judged: which one it is, its kind, and whether it is a hook.
fn roles(documents: Option<&Vec<String>>) -> Vec<(String, String, bool)> {
    let mut roles = Vec::new();
    for document in documents.into_iter().flatten() {
        let after = |word: &str| {
            let line = document.lines().find_map(|line| line.trim_start().strip_prefix(word));
            line.unwrap_or_default().trim_matches(['"', '}', ' ']).to_owned()
        };
        let kind = document.lines().find_map(|line| line.strip_prefix("kind: ")).unwrap_or_default();
        let kind = kind.split(" #").next().unwrap_or_default().trim_matches('"').to_owned();
        let is_hook = document.contains("helm.sh/hook");
        let id = after("labels: {id: ") + &after("id: ");
        if is_hook || ["Job", "ServiceAccount"].contains(&kind.as_str()) {
            roles.push((id, kind, is_hook));
        }
    }
    roles.sort_unstable();
    roles
}

type Shown = fn(Option<&Vec<String>>) -> String;

fn whole(documents: Option<&Vec<String>>) -> String {
    documents.into_iter().flatten().map(String::as_str).collect()
}

fn shown_roles(documents: Option<&Vec<String>>) -> String {
    format!("{:?}", roles(documents))
}

#[test]
fn reach_what_is_outside_of_it_never_changes_an_object() {
    let parents = env::var("PARENTS").map_or(PARENTS, |parents| parents.parse().unwrap());
    for (number, helm) in helms().iter().enumerate() {
        let next = AtomicU64::new(1);
        let work = || {
            let mut seen = Seen::default();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at > parents {
                    return seen;
                }
                let files = generated::parent(at * 2 + u64::try_from(number).unwrap(), CHARTS);
                let folder = folder(&format!("reach-{number}-{at}"));
                for (path, text) in &files {
                    let path = folder.join(path);
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, text).unwrap();
                }
                let values = Chart::of(&files).values_with(json!({}));
                seen = seen
                    .and(Rendered { helm, folder: folder.clone(), files, values }.check(at.is_multiple_of(DECIDED)));
                fs::remove_dir_all(folder).unwrap();
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let seen = thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            all.into_iter().map(|one| one.join().unwrap()).fold(Seen::default(), Seen::and)
        });
        let Seen { charts, objects, hooks, unread, undecided, plain_changed, decided } = seen;
        let is_much = objects > 2 * charts && hooks > charts && unread > 100 * charts && undecided > unread;
        assert!(is_much && plain_changed > charts / 2 && decided > charts / 5, "{seen:?}");
    }
}
