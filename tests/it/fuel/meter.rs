//! How much work a policy does for one call: fuel is counted in wasm instructions and is the same on every machine.

#![expect(clippy::panic, reason = "what cannot be measured must not be recorded")]

use wasmtime_provider::wasmtime::{
    Caller, Config, Engine, Extern, Linker, Memory, Module, Result, Store, TypedFunc, format_err,
};

struct Call {
    operation: Vec<u8>,
    payload: Vec<u8>,
    answer: Vec<u8>,
    error: Option<String>,
}

/// A compiled guest; every call gets a fresh instance, and every host call fails with an empty text.
pub(super) struct Guest {
    engine: Engine,
    module: Module,
}

/// What instantiation, `_start`/`wapc_init` and one call took.
pub(super) struct Cost {
    /// 0 in a guest that is not metered.
    pub(super) fuel: u64,
    /// Linear memory at the end, in bytes; it never shrinks.
    pub(super) memory: usize,
    /// What the guest answered.
    pub(super) answer: Vec<u8>,
}

impl Guest {
    /// Counting fuel costs time: measure one or the other.
    pub(super) fn new(wasm: &[u8], metered: bool) -> Self {
        let engine = Engine::new(Config::new().consume_fuel(metered));
        let compiled = engine.and_then(|engine| Ok((Module::new(&engine, wasm)?, engine)));
        match compiled {
            Ok((module, engine)) => Self { engine, module },
            Err(error) => panic!("cannot compile the guest: {error:#}"),
        }
    }

    /// # Panics
    ///
    /// When the guest is no waPC policy, traps, or answers with an error.
    pub(super) fn cost(&self, operation: &str, payload: &[u8]) -> Cost {
        match self.spend(Call { operation: operation.into(), payload: payload.into(), answer: Vec::new(), error: None })
        {
            Ok(cost) => cost,
            Err(error) => panic!("cannot measure `{operation}`: {error:#}"),
        }
    }

    fn spend(&self, call: Call) -> Result<Cost> {
        let lengths = (i32::try_from(call.operation.len())?, i32::try_from(call.payload.len())?);
        let mut linker = Linker::new(&self.engine);
        linker.func_wrap("wapc", "__guest_request", guest_request)?;
        linker.func_wrap("wapc", "__guest_response", guest_response)?;
        linker.func_wrap("wapc", "__guest_error", guest_error)?;
        let mut store = Store::new(&self.engine, call);
        // All others do nothing and return 0, which for `__host_call` means that it failed.
        linker.define_unknown_imports_as_default_values(&mut store, &self.module)?;
        let is_metered = store.set_fuel(u64::MAX).is_ok();

        let instance = linker.instantiate(&mut store, &self.module)?;
        for start in ["_start", "wapc_init"] {
            if let Ok(start) = instance.get_typed_func::<(), ()>(&mut store, start) {
                start.call(&mut store, ())?;
            }
        }
        let guest_call: TypedFunc<(i32, i32), i32> = instance.get_typed_func(&mut store, "__guest_call")?;
        let answered = guest_call.call(&mut store, lengths)?;
        assert_eq!(answered, 1, "the guest failed: {:?}", store.data().error);
        let memory = instance.get_memory(&mut store, "memory").map_or(0, |memory| memory.data_size(&store));
        let fuel = if is_metered { u64::MAX - store.get_fuel()? } else { 0 };
        Ok(Cost { fuel, memory, answer: store.into_data().answer })
    }
}

fn guest_request(mut caller: Caller<'_, Call>, operation: i32, payload: i32) -> Result<()> {
    let (memory, call) = memory(&mut caller)?.data_and_store_mut(&mut caller);
    for (at, bytes) in [(operation, &call.operation), (payload, &call.payload)] {
        let place = memory.get_mut(usize::try_from(at)?..).and_then(|place| place.get_mut(..bytes.len()));
        place.ok_or_else(|| format_err!("the guest asks for bytes outside of its memory"))?.copy_from_slice(bytes);
    }
    Ok(())
}

fn guest_response(mut caller: Caller<'_, Call>, at: i32, len: i32) -> Result<()> {
    caller.data_mut().answer = bytes(&mut caller, at, len)?;
    Ok(())
}

fn guest_error(mut caller: Caller<'_, Call>, at: i32, len: i32) -> Result<()> {
    let text = bytes(&mut caller, at, len)?;
    caller.data_mut().error = Some(String::from_utf8_lossy(&text).into_owned());
    Ok(())
}

fn bytes(caller: &mut Caller<'_, Call>, at: i32, len: i32) -> Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len)?];
    memory(caller)?.read(&*caller, usize::try_from(at)?, &mut bytes)?;
    Ok(bytes)
}

fn memory(caller: &mut Caller<'_, Call>) -> Result<Memory> {
    caller.get_export("memory").and_then(Extern::into_memory).ok_or_else(|| format_err!("the guest exports no memory"))
}
