//! `fix`: a manifest stream in, the same stream out with its hook annotations mended where that is safe.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use stable_hooks_policy::Settings;
use stable_hooks_policy::shown::Visible;

use super::arguments::read_settings;
use super::outcome::{Failure, Outcome, read_input, written};
use crate::fix::{Fixed, Options, Subject, fix};

/// Mends the hook annotations of manifests, and leaves every other byte
///
/// It spells the events of migration hooks as Helm and Argo CD both know them, and adds before-hook-creation to a
/// delete policy that lacks it. It never makes a hook of a plain object, never changes a weight, and says on standard
/// error what it mended, what it leaves, and why.
///
/// Exit codes: 0 the stream was read, 2 some of it could not be read (and is written as it was).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helm template orders ./chart | stable-hooks fix > orders.yaml
  helm upgrade orders ./chart --post-renderer stable-hooks-fix    # Helm 4; see docs/fix.md")]
pub(super) struct Arguments {
    /// Manifests as `helm template` prints them; `-` or nothing: standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// Add the install or upgrade event that a hook lacks, where all that it needs is there at that event too
    #[arg(long)]
    complete_events: bool,
    /// The policy's settings, YAML or JSON: they say which objects are migrations
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let settings = arguments.settings.as_ref().map(|path| {
        let parsed = Settings::parse(&read_settings(path)?);
        parsed.map_err(|errors| Failure(format!("{}: {errors}", path.display())))
    });
    let settings = match settings {
        Some(settings) => settings?,
        None => Settings::parse(&json!({})).map_err(|errors| Failure(errors.to_string()))?,
    };
    let text = read_input(&arguments.file)?;
    let options = Options { settings: &settings, complete_events: arguments.complete_events };
    let Fixed { stream, remarks } = fix(&text, options);
    let mut stdout = io::stdout().lock();
    written(stdout.write_all(&stream).and_then(|()| stdout.flush()))?;
    let mut stderr = anstream::stderr().lock();
    for remark in &remarks {
        let (file, text) = (arguments.file.display().to_string(), remark.to_string());
        // Standard error is the last place to tell anything; its own failure stays untold.
        let _ = writeln!(stderr, "{}:{}: {}", Visible(&file), remark.line, Visible(&text));
    }
    let is_read = remarks.iter().all(|remark| remark.subject != Subject::Unreadable);
    Ok(if is_read { Outcome::NothingDenied } else { Outcome::CouldNotJudge })
}
