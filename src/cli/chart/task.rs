//! One chart with one set of values, and the charts that a run is given.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stable_hooks_policy::shown::Visible;

use super::arguments::RenderArguments;
use crate::cli::outcome::{Failure, Told};
use crate::git::{Extent, Tree};
use crate::helm::folder::{Folder, Part};
use crate::helm::values::{Given, Values};
use crate::helm::{Helm, Repository};
use crate::input;
use crate::private;

/// Where Helm looks for what a chart depends on.
const CHARTS: &str = "charts";
/// The repository of a dependency that lies beside the chart begins with it.
const FILE: &[u8] = b"file://";

/// A chart to render, and what with.
pub(super) struct Task<'f> {
    pub(super) chart: PathBuf,
    /// As the report names the chart.
    pub(super) source: String,
    /// What the upgrade starts from, where it is another chart.
    pub(super) old: Option<Chart>,
    pub(super) values: GivenValues,
    pub(super) folder: Part<'f>,
}

/// A chart, a folder or an archive.
#[derive(Debug, Clone)]
pub(super) struct Chart {
    pub(super) chart: PathBuf,
    /// As the user calls it.
    pub(super) source: String,
}

/// What a chart is rendered with.
#[derive(Debug, Clone, Default)]
pub(super) struct GivenValues {
    pub(super) values: Values,
    /// Of the chart that the upgrade starts from, where they are others.
    pub(super) old: Option<Values>,
    /// Further arguments of `helm template`.
    pub(super) more: Vec<OsString>,
}

impl GivenValues {
    /// Reads what the command line gives, once for all charts.
    pub(super) fn read(arguments: &RenderArguments, folder: &Folder) -> Result<Self, Failure> {
        let (given, more) = arguments.given();
        let files = arguments.against_values.clone();
        folder
            .change(|folder| {
                let values = Values::read(&given, &folder.join("given"))?;
                let old = Given { files, single: Vec::new() };
                let old = if old.files.is_empty() { None } else { Some(Values::read(&old, &folder.join("old"))?) };
                Ok(Self { values, old, more })
            })
            .map_err(Failure)
    }

    /// The same with these files in the place of what the command line gives.
    pub(super) fn of_files(&self, files: &[PathBuf], folder: &Part<'_>) -> Result<Self, Failure> {
        let given = Given { files: files.to_vec(), single: Vec::new() };
        let values = folder.change(|folder| Values::read(&given, folder)).map_err(Failure)?;
        Ok(Self { values, ..self.clone() })
    }
}

impl Chart {
    /// What the user calls a chart: a file or a folder, or what only Helm can fetch.
    pub(super) fn of(called: &Path, repository: Repository<'_>, folder: &Part<'_>) -> Result<Self, Failure> {
        let source = called.display().to_string();
        let shown = Visible(&source);
        let is_fetched = repository.url.is_some() || !called.exists();
        if !is_fetched {
            return match repository.version {
                None => Ok(Self { chart: called.to_owned(), source }),
                Some(_) => Err(Failure(format!(
                    "--version chooses among the charts of a repository, and {shown} is a file or a folder: leave it out"
                ))),
            };
        }
        let pulled = Helm::of_the_user().pull(called.as_os_str(), repository, folder.path());
        let is_a_reference = repository.url.is_some() || source.contains("://");
        let nothing = if is_a_reference { "" } else { "there is no such file or folder, and " };
        let chart = pulled.map_err(|error| Failure(format!("{shown}: {nothing}{error}")))?;
        Ok(Self { chart, source })
    }

    /// The charts in a folder that is none itself, however deep; a chart's own `charts/` are a part of it. A link is
    /// followed to a chart, and no further: it could lead in a circle.
    pub(super) fn below(folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut charts = Vec::new();
        let entries = match fs::read_dir(folder) {
            // Somebody has removed it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(charts),
            entries => entries?,
        };
        let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if path.join("Chart.yaml").is_file() {
                charts.push(path);
            } else if entry.file_type()?.is_dir() {
                charts.extend(Self::below(&path)?);
            }
        }
        Ok(charts)
    }

    /// The chart as it was at a git revision; `None` where there was none.
    pub(super) fn at(&self, revision: &str, folder: &Part<'_>, told: &mut Told) -> Result<Option<Self>, Failure> {
        let Self { chart, source } = self;
        let shown = Visible(source);
        let fail = |reason: &dyn Display| Failure(format!("{shown}: {reason}"));
        if !chart.is_dir() {
            return Err(fail(&"--against-ref goes with a chart's folder in a git repository"));
        }
        let tree = Tree::at(chart, revision).map_err(|error| fail(&error))?;
        let Some(metadata) = tree.file("Chart.yaml").map_err(|error| fail(&error))? else {
            told.remark(&format!("{shown} was not there yet at {revision}: it is judged as a new chart"));
            return Ok(None);
        };
        if chart.is_symlink() {
            told.remark(&format!(
                "{shown} is a link: what it leads to now is compared with what that was at {revision}"
            ));
        }
        self.of_tree(&tree, &metadata, folder, told).map(Some)
    }

    /// The chart as a revision has it, whose Chart.yaml this is.
    pub(super) fn of_tree(
        &self,
        tree: &Tree,
        metadata: &[u8],
        folder: &Part<'_>,
        told: &mut Told,
    ) -> Result<Self, Failure> {
        let Self { chart, source } = self;
        let (shown, revision) = (Visible(source), tree.revision());
        let fail = |reason: &dyn Display| Failure(format!("{shown}: {reason}"));
        let lock = tree.file("Chart.lock").map_err(|error| fail(&error))?;
        let reaches_out = metadata.windows(FILE.len()).any(|bytes| bytes == FILE);
        let extent = if reaches_out { Extent::Repository } else { Extent::Folder };
        let old = tree.write(folder.path(), extent).map_err(|error| fail(&error))?;
        let wanted = Dependencies::of(metadata);
        let agree = match lock {
            Some(lock) => fs::read(chart.join("Chart.lock")).is_ok_and(|now| now == lock),
            None => fs::read(chart.join("Chart.yaml")).is_ok_and(|now| Dependencies::of(&now) == wanted),
        };
        // What lies in the repository has changed with it, whatever the lock says.
        let is_built = reaches_out && Helm::of_the_user().build_dependencies(&old).is_ok();
        if agree && !is_built {
            if reaches_out {
                told.remark(&format!("{shown} at {revision} is rendered with the work tree's charts/"));
            }
            let copied = wanted.copy(&chart.join(CHARTS), &old.join(CHARTS));
            copied.map_err(|error| fail(&format!("its charts/ folder cannot be copied: {error}")))?;
        }
        if !wanted.are_in(&old.join(CHARTS)) {
            Helm::of_the_user().build_dependencies(&old).map_err(|error| {
                fail(&format!(
                    "what it depended on at {revision} is neither in git nor in the work tree: {error}. `--against` takes a \
                     packaged version of the chart instead"
                ))
            })?;
        }
        Ok(Self { chart: old, source: format!("{source} at {revision}") })
    }
}

/// Values files as they were at a git revision; those that were not there then, or lie elsewhere, are as they are now.
pub(super) fn values_at(values: Values, revision: &str, folder: &Part<'_>) -> Result<Values, Failure> {
    let mut count = 0;
    values.with_files(|file| {
        let (Some(name), true) = (file.file_name(), file.is_file()) else { return Ok(None) };
        let above = file.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let Ok(tree) = Tree::at(above, revision) else { return Ok(None) };
        let fail = |error: &dyn Display| Failure(format!("{}: {error}", file.display()));
        let Some(bytes) = tree.file(name).map_err(|error| fail(&error))? else { return Ok(None) };
        let old = folder.path().join(format!("{count}.yaml"));
        count += 1;
        folder.change(|_| private::write(&old, &bytes)).map_err(|error| fail(&error))?;
        Ok(Some(old))
    })
}

/// What a chart depends on, as its Chart.yaml declares it.
#[derive(Debug, PartialEq)]
struct Dependencies(Vec<Value>);

impl Dependencies {
    fn of(metadata: &[u8]) -> Self {
        let metadata = input::value(metadata).unwrap_or_default();
        Self(metadata.get("dependencies").and_then(Value::as_array).cloned().unwrap_or_default())
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|dependency| dependency.get("name")?.as_str())
    }

    fn are_in(&self, charts: &Path) -> bool {
        self.names().all(|name| !entries_of(name, charts).is_empty())
    }

    /// Copies those that are in one folder and not in the other.
    fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        for name in self.names().filter(|name| entries_of(name, to).is_empty()) {
            fs::create_dir_all(to)?;
            for entry in entries_of(name, from) {
                copy_all(&from.join(&entry), &to.join(&entry))?;
            }
        }
        Ok(())
    }
}

/// A dependency in a `charts/` folder: a folder, or archives with a version in their names.
fn entries_of(name: &str, charts: &Path) -> Vec<OsString> {
    let names = fs::read_dir(charts).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let is_of = |entry: &OsString| {
        let entry = entry.to_string_lossy();
        let version = entry.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
        entry == name || version.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    names.filter(is_of).collect()
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        copy_all(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}
