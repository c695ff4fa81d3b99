//! Annotations of GitHub Actions: one workflow command a finding, shown at its line of the changed files.

use std::io::{self, Write};

use stable_hooks_policy::shown::Visible;

use super::writer::Writer;
use crate::judged::{Finding, Judged, Level};

pub(super) struct Github;

impl Writer for Github {
    fn result(&mut self, out: &mut dyn Write, judged: &Judged) -> io::Result<()> {
        judged.findings.iter().try_for_each(|finding| write_command(out, judged, finding))
    }
}

fn write_command(out: &mut dyn Write, judged: &Judged, finding: &Finding) -> io::Result<()> {
    let command = match finding.level {
        Level::Deny => "error",
        Level::Warn => "warning",
        Level::Fix => "notice",
    };
    write!(out, "::{command} ")?;
    let place = judged.place_of(finding);
    // Standard input is no file that could be shown.
    if place.file != "-" {
        write!(out, "file={},", property(&place.file))?;
        if let Some(line) = place.line {
            write!(out, "line={line},")?;
        }
    }
    let colon = if finding.rule.is_none() { "" } else { ": " };
    writeln!(
        out,
        "title={}::{}",
        property(&format!("stable-hooks{colon}{}", finding.rule_text())),
        data(&finding.text())
    )
}

/// A message may have lines; everything else that ends a command is escaped.
fn data(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(|line| Visible(line).to_string().replace('%', "%25")).collect();
    lines.join("%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::{data, property};

    #[test]
    fn nothing_in_a_text_ends_a_command() {
        assert_eq!(data("50 %\r\n::error::x\u{1b}"), "50 %25%0A::error::x\\u{1b}");
        assert_eq!(property("a,b:c%"), "a%2Cb%3Ac%25");
    }
}
