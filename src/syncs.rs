//! A chart as Argo CD deploys it: its first sync and the next one, or a sync over the text before.

use stable_hooks_policy::argocd::Phase;
use stable_hooks_policy::evaluate::evaluate_syncs;
use stable_hooks_policy::finding::Finding;
use stable_hooks_policy::name::Name;
use stable_hooks_policy::sync::{Desired, Manifest, Role, Syncs};
use stable_hooks_policy::verdict::Found;
use stable_hooks_policy::{RuleId, Settings};

use crate::changes::{Detail, changes};
use crate::judged::{HookRun, Judged, Place, Since};
use crate::render::Render;

/// What is synced over what.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Course {
    /// One chart: its first sync, and the next one, which renders it again.
    Again,
    /// One chart, over the text that was synced before.
    OverAnother,
    /// Two texts: the first sync of one, and then the other.
    TwoTexts,
}

/// The texts that an application syncs.
pub(crate) struct SyncedTexts<'a> {
    pub(crate) course: Course,
    /// As the report names the new text.
    pub(crate) source: &'a str,
    /// The application's.
    pub(crate) name: &'a str,
    pub(crate) namespace: &'a str,
    /// The text before, where there is one.
    pub(crate) old: Option<&'a Render>,
    pub(crate) new: &'a Render,
    /// The new one of a chart, rendered once more a minute later; and that as revision 2, where a template asks for the
    /// revision.
    pub(crate) again: Option<&'a Render>,
    pub(crate) as_revision_2: Option<&'a Render>,
    /// What Helm has said to the new one.
    pub(crate) warnings: &'a [String],
}

/// What was synced, and what the rules say to it.
pub(crate) struct Synced {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The text that is synced first, and the one that is synced over it.
    pub(crate) texts: [Manifest; 2],
    pub(crate) labels: [&'static str; 2],
    /// What is found in the first sync, and in the next.
    pub(crate) found: [Judged; 2],
    says: String,
}

impl SyncedTexts<'_> {
    /// Judges them; `place_of` says where an object's field comes from.
    pub(crate) fn judge(
        self,
        settings: &Settings,
        detail: Detail,
        place_of: impl Fn(&Name, &str) -> Option<Place>,
    ) -> Synced {
        let Self { course, source, name, namespace, old, new, again, as_revision_2, warnings } = self;
        let manifest = |render: &Render| Manifest::of(&render.documents, namespace);
        let new = manifest(new);
        let [old, again, as_revision_2] = [old, again, as_revision_2].map(|render| render.map(manifest));
        let first_of = |new| Syncs { old: None, new, again: None, as_revision_2: None };
        let all = Syncs { old: old.as_ref(), new: &new, again: again.as_ref(), as_revision_2: as_revision_2.as_ref() };
        let found = evaluate_syncs(&all, settings);
        let (in_first, in_next) = match (course, &old) {
            (Course::TwoTexts, Some(first)) => (evaluate_syncs(&first_of(first), settings), found),
            (Course::OverAnother | Course::TwoTexts, _) => (Found::default(), found),
            // What bites at every sync is shown in both.
            (Course::Again, _) => {
                let of_first = |rule| matches!(rule, RuleId::ArgocdFirstSync | RuleId::ArgocdRunsTwice);
                let in_first = found.findings.iter().filter(|finding| of_first(finding.rule)).cloned().collect();
                let is_of_next = |finding: &Finding| finding.rule != RuleId::ArgocdFirstSync;
                let in_next = found.findings.into_iter().filter(is_of_next).collect();
                (Found { findings: in_first, ..Found::default() }, Found { findings: in_next, ..found })
            }
        };
        let judged = |found: Found| {
            let place = Place { file: source.to_owned(), line: None };
            Judged::of_application(name, (source.to_owned(), place), found).in_templates(&place_of)
        };
        let hooks = old.as_ref().map(|old| hooks(old, &new, detail)).unwrap_or_default();
        let in_next = judged(in_next).with_hooks(hooks).with_warnings(warnings);
        let found = [judged(in_first), in_next];
        let says = says(&new, course, found.iter().all(|judged| !judged.says_something()));
        let (labels, texts) = match (course, old, again) {
            (Course::OverAnother, Some(old), _) => (["sync before", "this sync"], [old, new]),
            (_, Some(first), _) => (["first sync", "next sync"], [first, new]),
            (_, None, again) => (["first sync", "next sync"], [new, again.unwrap_or_default()]),
        };
        Synced { namespace: namespace.to_owned(), name: name.to_owned(), texts, labels, found, says }
    }
}

impl Synced {
    /// One result for both syncs.
    pub(crate) fn judged(self) -> Judged {
        let (says, judged) = self.parts();
        let title = format!("{}: {says}", judged.source);
        judged.called(title)
    }

    /// What is compared, and one result for both syncs.
    pub(crate) fn parts(self) -> (String, Judged) {
        let [first, next] = self.found;
        (self.says, first.followed_by(next))
    }
}

/// The hooks that a sync runs, and what changed in each since the text before; then those that it runs no more.
fn hooks(old: &Manifest, new: &Manifest, detail: Detail) -> Vec<HookRun> {
    let mut runs = Vec::new();
    let run = |hook: &Desired, phase: Phase, since| HookRun {
        at: phase.as_str().to_owned(),
        rank: "wave",
        weight: hook.wave,
        object: hook.name.shown(),
        since,
    };
    for phase in Phase::ALL {
        for hook in new.applied_in(phase).into_iter().filter(|object| object.is_hook()) {
            let mut olds = old.named(&hook.name);
            let is_unchanged = old.named(&hook.name).any(|old| old.object == hook.object);
            let since = match olds.next() {
                None => Since::New,
                Some(_) if is_unchanged => Since::Unchanged,
                Some(old) => {
                    let changes = changes(&hook.name.kind, &old.object, &hook.object);
                    let changes = changes.into_iter().map(|change| change.shown(detail)).collect();
                    if old.role == Role::Resource { Since::FromResource(changes) } else { Since::Changed(changes) }
                }
            };
            runs.push(run(hook, phase, since));
        }
    }
    for phase in Phase::ALL {
        for hook in old.applied_in(phase).into_iter().filter(|object| object.is_hook()) {
            let since = match new.get(&hook.name) {
                Some(new) if new.role == Role::Resource => Since::ToResource,
                Some(new) if !new.phases().is_empty() => continue,
                // Not there, left out by Argo CD, or of events that no sync has.
                Some(_) | None => Since::Gone,
            };
            runs.push(run(hook, phase, since));
        }
    }
    runs
}

/// What is judged, and how much of it there is.
fn says(new: &Manifest, course: Course, is_clean: bool) -> String {
    let syncs = match course {
        Course::OverAnother => "Argo CD's sync over the text before",
        Course::Again | Course::TwoTexts => "Argo CD's first sync and the next one",
    };
    let count = |phase: Phase| new.objects.iter().filter(|object| object.phases().contains(&phase)).count();
    let counts = Phase::ALL.map(|phase| format!("{} in {}", count(phase), phase.as_str())).join(", ");
    let never: Vec<_> = new.objects.iter().filter(|object| object.is_never_run()).map(never_run).collect();
    let never = if never.is_empty() { String::new() } else { format!("; never run by Argo CD: {}", never.join(", ")) };
    if is_clean { format!("{syncs}: no rule finds anything ({counts}){never}") } else { format!("{syncs}{never}") }
}

fn never_run(hook: &Desired) -> String {
    let value = hook.hook.as_ref().map(|(_, value)| value.as_str()).unwrap_or_default();
    format!("{} ({value})", hook.name)
}
