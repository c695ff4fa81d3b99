//! The two renders that are judged, made by `helm` or read from files.
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::thread;
use std::time::{Duration, Instant};

use helm::HOOK;
use helm::operation::Operation;
use helm::record::ApplyMethod;
use serde_json::Value;
use stable_hooks_policy::name::Name;
use stable_hooks_policy::shown::Shown;

use super::arguments::RenderArguments;
use super::task::{GivenValues, Task};
use super::upgraded::Upgraded;
use crate::cli::outcome::{Failure, Told, read};
use crate::helm::chart::{
    Changes, Clock, Copied, Sources, ask_for_the_time, copy, of_hooks, take_values, that_look_up,
};
use crate::helm::folder::Part;
use crate::helm::said::{dropped_hooks, lines_besides, missing_dependencies};
use crate::helm::values::Values;
use crate::helm::{Helm, HelmError, Options};
use crate::judged::Place;
use crate::kubectl::{Capabilities, Kubectl};
use crate::origin::{Templates, origin};
use crate::render::{self, Render};

/// The renders to compare.
pub(super) struct Renders {
    /// Where the chart is.
    pub(super) chart: PathBuf,
    /// As the report names it.
    pub(super) source: String,
    pub(super) namespace: String,
    /// Where it is no release that is installed already.
    pub(super) install: Option<Render>,
    pub(super) upgrade: Render,
    /// The upgrade a minute after the install, where a template asks for the time; the other one is a year later.
    pub(super) soon: Option<Render>,
    /// How the Helm that renders writes the objects of a new release; empty where that is not known.
    pub(super) apply_method: ApplyMethod,
    /// The sources of the templates that make hooks, as a record holds them.
    pub(super) hook_templates: Templates,
    pub(super) sources: Sources,
    /// The `helm.sh/hook` of each document that Helm has left out of the upgrade, because it knows no such event.
    pub(super) dropped: Vec<String>,
    /// What the upgrade was rendered with, where Helm did that here.
    pub(super) made: Option<Made>,
}

/// How the upgrade was rendered.
pub(super) struct Made {
    /// Of the install, where that is rendered too.
    pub(super) install: Option<Options>,
    pub(super) options: Options,
    pub(super) chart_values: Option<Vec<u8>>,
    pub(super) revision: u64,
    pub(super) clock: Clock,
    /// An install where no upgrade could be rendered.
    pub(super) operation: Operation,
    /// Where that was asked for.
    pub(super) printing: Option<Printing>,
}

/// The copy of a chart whose renders hold its values.
pub(super) struct Printing {
    pub(super) copy: PathBuf,
    /// Those of the render; `None` where it holds none that can be read.
    pub(super) values: Option<Value>,
    /// How long that render took.
    pub(super) time: Duration,
}

impl Printing {
    /// Renders the copy, and takes the values out where it prints them.
    fn render(
        copy: PathBuf,
        prints: bool,
        render: impl FnOnce(&Path) -> Result<Output, HelmError>,
    ) -> Result<(Rendered, Option<Self>), HelmError> {
        let begun = Instant::now();
        let mut output = render(&copy)?;
        let time = begun.elapsed();
        let printing = prints.then(|| Self { copy, values: take_values(&mut output.stdout), time });
        Ok((Rendered::from(output), printing))
    }
}

impl Renders {
    /// Reads two renders that were made elsewhere.
    pub(super) fn given(
        arguments: &RenderArguments,
        [install, upgrade]: [&Path; 2],
        told: &mut Told,
    ) -> Result<Self, Failure> {
        let source = upgrade.display().to_string();
        let [install, upgrade] = [install, upgrade].map(|file| {
            let bytes = read(file)?;
            let render = checked(&file.display().to_string(), Render::read(&bytes), told);
            if render.documents.is_empty() && render.broken.is_empty() {
                told.cannot_judge(&format!("{}: there is no object in it", file.display()));
            }
            Ok(render)
        });
        let (install, upgrade) = (install?, upgrade?);
        let namespace = arguments.namespace.clone().or_else(|| render::only_namespace([&install, &upgrade]));
        let namespace = namespace.unwrap_or_else(|| arguments.release_namespace());
        Ok(Self {
            chart: PathBuf::from(&source),
            source,
            namespace,
            install: Some(install),
            upgrade,
            soon: None,
            apply_method: ApplyMethod::ClientSide,
            hook_templates: Templates::new(),
            sources: Sources::default(),
            dropped: Vec::new(),
            made: None,
        })
    }

    /// Lets `helm` render a chart; where it `prints`, its values are known afterwards.
    pub(super) fn rendered(
        arguments: &RenderArguments,
        task: &Task<'_>,
        release: Option<&Upgraded<'_>>,
        prints: bool,
        told: &mut Told,
    ) -> Result<Self, Failure> {
        let Task { chart, source, old, values, folder } = task;
        check_more(arguments)?;
        let helm = Helm::of_the_user();
        let sides = folder.change(|folder| Sides::of(arguments, values, release, folder, told)).map_err(Failure)?;
        let next = release.map_or(2, |release| release.next);
        // The stored release was rendered at its own time.
        let clock = if release.is_some() { Clock::AMinuteLater } else { Clock::AYearLater };
        let (old, called_old) = match old {
            Some(old) => (old.chart.as_path(), &old.source),
            None => (chart.as_path(), source),
        };
        let (install, upgrade, apply_method) = thread::scope(|scope| {
            // Both at once; most of the time is Helm's.
            let upgrade = scope.spawn(|| {
                let changes =
                    |clock, prints| Changes { revision: next, values: sides.chart_values.as_deref(), clock, prints };
                let copied = folder.change(|folder| copy(chart, changes(clock, prints), folder));
                let Copied { chart: copied, sources } = copied.map_err(HelmError::Copy)?;
                let upgrade = Printing::render(copied, prints, |copied| helm.upgrade(copied, &sides.upgrade))?;
                if release.is_some() || !ask_for_the_time(&sources.templates) {
                    return Ok((upgrade, None, sources));
                }
                let soon = folder.change(|folder| {
                    let folder = folder.join("soon");
                    fs::create_dir(&folder)?;
                    copy(chart, changes(Clock::AMinuteLater, false), &folder)
                });
                let copied = soon.map_err(HelmError::Copy)?.chart;
                let soon = Rendered::from(helm.upgrade(&copied, &sides.upgrade)?);
                Ok((upgrade, Some(soon.render), sources))
            });
            // A release that is installed says it itself.
            let apply_method = sides.install.is_some().then(|| scope.spawn(|| helm.apply_method()));
            let install = sides.install.as_ref().map(|options| helm.install(old, options).map(Rendered::from));
            let apply_method = apply_method.and_then(|asked| asked.join().ok()).unwrap_or_default();
            (install.transpose(), upgrade.join(), apply_method)
        });
        let install_values = sides.install.as_ref().unwrap_or(&sides.upgrade);
        let install = install.map_err(|error| failure(called_old, old, &install_values.values, error, told))?;
        let upgrade = upgrade.map_err(|_| Failure("cannot render the upgrade".to_owned()))?;
        let ((upgrade, printing), soon, sources) =
            upgrade.map_err(|error| failure(source, chart, &sides.upgrade.values, error, told))?;
        let said = install.as_ref().map(|install| install_values.values.in_the_users_words(&install.said));
        let said = said.unwrap_or_default();
        told.say(&said);
        let said_of_upgrade = sides.upgrade.values.in_the_users_words(&upgrade.said);
        told.say(&lines_besides(&said_of_upgrade, &said));
        let install = install.map(|install| checked(&format!("the install of {called_old}"), install.render, told));
        let upgrade = checked(&format!("the upgrade of {source}"), upgrade.render, told);
        let hook_templates = of_hooks(&sources.templates);
        if !asks_the_cluster(&install_values.more) {
            for path in that_look_up(&hook_templates) {
                told.remark(&format!(
                    "{source}, {path} makes hooks and calls `lookup`, which finds nothing without a cluster: what it \
                     renders on one is not judged. `-- --dry-run=server` gives it the cluster that kubectl reaches"
                ));
            }
        }
        let dropped = dropped_hooks(&said_of_upgrade);
        let namespace = sides.upgrade.namespace.clone();
        let (chart, source) = (chart.clone(), source.clone());
        let made = Some(Made {
            install: sides.install,
            options: sides.upgrade,
            chart_values: sides.chart_values,
            revision: next,
            clock,
            operation: Operation::Upgrade,
            printing,
        });
        Ok(Self {
            chart,
            source,
            namespace,
            install,
            upgrade,
            soon,
            apply_method,
            hook_templates,
            sources,
            dropped,
            made,
        })
    }

    /// The install alone, in the place of an upgrade that could not be rendered.
    pub(super) fn of_install(arguments: &RenderArguments, task: &Task<'_>, told: &mut Told) -> Result<Self, Failure> {
        let Task { chart, source, values, folder, .. } = task;
        let part = folder.change(|folder| {
            let folder = folder.join("install");
            fs::create_dir(&folder).map(|()| folder)
        });
        let copied = part.and_then(|part| {
            let changes = Changes { revision: 1, values: None, clock: Clock::AMinuteLater, prints: true };
            folder.change(|_| copy(chart, changes, &part))
        });
        let copied = copied.map_err(|error| Failure(format!("{source}: {}", HelmError::Copy(error))))?;
        let Copied { chart: copied, sources } = copied;
        let given = GivenValues { old: None, ..values.clone() };
        let sides = folder.change(|folder| Sides::of(arguments, &given, None, folder, told)).map_err(Failure)?;
        let helm = Helm::of_the_user();
        let install = Printing::render(copied, true, |copied| helm.install(copied, &sides.upgrade));
        let (install, printing) =
            install.map_err(|error| failure(source, chart, &sides.upgrade.values, error, told))?;
        let namespace = sides.upgrade.namespace.clone();
        let made = Made {
            install: None,
            options: sides.upgrade,
            chart_values: None,
            revision: 1,
            clock: Clock::AMinuteLater,
            operation: Operation::Install,
            printing,
        };
        Ok(Self {
            chart: chart.clone(),
            source: source.clone(),
            namespace,
            install: None,
            upgrade: checked(&format!("the install of {source}"), install.render, told),
            soon: None,
            apply_method: helm.apply_method(),
            hook_templates: of_hooks(&sources.templates),
            sources,
            dropped: Vec::new(),
            made: Some(made),
        })
    }

    /// The upgrade rendered once more, at another time; `None` where that cannot be.
    pub(super) fn again(&self, folder: &Part<'_>) -> Option<Render> {
        let Made { options, chart_values, revision, clock, .. } = self.made.as_ref()?;
        let copied = folder.change(|folder| {
            let folder = folder.join("again");
            fs::create_dir(&folder)?;
            let (values, clock) = (chart_values.as_deref(), clock.other());
            copy(&self.chart, Changes { revision: *revision, values, clock, prints: false }, &folder)
        });
        Some(Rendered::from(Helm::of_the_user().upgrade(&copied.ok()?.chart, options).ok()?).render)
    }

    /// The hooks that Helm has dropped from the upgrade, by the templates that can have made them.
    pub(super) fn dropped_hooks(&self, release: Option<&Upgraded<'_>>) -> BTreeMap<String, String> {
        self.templates_of(&self.dropped, release)
    }

    /// The same of the hooks that Helm has dropped from a render of the chart with other values.
    pub(super) fn templates_of(&self, dropped: &[String], release: Option<&Upgraded<'_>>) -> BTreeMap<String, String> {
        let stored = release.map(|release| release.stored.chart());
        let mut charts = vec![self.upgrade.chart()];
        charts.extend(self.install.as_ref().map(Render::chart));
        charts.extend(stored.as_deref());
        by_template(dropped, &self.sources.templates, &charts)
    }

    /// Warnings about hooks that Helm has dropped, where nothing is lost by it that was there.
    pub(super) fn dropped_warnings(&self) -> Vec<String> {
        let warning = |events: &String| {
            format!(
                "Helm drops a document of this chart: its {HOOK} is \"{}\", which has an event that Helm does not know, or \
                 an empty one. No such object is created.",
                Shown(events)
            )
        };
        self.dropped.iter().map(warning).collect()
    }

    /// Where in the chart an object's field comes from: the file, if the chart is a folder, else as Helm calls it.
    pub(super) fn template(&self, object: &Name, path: &str) -> Option<Place> {
        let renders = [Some(&self.upgrade), self.soon.as_ref(), self.install.as_ref()];
        let place = origin(renders.into_iter().flatten(), (object, path), &self.namespace, &self.sources.templates)?;
        Some(self.on_disk(place))
    }

    /// The same place as the user calls it, where the chart is a folder.
    pub(super) fn on_disk(&self, place: Place) -> Place {
        match place.file.split_once('/') {
            Some((_, inside)) if self.chart.join(inside).is_file() => {
                Place { file: self.path_in_chart(inside), ..place }
            }
            _ => place,
        }
    }

    /// A file of the chart as the user calls it.
    pub(super) fn path_in_chart(&self, inside: &str) -> String {
        format!("{}/{inside}", self.source.trim_end_matches('/'))
    }
}

/// The options of `helm template` for either render.
pub(super) struct Sides {
    /// `None` where a release is installed already.
    pub(super) install: Option<Options>,
    pub(super) upgrade: Options,
    /// In the place of those that the upgrade's chart has of its own.
    chart_values: Option<Vec<u8>>,
}

impl Sides {
    /// Adds the values that Helm takes from the release.
    pub(super) fn of(
        arguments: &RenderArguments,
        given: &GivenValues,
        release: Option<&Upgraded<'_>>,
        folder: &Path,
        told: &mut Told,
    ) -> Result<Self, String> {
        let GivenValues { values, old, more } = given;
        let options = |values| Options {
            release: arguments.release_name().to_owned(),
            namespace: release.map_or_else(|| arguments.release_namespace(), |release| release.namespace.clone()),
            values,
            kube_version: arguments.kube_version.clone(),
            api_versions: arguments.api_versions.clone(),
            more: more.clone(),
        };
        let Some(release) = release else {
            let old = old.as_ref().unwrap_or(values).clone();
            return Ok(Self { install: Some(options(old)), upgrade: options(values.clone()), chart_values: None });
        };
        let taken = release.stored.taken_by_upgrade(values.clone(), arguments.reuse.reuse(), folder)?;
        let upgrade = with_capabilities(options(taken.values), told);
        Ok(Self { install: None, upgrade, chart_values: taken.chart_values })
    }
}

/// The cluster's capabilities decide what a chart renders, and `helm upgrade` asks for them too.
fn with_capabilities(options: Options, told: &mut Told) -> Options {
    if options.kube_version.is_some() || !options.api_versions.is_empty() {
        return options;
    }
    let Some(Capabilities { kube_version, api_versions }) = Kubectl::default().capabilities() else {
        told.remark("the cluster does not say its version: the chart is rendered for the one that helm assumes");
        return options;
    };
    Options { kube_version: Some(kube_version), api_versions, ..options }
}

/// What stands behind `--` leaves the renders as they are.
pub(super) fn check_more(arguments: &RenderArguments) -> Result<(), Failure> {
    match arguments.more.iter().find(|argument| changes_the_render(argument)) {
        None => Ok(()),
        Some(argument) => Err(Failure(format!(
            "`{}` behind `--` would render something else than what is judged, the install and the upgrade with their \
             hooks: leave it out",
            argument.display()
        ))),
    }
}

/// Without its hooks, with one of its templates alone, or as another operation, a chart has other objects.
fn changes_the_render(argument: &OsString) -> bool {
    let argument = argument.to_string_lossy();
    let flag = argument.split('=').next().unwrap_or(&argument);
    matches!(flag, "--no-hooks" | "--is-upgrade" | "--show-only" | "-s")
}

/// `helm template` is told to ask the cluster for what `lookup` wants.
fn asks_the_cluster(more: &[OsString]) -> bool {
    more.iter().any(|argument| argument == "--dry-run=server")
}

/// A chart as Helm rendered it.
pub(super) struct Rendered {
    pub(super) render: Render,
    /// On standard error.
    pub(super) said: Vec<u8>,
}

impl From<Output> for Rendered {
    fn from(output: Output) -> Self {
        Self { render: Render::read_from_helm(&output.stdout), said: output.stderr }
    }
}

/// Helm's own words first, as they are.
pub(super) fn failure(source: &str, chart: &Path, values: &Values, error: HelmError, told: &mut Told) -> Failure {
    let HelmError::Failed { said, .. } = &error else { return Failure(format!("{source}: {error}")) };
    let said = values.in_the_users_words(said);
    let missing = missing_dependencies(&said);
    told.say(&said);
    match (missing, chart.is_dir()) {
        (None, _) => Failure(format!("{source}: {error}")),
        (Some(names), true) => Failure(format!(
            "{source}: what it depends on is not in its charts/ folder: {names}. `helm dependency build {source}` gets it"
        )),
        (Some(names), false) => Failure(format!(
            "{source}: what it depends on is not in the archive: {names}. Get it into the chart's folder with \
             `helm dependency build`, and package that again"
        )),
    }
}

pub(super) fn checked(place: &str, render: Render, told: &mut Told) -> Render {
    for error in &render.broken {
        told.cannot_judge(&format!("{place}:{}: {}", error.line, error.reason));
    }
    render
}

/// The hooks that Helm has dropped, all of them for every template that can have made one.
///
/// Where all is dropped no render says what the chart is called, so that each name that it may have counts.
pub(in crate::cli) fn by_template(
    dropped: &[String],
    templates: &Templates,
    charts: &[&str],
) -> BTreeMap<String, String> {
    let said: BTreeSet<_> = dropped.iter().map(String::as_str).collect();
    let said = said.into_iter().collect::<Vec<_>>().join("\" or \"");
    let mut of_templates = BTreeMap::new();
    for chart in charts.iter().filter(|_| !dropped.is_empty()) {
        let able = templates.iter().filter(|(_, source)| can_make_hooks(source));
        of_templates.extend(able.map(|(path, _)| (format!("{chart}/{path}"), said.clone())));
    }
    of_templates
}

/// It writes the annotation itself, or something that can hold it.
fn can_make_hooks(source: &str) -> bool {
    ["helm.sh/hook", "include", "template", "tpl", "toYaml", "toJson"].iter().any(|word| source.contains(word))
}
