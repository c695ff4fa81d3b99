//! JSON, version 1: keys always present, order stable.

use std::io::{self, Write};

use serde::Serialize;
use stable_hooks_policy::name::Name;

use crate::orphans::{Left, Summary};

#[derive(Serialize)]
struct Document<'a> {
    version: u8,
    hooks: Vec<Hook<'a>>,
    summary: Summary,
}

#[derive(Serialize)]
struct Hook<'a> {
    object: &'a Name,
    events: Vec<&'a str>,
    created: &'a str,
    state: String,
    reason: &'a str,
    command: &'a str,
}

pub(super) fn write(out: &mut dyn Write, left: &[Left], summary: Summary) -> io::Result<()> {
    let hooks = left.iter().map(|Left { hook, state }| Hook {
        object: &hook.name,
        events: hook.events.split(',').collect(),
        created: &hook.created,
        state: state.as_str().replace(' ', "-"),
        reason: state.reason(),
        command: state.command(),
    });
    let document = Document { version: 1, hooks: hooks.collect(), summary };
    writeln!(out, "{}", serde_json::to_string_pretty(&document)?)
}
