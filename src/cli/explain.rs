//! `explain`: what a rule does and why.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use serde::Serialize;
use stable_hooks_policy::{RuleId, docs, rules};

use super::arguments::OutputArguments;
use super::outcome::{Failure, Outcome, written};

/// Shows a rule's page, or lists the rules
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  stable-hooks explain\n  stable-hooks explain hook-events")]
pub(super) struct Arguments {
    /// The rule's name
    #[arg(value_name = "RULE")]
    rule: Option<String>,
    #[command(flatten)]
    output: OutputArguments<Format>,
}

/// How pages are written.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Markdown, and the list as a table
    #[default]
    Human,
    /// JSON, version 1: docs/output.md
    Json,
}

#[derive(Serialize)]
struct Page {
    rule: &'static str,
    default: &'static str,
    levels: Vec<&'static str>,
    summary: &'static str,
    documentation: String,
}

#[derive(Serialize)]
struct Pages {
    version: u8,
    rules: Vec<Page>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let rules = match &arguments.rule {
        Some(name) => vec![find(name)?],
        None => RuleId::ALL.to_vec(),
    };
    if !arguments.output.quiet {
        let mut stdout = arguments.output.stdout();
        written(
            match arguments.output.output {
                Format::Json => write_json(&mut stdout, &rules),
                Format::Human if arguments.rule.is_some() => {
                    rules.iter().try_for_each(|rule| stdout.write_all(docs::page(*rule).as_bytes()))
                }
                Format::Human => write_list(&mut stdout, &rules),
            }
            .and_then(|()| stdout.flush()),
        )?;
    }
    Ok(Outcome::NothingDenied)
}

fn find(name: &str) -> Result<RuleId, Failure> {
    name.parse().map_err(|()| {
        let known: Vec<_> = RuleId::ALL.iter().map(|rule| rule.as_str()).collect();
        Failure(format!("there is no rule `{name}`; the rules are {}", known.join(", ")))
    })
}

fn write_list(out: &mut impl Write, ids: &[RuleId]) -> io::Result<()> {
    let width = ids.iter().map(|rule| rule.as_str().len()).max().unwrap_or_default();
    for rule in ids {
        writeln!(out, "{:<width$}  {:<6}{}", rule.as_str(), rule.default_level().as_str(), rules::summary(*rule))?;
    }
    writeln!(out, "\nstable-hooks explain RULE shows a rule's page.")
}

fn write_json(out: &mut impl Write, ids: &[RuleId]) -> io::Result<()> {
    let pages = ids.iter().map(|rule| Page {
        rule: rule.as_str(),
        default: rule.default_level().as_str(),
        levels: rule.levels().iter().map(|level| level.as_str()).collect(),
        summary: rules::summary(*rule),
        documentation: docs::body(*rule),
    });
    serde_json::to_writer_pretty(&mut *out, &Pages { version: 1, rules: pages.collect() })?;
    writeln!(out)
}
