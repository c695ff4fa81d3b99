//! Arguments, resolved once, and the exit code: 0 nothing denied, 1 something denied, 2 could not judge.

mod chart;
mod completions;
mod explain;
mod fix;
mod forecast;
mod progress;
mod release;
mod review;
mod run;
mod timeline;

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anstream::{AutoStream, ColorChoice};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use serde_json::{Value, json};
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_host::metadata::{Metadata, check_for_releases};
#[cfg(feature = "runtime")]
use stable_hooks_host::runtime::{DEFAULT_TIMEOUT, Policy};
use stable_hooks_policy::shown::Visible;

use crate::cluster;
use crate::engine::{Engine, Native, check_settings};
use crate::input;
use crate::report::Format;

/// Keeps database-migration Jobs and their `ServiceAccounts` stable across installs, upgrades and syncs.
#[derive(Debug, Parser)]
#[command(name = "stable-hooks", version, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Review(review::Arguments),
    Chart(Box<chart::Arguments>),
    Release(release::Arguments),
    Timeline(Box<timeline::Arguments>),
    Forecast(forecast::Arguments),
    Fix(fix::Arguments),
    Explain(explain::Arguments),
    Completions(completions::Arguments),
}

/// A verb's output formats.
trait OutputFormat: ValueEnum + Default + Send + Sync + 'static {}

impl<F: ValueEnum + Default + Send + Sync + 'static> OutputFormat for F {}

/// What the verbs share about how they write; in which formats, each knows itself.
#[derive(Debug, Args)]
struct OutputArguments<F: OutputFormat = Format> {
    /// How to write the result
    #[arg(short, long, value_enum, default_value_t)]
    output: F,
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
    /// Write no result, only errors; the exit code tells
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

/// What the verbs share about who judges.
#[derive(Debug, Args)]
struct JudgeArguments<F: OutputFormat = Format> {
    /// What makes the exit code 1
    #[arg(long, value_enum, default_value_t = FailOn::Deny)]
    fail_on: FailOn,
    /// The policy's settings, YAML or JSON
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Run this policy file in the embedded wasmtime instead of the built-in core
    #[arg(long, value_name = "FILE.wasm")]
    policy: Option<PathBuf>,
    /// What the cluster holds: a List as `kubectl get … -o json` prints it
    #[arg(long, value_name = "FILE")]
    cluster: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments<F>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Deny,
    Warn,
}

/// Who judges, everything checked.
struct Judge {
    engine: Box<dyn Engine>,
    settings: Value,
    cluster: Arc<ClusterView>,
    /// There is a view of the cluster; without one it is not known to be empty.
    sees_cluster: bool,
    /// What the policy says about itself, where it is a file and says so.
    metadata: Option<Metadata>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    NothingDenied,
    Denied,
    CouldNotJudge,
}

/// Why a run cannot even begin, in words for the user.
#[derive(Debug)]
struct Failure(String);

impl Outcome {
    fn of(is_complete: bool, fails: bool) -> Self {
        match (is_complete, fails) {
            (false, _) => Self::CouldNotJudge,
            (true, true) => Self::Denied,
            (true, false) => Self::NothingDenied,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(outcome as u8)
    }
}

impl<F: OutputFormat> OutputArguments<F> {
    /// Standard output, coloured as the user and the terminal want it.
    fn stdout(&self) -> BufWriter<AutoStream<io::StdoutLock<'static>>> {
        let choice = match self.color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        BufWriter::new(AutoStream::new(io::stdout().lock(), choice))
    }
}

impl<F: OutputFormat> JudgeArguments<F> {
    /// Who judges releases. A policy that is made for something else would find nothing, and call that good.
    fn resolve(&self) -> Result<Judge, Failure> {
        let judge = self.resolve_for_any_object()?;
        if let Some(path) = &self.policy {
            check_for_releases(judge.metadata.as_ref()).map_err(|reason| {
                let remedy = "give annotated-releases-policy.wasm, or judge natively, without --policy";
                Failure(format!("{} cannot judge releases: {reason}; {remedy}", path.display()))
            })?;
        }
        Ok(judge)
    }

    fn resolve_for_any_object(&self) -> Result<Judge, Failure> {
        let settings = self.settings.as_ref().map(|path| read_settings(path)).transpose()?.unwrap_or_else(|| json!({}));
        let cluster = Arc::new(match &self.cluster {
            Some(path) => {
                cluster::read(&read(path)?).map_err(|error| Failure(format!("{}: {error}", path.display())))?
            }
            None => ClusterView::default(),
        });
        let (engine, metadata): (Box<dyn Engine>, _) = match &self.policy {
            Some(path) => load(path, &cluster)?,
            None => (Box::new(Native::new(Arc::clone(&cluster))), None),
        };
        check_settings(engine.as_ref(), &settings).map_err(|error| match &self.settings {
            Some(path) => Failure(format!("{}: {error}", path.display())),
            None => Failure(error.to_string()),
        })?;
        Ok(Judge { engine, settings, cluster, sees_cluster: self.cluster.is_some(), metadata })
    }
}

/// A policy file, compiled, and what it says about itself.
#[cfg(feature = "runtime")]
fn load(path: &Path, cluster: &Arc<ClusterView>) -> Result<(Box<dyn Engine>, Option<Metadata>), Failure> {
    let policy = Policy::load(path, Arc::clone(cluster), DEFAULT_TIMEOUT);
    let policy = policy.map_err(|error| Failure(error.to_string()))?;
    let metadata = policy.metadata().cloned();
    Ok((Box::new(policy), metadata))
}

#[cfg(not(feature = "runtime"))]
fn load(path: &Path, _: &Arc<ClusterView>) -> Result<(Box<dyn Engine>, Option<Metadata>), Failure> {
    Err(Failure(format!("{}: this program was built without the runtime that policy files need", path.display())))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure(format!("{}: {error}", path.display())))
}

/// A file, or standard input where it is called `-`, and how long it is if that is known.
fn open_input(file: &Path) -> Result<(Box<dyn BufRead>, Option<u64>), Failure> {
    if file.as_os_str() == "-" {
        return Ok((Box::new(io::stdin().lock()), None));
    }
    let fail = |error| Failure(format!("{}: {error}", file.display()));
    let opened = File::open(file).map_err(fail)?;
    let length = opened.metadata().ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len());
    Ok((Box::new(BufReader::new(opened)), length))
}

/// All of a file, or of standard input where it is called `-`.
fn read_input(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let (mut reader, _) = open_input(file)?;
    reader.read_to_end(&mut bytes).map_err(|error| Failure(format!("{}: {error}", file.display())))?;
    Ok(bytes)
}

/// Helm takes `-n` away from its plugins and says this instead.
fn namespace_of_helm() -> Option<String> {
    std::env::var("HELM_NAMESPACE").ok().filter(|namespace| !namespace.is_empty())
}

/// As Kubewarden hands settings to a policy: an object, also where the file is empty.
fn read_settings(path: &Path) -> Result<Value, Failure> {
    match input::value(&read(path)?) {
        Ok(Value::Null) => Ok(json!({})),
        Ok(settings @ Value::Object(_)) => Ok(settings),
        Ok(_) => Err(Failure(format!("{}: settings are an object, with a field for each setting", path.display()))),
        Err(error) => Err(Failure(format!("{}:{}: {}", path.display(), error.line, error.reason))),
    }
}

/// Runs the program.
pub fn main() -> ExitCode {
    let result = match Cli::parse().verb {
        Verb::Review(arguments) => review::run(&arguments),
        Verb::Chart(arguments) => chart::run(&arguments),
        Verb::Release(arguments) => release::run(&arguments),
        Verb::Timeline(arguments) => timeline::run(&arguments),
        Verb::Forecast(arguments) => forecast::run(&arguments),
        Verb::Fix(arguments) => fix::run(&arguments),
        Verb::Explain(arguments) => explain::run(&arguments),
        Verb::Completions(arguments) => completions::run(&arguments, &mut Cli::command()),
    };
    match result {
        Ok(outcome) => outcome.into(),
        Err(Failure(reason)) => {
            complain(&reason);
            Outcome::CouldNotJudge.into()
        }
    }
}

/// Tells on standard error what could not be done; nobody is left to tell when that fails.
fn complain(reason: &str) {
    let lines: Vec<_> = reason.lines().map(|line| Visible(line).to_string()).collect();
    let _ = writeln!(anstream::stderr().lock(), "error: {}", lines.join("\n"));
}

/// Tells what is worth knowing and no failure.
fn remark(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "note: {text}");
}

/// A reader that closed the pipe has seen enough; everything else is worth telling.
fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure(format!("cannot write the result: {error}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_arguments_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
