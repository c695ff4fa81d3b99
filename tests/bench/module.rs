//! What the module weighs, by section and by crate, what it takes to start it, and what wasm-opt's levels are worth.

use std::collections::BTreeMap;
use std::env;
use std::fs;

use rustc_demangle::demangle;
use wasmparser::{BinaryReaderError, KnownCustom, Name, NameSectionReader, Parser, Payload, TypeRef};

use crate::meter::Guest;
use crate::{Guests, Ratio, canonical, count_ratio, grouped, table};

const ROUNDS: usize = 1000;
const COMPILATIONS: usize = 5;

/// Crates that are shown by name; the rest is summed up.
const MOST_CRATES: usize = 12;

/// All of it.
pub(crate) fn section(guests: &Guests) -> String {
    let policy = &guests.policy;
    format!(
        "## The module\n\n{} bytes with Kubewarden's metadata; the limit is 600,000.\n\n{}\n{}\n{}\n{}",
        grouped(policy.wasm.len()),
        table(["section", "bytes"], &largest(sections(&policy.wasm).expect("the module is wasm"), usize::MAX)),
        crates(),
        start(guests),
        levels()
    )
}

/// Code by the crate that a function was written in; what is generic counts to the crate that wrote it.
fn crates() -> String {
    let names = fs::read("target/bench/names.wasm").expect("make target/bench/names.wasm");
    let sizes = crate_sizes(&names).expect("the module is wasm");
    format!(
        "{}\n*core*, *alloc* and *std* are Rust's library, built along.\n",
        table(["crate", "bytes of code"], &largest(sizes, MOST_CRATES))
    )
}

fn largest(sizes: BTreeMap<String, usize>, most: usize) -> Vec<[String; 2]> {
    let mut sizes: Vec<_> = sizes.into_iter().collect();
    sizes.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let rest: usize = sizes.iter().skip(most).map(|(_, bytes)| bytes).sum();
    sizes.truncate(most);
    let others = (rest > 0).then(|| ("others".to_owned(), rest));
    sizes.into_iter().chain(others).map(|(name, bytes)| [name, grouped(bytes)]).collect()
}

fn sections(wasm: &[u8]) -> Result<BTreeMap<String, usize>, BinaryReaderError> {
    let mut sizes = BTreeMap::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload?;
        let name = match &payload {
            Payload::TypeSection(_) => "types",
            Payload::ImportSection(_) => "imports",
            Payload::FunctionSection(_) => "functions",
            Payload::TableSection(_) => "tables",
            Payload::GlobalSection(_) => "globals",
            Payload::ExportSection(_) => "exports",
            Payload::ElementSection(_) => "elements",
            Payload::DataSection(_) => "data",
            Payload::CodeSectionStart { .. } => "code",
            Payload::CustomSection(section) => section.name(),
            _ => continue,
        };
        *sizes.entry(name.to_owned()).or_default() += payload.as_section().map_or(0, |(_, range)| range.len());
    }
    Ok(sizes)
}

fn crate_sizes(wasm: &[u8]) -> Result<BTreeMap<String, usize>, BinaryReaderError> {
    let (mut imported, mut bodies, mut names) = (0, Vec::new(), BTreeMap::new());
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    imported += u32::from(matches!(import?.ty, TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionEntry(body) => bodies.push(body.range().len()),
            Payload::CustomSection(section) => {
                if let KnownCustom::Name(section) = section.as_known() {
                    names = function_names(section)?;
                }
            }
            _ => {}
        }
    }
    let mut sizes = BTreeMap::new();
    for (index, bytes) in (imported..).zip(bodies) {
        let name = names.get(&index).copied().unwrap_or_default();
        *sizes.entry(origin(name)).or_default() += bytes;
    }
    Ok(sizes)
}

fn function_names(section: NameSectionReader<'_>) -> Result<BTreeMap<u32, &str>, BinaryReaderError> {
    let mut names = BTreeMap::new();
    for part in section {
        let Name::Function(functions) = part? else { continue };
        for function in functions {
            let function = function?;
            names.insert(function.index, function.name);
        }
    }
    Ok(names)
}

/// The crate in a mangled name: the first path in it, past `<`, `&` and what else surrounds a type.
fn origin(name: &str) -> String {
    let plain = format!("{:#}", demangle(name));
    let path = plain.trim_start_matches(['<', '&', '[', '(', '*']);
    let path = path.trim_start_matches("mut ").trim_start_matches("dyn ");
    match path.split_once("::") {
        Some((first, _)) if first.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') => {
            first.to_owned()
        }
        _ => "core".to_owned(),
    }
}

/// Making the module ready once, and an instance for each request.
fn start(guests: &Guests) -> String {
    let (policy, floor) = (&guests.policy, &guests.floor);
    let compiling =
        Ratio::of(COMPILATIONS, || drop(Guest::new(&policy.wasm, false)), || drop(Guest::new(&floor.wasm, false)));
    let instance = Ratio::of(ROUNDS, || drop(policy.quick.instance()), || drop(floor.quick.instance()));
    let bytes = count_ratio(policy.wasm.len() as u64, floor.wasm.len() as u64);
    format!(
        "Compiling it once, when a policy server starts, takes {compiling} times as long as compiling the floor, which is {bytes:.1} \
         times smaller. An instance with `wapc_init` takes {instance} times as long as one of the floor.\n"
    )
}

/// The same module through each of wasm-opt's levels.
fn levels() -> String {
    let rows: Vec<_> = env::var("LEVELS").unwrap_or_default().split_whitespace().map(level).collect();
    let header = ["wasm-opt", "bytes", "fuel unselected", "fuel normal", "fuel patched", "fuel denied"];
    format!("{}\nThe build takes -Oz, for the limit on bytes.\n", table(header, &rows))
}

fn level(name: &str) -> [String; 6] {
    let file = format!("target/bench/{name}.wasm");
    let wasm = fs::read(&file).unwrap_or_else(|_| panic!("make {file}"));
    let guest = Guest::new(&wasm, true);
    let fuel: BTreeMap<_, _> = canonical::payloads()
        .iter()
        .map(|(name, payload)| (*name, grouped(guest.cost("validate", payload).fuel)))
        .collect();
    let of = |name| fuel.get(name).cloned().unwrap_or_default();
    [format!("-{name}"), grouped(wasm.len()), of("unselected"), of("normal"), of("patched"), of("denied")]
}
