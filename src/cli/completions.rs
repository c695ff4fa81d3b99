//! `completions`: what a shell needs to complete the arguments.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::outcome::{Failure, Outcome, written};

/// Writes completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  source <(stable-hooks completions bash)
  stable-hooks completions fish > ~/.config/fish/completions/stable-hooks.fish")]
pub(super) struct Arguments {
    /// The shell that reads them
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments, command: &mut Command) -> Result<Outcome, Failure> {
    let name = command.get_name().to_owned();
    let script = match arguments.shell {
        Shell::Bash => for_bash(command, &name).into_bytes(),
        shell => script(shell, command, &name),
    };
    written(std::io::Write::write_all(&mut std::io::stdout().lock(), &script))?;
    Ok(Outcome::NothingDenied)
}

fn script(shell: Shell, command: &mut Command, name: &str) -> Vec<u8> {
    let mut script = Vec::new();
    generate(shell, command, name, &mut script);
    script
}

/// For a name with a hyphen `clap_complete` writes labels that its own jumps miss (clap-rs/clap#6421), so that nothing
/// completes after a verb. The script is made for a name without one; the program is registered by its own.
fn for_bash(command: &mut Command, name: &str) -> String {
    let plain = name.replace('-', "_");
    let script = script(Shell::Bash, command, &plain);
    String::from_utf8_lossy(&script).replace(&format!("-o default {plain}\n"), &format!("-o default {name}\n"))
}
