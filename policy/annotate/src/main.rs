//! Writes the metadata that policy-server requires into a module, where `kwctl annotate` is not at hand.

use std::fmt::Display;
use std::fs;
use std::process::ExitCode;

use helm::yaml;
use serde_json::{Value, json};
use stable_hooks_host::metadata;

#[expect(clippy::print_stderr, reason = "a program of three lines that the build calls")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let annotated = match &arguments[..] {
        [module, description, annotated] => annotate(module, description, annotated),
        _ => Err("usage: annotate MODULE.wasm METADATA.yml OUT.wasm".to_owned()),
    };
    let Err(reason) = annotated else { return ExitCode::SUCCESS };
    eprintln!("annotate: {reason}");
    ExitCode::FAILURE
}

fn annotate(module: &str, description: &str, annotated: &str) -> Result<(), String> {
    let text = fs::read_to_string(description).map_err(of(description))?;
    let metadata = yaml::parse(&text, &yaml::Limits::default()).map_err(of(description))?;
    let Some((_, Value::Object(mut fields))) = metadata else {
        return Err(format!("{description}: not an object"));
    };
    fields.insert("protocolVersion".to_owned(), json!("v1"));
    let wasm = fs::read(module).map_err(of(module))?;
    let wasm = metadata::annotate(&wasm, &Value::Object(fields)).map_err(of(module))?;
    fs::write(annotated, wasm).map_err(of(annotated))
}

/// An error behind the name of its file.
fn of<E: Display>(file: &str) -> impl Fn(E) -> String {
    move |error| format!("{file}: {error}")
}
