//! One version, rendered as an install and as the upgrade: the texts lie in the private folder, and in memory is only what each
//! object is.

use std::fs;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};

use stable_hooks_policy::shown::Visible;

use super::super::arguments::RenderArguments;
use super::super::outline::Outline;
use super::super::renders::{Rendered, Sides, failure};
use super::super::task::{Chart, Task};
use super::versions::{Source, Version};
use crate::cli::outcome::{Failure, Told};
use crate::helm::chart::{Changes, Clock, Copied, copy, tell_upgrades};
use crate::helm::folder::{Folder, Part};
use crate::helm::said::error_of;
use crate::helm::{Helm, HelmError, Options};
use crate::origin::Templates;
use crate::private;
use crate::render::Render;

/// The chart whose versions are rendered.
pub(super) struct Rendering<'a> {
    pub(super) arguments: &'a RenderArguments,
    pub(super) chart: &'a Chart,
    /// One for each set of values.
    pub(super) tasks: &'a [Task<'a>],
    pub(super) folder: &'a Folder,
    /// Its folders begin so.
    pub(super) called: String,
}

/// A version, rendered with one set of values.
pub(super) struct Kept {
    /// From 0, the oldest; versions that were left out have numbers too.
    pub(super) number: usize,
    pub(super) version: String,
    pub(super) install: Outline,
    pub(super) upgrade: Outline,
    /// Where its texts lie.
    folder: PathBuf,
}

/// What the texts of a version are called.
const INSTALL: &str = "install.yaml";
const UPGRADE: &str = "upgrade.yaml";
const TEMPLATES: &str = "templates.json";

/// Why a version has no render, in one line; the work tree's also in Helm's own words.
type Rendition = Result<Kept, Failure>;

impl Rendering<'_> {
    /// Renders a version with each set of values, and tells beside it what Helm says.
    pub(super) fn render(&self, version: &Version, number: usize) -> Vec<(Told, Rendition)> {
        let mut told = Told::default();
        let checkout = self.folder.part(&format!("{}-{number}-checkout", self.called));
        let checkout = checkout.map_err(|error| self.fail(&error));
        let chart = checkout.as_ref().map_err(|Failure(reason)| Failure(reason.clone()));
        let chart = chart.and_then(|checkout| self.chart_of(version, checkout, &mut told));
        let mut renditions = Vec::new();
        for task in self.tasks {
            let mut told = mem::take(&mut told);
            let folder = task.folder.path().join(format!("version-{number}"));
            let kept = match &chart {
                Ok(chart) => self.render_with(task, chart, (version, number), &folder, &mut told),
                Err(Failure(reason)) => Err(Failure(reason.clone())),
            };
            renditions.push((told, kept));
        }
        // A repository at each of its versions can be large; what stays is gone with the private folder.
        if let Ok(checkout) = checkout {
            let _ = checkout.change(|folder| fs::remove_dir_all(folder));
        }
        renditions
    }

    /// The chart of a version, written out where it is not the work tree.
    fn chart_of(&self, version: &Version, checkout: &Part<'_>, told: &mut Told) -> Result<Chart, Failure> {
        match &version.source {
            Source::WorkTree => Ok(self.chart.clone()),
            Source::Commit { tree, metadata } => {
                let chart = self.chart.of_tree(tree, metadata, checkout, told);
                // Several versions with one reason are told of together.
                chart.map_err(|Failure(reason)| Failure(reason.replace(tree.revision(), "that version")))
            }
        }
    }

    fn render_with(
        &self,
        task: &Task<'_>,
        chart: &Chart,
        (version, number): (&Version, usize),
        folder: &Path,
        told: &mut Told,
    ) -> Rendition {
        let written = |error: io::Error| self.fail(&error);
        let sides =
            task.folder.change(|_| Sides::of(self.arguments, &task.values, None, folder, told)).map_err(Failure)?;
        let Copied { chart: copied, sources } = self.copied(chart, folder).map_err(written)?;
        let keep = |name: &str, bytes: &[u8]| {
            task.folder.change(|_| private::write(&folder.join(name), bytes)).map_err(written)
        };
        let helm = Helm::of_the_user();
        let render = |rendered: Result<_, HelmError>, options: &Options, told: &mut Told| {
            rendered.map_err(|error| self.not_rendered(version, chart, error, options, told))
        };
        let options = sides.install.as_ref().unwrap_or(&sides.upgrade);
        let install = render(helm.install(&chart.chart, options), options, told)?;
        keep(INSTALL, &install.stdout)?;
        let namespace = &sides.upgrade.namespace;
        let install = self.outline(&Rendered::from(install).render, namespace)?;
        let upgrade = if tell_upgrades(&sources.templates, None) {
            let upgrade = render(helm.upgrade(&copied, &sides.upgrade), &sides.upgrade, told)?;
            keep(UPGRADE, &upgrade.stdout)?;
            self.outline(&Rendered::from(upgrade).render, namespace)?
        } else {
            install.clone()
        };
        keep(TEMPLATES, &serde_json::to_vec(&sources.templates).map_err(|error| self.fail(&error.into()))?)?;
        task.folder.change(|_| fs::remove_dir_all(folder.join(COPY))).map_err(written)?;
        let version = version.called.clone();
        Ok(Kept { number, version, install, upgrade, folder: folder.to_owned() })
    }

    /// The copy that renders as an upgrade, and the sources of the chart's templates.
    fn copied(&self, chart: &Chart, folder: &Path) -> io::Result<Copied> {
        self.folder.change(|_| {
            let into = folder.join(COPY);
            fs::create_dir_all(&into)?;
            let changes = Changes { revision: 2, values: None, clock: Clock::AYearLater, prints: false };
            copy(&chart.chart, changes, &into)
        })
    }

    fn outline(&self, render: &Render, namespace: &str) -> Result<Outline, Failure> {
        match render.broken.first() {
            None => Ok(Outline::of(render, namespace)),
            Some(error) => Err(self.said(&format!("its render, line {}: {}", error.line, error.reason))),
        }
    }

    /// The work tree's failure is told as that of any chart, others in one line.
    fn not_rendered(
        &self,
        version: &Version,
        chart: &Chart,
        error: HelmError,
        options: &Options,
        told: &mut Told,
    ) -> Failure {
        match (&version.source, &error) {
            (Source::Commit { .. }, HelmError::Failed { said, .. }) => {
                let said = options.values.in_the_users_words(said);
                // The folder is another one in every run.
                let said = said.replace(&*chart.chart.to_string_lossy(), &self.chart.source);
                let error = error_of(&said).lines().map(str::trim).collect::<Vec<_>>().join(" ");
                Failure(format!("helm cannot render it: {}", error.trim_end()))
            }
            (Source::Commit { .. }, _) => Failure(error.to_string()),
            (Source::WorkTree, _) => failure(&chart.source, &chart.chart, &options.values, error, told),
        }
    }

    fn fail(&self, error: &io::Error) -> Failure {
        self.said(&error.to_string())
    }

    fn said(&self, reason: &str) -> Failure {
        Failure(format!("{}: {reason}", Visible(&self.chart.source)))
    }
}

/// The folder that does not stay.
const COPY: &str = "copy";

impl Kept {
    /// Reads a text again: of the install, or of the upgrade.
    pub(super) fn read(&self, is_upgrade: bool) -> Result<Render, String> {
        let is_one_text = !self.folder.join(UPGRADE).is_file();
        let name = if is_upgrade && !is_one_text { UPGRADE } else { INSTALL };
        Ok(Render::read_from_helm(&self.bytes(name)?))
    }

    pub(super) fn templates(&self) -> Result<Templates, String> {
        serde_json::from_slice(&self.bytes(TEMPLATES)?).map_err(|error| self.unread(&error.into()))
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        fs::read(self.folder.join(name)).map_err(|error| self.unread(&error))
    }

    fn unread(&self, error: &io::Error) -> String {
        format!("the render of version {} cannot be read again: {error}", self.version)
    }
}
