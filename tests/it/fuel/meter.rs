//! How much work a policy does for one call, counted in wasm instructions: the same on every machine.

#![expect(clippy::panic, reason = "what cannot be measured must not be recorded")]

use wasmtime_provider::wasmtime::{Caller, Config, Engine, Extern, Linker, Memory, Module, Result, Store, format_err};

#[derive(Clone)]
struct Call {
    operation: Vec<u8>,
    payload: Vec<u8>,
    error: Option<String>,
}

/// Fuel of instantiation, `_start`/`wapc_init` and one call; every host call fails with an empty text.
///
/// # Panics
///
/// When the guest is no waPC policy, traps, or answers with an error.
pub(super) fn fuel(wasm: &[u8], operation: &str, payload: &[u8]) -> u64 {
    let call = Call { operation: operation.into(), payload: payload.into(), error: None };
    match spend(wasm, call) {
        Ok(fuel) => fuel,
        Err(error) => panic!("cannot measure `{operation}`: {error:#}"),
    }
}

fn spend(wasm: &[u8], call: Call) -> Result<u64> {
    let engine = Engine::new(Config::new().consume_fuel(true))?;
    let module = Module::new(&engine, wasm)?;
    let lengths = (i32::try_from(call.operation.len())?, i32::try_from(call.payload.len())?);
    let mut store = Store::new(&engine, call);
    store.set_fuel(u64::MAX)?;

    let mut linker = Linker::new(&engine);
    linker.func_wrap("wapc", "__guest_request", guest_request)?;
    linker.func_wrap("wapc", "__guest_error", guest_error)?;
    // All others do nothing and return 0, which for `__host_call` means that it failed.
    linker.define_unknown_imports_as_default_values(&mut store, &module)?;

    let instance = linker.instantiate(&mut store, &module)?;
    for start in ["_start", "wapc_init"] {
        if let Ok(start) = instance.get_typed_func::<(), ()>(&mut store, start) {
            start.call(&mut store, ())?;
        }
    }
    let guest_call = instance.get_typed_func::<(i32, i32), i32>(&mut store, "__guest_call")?;
    let answered = guest_call.call(&mut store, lengths)?;
    assert_eq!(answered, 1, "the guest failed: {:?}", store.data().error);
    Ok(u64::MAX - store.get_fuel()?)
}

fn guest_request(mut caller: Caller<'_, Call>, operation: i32, payload: i32) -> Result<()> {
    let memory = memory(&mut caller)?;
    let call = caller.data().clone();
    memory.write(&mut caller, usize::try_from(operation)?, &call.operation)?;
    memory.write(&mut caller, usize::try_from(payload)?, &call.payload)?;
    Ok(())
}

fn guest_error(mut caller: Caller<'_, Call>, at: i32, len: i32) -> Result<()> {
    let mut text = vec![0; usize::try_from(len)?];
    memory(&mut caller)?.read(&caller, usize::try_from(at)?, &mut text)?;
    caller.data_mut().error = Some(String::from_utf8_lossy(&text).into_owned());
    Ok(())
}

fn memory(caller: &mut Caller<'_, Call>) -> Result<Memory> {
    caller.get_export("memory").and_then(Extern::into_memory).ok_or_else(|| format_err!("the guest exports no memory"))
}
