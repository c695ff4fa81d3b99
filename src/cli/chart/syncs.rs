//! A chart as Argo CD deploys it: one text, synced first and again, or over the text before.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::thread;

use helm::record::ApplyMethod;
use stable_hooks_policy::Settings;

use super::arguments::RenderArguments;
use super::compare::{no_folder, task};
use super::renders::{Rendered, Renders, Sides, check_more, checked, failure};
use super::task::Task;
use crate::changes::Detail;
use crate::cli::outcome::{Failure, Told};
use crate::cli::release::Reading;
use crate::helm::chart::{Changes, Clock, Copied, Sources, copy};
use crate::helm::folder::{Folder, Part};
use crate::helm::said::dropped_hooks;
use crate::helm::{Helm, HelmError, Options};
use crate::judge::Judge;
use crate::origin::Templates;
use crate::render::Render;
use crate::syncs::{Course, Synced, SyncedTexts};

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

    fn judge(&self, name: &str, settings: &Settings, detail: Detail) -> Synced {
        let Self { course, renders, again, as_revision_2 } = self;
        let syncs = SyncedTexts {
            course: *course,
            source: &renders.source,
            name,
            namespace: &renders.namespace,
            old: renders.install.as_ref(),
            new: &renders.upgrade,
            again: again.as_ref(),
            as_revision_2: as_revision_2.as_ref(),
            warnings: &renders.dropped_warnings(),
        };
        syncs.judge(settings, detail, |object, path| renders.template(object, path))
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

/// Argo CD renders the definitions that lie in `crds/` too.
fn with_definitions(mut options: Options) -> Options {
    // The first, so that the user's own flags win.
    options.more.insert(0, OsString::from("--include-crds"));
    options
}
