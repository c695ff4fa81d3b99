//! For people at a terminal: 80 columns, what it means first, the remedy last.
use std::collections::BTreeSet;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use json_patch::PatchOperation;
use stable_hooks_policy::cause::{grouped, once, subject};
use stable_hooks_policy::name::Name;
use stable_hooks_policy::shown::{GLUE, Visible, glued};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use super::table;
use super::tally::Tally;
use super::values;
use super::writer::Writer;
use crate::judged::{Finding, Flip, HookRun, Judged, Judging, Level, Summary, Verdict};

const WIDTH: usize = 80;

pub(super) struct Human {
    judging: Judging,
    tally: Tally,
}

impl Human {
    pub(super) fn new(judging: Judging) -> Self {
        Self { judging, tally: Tally::new(judging) }
    }
}

impl Writer for Human {
    fn result(&mut self, out: &mut dyn Write, judged: &Judged) -> io::Result<()> {
        self.tally.count(judged);
        let is_untouched = self.judging == Judging::Objects { all: false } && !judged.says_something();
        if is_untouched { Ok(()) } else { write_judged(out, judged) }
    }

    fn end(&mut self, out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
        writeln!(out, "{}", self.tally.sum(summary))
    }
}

fn write_judged(out: &mut dyn Write, judged: &Judged) -> io::Result<()> {
    let (word, color) = match judged.verdict {
        Verdict::Allow => ("allow", AnsiColor::Green),
        Verdict::Normalize => ("normalize", AnsiColor::Cyan),
        Verdict::Deny => ("deny", AnsiColor::Red),
    };
    let style = Style::new().fg_color(Some(color.into())).bold();
    let title = match &judged.title {
        Some(title) => Visible(title).to_string(),
        None => format!("{} {} ({})", Visible(&judged.operation), judged.object, Visible(&judged.source)),
    };
    fill(out, "", &format!("{style}{word}{style:#} {title}"))?;
    write_flips(out, &judged.flips)?;
    write_values(out, &judged.findings)?;
    write_findings(out, judged)?;
    write_hooks(out, &judged.hooks)?;
    judged.patch.0.iter().try_for_each(|operation| write_operation(out, operation))
}

/// Which upgrades between versions flip what.
fn write_flips(out: &mut dyn Write, flips: &[Flip]) -> io::Result<()> {
    let rows: Vec<_> = flips.iter().map(|flip| (style_of(flip.level), flip.cells())).collect();
    let columns = Flip::COLUMNS.map(str::to_uppercase);
    table::write(out, columns.each_ref().map(String::as_str), &rows)
}

/// Which values flip what.
fn write_values(out: &mut dyn Write, findings: &[Finding]) -> io::Result<()> {
    let rows = values::rows(findings).into_iter().map(|(level, cells)| (style_of(level), cells));
    let columns = values::COLUMNS.map(str::to_uppercase);
    table::write(out, columns.each_ref().map(String::as_str), &rows.collect::<Vec<_>>())
}

/// What became of each hook, in their order.
fn write_hooks(out: &mut dyn Write, hooks: &[HookRun]) -> io::Result<()> {
    for hook in hooks {
        let (when, is) = hook.words();
        fill(out, "  ", &format!("{when}: {} {is}", hook.object))?;
        hook.changes().iter().try_for_each(|change| paragraph(out, &change.to_string()))?;
    }
    Ok(())
}

fn write_findings(out: &mut dyn Write, judged: &Judged) -> io::Result<()> {
    let file = |finding: &&Finding| finding.place().map(|place| place.file.clone()).unwrap_or_default();
    for findings in grouped(judged.findings.iter().collect(), &file) {
        if let Some(place) = findings.first().and_then(|finding| finding.place()) {
            fill(out, "  ", &Visible(&place.file).to_string())?;
        }
        for cause in grouped(findings, &|finding| finding.cause()) {
            write_cause(out, "", &cause, Some(&judged.object))?;
        }
    }
    Ok(())
}

/// Findings of one cause behind their label; of an object that was said already its name is not said again.
pub(crate) fn write_cause(
    out: &mut dyn Write,
    label: &str,
    findings: &[&Finding],
    said: Option<&Name>,
) -> io::Result<()> {
    let Some(finding) = findings.first() else { return Ok(()) };
    let head = format!("{label}{}", head(finding));
    if finding.rule.is_none() {
        // A message without a rule: the text says all there is.
        return fill(out, "  ", &format!("{head} {}", Visible(&finding.message.replace('\n', " "))));
    }
    let lines: BTreeSet<_> = findings.iter().filter_map(|finding| finding.place()?.line).collect();
    let named: Vec<_> = lines.iter().map(ToString::to_string).collect();
    let lines = match named.len() {
        0 => String::new(),
        1 => format!(", line {}", named.concat()),
        _ => format!(", lines {}", named.join(", ")),
    };
    fill(out, "  ", &format!("{head}{lines}"))?;
    let objects: Vec<_> = findings.iter().map(|finding| &finding.object).collect();
    match objects.as_slice() {
        [object] if said == Some(*object) => paragraph(out, &finding.message)?,
        // An object in a release record: it is the subject of the sentence.
        [object] => paragraph(out, &format!("{object} {}", finding.message))?,
        _ => paragraph(out, &format!("{}: each {}", subject(once(objects), usize::MAX), finding.message))?,
    }
    write_help(out, finding)
}

/// The level, the rule and the field.
pub(super) fn head(finding: &Finding) -> String {
    let style = style_of(finding.level);
    let mut head = format!("{style}{}{style:#}", finding.level.as_str());
    for part in [finding.rule_text(), &finding.field()].into_iter().filter(|part| !part.is_empty()) {
        head.push(' ');
        head.push_str(&Visible(part).to_string());
    }
    head
}

fn style_of(level: Level) -> Style {
    let color = match level {
        Level::Deny => AnsiColor::Red,
        Level::Warn => AnsiColor::Yellow,
        Level::Fix => AnsiColor::Cyan,
    };
    Style::new().fg_color(Some(color.into()))
}

pub(super) fn write_help(out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
    if finding.help.is_empty() { Ok(()) } else { paragraph(out, &format!("-> {}", finding.help)) }
}

fn write_operation(out: &mut dyn Write, operation: &PatchOperation) -> io::Result<()> {
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
        Some(value) => fill(out, "  ", &format!("{verb} {path} = {}", Visible(&value.to_string()))),
        None => fill(out, "  ", &format!("{verb} {path}")),
    }
}

pub(super) fn paragraph(out: &mut dyn Write, text: &str) -> io::Result<()> {
    text.lines().try_for_each(|line| fill(out, "    ", &Visible(line).to_string()))
}

/// Breaks a line that is too long; what follows is indented with it, and under a head by more.
pub(super) fn fill(out: &mut dyn Write, indent: &str, text: &str) -> io::Result<()> {
    // A name or a command must survive copying: only spaces are places to break, and none in backticks.
    let options = Options::new(WIDTH)
        .initial_indent(indent)
        .subsequent_indent("    ")
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    writeln!(out, "{}", textwrap::fill(&glued(text), &options).replace(GLUE, " "))
}
