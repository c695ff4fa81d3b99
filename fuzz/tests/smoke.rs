//! Every input of the committed corpus holds without libFuzzer, and the wasm says the same.

#![expect(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and says which input it is at and what it skips"
)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use stable_hooks::engine::{Engine, Native};
use stable_hooks_fuzz::{fix, hook, playground, record, request, settings, template, words, yaml};
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_host::runtime::Policy;

/// Far more than needed: a busy machine must not fail a test.
const TIMEOUT: Duration = Duration::from_mins(1);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The corpus of one target, in the order of its names.
fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = root().join("corpus").join(target);
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

/// The policy that may ask for everything; without it only the native core is asked, which CI does not accept.
fn guest() -> Option<&'static Policy> {
    const NAME: &str = "annotated-releases-policy.wasm";
    static GUEST: OnceLock<Option<Policy>> = OnceLock::new();
    let load = || {
        let path = root().join("..").join(NAME);
        if path.exists() {
            return Some(Policy::load(&path, Arc::new(ClusterView::default()), TIMEOUT).unwrap());
        }
        assert!(env::var_os("CI").is_none(), "{NAME} is missing: make {NAME}");
        eprintln!("SKIPPED inside the wasm: make {NAME}");
        None
    };
    GUEST.get_or_init(load).as_ref()
}

type Ask = fn(&dyn Engine, &[u8]) -> Vec<u8>;

/// Both engines' bytes are the same for what an input stands for.
fn agree(target: &str, payload: fn(&[u8]) -> Vec<u8>, ask: Ask) {
    let Some(guest) = guest() else { return };
    for (path, input) in corpus(target) {
        let payload = payload(&input);
        let [native, wasm] = [ask(&Native::default(), &payload), ask(guest, &payload)];
        assert_eq!(String::from_utf8_lossy(&native), String::from_utf8_lossy(&wasm), "{}", path.display());
    }
}

fn validate(engine: &dyn Engine, payload: &[u8]) -> Vec<u8> {
    engine.validate(payload).unwrap()
}

#[test]
fn requests_hold() {
    replay("request", request::request);
    agree("request", request::payload, validate);
}

#[test]
fn settings_hold() {
    replay("settings", settings::settings);
    agree("settings", <[u8]>::to_vec, |engine, settings| engine.validate_settings(settings).unwrap());
    agree("settings", settings::payload, validate);
}

#[test]
fn records_hold() {
    replay("record", record::record);
    agree("record", record::payload, validate);
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
