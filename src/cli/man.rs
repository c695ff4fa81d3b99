//! `man`: the help as manual pages, for those who pack the program.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Command};

use super::outcome::{Failure, Outcome};

/// Writes the manual pages, one for each verb
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder they are written into
    folder: PathBuf,
}

pub(super) fn run(arguments: &Arguments, command: Command) -> Result<Outcome, Failure> {
    let folder = &arguments.folder;
    let written = fs::create_dir_all(folder)
        // clap's own verb `help` would have a page of each verb too.
        .and_then(|()| clap_mangen::generate_to(command.disable_help_subcommand(true), folder));
    written.map_err(|error| Failure(format!("{}: {error}", folder.display())))?;
    Ok(Outcome::NothingDenied)
}
