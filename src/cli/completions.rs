//! `completions`: what a shell needs to complete the arguments.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::{Failure, Outcome, written};

/// Writes completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stable-hooks completions bash > /etc/bash_completion.d/stable-hooks
  stable-hooks completions fish > ~/.config/fish/completions/stable-hooks.fish")]
pub(super) struct Arguments {
    /// The shell that reads them
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments, command: &mut Command) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    generate(arguments.shell, command, name, &mut script);
    written(std::io::Write::write_all(&mut std::io::stdout().lock(), &script))?;
    Ok(Outcome::NothingDenied)
}
