//! Which values of a chart reach its hooks, read from the templates without rendering them. Exact about what a template
//! says, generous about what it may do: a value too many costs a render, a value too few is a flip that nobody sees.

mod chart;
mod effort;
mod functions;
mod line;
mod notes;
mod reading;
mod scope;
mod source;
mod walk;
mod words;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::thread;

use serde_json::Value;

pub use chart::Chart;
pub use notes::Role;
pub use reading::{Key, Literal, Pattern};

use chart::Subchart;
use notes::{Decision, Gap};
use reading::Reading;
use walk::Walker;

/// A template may nest a hundred blocks and call as many others.
const STACK: usize = 256 * 1024 * 1024;

/// How often the templates are walked, as long as one reads what a later one has put into the top of its chart.
const MOST_WALKS: usize = 3;

/// How often a value is copied from one place to another before a template reads it.
const MOST_COPIES: usize = 4;

/// What a reader of templates does not see.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blind {
    /// A template asks the cluster.
    Lookup { file: String },
    /// A template asks which Kubernetes it is rendered for.
    Capabilities { file: String },
    /// A template calls one whose name it computes.
    ComputedName { file: String },
    /// A template that does not parse.
    Unparsed { file: String, reason: String },
    /// There is more of it than anybody walks through.
    TooLarge,
}

/// A value that decides about objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decider {
    pub role: Role,
    /// What it is compared with.
    pub literals: BTreeSet<Literal>,
    /// The templates in which it decides, by their paths from the chart's folder on.
    pub files: BTreeSet<String>,
}

/// The values that reach a chart's hooks.
#[derive(Debug, Default)]
pub struct Reach {
    pub deciders: BTreeMap<Pattern, Decider>,
    /// All values that a template with a hook, a Job or a `ServiceAccount` reads, whatever for.
    pub reached: BTreeSet<Pattern>,
    pub blind: BTreeSet<Blind>,
}

impl Decider {
    /// Adds what another pattern says of the same value.
    pub(crate) fn join(&mut self, other: &Self) {
        self.role = self.role.max(other.role);
        self.literals.extend(other.literals.iter().cloned());
        self.files.extend(other.files.iter().cloned());
    }
}

impl Reach {
    /// Reads a chart's templates; `values` are what it is rendered with.
    ///
    /// # Errors
    ///
    /// When there can be no thread with a stack as deep as templates may nest.
    pub fn of(chart: &Chart, values: &Value) -> io::Result<Self> {
        thread::scope(|scope| {
            let reader = thread::Builder::new().stack_size(STACK);
            let reader = reader.spawn_scoped(scope, || Reader::new(values).read(chart))?;
            reader.join().map_err(|_| io::Error::other("the reader of the templates has failed"))
        })
    }
}

/// One template's file, in one place.
struct File<'c> {
    /// From the chart's folder on.
    path: String,
    /// What Helm calls it.
    name: String,
    keys: Vec<String>,
    /// The decisions that switch its chart on.
    around: Vec<usize>,
    source: &'c str,
    is_rendered: bool,
}

struct Reader<'c> {
    walker: Walker<'c>,
    files: Vec<File<'c>>,
    /// The keys of every subchart.
    scopes: BTreeSet<Vec<String>>,
    blind: BTreeSet<Blind>,
}

impl<'c> Reader<'c> {
    fn new(values: &'c Value) -> Self {
        Self { walker: Walker::new(values), files: Vec::new(), scopes: BTreeSet::new(), blind: BTreeSet::new() }
    }

    fn read(mut self, chart: &'c Chart) -> Reach {
        self.collect(chart, &chart.name, &[], &[]);
        // As Helm parses and renders them: the deepest first, backwards. Of a name the last template counts.
        self.files.sort_by_key(|file| Reverse((file.name.matches('/').count(), file.name.clone())));
        for file in &self.files {
            if let Err(reason) = self.walker.read(&file.name, file.source) {
                self.blind.insert(Blind::Unparsed { file: file.path.clone(), reason });
            }
        }
        self.walk();
        self.walker.notes.spread_files();
        self.share_global();
        self.reach()
    }

    fn walk(&mut self) {
        let mut tops = BTreeMap::new();
        for file in &self.files {
            let map = self.walker.notes.map((tops.len(), 0));
            let new = || Reading { maps: BTreeSet::from([map]), ..Reading::top(file.keys.clone()) };
            tops.entry(file.keys.clone()).or_insert_with(new);
        }
        for _ in 0..MOST_WALKS {
            let before = tops.clone();
            for (number, file) in self.files.iter().enumerate().filter(|(_, file)| file.is_rendered) {
                if let Some(top) = tops.get_mut(&file.keys) {
                    *top = self.walker.walk(number, &file.name, &file.around, top.clone());
                }
            }
            if before.iter().all(|(keys, top)| tops.get(keys).is_some_and(|now| now.is_as(top))) {
                break;
            }
        }
    }

    fn collect(&mut self, chart: &'c Chart, name: &str, keys: &[String], around: &[usize]) {
        for Subchart { chart, key, conditions, tags, imports } in chart.subcharts() {
            let below = [keys, std::slice::from_ref(key)].concat();
            let pattern = |path: &Vec<String>| Pattern::of(&[keys, path].concat());
            let tags = tags.iter().map(|tag| Pattern::of(&["tags".to_owned(), tag.clone()]));
            let switches: Vec<_> = conditions.iter().map(pattern).chain(tags).collect();
            let mut around = around.to_vec();
            if !switches.is_empty() {
                around.push(self.walker.notes.decide(switches));
            }
            for import in imports {
                let source = Reading::of_pattern(Pattern::of(&[&below[..], &import.child].concat()));
                // Nothing comes from a chart that is switched off.
                let source = Reading { decisions: around.iter().copied().collect(), ..source };
                self.walker.notes.write_over(pattern(&import.parent), source);
            }
            self.collect(chart, &format!("{name}/charts/{key}"), &below, &around);
            self.scopes.insert(below);
        }
        for (path, source) in &chart.templates {
            let file = path.rsplit('/').next().unwrap_or(path);
            self.files.push(File {
                path: format!("{}{path}", chart.folder),
                name: format!("{name}/{path}"),
                keys: keys.to_vec(),
                around: around.to_vec(),
                source,
                is_rendered: !chart.is_library && !file.starts_with('_') && file != "NOTES.txt",
            });
        }
    }

    fn reach(self) -> Reach {
        let roles = self.roles();
        let notes = &self.walker.notes;
        let makes = |decision: &Decision| notes.files(decision).iter().any(|file| self.makes(*file).is_some());
        let reached = self.all_behind(|decision| decision.role.is_some() || makes(decision));
        let mut reach = Reach { blind: self.blind(), ..Reach::default() };
        let mut sources = BTreeMap::<&Pattern, BTreeSet<Pattern>>::new();
        for (id, decision) in notes.decisions.iter().enumerate() {
            let role = roles.get(&id).copied();
            let files = notes.files(decision);
            for (pattern, literals) in decision.uses.iter().filter(|_| reached.contains(&id)) {
                for source in sources.entry(pattern).or_insert_with(|| self.sources(pattern)).iter() {
                    if let Some(role) = role.filter(|_| !source.0.is_empty()) {
                        self.add(&mut reach.deciders, source, role, (literals, &files));
                    }
                    if !reach.reached.contains(source) {
                        reach.reached.insert(source.clone());
                    }
                }
            }
        }
        reach
    }

    fn add(
        &self,
        deciders: &mut BTreeMap<Pattern, Decider>,
        pattern: &Pattern,
        role: Role,
        (literals, files): (&BTreeSet<Literal>, &BTreeSet<usize>),
    ) {
        if !deciders.contains_key(pattern) {
            let new = Decider { role, literals: BTreeSet::new(), files: BTreeSet::new() };
            deciders.insert(pattern.clone(), new);
        }
        let Some(decider) = deciders.get_mut(pattern) else { return };
        decider.role = decider.role.max(role);
        decider.literals.extend(literals.iter().cloned());
        for file in files.iter().filter_map(|file| self.files.get(*file)) {
            if !decider.files.contains(&file.path) {
                decider.files.insert(file.path.clone());
            }
        }
    }

    /// What a file makes that is judged: hooks, before Jobs and service accounts.
    fn makes(&self, file: usize) -> Option<Role> {
        [Role::Hook, Role::Object].into_iter().find(|role| self.walker.notes.makes.contains(&(*role, file)))
    }

    /// The decisions that decide about objects, and those that they hang on.
    fn roles(&self) -> BTreeMap<usize, Role> {
        let mut roles = BTreeMap::new();
        for role in [Role::Hook, Role::Object] {
            for id in self.all_behind(|decision| decision.role >= Some(role)) {
                roles.entry(id).or_insert(role);
            }
        }
        roles
    }

    /// These decisions and all that they hang on, or that what they read hangs on.
    fn all_behind(&self, is_one: impl Fn(&Decision) -> bool) -> BTreeSet<usize> {
        let decisions = &self.walker.notes.decisions;
        let first = decisions.iter().enumerate().filter(|(_, decision)| is_one(decision));
        let mut waiting: Vec<_> = first.map(|(id, _)| id).collect();
        let mut all = BTreeSet::new();
        let mut read = BTreeSet::<&Pattern>::new();
        while let Some(id) = waiting.pop() {
            let Some(decision) = decisions.get(id).filter(|_| !all.contains(&id)) else { continue };
            all.insert(id);
            waiting.extend(Self::hangs_on(decision));
            for pattern in decision.uses.keys().filter(|pattern| read.insert(pattern)) {
                for source in self.sources(pattern) {
                    waiting.extend(self.written_at(&source).flat_map(|(written, _)| self.walker.notes.on(written)));
                }
            }
        }
        all
    }

    fn hangs_on(decision: &Decision) -> impl Iterator<Item = usize> {
        decision.on.iter().copied().chain(decision.inside.clone())
    }

    /// What templates have written over a value, or into it, and the way from there to the value.
    fn written_at<'p>(&'p self, pattern: &'p Pattern) -> impl Iterator<Item = (&'p Reading, &'p [Key])> {
        self.walker.notes.written.iter().filter_map(|(target, source)| {
            match (target.rest(pattern), pattern.rest(target)) {
                (Some(rest), _) => Some((source, rest)),
                (None, Some(_)) => Some((source, &[][..])),
                (None, None) => None,
            }
        })
    }

    /// The values that stand behind one that a template reads: another template may have written them there.
    fn sources(&self, pattern: &Pattern) -> BTreeSet<Pattern> {
        let mut sources = BTreeSet::from([self.in_global(pattern.clone())]);
        let mut newest = sources.clone();
        for _ in 0..MOST_COPIES {
            let copied = newest.iter().flat_map(|pattern| {
                let written = self.written_at(pattern);
                written.flat_map(|(source, rest)| {
                    let sources = source.all_patterns().into_iter();
                    sources.map(|source| self.in_global(source.followed_by(rest)))
                })
            });
            newest = copied.filter(|source| !sources.contains(source)).collect();
            sources.extend(newest.iter().cloned());
        }
        sources
    }

    /// What one chart writes there, all others read.
    fn share_global(&mut self) {
        for (target, source) in std::mem::take(&mut self.walker.notes.written) {
            let target = self.in_global(target);
            self.walker.notes.written.entry(target).or_default().join(source);
        }
    }

    /// `global` is the same everywhere.
    fn in_global(&self, pattern: Pattern) -> Pattern {
        let at = pattern.0.iter().position(|key| *key == Key::Named("global".to_owned()));
        let Some((above, rest)) = at.and_then(|at| pattern.0.split_at_checked(at)) else { return pattern };
        let names = above.iter().map(|key| match key {
            Key::Named(name) => name.clone(),
            Key::Any => String::new(),
        });
        if self.scopes.contains(&names.collect::<Vec<_>>()) { Pattern(rest.to_vec()) } else { pattern }
    }

    /// The blind spots of the templates that make hooks; of the others nobody needs to know.
    fn blind(&self) -> BTreeSet<Blind> {
        let notes = &self.walker.notes;
        let mut blind = self.blind.clone();
        for (gap, files) in notes.gaps() {
            let of_hooks = files.iter().filter(|file| self.makes(**file) == Some(Role::Hook));
            for file in of_hooks.filter_map(|file| Some(self.files.get(*file)?.path.clone())) {
                blind.insert(match gap {
                    Gap::Lookup => Blind::Lookup { file },
                    Gap::Capabilities => Blind::Capabilities { file },
                    Gap::ComputedName => Blind::ComputedName { file },
                });
            }
        }
        if notes.is_too_large {
            blind.insert(Blind::TooLarge);
        }
        blind
    }
}
