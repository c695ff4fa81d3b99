use std::path::Path;

use stable_hooks_host::metadata::{MetadataError, annotate};
use stable_hooks_host::runtime::{LoadError, PolicyError};

use super::*;

fn refused(wasm: &[u8]) -> PolicyError {
    Policy::from_bytes(wasm, Arc::default(), DEFAULT_TIMEOUT).err().expect("the policy does not load")
}

#[test]
fn a_file_is_loaded_with_its_metadata() {
    let wasm = annotate(&guests::echo(), &json!({"executionMode": "kubewarden-wapc", "mutating": true})).unwrap();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("policy.wasm");
    std::fs::write(&path, wasm).unwrap();
    let policy = Policy::load(&path, Arc::default(), DEFAULT_TIMEOUT).unwrap();
    assert!(policy.metadata().unwrap().mutating);
    assert_eq!(policy.validate(b"{}").unwrap(), b"{}");
}

#[test]
fn a_module_without_metadata_is_loaded() {
    assert_eq!(policy(&guests::echo()).metadata(), None);
}

#[test]
fn a_missing_file_is_named() {
    let error = Policy::load(Path::new("no/such.wasm"), Arc::default(), DEFAULT_TIMEOUT).err().unwrap();
    assert!(matches!(error, LoadError::Read { .. }), "{error:?}");
    assert!(error.to_string().starts_with("cannot read policy `no/such.wasm`: "), "{error}");
}

#[test]
fn an_unusable_file_is_named() {
    let error = Policy::load(Path::new("Cargo.toml"), Arc::default(), DEFAULT_TIMEOUT).err().unwrap();
    assert_eq!(
        error.to_string(),
        "cannot load policy `Cargo.toml`: not a WebAssembly module: the file does not start with the module header",
    );
}

#[test]
fn text_is_no_module_even_if_it_is_wat() {
    let error = refused(b"(module)");
    assert!(matches!(error, PolicyError::Metadata(MetadataError::NotWasm)), "{error:?}");
}

#[test]
fn a_component_is_refused() {
    let error = refused(&guests::wasm("(component)"));
    assert!(matches!(error, PolicyError::Metadata(MetadataError::Component)), "{error:?}");
}

#[test]
fn damaged_metadata_is_refused() {
    let error = refused(&guests::wasm(r#"(module (@custom "io.kubewarden.metadata" "{"))"#));
    assert!(matches!(error, PolicyError::Metadata(MetadataError::Json(_))), "{error:?}");
}

#[test]
fn another_execution_mode_is_refused() {
    let error = refused(&annotate(&guests::echo(), &json!({"executionMode": "opa"})).unwrap());
    assert_eq!(error.to_string(), "execution mode `opa` is not supported, only `kubewarden-wapc` is");
}

#[test]
fn a_truncated_module_is_refused() {
    let mut wasm = guests::echo();
    wasm.truncate(wasm.len() - 1);
    let error = refused(&wasm);
    assert!(matches!(error, PolicyError::Metadata(MetadataError::Malformed(_))), "{error:?}");
}

#[test]
fn an_invalid_module_is_refused() {
    let error = refused(&guests::guest("(drop) (i32.const 1)"));
    assert!(matches!(error, PolicyError::Compile(_)), "{error:?}");
    assert!(error.to_string().contains("type mismatch"), "{error}");
}

#[test]
fn a_module_without_guest_call_is_refused() {
    for wat in [
        "(module)",
        r#"(module (memory (export "__guest_call") 1))"#,
        r#"(module (func (export "__guest_call") (param i32 i64) (result i32) (i32.const 1)))"#,
        r#"(module (func (export "__guest_call") (param i32 i32)))"#,
        r#"(module (func (export "__guest_call") (param i32) (result i32) (i32.const 1)))"#,
    ] {
        let error = refused(&guests::wasm(wat));
        assert!(matches!(error, PolicyError::NoGuestCall), "{error:?}");
    }
}

#[test]
fn an_unknown_import_is_refused_by_name() {
    let error = refused(&guests::wasm(
        r#"(module (import "env" "now" (func))
             (func (export "__guest_call") (param i32 i32) (result i32) (i32.const 1)))"#,
    ));
    assert!(matches!(error, PolicyError::Import(_)), "{error:?}");
    assert!(error.to_string().contains("`env::now`"), "{error}");
}

#[test]
fn a_policy_for_wasi_is_refused_with_the_way_out() {
    let error = refused(&guests::wasm(
        r#"(module (import "wasi_snapshot_preview1" "sched_yield" (func (result i32)))
             (func (export "__guest_call") (param i32 i32) (result i32) (i32.const 1)))"#,
    ));
    assert_eq!(
        error.to_string(),
        "the module needs WASI, which this program does not offer: build the policy for wasm32-unknown-unknown, or run it with \
         kwctl"
    );
}
