//! Arguments that the verbs share: how they write, and who judges.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anstream::{AutoStream, ColorChoice};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_host::metadata::{Metadata, check_for_releases};
#[cfg(feature = "runtime")]
use stable_hooks_host::runtime::{DEFAULT_TIMEOUT, Policy};

use super::outcome::{Failure, read};
use crate::cluster;
use crate::engine::{Engine, Native};
use crate::input;
use crate::judge::Judge;
use crate::output::Format;
use crate::settings::RunSettings;

/// A verb's output formats.
pub(super) trait OutputFormat: ValueEnum + Default + Send + Sync + 'static {}

impl<F: ValueEnum + Default + Send + Sync + 'static> OutputFormat for F {}

/// The shared arguments about how a verb writes; each verb knows its own formats.
#[derive(Debug, Args)]
pub(super) struct OutputArguments<F: OutputFormat = Format> {
    /// How to write the result
    #[arg(short, long, value_enum, default_value_t)]
    pub(in crate::cli) output: F,
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub(in crate::cli) color: Color,
    /// Write no result, only errors; the exit code tells
    #[arg(short, long)]
    pub(in crate::cli) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    Auto,
    Always,
    Never,
}

/// The shared arguments about who judges.
#[derive(Debug, Args)]
pub(super) struct JudgeArguments<F: OutputFormat = Format> {
    /// What makes the exit code 1
    #[arg(long, value_enum, default_value_t = FailOn::Deny)]
    pub(in crate::cli) fail_on: FailOn,
    /// The policy's settings, YAML or JSON
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) settings: Option<PathBuf>,
    /// Run this policy file in the embedded wasmtime instead of the built-in core
    #[arg(long, value_name = "FILE.wasm")]
    pub(in crate::cli) policy: Option<PathBuf>,
    /// What the cluster holds: a List as `kubectl get … -o json` prints it
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) cluster: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) output: OutputArguments<F>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    Deny,
    Warn,
}

impl<F: OutputFormat> OutputArguments<F> {
    /// Standard output, coloured as the user and the terminal want it.
    pub(in crate::cli) fn stdout(&self) -> BufWriter<AutoStream<io::StdoutLock<'static>>> {
        let choice = match self.color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        BufWriter::new(AutoStream::new(io::stdout().lock(), choice))
    }
}

impl OutputArguments {
    /// Standard output. What has no colour is not searched for it, which would take a tenth of the time of a long stream.
    pub(in crate::cli) fn stream(&self) -> Box<dyn Write> {
        match self.output {
            Format::Json | Format::Sarif => Box::new(BufWriter::new(io::stdout().lock())),
            Format::Human | Format::Markdown | Format::Github | Format::PolicyReport | Format::OpenReports => {
                Box::new(self.stdout())
            }
        }
    }

    /// The formats of programs that look for findings have no place for a list of hooks.
    pub(in crate::cli) fn check_lists_hooks(&self, option: &str) -> Result<(), Failure> {
        match self.output {
            Format::Human | Format::Markdown | Format::Json => Ok(()),
            Format::Sarif | Format::Github | Format::PolicyReport | Format::OpenReports => {
                Err(Failure(format!("{option} goes with -o human, markdown or json: hooks are listed nowhere else")))
            }
        }
    }
}

impl<F: OutputFormat> JudgeArguments<F> {
    /// Who judges releases. A policy that is made for something else would find nothing, and call that good.
    pub(in crate::cli) fn resolve(&self) -> Result<Judge, Failure> {
        let judge = self.resolve_for_any_object()?;
        if let Some(path) = &self.policy {
            check_for_releases(judge.metadata.as_ref()).map_err(|reason| {
                let remedy = "give annotated-releases-policy.wasm, or judge natively, without --policy";
                Failure(format!("{} cannot judge releases: {reason}; {remedy}", path.display()))
            })?;
        }
        Ok(judge)
    }

    pub(in crate::cli) fn resolve_for_any_object(&self) -> Result<Judge, Failure> {
        let settings = self.settings.as_ref().map(|path| read_settings(path)).transpose()?.unwrap_or_else(|| json!({}));
        let cluster = Arc::new(match &self.cluster {
            Some(path) => {
                cluster::read(&read(path)?).map_err(|error| Failure(format!("{}: {error}", path.display())))?
            }
            None => ClusterView::default(),
        });
        let (engine, metadata): (Arc<dyn Engine>, _) = match &self.policy {
            Some(path) => load(path, &cluster)?,
            None => (Arc::new(Native::new(Arc::clone(&cluster))), None),
        };
        let judge = Judge {
            engine,
            settings: RunSettings::new(json!({})),
            cluster,
            sees_cluster: self.cluster.is_some(),
            metadata,
        };
        judge.with_settings(settings).map_err(|error| match &self.settings {
            Some(path) => Failure(format!("{}: {error}", path.display())),
            None => Failure(error.to_string()),
        })
    }
}

/// A policy file, compiled, and what it says about itself.
#[cfg(feature = "runtime")]
pub(super) fn load(path: &Path, cluster: &Arc<ClusterView>) -> Result<(Arc<dyn Engine>, Option<Metadata>), Failure> {
    let policy = Policy::load(path, Arc::clone(cluster), DEFAULT_TIMEOUT);
    let policy = policy.map_err(|error| Failure(error.to_string()))?;
    let metadata = policy.metadata().cloned();
    Ok((Arc::new(policy), metadata))
}

#[cfg(not(feature = "runtime"))]
pub(super) fn load(path: &Path, _: &Arc<ClusterView>) -> Result<(Arc<dyn Engine>, Option<Metadata>), Failure> {
    Err(Failure(format!(
        "{}: this program was built without the runtime that policy files run in. Without --policy it gives the same verdicts by \
         itself; docs/install.md says how to get the whole program",
        path.display()
    )))
}

/// As Kubewarden hands settings to a policy: an object, also where the file is empty.
pub(super) fn read_settings(path: &Path) -> Result<Value, Failure> {
    match input::value(&read(path)?) {
        Ok(Value::Null) => Ok(json!({})),
        Ok(settings @ Value::Object(_)) => Ok(settings),
        Ok(_) => Err(Failure(format!("{}: settings are an object, with a field for each setting", path.display()))),
        Err(error) => Err(Failure(format!("{}:{}: {}", path.display(), error.line, error.reason))),
    }
}
