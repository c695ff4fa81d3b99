//! One round of a sweep: every candidate beside one base.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use helm::operation::Operation;
use serde_json::Value;
use stable_hooks_policy::evaluate::evaluate_renders;
use stable_hooks_policy::name::Name;
use stable_hooks_policy::renders::{self, Flip, ValueChange};
use stable_hooks_policy::shown::Shown;
use stable_hooks_policy::verdict::Found;

use super::super::outline::Side;
use super::super::trial::{Failures, Trouble};
use super::renderer::{ObjectHead, Renderer, Sides, Sweep, Swept, brought};
use crate::cli::outcome::Told;
use crate::cli::progress::Progress;
use crate::cli::side_by_side::side_by_side;
use crate::judged::{self, Finding};
use crate::origin::origin;
use crate::reach::Role;
use crate::sweep::Candidate;
use crate::value::Change;
use crate::words::{counted, listed};

/// How many renders are left, and what is not tried for want of them.
pub(super) struct Plan {
    left: usize,
    taken: usize,
    /// What one try costs.
    price: usize,
    untried: Vec<String>,
}

/// What other values are compared with.
pub(super) struct Base {
    /// What makes it another than the chart with the given values.
    changes: Vec<Change>,
    pub(super) values: Value,
    pub(super) sides: Sides,
    /// Objects that flip with the same values on both sides.
    flips: BTreeSet<Name>,
    /// The templates of the Jobs and ServiceAccounts that it alone has, or has otherwise.
    brought: BTreeSet<String>,
    /// Without them.
    before: Sides,
}

#[derive(Clone, Copy)]
pub(super) struct Round<'a> {
    pub(super) renderer: &'a Renderer<'a>,
    pub(super) base: &'a Base,
}

/// What the next steps begin with.
#[derive(Default)]
pub(super) struct Next {
    pub(super) bases: Vec<Base>,
    pub(super) quiet: Vec<Quiet>,
    /// With these nothing renders.
    pub(super) failed: Vec<Change>,
}

/// A switch that changes nothing when it is turned on alone, and the templates that ask for it.
pub(super) struct Quiet {
    pub(super) change: Change,
    pub(super) files: BTreeSet<String>,
}

/// One value, and the renders with others in its place.
struct Tried {
    candidate: Candidate,
    findings: Vec<Flipping>,
    failures: Vec<(String, Trouble)>,
    next: Next,
}

/// The findings about one change of a value, and where each object is written.
pub(super) struct Flipping {
    found: Found,
    change: judged::ValueChange,
    places: BTreeMap<(Name, String), judged::Place>,
}

impl Plan {
    pub(super) fn new(renders: usize, price: usize) -> Self {
        Self { left: renders, taken: 0, price, untried: Vec::new() }
    }

    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    /// Whether there is a render for these; gives how many there were before.
    pub(super) fn afford(&mut self, changes: &[Change]) -> Option<usize> {
        if self.left < self.price {
            let paths = changes.iter().map(|change| format!("`{}`", change.path));
            let new: Vec<_> = paths.filter(|path| !self.untried.contains(path)).collect();
            self.untried.extend(new);
            return None;
        }
        self.left -= self.price;
        let before = self.taken;
        self.taken += self.price;
        Some(before)
    }

    /// The candidate with as many other values as there are renders for.
    fn afford_all(&mut self, candidate: Candidate) -> Option<Candidate> {
        let affordable = candidate.changes().filter(|change| self.afford(std::slice::from_ref(change)).is_some());
        let to: Vec<_> = affordable.map(|change| change.to).collect();
        (!to.is_empty()).then_some(Candidate { to, ..candidate })
    }

    pub(super) fn tell(self, source: &str, most: usize, told: &mut Told) {
        if !self.untried.is_empty() {
            let paths = listed(&self.untried, String::clone, ", ");
            let most = counted(most, "render");
            told.remark(&format!("{source}: after {most} these values were not tried, or not in every way: {paths}; `--sweep-renders N` allows more"));
        }
    }
}

impl Base {
    pub(super) fn new(changes: Vec<Change>, values: Value, sides: Sides, sweep: &Sweep<'_>) -> Result<Self, String> {
        let flips = flips(&sides, &sides, sweep)?.into_keys().collect();
        Ok(Self { changes, values, before: sides.clone(), sides, flips, brought: BTreeSet::new() })
    }

    /// The same, where these templates make more than before.
    pub(super) fn that_brings(self, templates: BTreeSet<String>, before: &Sides) -> Self {
        Self { brought: templates, before: before.clone(), ..self }
    }

    /// What the templates of its own make otherwise than before.
    pub(super) fn brought(&self) -> BTreeSet<ObjectHead<'_>> {
        let before = self.before.heads(Some(&self.brought));
        let heads = self.sides.heads(Some(&self.brought)).into_iter();
        heads.filter(|head| !before.contains(head)).collect()
    }

    /// All that it has brought is there as it was.
    pub(super) fn is_as_in(&self, sides: &Sides) -> bool {
        self.brought().is_subset(&sides.heads(Some(&self.brought)))
    }

    /// All that is changed where these are as well.
    pub(super) fn with(&self, changes: &[Change]) -> Vec<Change> {
        [&self.changes, changes].concat()
    }

    /// The same where a switch is on that changes nothing.
    pub(super) fn with_quiet(&self, switch: &Change) -> Self {
        let mut values = self.values.clone();
        switch.apply(&mut values);
        let changes = self.with(std::slice::from_ref(switch));
        let (sides, flips) = (self.sides.clone(), self.flips.clone());
        Self { changes, values, before: sides.clone(), sides, flips, brought: BTreeSet::new() }
    }

    /// A value that decides about hooks in the templates that have brought something.
    pub(super) fn may_flip(&self, candidate: &Candidate) -> bool {
        let is_changed =
            |change: &Change| candidate.path.is_within(&change.path) || change.path.is_within(&candidate.path);
        let meets = |file: &String| self.brought.iter().any(|template| is_same_template(template, file));
        candidate.role == Role::Hook && !self.changes.iter().any(is_changed) && candidate.files.iter().any(meets)
    }
}

/// Helm calls a template by its chart's names and aliases, the chart's files by their folders.
fn is_same_template(called: &str, file: &str) -> bool {
    let inside = |path: &str| path.rsplit_once("templates/").map(|(_, inside)| inside.to_owned());
    inside(called) == inside(file)
}

impl Round<'_> {
    /// Tries each candidate alone, and adds what is found.
    pub(super) fn run(
        &self,
        candidates: Vec<Candidate>,
        plan: &mut Plan,
        failures: &mut Failures,
        swept: &mut Swept,
    ) -> Next {
        let affordable: Vec<_> = candidates.into_iter().filter_map(|candidate| plan.afford_all(candidate)).collect();
        let mut all = BTreeMap::new();
        let mut progress = Progress::new(false);
        progress.values(affordable.len());
        let numbered = affordable.into_iter().enumerate().collect();
        side_by_side(
            numbered,
            |(number, candidate)| self.tried(candidate, &number.to_string()),
            |number, tried| {
                all.insert(number, tried);
                if self.renderer.sweep.limits.is_watched {
                    progress.advance_to(all.len() as u64);
                }
            },
        );
        progress.finish();
        let mut next = Next::default();
        for Tried { findings, failures: failed, next: of_one, .. } in all.into_values() {
            for (what, trouble) in failed {
                failures.add(self.renderer.said.of(trouble), what);
            }
            for found in findings {
                found.add_to(swept);
            }
            next.bases.extend(of_one.bases);
            next.quiet.extend(of_one.quiet);
            next.failed.extend(of_one.failed);
        }
        next
    }

    fn tried(&self, candidate: Candidate, name: &str) -> Tried {
        let mut tried = Tried { candidate, findings: Vec::new(), failures: Vec::new(), next: Next::default() };
        let changes: Vec<_> = tried.candidate.changes().collect();
        let mut others = Vec::<(Change, Sides, BTreeSet<Name>)>::new();
        for (change, number) in changes.into_iter().zip(0..) {
            let all = self.base.with(std::slice::from_ref(&change));
            let rendered = self.renderer.render(&all, &format!("{name}-{number}"));
            let (sides, values) = match rendered {
                Ok(rendered) => rendered,
                Err(trouble) => {
                    tried.failures.push((format!("`{}`", change.path), trouble));
                    tried.next.failed.push(change);
                    continue;
                }
            };
            let judged = self.compare(&self.base.sides, &sides, &change, &BTreeSet::new());
            let known = judged.as_ref().map(|(_, known)| known.clone()).unwrap_or_default();
            tried.keep(judged.map(|(found, _)| found));
            // Two other values may flip what neither of them flips beside the base.
            for (other, before, known_of_other) in &others {
                let change = Change { from: other.to.clone(), ..change.clone() };
                let judged = self.compare(before, &sides, &change, &(&known | known_of_other));
                tried.keep(judged.map(|(found, _)| found));
            }
            let was_off = matches!(change.from, Value::Bool(false) | Value::Null);
            if was_off && change.to == Value::Bool(true) && sides.heads(None) == self.base.sides.heads(None) {
                tried.next.quiet.push(Quiet { change: change.clone(), files: tried.candidate.files.clone() });
            }
            let templates = brought(&self.base.sides, &sides, &change);
            if !templates.is_empty() {
                match Base::new(all, values, sides.clone(), self.renderer.sweep) {
                    Ok(base) => tried.next.bases.push(base.that_brings(templates, &self.base.sides)),
                    Err(reason) => tried.failures.push((format!("`{}`", change.path), Trouble::Other(reason))),
                }
            }
            others.push((change, sides, known));
        }
        tried
    }

    /// What flips between the two, in either direction, and flips neither without the change nor as is known.
    pub(super) fn compare(
        &self,
        before: &Sides,
        after: &Sides,
        change: &Change,
        known: &BTreeSet<Name>,
    ) -> Result<(Option<Flipping>, BTreeSet<Name>), String> {
        let sweep = self.renderer.sweep;
        let (there, back) = (flips(before, after, sweep)?, flips(after, before, sweep)?);
        let names: BTreeSet<_> = there.keys().chain(back.keys()).cloned().collect();
        let mut flips = BTreeMap::new();
        for name in names.into_iter().filter(|name| !self.base.flips.contains(name) && !known.contains(name)) {
            let flip = match (there.get(&name).cloned(), back.get(&name).cloned()) {
                (Some(there), Some(back)) => Flip::Both { there, back },
                (Some(there), None) => Flip::There(there),
                (None, Some(back)) => Flip::Back(back),
                (None, None) => continue,
            };
            flips.insert(name, flip);
        }
        let names: BTreeSet<_> = flips.keys().cloned().collect();
        Ok((self.found(before, after, change, flips), names))
    }

    fn found(&self, before: &Sides, after: &Sides, change: &Change, flips: BTreeMap<Name, Flip>) -> Option<Flipping> {
        if flips.is_empty() {
            return None;
        }
        let Renderer { sweep, own, .. } = self.renderer;
        let path = Shown(&change.path.to_string()).to_string();
        let is_of_base = *change.path.find(&self.base.values) == change.from;
        let from = if is_of_base { own.shown(&change.from) } else { self.renderer.shown(&change.from) };
        let to = self.renderer.shown(&change.to);
        let given = self
            .base
            .changes
            .iter()
            .map(|given| format!("`{}` is {}", Shown(&given.path.to_string()), self.renderer.shown(&given.to)));
        let given = given.collect::<Vec<_>>().join(" and ");
        let namespace = &sweep.renders.namespace;
        let places = flips.keys().filter_map(|name| {
            let field = format!("/metadata/annotations/{}", helm::HOOK.replace('/', "~1"));
            let mut renders: Vec<_> = after.renders().chain(before.renders()).collect();
            renders.sort_by_key(|one| one.outline.side(name) != Some(Side::Hook));
            let renders = renders.into_iter().map(|one| &one.render);
            let place = origin(renders, (name, &field), namespace, &sweep.renders.sources.templates)?;
            Some(((name.clone(), field), sweep.renders.on_disk(place)))
        });
        let places = places.collect();
        let objects = flips.keys().cloned().collect();
        let upgrade = after.upgrade.as_ref().unwrap_or(&after.install);
        let [installed, upgrade] = [&before.install, upgrade].map(|one| one.of_objects(&objects).documents);
        let renders = renders::Renders::of(&installed, &upgrade, namespace, None);
        let changed = ValueChange { given: &given, path: &path, from: &from, to: &to, flips };
        let found = evaluate_renders(&renders.after(changed), sweep.settings);
        let place = self.renderer.place_of(&change.path);
        Some(Flipping { found, change: judged::ValueChange { path, from, to, place }, places })
    }
}

/// The objects that flip from one to the other, and what is said of each. Only where the one has an object as a hook and
/// the other as a resource there is something to judge.
fn flips(before: &Sides, after: &Sides, sweep: &Sweep<'_>) -> Result<BTreeMap<Name, String>, String> {
    let Some(upgrade) = &after.upgrade else { return Ok(BTreeMap::new()) };
    let mut flips = BTreeMap::new();
    // Where the two are rendered differently the release may have been upgraded before.
    let upgraded = before.upgrade.as_ref().filter(|_| sweep.upgrades_itself());
    let upgraded = upgraded.filter(|upgraded| !Arc::ptr_eq(upgraded, &before.install));
    let befores = [(Operation::Install, Some(&before.install)), (Operation::Upgrade, upgraded)];
    for (operation, before) in befores.into_iter().filter_map(|(operation, before)| Some((operation, before?))) {
        let objects: BTreeSet<_> =
            before.outline.flips_to(&upgrade.outline).map(|(object, ..)| object.clone()).collect();
        if objects.is_empty() {
            continue;
        }
        let [before, upgrade] = [before, upgrade].map(|one| one.of_objects(&objects));
        for (name, message) in (sweep.judge)(operation, &before, &upgrade)? {
            flips.entry(name).or_insert(message);
        }
    }
    Ok(flips)
}

impl Tried {
    fn keep(&mut self, judged: Result<Option<Flipping>, String>) {
        match judged {
            Ok(found) => self.findings.extend(found),
            Err(reason) => self.failures.push((format!("`{}`", self.candidate.path), Trouble::Other(reason))),
        }
    }
}

impl Flipping {
    pub(super) fn add_to(self, swept: &mut Swept) {
        let Self { found, change, places } = self;
        let Found { mut findings, mut ignored, .. } = found;
        // Where another value, or another setting beside it, flips it as well, nobody learns more.
        for list in [&mut findings, &mut ignored] {
            list.retain(|finding| swept.known.insert((change.path.clone(), finding.object.clone())));
        }
        let finding = |found| {
            let finding = Finding::from(found);
            let template = places.get(&(finding.object.clone(), finding.path.clone())).cloned();
            Finding { template, values: vec![change.clone()], ..finding }
        };
        swept.findings.extend(findings.into_iter().map(finding));
        swept.ignored.extend(ignored.into_iter().map(finding));
    }
}
