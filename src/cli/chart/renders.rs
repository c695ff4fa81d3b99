//! The two renders that are judged, made by `helm` or read from files.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::process::Output;
use std::thread;

use super::RenderArguments;
use crate::cli::run::Run;
use crate::cli::{Failure, read};
use crate::helm::chart::{Templates, copy, of_hooks};
use crate::helm::folder::Folder;
use crate::helm::line::line_of;
use crate::helm::{Helm, HelmError, Options};
use crate::render::{Document, Render};
use crate::report::{ObjectRef, Place};

/// What is compared.
pub(super) struct Renders {
    /// As the report names it.
    pub(super) source: String,
    pub(super) namespace: String,
    /// Where it is no release that is installed already.
    pub(super) install: Option<Render>,
    pub(super) upgrade: Render,
    /// The sources of the templates that make hooks, as a record holds them.
    pub(super) hook_templates: Templates,
    templates: Templates,
}

impl Renders {
    pub(super) fn read(
        chart: Option<&Path>,
        arguments: &RenderArguments,
        next: u64,
        run: &mut Run,
    ) -> Result<Self, Failure> {
        match (chart, &arguments.install, &arguments.upgrade) {
            (Some(chart), _, _) => Self::rendered(arguments, chart, next, run),
            (None, Some(install), Some(upgrade)) => Self::given(arguments, install, upgrade, run),
            (None, _, _) => Err(Failure("there is no chart to judge".to_owned())),
        }
    }

    fn given(arguments: &RenderArguments, install: &Path, upgrade: &Path, run: &mut Run) -> Result<Self, Failure> {
        let source = upgrade.display().to_string();
        let [install, upgrade] = [install, upgrade].map(|file| {
            let bytes = read(file)?;
            let render = checked(&file.display().to_string(), Render::read(&bytes), run);
            if render.documents.is_empty() && render.broken.is_empty() {
                run.cannot_judge(&format!("{}: there is no object in it", file.display()));
            }
            Ok(render)
        });
        let (install, upgrade) = (install?, upgrade?);
        let namespace = arguments.namespace.clone().or_else(|| only_namespace([&install, &upgrade]));
        let namespace = namespace.unwrap_or_else(|| arguments.release_namespace());
        let (hook_templates, templates) = (Templates::new(), Templates::new());
        Ok(Self { source, namespace, install: Some(install), upgrade, hook_templates, templates })
    }

    fn rendered(arguments: &RenderArguments, chart: &Path, next: u64, run: &mut Run) -> Result<Self, Failure> {
        let (helm, options) = (Helm::of_the_user(), arguments.options());
        let old = arguments.against.as_deref().unwrap_or(chart);
        let old_options = arguments.old_options();
        let (install, upgrade) = thread::scope(|scope| {
            // Both at once; most of the time is Helm's.
            let upgrade = scope.spawn(|| upgrade(&helm, chart, next, &options));
            let install = arguments.release.is_none().then(|| helm.install(old, &old_options).map(Rendered::from));
            (install.transpose(), upgrade.join())
        });
        let install = install.map_err(|error| failure(old, error))?;
        let upgrade = upgrade.map_err(|_| Failure("cannot render the upgrade".to_owned()))?;
        let (upgrade, templates) = upgrade.map_err(|error| failure(chart, error))?;
        show(&install.as_ref().unwrap_or(&upgrade).warnings);
        let source = chart.display().to_string();
        let install = install.map(|install| checked(&format!("the install of {}", old.display()), install.render, run));
        let upgrade = checked(&format!("the upgrade of {source}"), upgrade.render, run);
        let hook_templates = of_hooks(&templates);
        Ok(Self { source, namespace: options.namespace, install, upgrade, hook_templates, templates })
    }

    /// Where in the chart an object's field comes from: the file, if the chart is a folder, else as Helm calls it.
    pub(super) fn template(&self, object: &ObjectRef, path: &str) -> Option<Place> {
        let renders = [Some(&self.upgrade), self.install.as_ref()];
        let documents = renders.into_iter().flatten().flat_map(|render| &render.documents);
        let place = origin(documents, (object, path), &self.namespace, &self.templates)?;
        let (_, inside) = place.file.split_once('/')?;
        let on_disk = format!("{}/{inside}", self.source.trim_end_matches('/'));
        Some(if Path::new(&on_disk).is_file() { Place { file: on_disk, ..place } } else { place })
    }
}

impl RenderArguments {
    fn options(&self) -> Options {
        Options {
            release: self.release_name().to_owned(),
            namespace: self.release_namespace(),
            values: self.values.clone(),
            set: self.set.clone(),
            kube_version: self.kube_version.clone(),
            api_versions: self.api_versions.clone(),
            more: self.more.clone(),
        }
    }

    fn old_options(&self) -> Options {
        let same = self.options();
        if self.against_values.is_empty() {
            return same;
        }
        Options { values: self.against_values.clone(), set: Vec::new(), ..same }
    }
}

/// What Helm made of a chart.
struct Rendered {
    render: Render,
    warnings: Vec<u8>,
}

impl From<Output> for Rendered {
    fn from(output: Output) -> Self {
        Self { render: Render::read_from_helm(&output.stdout), warnings: output.stderr }
    }
}

fn upgrade(helm: &Helm, chart: &Path, next: u64, options: &Options) -> Result<(Rendered, Templates), HelmError> {
    let filled = Folder::filled(|folder| copy(chart, next, folder)).map_err(HelmError::Copy)?;
    let (_folder, (copied, templates)) = filled;
    Ok((helm.upgrade(&copied, options)?.into(), templates))
}

/// Helm's own words first, as they are.
fn failure(chart: &Path, error: HelmError) -> Failure {
    if let HelmError::Failed { said, .. } = &error {
        show(said);
    }
    Failure(format!("{}: {error}", chart.display()))
}

fn show(said: &[u8]) {
    // Nobody is left to tell when that fails.
    let _ = io::stderr().lock().write_all(said);
}

fn checked(place: &str, render: Render, run: &mut Run) -> Render {
    for error in &render.broken {
        run.cannot_judge(&format!("{place}:{}: {}", error.line, error.reason));
    }
    render
}

/// About half of the charts name the namespace in their objects.
fn only_namespace(renders: [&Render; 2]) -> Option<String> {
    let documents = renders.into_iter().flat_map(|render| &render.documents);
    let named: BTreeSet<_> =
        documents.map(|document| &document.head.namespace).filter(|name| !name.is_empty()).collect();
    if named.len() == 1 { named.first().map(|name| (*name).clone()) } else { None }
}

/// The template of an object's field, as Helm calls it, and where it stands there.
pub(in crate::cli) fn origin<'r>(
    documents: impl IntoIterator<Item = &'r Document>,
    (object, path): (&ObjectRef, &str),
    namespace: &str,
    templates: &Templates,
) -> Option<Place> {
    let document = documents.into_iter().find(|document| is_of(document, object, namespace))?;
    let (_, inside) = document.template.split_once('/')?;
    let line = templates.get(inside).and_then(|source| line_of(source, &object.kind, path));
    Some(Place { file: document.template.clone(), line })
}

fn is_of(document: &Document, object: &ObjectRef, namespace: &str) -> bool {
    let head = &document.head;
    let lies_in = if head.namespace.is_empty() { namespace } else { &head.namespace };
    (head.group(), &head.kind, lies_in, &head.name) == (&object.group, &object.kind, &object.namespace, &object.name)
}
