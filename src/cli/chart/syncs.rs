//! A chart as Argo CD deploys it: one text, synced first and again, or over the text before.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::thread;

use helm::record::ApplyMethod;
use stable_hooks_policy::argocd::Phase;
use stable_hooks_policy::evaluate::evaluate_syncs;
use stable_hooks_policy::finding::Finding;
use stable_hooks_policy::sync::{Desired, Manifest, Syncs};
use stable_hooks_policy::{RuleId, Settings};

use super::arguments::RenderArguments;
use super::compare::{no_folder, task};
use super::renders::{Rendered, Renders, Sides, check_more, checked, failure};
use super::task::Task;
use crate::changes::changes;
use crate::cli::arguments::Judge;
use crate::cli::outcome::{Failure, Told};
use crate::cli::release::Reading;
use crate::helm::chart::{Changes, Clock, Templates, copy};
use crate::helm::folder::Folder;
use crate::helm::{Helm, HelmError, Options};
use crate::judged::{HookRun, Judged, Place, Since};
use crate::render::Render;

/// The texts of one chart, as far as they are known.
struct Texts {
    /// Which of them the renders hold: the text before as the install, the new one as the upgrade.
    renders: Renders,
    /// The new one, rendered once more a minute later; and that as revision 2, where a template asks for the revision.
    again: Option<Render>,
    as_revision_2: Option<Render>,
    is_first: bool,
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
) -> Result<Synced, Failure> {
    arguments.check_old_values()?;
    let folder = chart.map(|_| Folder::new().map_err(no_folder)).transpose()?;
    let task = chart.zip(folder.as_ref()).map(|(chart, folder)| task(chart, arguments, folder)).transpose()?;
    let mut told = Told::default();
    let synced = sync(task.as_ref(), arguments, reading.judge, &mut told);
    reading.run.tell(told);
    synced
}

/// Renders and judges.
pub(super) fn sync(
    task: Option<&Task<'_>>,
    arguments: &RenderArguments,
    judge: &Judge,
    told: &mut Told,
) -> Result<Synced, Failure> {
    let texts = match (task, &arguments.install, &arguments.upgrade) {
        (Some(task), _, _) => Texts::rendered(arguments, task, told),
        (None, Some(first), Some(next)) => Texts::given(arguments, [first, next], told),
        (None, _, _) => Err(Failure("there is no chart to judge".to_owned())),
    }?;
    let settings = Settings::parse(judge.settings.handed()).map_err(|errors| Failure(errors.to_string()))?;
    Ok(texts.judge(arguments.release_name(), &settings, arguments.show_values))
}

impl Texts {
    fn given(arguments: &RenderArguments, files: [&Path; 2], told: &mut Told) -> Result<Self, Failure> {
        let renders = Renders::given(arguments, files, told)?;
        Ok(Self { renders, again: None, as_revision_2: None, is_first: true })
    }

    /// Lets `helm` render a chart as Argo CD does: as an install, each time.
    fn rendered(arguments: &RenderArguments, task: &Task<'_>, told: &mut Told) -> Result<Self, Failure> {
        let Task { chart, source, old, values, folder } = task;
        check_more(arguments)?;
        let sides = folder.change(|folder| Sides::of(arguments, values, None, folder, told)).map_err(Failure)?;
        let new_options = with_definitions(sides.upgrade);
        let old_options = sides.install.map(with_definitions);
        let helm = Helm::of_the_user();
        let copied = |name: &str, revision| {
            let changes = Changes { revision, values: None, clock: Clock::AMinuteLater };
            let copied = folder.change(|folder| {
                let folder = folder.join(name);
                fs::create_dir(&folder)?;
                copy(chart, changes, &folder)
            });
            let (copied, templates) = copied.map_err(HelmError::Copy)?;
            Ok::<_, HelmError>((copied, templates))
        };
        let render = |chart: &Path, options: &Options| helm.install(chart, options).map(Rendered::from);
        let (new, old_render, again) = thread::scope(|scope| {
            // Two at once; most of the time is Helm's.
            let again = scope.spawn(|| {
                let (copied_chart, templates) = copied("again", 1)?;
                let again = render(&copied_chart, &new_options)?.render;
                let as_revision_2 = if templates.values().any(|source| source.contains("Revision")) {
                    let (copied_chart, _) = copied("revision-2", 2)?;
                    Some(render(&copied_chart, &new_options)?.render)
                } else {
                    None
                };
                Ok::<_, HelmError>((again, as_revision_2, templates))
            });
            let new = render(chart, &new_options);
            let old = old.as_ref().zip(old_options.as_ref()).map(|(old, options)| render(&old.chart, options));
            (new, old.transpose(), again.join())
        });
        let new = new.map_err(|error| failure(source, chart, &new_options.values, error, told))?;
        let old_render = match (old_render, old, &old_options) {
            (Err(error), Some(old), Some(options)) => {
                return Err(failure(&old.source, &old.chart, &options.values, error, told));
            }
            (old_render, _, _) => old_render.ok().flatten(),
        };
        let again = again.map_err(|_| Failure(format!("{source}: cannot render it again")))?;
        let (again, as_revision_2, templates) =
            again.map_err(|error| failure(source, chart, &new_options.values, error, told))?;
        told.say(&new_options.values.in_the_users_words(&new.said));
        let before = old_render.map(|old| checked("the text before", old.render, told));
        let renders = Renders {
            chart: chart.clone(),
            source: source.clone(),
            namespace: new_options.namespace,
            install: before,
            upgrade: checked(source, new.render, told),
            soon: None,
            apply_method: ApplyMethod::ClientSide,
            hook_templates: Templates::new(),
            templates,
            dropped: Vec::new(),
        };
        Ok(Self { renders, again: Some(again), as_revision_2, is_first: false })
    }

    fn judge(self, name: &str, settings: &Settings, shows_values: bool) -> Synced {
        let Self { renders, again, as_revision_2, is_first } = self;
        let manifest = |render: &Render| Manifest::of(&render.documents, &renders.namespace);
        let old = renders.install.as_ref().map(manifest);
        let new = manifest(&renders.upgrade);
        let again = again.as_ref().map(manifest);
        let as_revision_2 = as_revision_2.as_ref().map(manifest);
        let synced =
            Syncs { old: old.as_ref(), new: &new, again: again.as_ref(), as_revision_2: as_revision_2.as_ref() };
        let first = old.as_ref().filter(|_| is_first);
        let first = first.map(|new| Syncs { old: None, new, again: None, as_revision_2: None });
        let found = evaluate_syncs(&synced, settings);
        let found_first = match first {
            Some(first) => evaluate_syncs(&first, settings),
            None if old.is_none() => found.iter().filter(|found| is_of_every_sync(found)).cloned().collect(),
            None => Vec::new(),
        };
        let judged = |findings: Vec<Finding>| {
            let source = renders.source.clone();
            let place = Place { file: source.clone(), line: None };
            let judged = Judged::of_application(name, (source, place), findings);
            judged.in_templates(|object, path| renders.template(object, path))
        };
        let found = found.into_iter().filter(|finding| old.is_some() || finding.rule != RuleId::ArgocdFirstSync);
        let found: Vec<_> = found.collect();
        let says = says(&new, old.is_some() && !is_first, found.is_empty() && found_first.is_empty());
        let hooks = old.as_ref().map(|old| hooks(old, &new, shows_values)).unwrap_or_default();
        let found = [judged(found_first), judged(found).with_hooks(hooks)];
        let namespace = renders.namespace.clone();
        let (texts, labels) = match (old, again) {
            (Some(old), _) if !is_first => ([old, new], ["sync before", "this sync"]),
            (Some(old), _) => ([old, new], ["first sync", "next sync"]),
            (None, Some(again)) => ([new, again], ["first sync", "next sync"]),
            (None, None) => ([Manifest::default(), new], ["first sync", "next sync"]),
        };
        Synced { namespace, name: name.to_owned(), texts, labels, found, says }
    }
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

/// It bites when nothing was synced before, too.
fn is_of_every_sync(finding: &Finding) -> bool {
    matches!(finding.rule, RuleId::ArgocdFirstSync | RuleId::ArgocdRunsTwice)
}

/// Argo CD renders the definitions that lie in `crds/` too.
fn with_definitions(mut options: Options) -> Options {
    options.more.push(OsString::from("--include-crds"));
    options
}

/// The hooks that a sync runs, and what changed in each since the text before.
fn hooks(old: &Manifest, new: &Manifest, shows_values: bool) -> Vec<HookRun> {
    let mut runs = Vec::new();
    for phase in Phase::ALL {
        for hook in new.applied_in(phase).into_iter().filter(|object| object.is_hook()) {
            let since = match old.get(&hook.name) {
                None => Since::New,
                Some(old) => {
                    let changes = changes(&old.object, &hook.object);
                    Since::Changed(changes.iter().map(|change| change.shown(shows_values).to_string()).collect())
                }
            };
            runs.push(HookRun { phase: phase.as_str(), wave: hook.wave, object: hook.name.shown(), since });
        }
    }
    runs
}

/// What is judged, and how much of it there is.
fn says(new: &Manifest, is_over_another: bool, is_clean: bool) -> String {
    let syncs =
        if is_over_another { "Argo CD's sync over the text before" } else { "Argo CD's first sync and the next one" };
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
