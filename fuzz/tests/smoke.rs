//! Every input of the committed corpus holds without libFuzzer, and the wasm says the same.

#![expect(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and says which input it is at and what it skips"
)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use stable_hooks_fuzz::{fix, guest, hook, playground, record, request, settings, stream, template, words, yaml};

/// The corpus of one target, in the order of its names.
fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "no input for {target}");
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn replay(target: &str, check: fn(&[u8])) {
    for (path, input) in corpus(target) {
        eprintln!("{}", path.display());
        check(&input);
    }
}

/// The same inside the wasm; where that is not built nothing is asked, which CI does not accept.
fn inside(target: &str, check: fn(&[u8])) {
    if guest::is_built() {
        return replay(target, check);
    }
    assert!(env::var_os("CI").is_none(), "{0} is missing: make {0}", guest::FILE);
    eprintln!("SKIPPED inside the wasm: make {}", guest::FILE);
}

#[test]
fn requests_hold() {
    replay("request", request::request);
    inside("request", |input| guest::agree(&request::payload(input)));
}

#[test]
fn settings_hold() {
    replay("settings", settings::settings);
    inside("settings", guest::agree_on_settings);
    inside("settings", |input| guest::agree(&settings::payload(input)));
}

#[test]
fn records_hold() {
    replay("record", record::record);
    inside("record", |input| guest::agree(&record::payload(input)));
}

#[test]
fn the_guest_agrees() {
    inside("guest", guest::guest);
}

#[test]
fn files_hold() {
    replay("stream", stream::stream);
}

#[test]
fn mended_streams_hold() {
    replay("fix", fix::fix);
}

#[test]
fn pasted_texts_hold() {
    replay("playground", playground::playground);
}

#[test]
fn templates_hold() {
    replay("template", template::template);
}

#[test]
fn command_lines_hold() {
    replay("words", words::words);
}

#[test]
fn yaml_documents_hold() {
    replay("yaml", yaml::yaml);
}

#[test]
fn hook_grammar_holds() {
    replay("hook", hook::hook);
}
