//! A chart as Argo CD deploys it: one text, synced first and again, or over the text before.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::thread;

use helm::record::ApplyMethod;
use stable_hooks_policy::argocd::Phase;
use stable_hooks_policy::evaluate::evaluate_syncs;
use stable_hooks_policy::finding::Finding;
use stable_hooks_policy::sync::{Desired, Manifest, Role, Syncs};
use stable_hooks_policy::verdict::Found;
use stable_hooks_policy::{RuleId, Settings};

use super::arguments::RenderArguments;
use super::compare::{no_folder, task};
use super::renders::{Rendered, Renders, Sides, check_more, checked, failure};
use super::task::Task;
use crate::changes::{Detail, changes};
use crate::cli::arguments::Judge;
use crate::cli::outcome::{Failure, Told};
use crate::cli::release::Reading;
use crate::helm::chart::{Changes, Clock, Copied, Sources, Templates, copy};
use crate::helm::folder::{Folder, Part};
use crate::helm::said::dropped_hooks;
use crate::helm::{Helm, HelmError, Options};
use crate::judged::{HookRun, Judged, Place, Since};
use crate::render::Render;

/// What is synced over what.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Course {
    /// One chart: its first sync, and the next one, which renders it again.
    Again,
    /// One chart, over the text that was synced before.
    OverAnother,
    /// Two texts: the first sync of one, and then the other.
    TwoTexts,
}

/// The texts that are judged.
struct Texts {
    course: Course,
    /// The text before as the install, where there is one, and the new one as the upgrade.
    renders: Renders,
    /// The new one of a chart, rendered once more a minute later; and that as revision 2, where a template asks for the
    /// revision.
    again: Option<Render>,
    as_revision_2: Option<Render>,
}

/// What was synced, and what the rules say to it.
pub(in crate::cli) struct Synced {
    pub(in crate::cli) namespace: String,
    pub(in crate::cli) name: String,
    /// The text that is synced first, and the one that is synced over it.
    pub(in crate::cli) texts: [Manifest; 2],
    pub(in crate::cli) labels: [&'static str; 2],
    /// What is found in the first sync, and in the next.
    pub(in crate::cli) found: [Judged; 2],
    says: String,
}

/// Judges one chart, or two texts where none is given.
pub(in crate::cli) fn sync_one(
    chart: Option<&Path>,
    arguments: &RenderArguments,
    reading: &mut Reading<'_>,
    detail: Detail,
) -> Result<Synced, Failure> {
    arguments.check_old_values()?;
    let folder = chart.map(|_| Folder::new().map_err(no_folder)).transpose()?;
    let task = chart.zip(folder.as_ref()).map(|(chart, folder)| task(chart, arguments, folder)).transpose()?;
    let mut told = Told::default();
    let synced = sync(task.as_ref(), arguments, reading.judge, detail, &mut told);
    reading.run.tell(told);
    synced
}

/// Renders and judges.
pub(super) fn sync(
    task: Option<&Task<'_>>,
    arguments: &RenderArguments,
    judge: &Judge,
    detail: Detail,
    told: &mut Told,
) -> Result<Synced, Failure> {
    let texts = match (task, &arguments.install, &arguments.upgrade) {
        (Some(task), _, _) => Texts::rendered(arguments, task, told),
        (None, Some(first), Some(next)) => Texts::given(arguments, [first, next], told),
        (None, _, _) => Err(Failure("there is no chart to judge".to_owned())),
    }?;
    let settings = judge.native_settings().map_err(Failure)?;
    Ok(texts.judge(arguments.release_name(), &settings, detail))
}

impl Texts {
    fn given(arguments: &RenderArguments, files: [&Path; 2], told: &mut Told) -> Result<Self, Failure> {
        let renders = Renders::given(arguments, files, told)?;
        Ok(Self { course: Course::TwoTexts, renders, again: None, as_revision_2: None })
    }

    /// Lets `helm` render a chart as Argo CD does: as an install, each time.
    fn rendered(arguments: &RenderArguments, task: &Task<'_>, told: &mut Told) -> Result<Self, Failure> {
        let Task { chart, source, old, values, folder } = task;
        check_more(arguments)?;
        let sides = folder.change(|folder| Sides::of(arguments, values, None, folder, told)).map_err(Failure)?;
        let options = with_definitions(sides.upgrade);
        let old = old.as_ref().zip(sides.install.map(with_definitions));
        let (new, before, later) = thread::scope(|scope| {
            // Two at once; most of the time is Helm's.
            let later = scope.spawn(|| Later::render(chart, &options, folder));
            let before = old.as_ref().map(|(old, options)| render(&old.chart, options));
            (render(chart, &options), before.transpose(), later.join())
        });
        let mut fail = |error| failure(source, chart, &options.values, error, told);
        let new = new.map_err(&mut fail)?;
        let later = later.map_err(|_| Failure(format!("{source}: cannot render it again")))?;
        let Later { again, as_revision_2, sources } = later.map_err(&mut fail)?;
        let before = before.map_err(|error| match &old {
            Some((old, options)) => failure(&old.source, &old.chart, &options.values, error, told),
            None => Failure(error.to_string()),
        })?;
        let said = options.values.in_the_users_words(&new.said);
        told.say(&said);
        let renders = Renders {
            chart: chart.clone(),
            source: source.clone(),
            namespace: options.namespace,
            install: before.map(|before| checked("the text before", before.render, told)),
            upgrade: checked(source, new.render, told),
            soon: None,
            apply_method: ApplyMethod::ClientSide,
            hook_templates: Templates::new(),
            sources,
            dropped: dropped_hooks(&said),
            made: None,
        };
        let course = if renders.install.is_some() { Course::OverAnother } else { Course::Again };
        Ok(Self { course, renders, again: Some(again), as_revision_2 })
    }

    fn judge(self, name: &str, settings: &Settings, detail: Detail) -> Synced {
        let Self { course, renders, again, as_revision_2 } = self;
        let manifest = |render: &Render| Manifest::of(&render.documents, &renders.namespace);
        let new = manifest(&renders.upgrade);
        let [old, again, as_revision_2] =
            [&renders.install, &again, &as_revision_2].map(|render| render.as_ref().map(manifest));
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
            let source = renders.source.clone();
            let place = Place { file: source.clone(), line: None };
            let judged = Judged::of_application(name, (source, place), found);
            judged.in_templates(|object, path| renders.template(object, path))
        };
        let hooks = old.as_ref().map(|old| hooks(old, &new, detail)).unwrap_or_default();
        let in_next = judged(in_next).with_hooks(hooks).with_warnings(&renders.dropped_warnings());
        let found = [judged(in_first), in_next];
        let says = says(&new, course, found.iter().all(|judged| !judged.says_something()));
        let namespace = renders.namespace.clone();
        let (labels, texts) = match (course, old, again) {
            (Course::OverAnother, Some(old), _) => (["sync before", "this sync"], [old, new]),
            (_, Some(first), _) => (["first sync", "next sync"], [first, new]),
            (_, None, again) => (["first sync", "next sync"], [new, again.unwrap_or_default()]),
        };
        Synced { namespace, name: name.to_owned(), texts, labels, found, says }
    }
}

/// A chart as Argo CD renders it later.
struct Later {
    again: Render,
    as_revision_2: Option<Render>,
    sources: Sources,
}

impl Later {
    fn render(chart: &Path, options: &Options, folder: &Part<'_>) -> Result<Self, HelmError> {
        let copied = |name: &str, revision| {
            let copied = folder.change(|folder| {
                let folder = folder.join(name);
                fs::create_dir(&folder)?;
                let changes = Changes { revision, values: None, clock: Clock::AMinuteLater, prints: false };
                copy(chart, changes, &folder)
            });
            copied.map_err(HelmError::Copy)
        };
        let Copied { chart: copy, sources } = copied("again", 1)?;
        let again = render(&copy, options)?.render;
        let asks_for_the_revision = sources.templates.values().any(|source| source.contains("Revision"));
        let as_revision_2 = if asks_for_the_revision {
            let copy = copied("revision-2", 2)?.chart;
            Some(render(&copy, options)?.render)
        } else {
            None
        };
        Ok(Self { again, as_revision_2, sources })
    }
}

fn render(chart: &Path, options: &Options) -> Result<Rendered, HelmError> {
    Helm::of_the_user().install(chart, options).map(Rendered::from)
}

impl Synced {
    /// One result for both syncs.
    pub(in crate::cli) fn judged(self) -> Judged {
        let (says, judged) = self.parts();
        let title = format!("{}: {says}", judged.source);
        judged.called(title)
    }

    /// What is compared, and one result for both syncs.
    pub(super) fn parts(self) -> (String, Judged) {
        let [first, next] = self.found;
        (self.says, first.followed_by(next))
    }
}

/// Argo CD renders the definitions that lie in `crds/` too.
fn with_definitions(mut options: Options) -> Options {
    // The first, so that the user's own flags win.
    options.more.insert(0, OsString::from("--include-crds"));
    options
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
