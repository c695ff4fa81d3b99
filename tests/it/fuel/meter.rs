//! How much work a policy does for one call: fuel is counted in wasm instructions and is the same on every machine.

#![expect(clippy::panic, reason = "what cannot be measured must not be recorded")]

use wasmtime_provider::wasmtime::{
    Caller, Config, Engine, Extern, InstancePre, Linker, Memory, Module, Result, Store, TypedFunc, format_err,
};

/// Far more than any call takes.
const TANK: u64 = u64::MAX;

#[derive(Default)]
struct Call {
    operation: Vec<u8>,
    payload: Vec<u8>,
    answer: Vec<u8>,
    error: Option<String>,
}

/// A compiled guest, linked once as policy-server does; every host call fails with an empty text.
pub(super) struct Guest {
    linked: InstancePre<Call>,
}

/// One instance, after `_start` and `wapc_init`.
pub(super) struct Instance {
    store: Store<Call>,
    guest_call: TypedFunc<(i32, i32), i32>,
    memory: Option<Memory>,
}

/// What a call took.
pub(super) struct Cost {
    /// Since the instance was made, which is part of it; 0 in a guest that is not metered.
    pub(super) fuel: u64,
    /// Linear memory at the end, in bytes; it never shrinks.
    pub(super) memory: usize,
    /// What the guest answered.
    pub(super) answer: Vec<u8>,
}

impl Cost {
    /// The same, of a request that was accepted: one that cannot be read would be quick.
    ///
    /// # Panics
    ///
    /// When it was denied.
    pub(super) fn accepted(self) -> Self {
        assert!(self.answer.starts_with(b"{\"accepted\":true"), "{}", String::from_utf8_lossy(&self.answer));
        self
    }
}

impl Guest {
    /// Counting fuel costs time: measure one or the other.
    ///
    /// # Panics
    ///
    /// When the guest is no waPC policy.
    pub(super) fn new(wasm: &[u8], metered: bool) -> Self {
        match link(wasm, metered) {
            Ok(linked) => Self { linked },
            Err(error) => panic!("cannot compile the guest: {error:#}"),
        }
    }

    /// What a fresh instance and one call take.
    ///
    /// # Panics
    ///
    /// When the guest traps, or answers with an error.
    pub(super) fn cost(&self, operation: &str, payload: &[u8]) -> Cost {
        self.instance().cost(operation, payload)
    }

    /// # Panics
    ///
    /// When the guest traps as it starts.
    pub(super) fn instance(&self) -> Instance {
        match self.start() {
            Ok(instance) => instance,
            Err(error) => panic!("cannot start the guest: {error:#}"),
        }
    }

    fn start(&self) -> Result<Instance> {
        let mut store = Store::new(self.linked.module().engine(), Call::default());
        // It is an error where fuel is not counted.
        let _ = store.set_fuel(TANK);
        let instance = self.linked.instantiate(&mut store)?;
        for start in ["_start", "wapc_init"] {
            if let Ok(start) = instance.get_typed_func::<(), ()>(&mut store, start) {
                start.call(&mut store, ())?;
            }
        }
        let guest_call = instance.get_typed_func(&mut store, "__guest_call")?;
        let memory = instance.get_memory(&mut store, "memory");
        Ok(Instance { store, guest_call, memory })
    }
}

impl Instance {
    /// What the instance has taken so far, with this call.
    ///
    /// # Panics
    ///
    /// When the guest traps, or answers with an error.
    pub(super) fn cost(&mut self, operation: &str, payload: &[u8]) -> Cost {
        match self.call(operation, payload) {
            Ok(cost) => cost,
            Err(error) => panic!("cannot measure `{operation}`: {error:#}"),
        }
    }

    fn call(&mut self, operation: &str, payload: &[u8]) -> Result<Cost> {
        let lengths = (i32::try_from(operation.len())?, i32::try_from(payload.len())?);
        *self.store.data_mut() = Call { operation: operation.into(), payload: payload.into(), ..Call::default() };
        let answered = self.guest_call.call(&mut self.store, lengths)?;
        assert_eq!(answered, 1, "the guest failed: {:?}", self.store.data().error);
        let fuel = self.store.get_fuel().map_or(0, |left| TANK - left);
        let memory = self.memory.map_or(0, |memory| memory.data_size(&self.store));
        Ok(Cost { fuel, memory, answer: std::mem::take(&mut self.store.data_mut().answer) })
    }
}

fn link(wasm: &[u8], metered: bool) -> Result<InstancePre<Call>> {
    let engine = Engine::new(Config::new().consume_fuel(metered))?;
    let module = Module::new(&engine, wasm)?;
    let mut linker = Linker::new(&engine);
    linker.func_wrap("wapc", "__guest_request", guest_request)?;
    linker.func_wrap("wapc", "__guest_response", guest_response)?;
    linker.func_wrap("wapc", "__guest_error", guest_error)?;
    linker.func_wrap("wapc", "__console_log", |_: i32, _: i32| ())?;
    let host_call = |_: i32, _: i32, _: i32, _: i32, _: i32, _: i32, _: i32, _: i32| 0;
    linker.func_wrap("wapc", "__host_call", host_call)?;
    for text in ["__host_response", "__host_error"] {
        linker.func_wrap("wapc", text, |_: i32| ())?;
        linker.func_wrap("wapc", &format!("{text}_len"), || 0)?;
    }
    linker.instantiate_pre(&module)
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
