//! The next upgrade of a release, rendered from what is stored of it.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use helm::record::Limits;
use helm::write::Revision;
use serde_json::Value;
use stable_hooks_policy::Settings;
use stable_hooks_policy::evaluate::evaluate_renders;
use stable_hooks_policy::name::Name;
use stable_hooks_policy::renders::Renders;
use stable_hooks_policy::shown::Shown;
use stable_hooks_policy::verdict::Found;

use super::reading::Record;
use crate::cli::chart::renders::by_template;
use crate::forecast::Trouble;
use crate::helm::chart::{Changes, Clock, Copied, copy, of_hooks};
use crate::helm::folder::Folder;
use crate::helm::said::{dropped_hooks, without_values};
use crate::helm::values::Values;
use crate::helm::{Helm, HelmError, Options};
use crate::input::Content;
use crate::judged::Place;
use crate::kubectl::{Capabilities, Kubectl, KubectlError};
use crate::origin::{Templates, origin};
use crate::private::write;
use crate::records::chart::{ChartError, StoredRelease};
use crate::records::installed::Installed;
use crate::records::{StoredRecord, record_object};
use crate::render::Render;

/// What is to be done where a program takes too long.
pub(super) const WAITS_LONGER: &str = "`--timeout SECONDS` waits longer";

/// Everything that the upgrades of one run share.
pub(super) struct Next {
    pub(super) helm: Helm,
    pub(super) kubectl: Kubectl,
    pub(super) folder: Folder,
    pub(super) capabilities: Option<Capabilities>,
    /// Charts that are given in the place of stored ones, by release.
    pub(super) charts: BTreeMap<String, PathBuf>,
    pub(super) limits: Limits,
}

/// An upgrade, as far as it could be rendered.
pub(super) struct Upgrade {
    /// Its name and version, or the path that was given; empty where neither is known.
    pub(super) chart: String,
    pub(super) rendered: Result<Rendered, Trouble>,
}

/// The record that the upgrade would create, and the one that it would start from.
pub(super) struct Rendered {
    pub(super) record: StoredRecord,
    pub(super) baseline: StoredRecord,
    /// Where its objects are.
    namespace: String,
    render: Render,
    templates: Templates,
}

/// A release in files.
struct Written {
    chart: PathBuf,
    values: Option<PathBuf>,
    templates: Templates,
    /// The `Chart.yaml` of a chart that was given; that of a stored one is in the record too.
    metadata: String,
}

impl Next {
    pub(super) fn of(&self, release: &Installed, record: Record) -> Upgrade {
        let (baseline, stored) = match self.read(release, record) {
            Ok(read) => read,
            Err(trouble) => return Upgrade { chart: String::new(), rendered: Err(trouble) },
        };
        let given = self.charts.get(&release.name).map(|path| Shown(&path.display().to_string()).to_string());
        let chart = given.unwrap_or_else(|| stored.chart_name());
        Upgrade { chart, rendered: self.render(release, baseline, &stored, Clock::AMinuteLater) }
    }

    /// The record of the same upgrade at another time.
    pub(super) fn again(&self, release: &Installed, rendered: &Rendered) -> Option<StoredRecord> {
        let baseline = rendered.baseline.clone();
        let stored = baseline.stored_release(self.limits).ok()?;
        self.render(release, baseline, &stored, Clock::AYearLater).ok().map(|rendered| rendered.record)
    }

    /// It is another chart than the stored one.
    pub(super) fn is_given(&self, release: &Installed) -> bool {
        self.charts.contains_key(&release.name)
    }

    fn read(&self, release: &Installed, record: Record) -> Result<(StoredRecord, StoredRelease), Trouble> {
        let trouble =
            |reason: String| Trouble::new("its record cannot be read", format!("{}: {reason}", release.record()));
        let object = match record {
            Record::Read(object) => Ok(Some(object)),
            Record::Unread => self.object(release),
            Record::GivenUp(error) => Err(error),
        };
        let object = object.map_err(|error| Trouble { is_passing: true, ..trouble(with_remedy(&error)) })?;
        let object = object.ok_or_else(|| trouble("what kubectl printed is no release record".to_owned()))?;
        let record = StoredRecord::read(object, self.limits).map_err(|error| trouble(error.to_string()))?;
        if record.is_of_nelm() {
            let reason = "nelm (werf) has written it, and nelm's next upgrade goes by other rules than Helm's";
            return Err(Trouble::new("nelm deploys it", format!("{}: {reason}", release.record())));
        }
        let stored = record.stored_release(self.limits).map_err(|error| trouble(error.to_string()))?;
        if record.release() != release.name {
            return Err(trouble("it is the record of a release of another name".to_owned()));
        }
        Ok((record, stored))
    }

    /// `None` where it is no record.
    fn object(&self, release: &Installed) -> Result<Option<Value>, KubectlError> {
        let printed = self.kubectl.record(release.storage, &release.namespace, &release.record())?;
        let object = serde_json::from_slice(&printed).ok();
        Ok(object.and_then(|object| record_object(Content::Manifest(object))))
    }

    fn render(
        &self,
        release: &Installed,
        baseline: StoredRecord,
        stored: &StoredRelease,
        clock: Clock,
    ) -> Result<Rendered, Trouble> {
        let given = self.charts.get(&release.name);
        if given.is_none() {
            let subcharts = stored.subcharts(baseline.templates(self.limits).values());
            if !subcharts.is_empty() {
                return Err(lacks(&release.name, &subcharts));
            }
        }
        let own = self.folder.change(|folder| tempfile::tempdir_in(folder)).map_err(|error| cannot_write(&error))?;
        let rendered = self.folder.change(|_| files(own.path(), (release, stored), given, clock)).and_then(|written| {
            let options = self.options(release, stored, &written);
            let output = self.helm.upgrade(&written.chart, &options);
            let output = output.map_err(|error| self.does_not_render(error, stored, &written))?;
            let dropped = dropped_hooks(&String::from_utf8_lossy(&output.stderr));
            Ok((Render::read_from_helm(&output.stdout), written.templates, dropped))
        });
        self.folder.change(|_| drop(own));
        let (render, templates, dropped) = rendered?;
        Rendered::new(release, baseline, stored, render, templates, &dropped)
    }

    fn options(&self, release: &Installed, stored: &StoredRelease, written: &Written) -> Options {
        let capabilities = self.capabilities.as_ref();
        Options {
            release: release.name.clone(),
            namespace: namespace(release, stored),
            values: written.values.clone().map(Values::of_file).unwrap_or_default(),
            kube_version: capabilities.map(|capabilities| capabilities.kube_version.clone()),
            api_versions: capabilities.map(|capabilities| capabilities.api_versions.clone()).unwrap_or_default(),
            ..Options::default()
        }
    }

    fn does_not_render(&self, error: HelmError, stored: &StoredRelease, written: &Written) -> Trouble {
        let reason = match error {
            HelmError::Failed { said, status } => {
                let texts = stored.texts();
                let version = self.capabilities.as_ref().map(|capabilities| capabilities.kube_version.as_str());
                let of_templates = written.templates.iter().flat_map(|(path, source)| [path.as_str(), source]);
                let texts = texts.iter().map(String::as_str).chain(version).chain(of_templates);
                let texts: Vec<_> = texts.chain([written.metadata.as_str()]).collect();
                let said = without_values(&String::from_utf8_lossy(&said), &texts, stored.values());
                format!("helm could not render it ({status}): {said}")
            }
            error @ HelmError::TooSlow { .. } => {
                let reason = format!("{error}; {WAITS_LONGER}");
                return Trouble { is_passing: true, ..Trouble::new("helm takes too long", reason) };
            }
            error => error.to_string(),
        };
        Trouble::new("its chart does not render", reason)
    }
}

impl Rendered {
    /// The record that Helm would store of it.
    fn new(
        release: &Installed,
        baseline: StoredRecord,
        stored: &StoredRelease,
        render: Render,
        templates: Templates,
        dropped: &[String],
    ) -> Result<Self, Trouble> {
        if let Some(error) = render.broken.first() {
            let reason = format!("line {} of what helm rendered: {}", error.line, error.reason);
            return Err(Trouble::new("its chart does not render", reason));
        }
        let namespace = namespace(release, stored);
        let dropped_hooks = by_template(dropped, &templates, &[render.chart(), &stored.chart()]);
        let revision = Revision {
            name: &release.name,
            namespace: &namespace,
            version: release.next,
            status: "pending-upgrade",
            chart: render.chart(),
            documents: &render.documents,
            templates: &of_hooks(&templates),
            apply_method: stored.apply_method(),
            dropped_hooks: Some(&dropped_hooks),
        };
        let record = StoredRecord::of(&revision, release.storage, &release.namespace);
        Ok(Self { record, baseline, namespace, render, templates })
    }

    /// What the rules for charts find between the revision that is installed and this upgrade.
    pub(super) fn against_the_installed(&self, settings: &Settings, limits: Limits) -> Found {
        let Some(installed) = self.baseline.decoded(limits) else { return Found::default() };
        let installed = Render::read(installed.manifest.as_bytes());
        let (documents, revision) = (&installed.documents, Some(self.baseline.version()));
        evaluate_renders(&Renders::of(documents, &self.render.documents, &self.namespace, revision), settings)
    }

    /// Where in the chart an object's field comes from, as Helm calls it.
    pub(super) fn template(&self, object: &Name, path: &str) -> Option<Place> {
        origin([&self.render], (object, path), &self.namespace, &self.templates)
    }
}

/// Where its objects are; with Flux its records lie elsewhere.
fn namespace(release: &Installed, stored: &StoredRelease) -> String {
    if stored.namespace.is_empty() { release.namespace.clone() } else { stored.namespace.clone() }
}

pub(super) fn with_remedy(error: &KubectlError) -> String {
    match error {
        KubectlError::TooSlow { .. } => format!("{error}; {WAITS_LONGER}"),
        error => error.to_string(),
    }
}

fn lacks(name: &str, subcharts: &BTreeSet<String>) -> Trouble {
    let names: Vec<_> = subcharts.iter().map(|subchart| format!("`{}`", Shown(subchart))).collect();
    let names = names.join(", ");
    let reason = format!("helm rendered it with the subcharts {names}, and a release record does not hold subcharts");
    needs_the_chart("its subcharts are not stored", &reason, name)
}

fn needs_the_chart(what: &'static str, reason: &str, name: &str) -> Trouble {
    Trouble::new(what, format!("{reason}; give the chart itself: --chart {}=PATH", Shown(name)))
}

fn cannot_write(error: &dyn std::fmt::Display) -> Trouble {
    Trouble::new("its chart cannot be written", error.to_string())
}

/// Writes what is stored and gives the copy that renders as the next revision.
fn files(
    folder: &Path,
    (release, stored): (&Installed, &StoredRelease),
    given: Option<&PathBuf>,
    clock: Clock,
) -> Result<Written, Trouble> {
    let values = stored.values().map(|values| {
        let path = folder.join("values.json");
        write(&path, values.as_bytes()).map(|()| path)
    });
    let values = values.transpose().map_err(|error| cannot_write(&error))?;
    let chart = given.cloned().unwrap_or_else(|| folder.join("stored"));
    if given.is_none() {
        stored.write_chart(&chart).map_err(|error| match error {
            ChartError::Write { .. } => cannot_write(&error),
            _ => needs_the_chart("its stored chart is not usable", &error.to_string(), &release.name),
        })?;
    }
    let into = folder.join("next");
    let changes = Changes { revision: release.next, values: None, clock, prints: false };
    let copied = fs::create_dir(&into).and_then(|()| copy(&chart, changes, &into));
    let Copied { chart, sources } = copied.map_err(|error| match given {
        Some(given) => Trouble::new("the given chart cannot be read", format!("{}: {error}", given.display())),
        None => cannot_write(&error),
    })?;
    let metadata = fs::read_to_string(chart.join("Chart.yaml")).unwrap_or_default();
    Ok(Written { chart, values, templates: sources.templates, metadata })
}
