//! For people at a terminal: 80 columns, what it means first, the remedy last.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use json_patch::PatchOperation;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use stable_hooks_policy::shown::Visible;

use super::{Finding, Judged, Level, Report, Verdict};

const WIDTH: usize = 80;

pub(crate) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for judged in &report.results {
        write_judged(out, judged)?;
    }
    writeln!(
        out,
        "{} objects: {} denied, {} normalized, {} with warnings",
        report.results.len(),
        report.denied(),
        report.normalized(),
        report.warned()
    )
}

fn write_judged(out: &mut impl Write, judged: &Judged) -> io::Result<()> {
    let (word, color) = match judged.verdict {
        Verdict::Allow => ("allow", AnsiColor::Green),
        Verdict::Normalize => ("normalize", AnsiColor::Cyan),
        Verdict::Deny => ("deny", AnsiColor::Red),
    };
    let style = Style::new().fg_color(Some(color.into())).bold();
    let (operation, source) = (Visible(&judged.operation), Visible(&judged.source));
    writeln!(out, "{style}{word}{style:#} {operation} {} ({source})", judged.object)?;
    for finding in &judged.findings {
        write_finding(out, finding, judged)?;
    }
    for operation in &judged.patch.0 {
        write_operation(out, operation)?;
    }
    Ok(())
}

fn write_finding(out: &mut impl Write, finding: &Finding, judged: &Judged) -> io::Result<()> {
    let (word, color) = match finding.level {
        Level::Deny => ("deny", AnsiColor::Red),
        Level::Warn => ("warn", AnsiColor::Yellow),
        Level::Fix => ("fix", AnsiColor::Cyan),
    };
    let style = Style::new().fg_color(Some(color.into()));
    writeln!(out, "  {style}{word}{style:#} {} {}", Visible(&finding.rule), Visible(&finding.path))?;
    if finding.object == judged.object {
        paragraph(out, &finding.message)?;
    } else {
        // An object in a release record: it is the subject of the sentence.
        paragraph(out, &format!("{} {}", finding.object, finding.message))?;
    }
    if !finding.help.is_empty() {
        paragraph(out, &format!("-> {}", finding.help))?;
    }
    Ok(())
}

fn write_operation(out: &mut impl Write, operation: &PatchOperation) -> io::Result<()> {
    let (verb, value) = match operation {
        PatchOperation::Add(add) => ("add", Some(&add.value)),
        PatchOperation::Replace(replace) => ("replace", Some(&replace.value)),
        PatchOperation::Remove(_) => ("remove", None),
        PatchOperation::Move(_) => ("move", None),
        PatchOperation::Copy(_) => ("copy", None),
        PatchOperation::Test(_) => ("test", None),
    };
    let path = Visible(operation.path().as_str());
    match value {
        Some(value) => writeln!(out, "  {verb} {path} = {}", Visible(&value.to_string())),
        None => writeln!(out, "  {verb} {path}"),
    }
}

fn paragraph(out: &mut impl Write, text: &str) -> io::Result<()> {
    // A name or a command must survive copying: only spaces are places to break.
    let options = Options::new(WIDTH)
        .initial_indent("    ")
        .subsequent_indent("    ")
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    text.lines().try_for_each(|line| writeln!(out, "{}", textwrap::fill(&Visible(line).to_string(), &options)))
}
