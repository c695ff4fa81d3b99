//! `release`: what the release rules say to records that Helm stored.
use std::cell::LazyCell;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;
use stable_hooks_policy::name::Name;
use stable_hooks_policy::shown::Shown;

use super::arguments::JudgeArguments;
use super::outcome::{Failure, Outcome, namespace_in_use, read_input, remark};
use super::run::Run;
use crate::changes::Detail;
use crate::input::{Content, Document, documents};
use crate::judge::Judge;
use crate::judged::{HookRun, Judged, Judging, Place};
use crate::kubectl::Kubectl;
use crate::records::{StoredRecord, record_object};

/// Judges Helm release records, each revision against the one before
///
/// A record is judged as at the moment when Helm created it: version 1 as an install, a "Rollback to …" as a rollback,
/// everything else as an upgrade. Its baseline is found among the records given.
///
/// Exit codes: 0 nothing denied, 1 something denied, 2 could not judge.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kubectl get secrets -n shop -l owner=helm -o json | stable-hooks release -
  stable-hooks release orders -n shop -o json")]
pub(super) struct Arguments {
    /// Release Secrets or `ConfigMaps` as `kubectl get -o json|yaml` prints them; `-`: standard input; what is no
    /// file names a release, whose records `kubectl` reads
    #[arg(value_name = "FILE|NAME", required = true)]
    files: Vec<PathBuf>,
    /// The namespace of the releases that are given by name; by default that of the current context
    #[arg(short, long, value_name = "NS")]
    namespace: Option<String>,
    /// Earlier records that are not judged themselves
    #[arg(long, value_name = "FILE")]
    baseline: Vec<PathBuf>,
    /// List the hooks of each revision with the fields that changed in each since the revision that it is compared with
    #[arg(long)]
    diff: bool,
    /// With --diff: show the values of the fields that changed. By default only the fields are named, and the images of
    /// containers. What a Secret holds is never shown
    #[arg(long, requires = "diff")]
    show_values: bool,
    #[command(flatten)]
    judge: JudgeArguments,
}

/// A record, and where it comes from.
pub(super) struct Given {
    source: String,
    place: Place,
    pub(super) record: StoredRecord,
}

/// The records to judge, release by release, the oldest revision first, and others to compare them with.
pub(super) struct Records {
    pub(super) given: Vec<Given>,
    /// Only compared with.
    earlier: Vec<Given>,
}

/// One run over all that was given.
pub(super) struct Reading<'a> {
    pub(super) judge: &'a Judge,
    pub(super) run: &'a mut Run,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let mut run = Run::new(&arguments.judge.output, Judging::Revisions);
    let judged = judge(arguments, &mut run);
    run.told(judged);
    run.finish(arguments.judge.fail_on)
}

fn judge(arguments: &Arguments, run: &mut Run) -> Result<(), Failure> {
    if arguments.diff {
        arguments.judge.output.check_lists_hooks("--diff")?;
    }
    let judge = arguments.judge.resolve()?;
    let detail = if arguments.show_values { Detail::Values } else { Detail::Fields };
    let mut reading = Reading { judge: &judge, run };
    let records = reading.records_of(&arguments.files, arguments.namespace.as_deref(), &arguments.baseline)?;
    for given in &records.given {
        let judged = records.judged(given, &judge);
        let hooks = if arguments.diff { records.hooks(given, &judge, detail) } else { Vec::new() };
        reading.run.report(judged.map(|judged| judged.with_hooks(hooks)));
    }
    if !arguments.judge.output.quiet {
        records.remark(&judge);
    }
    Ok(())
}

impl Records {
    /// The record to compare this one with, among all that was read.
    pub(super) fn baseline(&self, record: &StoredRecord) -> Option<&StoredRecord> {
        record.baseline(self.given.iter().chain(&self.earlier).map(|given| &given.record))
    }

    /// The rules' judgement of one of them.
    pub(super) fn judged(&self, given: &Given, judge: &Judge) -> Result<Judged, String> {
        let Given { source, place, record } = given;
        let baseline = self.baseline(record);
        let judged = judge.verdict(record, baseline, &judge.cluster, (source.clone(), place.clone()))?;
        let templates = LazyCell::new(|| record.templates(judge.settings.record_limits()));
        let template_of = |object: &Name, _: &str| Some(Place { file: templates.get(object)?.clone(), line: None });
        let judged = judged.in_templates(template_of).called(format!(
            "{}/{}, revision {}{} ({source})",
            Shown(record.namespace()),
            Shown(record.release()),
            record.version(),
            record.operation().map(|operation| format!(", {}", operation.as_str())).unwrap_or_default(),
        ));
        // Otherwise each record would come with the same warning.
        Ok(if judge.sees_cluster { judged } else { judged.where_no_cluster_was_given() })
    }

    /// Its hooks, and what became of each since the record that it is compared with.
    fn hooks(&self, Given { record, .. }: &Given, judge: &Judge, detail: Detail) -> Vec<HookRun> {
        let baseline = self.baseline(record);
        baseline.map(|old| record.hooks_since(old, judge.settings.record_limits(), detail)).unwrap_or_default()
    }

    pub(super) fn remark(&self, judge: &Judge) {
        if !judge.sees_cluster && !self.given.is_empty() {
            remark("without --cluster no live object was looked up, only the records were compared");
        }
    }
}

/// Names a release: it is no file, and Helm would take it for a name.
fn is_name(file: &Path) -> bool {
    file.to_str().is_some_and(is_release_name) && !file.is_file()
}

/// A name that no release has by chance.
fn is_called_as_a_file(file: &Path) -> bool {
    file.extension().is_some_and(|extension| ["json", "yaml", "yml"].iter().any(|known| extension == *known))
}

/// An RFC 1123 subdomain, as Helm wants it, with the length that leaves room for its suffixes.
fn is_release_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let ends_well = |end: Option<&u8>| end.is_some_and(|byte| is_inner(*byte));
        let bytes = label.as_bytes();
        ends_well(bytes.first()) && ends_well(bytes.last()) && bytes.iter().all(|byte| is_inner(*byte) || *byte == b'-')
    };
    text.len() <= 53 && text.split('.').all(is_label)
}

/// The other meaning that a release's name could have had, for where there is no such release.
#[derive(Debug, Clone, Copy)]
enum Otherwise {
    AFile,
    Nothing,
}

impl Reading<'_> {
    /// Reads all that is named: files, and releases by their names.
    pub(super) fn records_of(
        &mut self,
        files: &[PathBuf],
        namespace: Option<&str>,
        baseline: &[PathBuf],
    ) -> Result<Records, Failure> {
        if namespace.is_some() && !files.iter().any(|file| is_name(file)) {
            return Err(Failure("-n goes with a release's name, and only files are given".to_owned()));
        }
        let is_given = namespace.is_some();
        let namespace = LazyCell::new(|| namespace_in_use(namespace));
        let mut given = Vec::new();
        for file in files {
            given.extend(if is_name(file) && (is_given || !is_called_as_a_file(file)) {
                self.live(&file.display().to_string(), &namespace, Otherwise::AFile)
            } else {
                self.file(file)
            });
        }
        given.sort_by_cached_key(|given| given.record.order());
        let earlier: Vec<_> = baseline.iter().flat_map(|file| self.file(file)).collect();
        let all: Vec<_> = given.iter().chain(&earlier).map(|given| given.record.clone()).collect();
        for given in &mut given {
            given.record.compare_with_target(&all, self.judge.settings.record_limits());
        }
        Ok(Records { given, earlier })
    }

    fn file(&mut self, path: &Path) -> Vec<Given> {
        let file = path.display().to_string();
        match read_input(path) {
            Ok(bytes) => {
                let place = |document: &Document, _: &str| Place { file: file.clone(), line: Some(document.line) };
                self.records(&file, &bytes, place, |source, _| source)
            }
            Err(Failure(reason)) => {
                self.run.cannot_judge(&reason);
                Vec::new()
            }
        }
    }

    /// The records of a live release.
    pub(super) fn release(&mut self, name: &str, namespace: &str) -> Vec<Given> {
        self.live(name, namespace, Otherwise::Nothing)
    }

    fn live(&mut self, name: &str, namespace: &str, otherwise: Otherwise) -> Vec<Given> {
        let listing = Kubectl::default().records(name, namespace);
        if let Some(reason) = &listing.failure {
            let reason = match otherwise {
                Otherwise::AFile => format!("there is no file `{name}` here, and {reason}"),
                Otherwise::Nothing => reason.clone(),
            };
            self.run.cannot_judge(&reason);
        }
        if documents(&listing.printed).next().is_none() {
            if listing.failure.is_none() {
                let reason = format!("there is no record of `{name}` in `{namespace}`");
                self.run.cannot_judge(&match otherwise {
                    Otherwise::AFile => format!("{reason}, and no file of that name here"),
                    Otherwise::Nothing => reason,
                });
            }
            return Vec::new();
        }
        let place = |_: &Document, name: &str| Place { file: name.to_owned(), line: None };
        self.records(&listing.command, &listing.printed, place, |_, name| name.to_owned())
    }

    /// The records of a file; other objects in it are passed over.
    fn records(
        &mut self,
        file: &str,
        bytes: &[u8],
        place: impl Fn(&Document, &str) -> Place,
        source_of: impl Fn(String, &str) -> String,
    ) -> Vec<Given> {
        let (limits, mut found, mut objects, mut records) = (self.judge.settings.record_limits(), Vec::new(), 0, 0);
        let is_empty_list = self.run.documents(file, bytes, |run, source, document| {
            objects += 1;
            let named = name_of(&document);
            let place = place(&document, &named);
            let Some(object) = record_object(document.content) else { return };
            records += 1;
            match StoredRecord::read(object, limits) {
                Ok(record) => found.push(Given { source: source_of(source, &named), place, record }),
                Err(error) if place.file == named => run.cannot_judge(&format!("{place}: {error}")),
                Err(error) => run.cannot_judge(&format!("{place}: {named}: {error}")),
            }
        });
        if is_empty_list || (objects > 0 && records == 0) {
            self.run.cannot_judge(&format!("{file}: there is no release record in it"));
        }
        found
    }
}

/// The name of the Secret or `ConfigMap`.
fn name_of(document: &Document) -> String {
    let (Content::Request(value) | Content::Manifest(value)) = &document.content;
    let name = ["/metadata/name", "/object/metadata/name"].into_iter().find_map(|pointer| value.pointer(pointer));
    Shown(name.and_then(Value::as_str).unwrap_or("(no name)")).to_string()
}
