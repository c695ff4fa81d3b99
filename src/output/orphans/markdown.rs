//! Markdown, for a comment or an issue: what is left over in a table, below it the commands.

use std::io::{self, Write};

use stable_hooks_policy::shown::Shown;

use crate::orphans::{Left, State, Summary};
use crate::output::markdown::{Comment, Section, cell, code, head, prose};

pub(super) fn write(out: &mut dyn Write, left: &[Left], summary: Summary, is_complete: bool) -> io::Result<()> {
    let worst = left.first().map(|left| match left.state {
        State::Orphan { .. } | State::InUse { .. } => "hooks that no record names",
        State::Unknown { .. } => "unknown",
    });
    let named = match summary.named {
        1 => "1 hook is named by a record.".to_owned(),
        count => format!("{count} hooks are named by a record."),
    };
    let mut comment = Comment::new(head("stable-hooks orphans", worst, !is_complete, &format!("{summary}."), &named));
    if !left.is_empty() {
        comment.add(&Section {
            head: "| state | hook | events | created | why |\n|---|---|---|---|---|".to_owned(),
            items: left.iter().map(row).collect(),
            called: ("hook", "hooks"),
        });
    }
    let commands: Vec<_> = left.iter().filter_map(Left::command_shown).collect();
    if !commands.is_empty() {
        comment.add(&Section {
            head: "To remove them, after a look at each:\n".to_owned(),
            items: commands.into_iter().map(|command| format!("\n- {}", code(&command))).collect(),
            called: ("command", "commands"),
        });
    }
    out.write_all(comment.finish(&[], ("part", "parts")).as_bytes())
}

fn row(left: &Left) -> String {
    let Left { hook, state } = left;
    let [name, events, created] =
        [&hook.name.to_string(), &hook.events, &hook.created].map(|text| cell(&code(&Shown(text).to_string())));
    format!("\n| **{}** | {name} | {events} | {created} | {} |", state.as_str(), cell(&prose(state.reason())))
}
