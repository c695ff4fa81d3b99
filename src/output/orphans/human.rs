//! A table, below it why some have no command, the commands, and the sum.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use stable_hooks_policy::cause::grouped;
use stable_hooks_policy::shown::{Shown, Visible};

use crate::orphans::{Left, State, Summary};
use crate::output::human::{fill, paragraph};
use crate::output::table;

const HEAD: [&str; 5] = ["STATE", "NAMESPACE", "HOOK", "EVENTS", "CREATED"];

pub(super) fn write(out: &mut dyn Write, left: &[Left], summary: Summary) -> io::Result<()> {
    let rows: Vec<_> = left.iter().map(|left| (style(&left.state), cells(left))).collect();
    table::write(out, HEAD, &rows)?;
    let unremoved = left.iter().filter(|left| left.state.command().is_empty());
    for hooks in grouped(unremoved.collect(), &|left| left.state.reason().to_owned()) {
        let Some(first) = hooks.first() else { continue };
        let style = style(&first.state);
        writeln!(out)?;
        fill(out, "", &format!("{style}{}{style:#}: {}", first.state.as_str(), Visible(first.state.reason())))?;
        let names: Vec<_> = hooks.iter().map(|left| left.hook.name.to_string()).collect();
        paragraph(out, &names.join(", "))?;
    }
    let commands: Vec<_> = left.iter().filter_map(Left::command_shown).collect();
    if !commands.is_empty() {
        writeln!(out, "\nTo remove them, after a look at each:")?;
        // A command must survive copying: its line is not broken.
        commands.iter().try_for_each(|command| writeln!(out, "    {command}"))?;
    }
    writeln!(out, "{}{summary}", if left.is_empty() { "" } else { "\n" })
}

fn cells(left: &Left) -> [String; 5] {
    let hook = &left.hook;
    let called = format!("{} {}", hook.name.kind, Shown(&hook.name.name));
    let [namespace, events, created] =
        [&hook.name.namespace, &hook.events, &hook.created].map(|text| Shown(text).to_string());
    [left.state.as_str().to_owned(), namespace, called, events, created]
}

fn style(state: &State) -> Style {
    let color = match state {
        State::Orphan { .. } => AnsiColor::Yellow,
        State::InUse { .. } => AnsiColor::Red,
        State::Unknown { .. } => AnsiColor::Magenta,
    };
    Style::new().fg_color(Some(color.into()))
}
