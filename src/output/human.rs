//! For people at a terminal: 80 columns, what it means first, the remedy last.
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use json_patch::PatchOperation;
use stable_hooks_policy::name::Name;
use stable_hooks_policy::shown::Visible;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use super::writer::Writer;
use crate::judged::{Finding, Judged, Level, Place, Summary, Verdict};

const WIDTH: usize = 80;

pub(super) struct Human;

impl Writer for Human {
    fn result(&mut self, out: &mut dyn Write, judged: &Judged) -> io::Result<()> {
        write_judged(out, judged)
    }

    fn end(&mut self, out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
        let Summary { objects, denied, normalized, warned } = summary;
        writeln!(out, "{objects} objects: {denied} denied, {normalized} normalized, {warned} with warnings")
    }
}

fn write_judged(out: &mut dyn Write, judged: &Judged) -> io::Result<()> {
    let (word, color) = match judged.verdict {
        Verdict::Allow => ("allow", AnsiColor::Green),
        Verdict::Normalize => ("normalize", AnsiColor::Cyan),
        Verdict::Deny => ("deny", AnsiColor::Red),
    };
    let style = Style::new().fg_color(Some(color.into())).bold();
    let (operation, source) = (Visible(&judged.operation), Visible(&judged.source));
    fill(out, "", &format!("{style}{word}{style:#} {operation} {} ({source})", judged.object))?;
    write_findings(out, judged)?;
    judged.patch.0.iter().try_for_each(|operation| write_operation(out, operation))
}

pub(super) fn write_findings(out: &mut dyn Write, judged: &Judged) -> io::Result<()> {
    for (template, findings) in by_template(&judged.findings) {
        if let Some(template) = template {
            fill(out, "  ", &Visible(&template.file).to_string())?;
        }
        findings.into_iter().try_for_each(|finding| write_finding(out, "", finding, Some(&judged.object)))?;
    }
    Ok(())
}

/// The templates in the order in which they are found first.
fn by_template(findings: &[Finding]) -> Vec<(Option<&Place>, Vec<&Finding>)> {
    let mut groups: Vec<(Option<&Place>, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        let file = finding.template.as_ref().map(|place| &place.file);
        match groups.iter_mut().find(|(place, _)| place.map(|place| &place.file) == file) {
            Some((_, group)) => group.push(finding),
            None => groups.push((finding.template.as_ref(), vec![finding])),
        }
    }
    groups
}

/// One finding behind its label; of an object that was said already its name is not said again.
pub(crate) fn write_finding(
    out: &mut dyn Write,
    label: &str,
    finding: &Finding,
    said: Option<&Name>,
) -> io::Result<()> {
    let color = match finding.level {
        Level::Deny => AnsiColor::Red,
        Level::Warn => AnsiColor::Yellow,
        Level::Fix => AnsiColor::Cyan,
    };
    let style = Style::new().fg_color(Some(color.into()));
    let line = finding.template.as_ref().and_then(|place| place.line).map(|line| format!("line {line}"));
    let mut head = format!("{label}{style}{}{style:#}", finding.level.as_str());
    if finding.rule.is_none() {
        // A message without a rule: the text says all there is.
        return fill(out, "  ", &format!("{head} {}", Visible(&finding.message.replace('\n', " "))));
    }
    for part in
        [finding.rule_text(), &finding.path, &line.unwrap_or_default()].into_iter().filter(|part| !part.is_empty())
    {
        head.push(' ');
        head.push_str(&Visible(part).to_string());
    }
    fill(out, "  ", &head)?;
    if said == Some(&finding.object) {
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
    // A name or a command must survive copying: only spaces are places to break.
    let options = Options::new(WIDTH)
        .initial_indent(indent)
        .subsequent_indent("    ")
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    writeln!(out, "{}", textwrap::fill(text, &options))
}
