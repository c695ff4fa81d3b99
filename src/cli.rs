//! Arguments, resolved once, and the exit code: 0 nothing denied, 1 something denied, 2 could not judge.

mod arguments;
mod chart;
mod completions;
mod explain;
mod fix;
mod forecast;
mod outcome;
mod progress;
mod release;
mod review;
mod run;
mod timeline;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

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
    Fix(fix::Arguments),
    Explain(explain::Arguments),
    Completions(completions::Arguments),
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_arguments_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
