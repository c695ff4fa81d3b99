//! Writes the metadata that policy-server requires into a module, where `kwctl annotate` is not at hand.

use std::error::Error;
use std::fs;

use helm::yaml;
use serde_json::{Value, json};
use stable_hooks_host::metadata;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, description, annotated] = &arguments[..] else {
        return Err("usage: annotate MODULE.wasm METADATA.yml OUT.wasm".into());
    };
    let metadata = yaml::parse(&fs::read_to_string(description)?, &yaml::Limits::default())?;
    let Some((_, Value::Object(mut fields))) = metadata else {
        return Err(format!("{description}: not an object").into());
    };
    fields.insert("protocolVersion".to_owned(), json!("v1"));
    fs::write(annotated, metadata::annotate(&fs::read(module)?, &Value::Object(fields))?)?;
    Ok(())
}
