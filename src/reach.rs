//! Which values of a chart reach its hooks, read from the templates without rendering them. Exact about what a template
//! says, generous about what it may do: a value too many costs a render, a value too few is a flip that nobody sees.

mod chart;
mod functions;
mod reading;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::thread;

use serde_json::Value;

pub use chart::Chart;
pub use reading::{Key, Literal, Pattern};

use chart::Subchart;
use reading::Reading;
use walk::{Walker, Written};

/// A template may nest a hundred blocks and call as many others.
const STACK: usize = 256 * 1024 * 1024;

/// How often a value is copied from one place to another before a template reads it.
const MOST_COPIES: usize = 4;

/// The part that a value plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// It decides whether there is a Job or a `ServiceAccount`.
    Object,
    /// It decides whether something is a hook.
    Hook,
}

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

/// A blind spot with the number of its file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    Lookup(usize),
    Capabilities(usize),
    ComputedName(usize),
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
    /// All values that a template with a hook reads, whatever for.
    pub reached: BTreeSet<Pattern>,
    pub blind: BTreeSet<Blind>,
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
        for file in &self.files {
            if let Err(reason) = self.walker.read(&file.name, file.source) {
                self.blind.insert(Blind::Unparsed { file: file.path.clone(), reason });
            }
        }
        for (number, file) in self.files.iter().enumerate().filter(|(_, file)| file.is_rendered) {
            self.walker.walk(number, &file.name, &file.around, Reading::top(file.keys.clone()));
        }
        self.reach()
    }

    /// Subcharts first: a named template of the chart itself takes the place of theirs.
    fn collect(&mut self, chart: &'c Chart, name: &str, keys: &[String], around: &[usize]) {
        for Subchart { chart, key, conditions, tags, imports } in chart.subcharts() {
            let below = [keys, &[key.clone()]].concat();
            let pattern = |path: &Vec<String>| Pattern::of(&[keys, path].concat());
            let tags = tags.iter().map(|tag| Pattern::of(&["tags".to_owned(), tag.clone()]));
            let switches: Vec<_> = conditions.iter().map(pattern).chain(tags).collect();
            let mut around = around.to_vec();
            if !switches.is_empty() {
                around.push(self.walker.decide(switches));
            }
            for import in imports {
                let source = Reading::of_pattern(Pattern::of(&[&below[..], &import.child].concat()));
                self.walker.written.push(Written { target: pattern(&import.parent), source });
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
        let decisions = &self.walker.decisions;
        let mut deciders = BTreeMap::<Pattern, Decider>::new();
        let mut reached = BTreeSet::new();
        let mut sources = BTreeMap::<&Pattern, BTreeSet<Pattern>>::new();
        for (id, decision) in decisions.iter().enumerate() {
            let is_of_hooks = decision.files.iter().any(|file| self.walker.of_hooks.contains(file));
            for (pattern, literals) in &decision.uses {
                for pattern in sources.entry(pattern).or_insert_with(|| self.sources(pattern)).clone() {
                    if is_of_hooks {
                        reached.insert(pattern.clone());
                    }
                    if let Some(role) = roles.get(&id).filter(|_| !pattern.0.is_empty()) {
                        let files = decision.files.iter().filter_map(|file| Some(self.files.get(*file)?.path.clone()));
                        let new = || Decider { role: *role, literals: BTreeSet::new(), files: BTreeSet::new() };
                        let decider = deciders.entry(pattern).or_insert_with(new);
                        decider.role = decider.role.max(*role);
                        decider.literals.extend(literals.iter().cloned());
                        decider.files.extend(files);
                    }
                }
            }
        }
        Reach { deciders, reached, blind: self.blind() }
    }

    /// The decisions that decide about objects, and those that they hang on.
    fn roles(&self) -> BTreeMap<usize, Role> {
        let mut roles = BTreeMap::new();
        for role in [Role::Hook, Role::Object] {
            let decide = self.walker.decisions.iter().enumerate().filter(|(_, decision)| decision.role >= Some(role));
            let mut waiting: Vec<_> = decide.map(|(id, _)| id).collect();
            while let Some(id) = waiting.pop() {
                let Some(decision) = self.walker.decisions.get(id).filter(|_| !roles.contains_key(&id)) else {
                    continue;
                };
                roles.insert(id, role);
                waiting.extend(decision.on.iter().copied().chain(decision.inside.clone()));
                for pattern in decision.uses.keys() {
                    waiting.extend(self.written_at(pattern).flat_map(|(written, _)| written.source.all_decisions()));
                }
            }
        }
        roles
    }

    /// What templates have written over a value, or into it, and the way from there to the value.
    fn written_at<'p>(&'p self, pattern: &'p Pattern) -> impl Iterator<Item = (&'p Written, &'p [Key])> {
        self.walker.written.iter().filter_map(|written| {
            match (written.target.rest(pattern), pattern.rest(&written.target)) {
                (Some(rest), _) => Some((written, rest)),
                (None, Some(_)) => Some((written, &[][..])),
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
                written.flat_map(|(written, rest)| {
                    let sources = written.source.all_patterns().into_iter();
                    sources.map(|source| self.in_global(source.followed_by(rest)))
                })
            });
            newest = copied.filter(|source| !sources.contains(source)).collect();
            sources.extend(newest.iter().cloned());
        }
        sources
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
        let path = |file: &usize| {
            let is_of_hooks = self.walker.of_hooks.contains(file);
            self.files.get(*file).filter(|_| is_of_hooks).map(|file| file.path.clone())
        };
        let told = self.walker.gaps.iter().filter_map(|gap| match gap {
            Gap::Lookup(file) => Some(Blind::Lookup { file: path(file)? }),
            Gap::Capabilities(file) => Some(Blind::Capabilities { file: path(file)? }),
            Gap::ComputedName(file) => Some(Blind::ComputedName { file: path(file)? }),
            Gap::TooLarge => Some(Blind::TooLarge),
        });
        self.blind.iter().cloned().chain(told).collect()
    }
}
