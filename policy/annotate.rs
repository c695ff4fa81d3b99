//! Writes the metadata that policy-server requires into a module, where `kwctl annotate` is not at hand.

use std::error::Error;
use std::fs;

use serde_json::{Value, json};
use stable_hooks::{input, metadata};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, description, annotated] = &arguments[..] else {
        return Err("usage: annotate MODULE.wasm METADATA.yml OUT.wasm".into());
    };
    let mut metadata = input::value(&fs::read(description)?)?;
    let Value::Object(fields) = &mut metadata else {
        return Err(format!("{description}: not an object").into());
    };
    fields.insert("protocolVersion".to_owned(), json!("v1"));
    fs::write(annotated, metadata::annotate(&fs::read(module)?, &metadata)?)?;
    Ok(())
}
