//! Arguments, resolved once, and the exit code: 0 nothing denied, 1 something denied, 2 could not judge.

mod arguments;
mod chart;
mod completions;
mod cut;
mod explain;
mod fix;
mod forecast;
mod guard;
mod man;
mod orphans;
mod outcome;
mod progress;
mod release;
mod review;
mod run;
mod side_by_side;
mod timeline;

use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::{Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use outcome::{Failure, Outcome, complain};

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
    Orphans(orphans::Arguments),
    Fix(fix::Arguments),
    Explain(explain::Arguments),
    Completions(completions::Arguments),
    #[command(hide = true)]
    Man(man::Arguments),
}

/// Runs the program.
pub fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    if let Some(called) = guard::Called::of(&words) {
        return called.run();
    }
    let cli = Cli::from_arg_matches(&command().get_matches()).unwrap_or_else(|error| error.exit());
    let result = match cli.verb {
        Verb::Review(arguments) => review::run(&arguments),
        Verb::Chart(arguments) => chart::run(&arguments),
        Verb::Release(arguments) => release::run(&arguments),
        Verb::Timeline(arguments) => timeline::run(&arguments),
        Verb::Forecast(arguments) => forecast::run(&arguments),
        Verb::Orphans(arguments) => orphans::run(&arguments),
        Verb::Fix(arguments) => fix::run(&arguments),
        Verb::Explain(arguments) => explain::run(&arguments),
        Verb::Completions(arguments) => completions::run(&arguments, &mut visible(&command())),
        Verb::Man(arguments) => man::run(&arguments, visible(&command())),
    };
    match result {
        Ok(outcome) => outcome.into(),
        Err(Failure(reason)) => {
            complain(&reason);
            Outcome::CouldNotJudge.into()
        }
    }
}

/// All verbs, those in front of Helm too.
fn command() -> Command {
    plain(Cli::command().subcommands(guard::verbs()))
}

/// The help without the backticks that rustdoc wants.
fn plain(command: Command) -> Command {
    let text =
        |styled: Option<&StyledStr>| styled.map(|styled| styled.to_string().replace('`', "")).unwrap_or_default();
    let (about, long) = (text(command.get_about()), text(command.get_long_about()));
    let command = if about.is_empty() { command } else { command.about(about) };
    let command = if long.is_empty() { command } else { command.long_about(long) };
    let command = command.mut_args(|argument| {
        let (help, long) = (text(argument.get_help()), text(argument.get_long_help()));
        let argument = if help.is_empty() { argument } else { argument.help(help) };
        if long.is_empty() { argument } else { argument.long_help(long) }
    });
    command.mut_subcommands(plain)
}

/// The program without its hidden verb, which bash would complete.
fn visible(command: &Command) -> Command {
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned();
    let about = command.get_about().cloned().unwrap_or_default();
    Command::new("stable-hooks").version(env!("CARGO_PKG_VERSION")).about(about).subcommands(verbs)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_arguments_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
