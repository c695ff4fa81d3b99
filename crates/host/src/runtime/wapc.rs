//! waPC, the protocol between a policy and its host: an operation and a payload in, a response or an error out, and calls
//! of the host in between.

use std::sync::Arc;

use wasmtime::{
    Caller, Engine, Extern, InstancePre, Linker, Memory, Module, Result, Store, TypedFunc, bail, format_err,
};

const HOST: &str = "wapc";
/// What a guest may export to be run once, before its first call, in this order.
const STARTS: [&str; 2] = ["_start", "wapc_init"];

/// Answers a guest's call of binding, namespace and operation with a payload.
pub type HostCall = dyn Fn(&str, &str, &str, &[u8]) -> Result<Vec<u8>, String> + Send + Sync;

/// What the host's functions share while a guest runs.
pub struct Exchange {
    host_call: Arc<HostCall>,
    operation: Vec<u8>,
    payload: Vec<u8>,
    response: Option<Vec<u8>>,
    error: Option<String>,
    host_response: Vec<u8>,
    host_error: Vec<u8>,
}

impl Exchange {
    fn new(host_call: Arc<HostCall>) -> Self {
        Self {
            host_call,
            operation: Vec::new(),
            payload: Vec::new(),
            response: None,
            error: None,
            host_response: Vec::new(),
            host_error: Vec::new(),
        }
    }
}

/// A compiled guest whose imports are linked.
#[derive(Clone)]
pub struct Guest {
    linked: InstancePre<Exchange>,
}

/// One instance of a guest.
pub struct Instance {
    /// Holds the instance's memory, its deadline and its fuel.
    pub store: Store<Exchange>,
    guest_call: TypedFunc<(u32, u32), i32>,
    memory: Option<Memory>,
}

impl Guest {
    /// Links a module.
    ///
    /// # Errors
    ///
    /// When the module imports a function that waPC does not have.
    pub fn link(engine: &Engine, module: &Module) -> Result<Self> {
        let mut linker = Linker::new(engine);
        linker.func_wrap(HOST, "__guest_request", guest_request)?;
        linker.func_wrap(HOST, "__guest_response", guest_response)?;
        linker.func_wrap(HOST, "__guest_error", guest_error)?;
        linker.func_wrap(HOST, "__console_log", |_: u32, _: u32| ())?;
        linker.func_wrap(HOST, "__host_call", host_call)?;
        linker.func_wrap(HOST, "__host_response", |mut caller: Caller<'_, Exchange>, at: u32| {
            let (memory, exchange) = memory_and_exchange(&mut caller)?;
            write(memory, at, &exchange.host_response)
        })?;
        linker.func_wrap(HOST, "__host_response_len", |caller: Caller<'_, Exchange>| {
            Ok(u32::try_from(caller.data().host_response.len())?)
        })?;
        linker.func_wrap(HOST, "__host_error", |mut caller: Caller<'_, Exchange>, at: u32| {
            let (memory, exchange) = memory_and_exchange(&mut caller)?;
            write(memory, at, &exchange.host_error)
        })?;
        linker.func_wrap(HOST, "__host_error_len", |caller: Caller<'_, Exchange>| {
            Ok(u32::try_from(caller.data().host_error.len())?)
        })?;
        Ok(Self { linked: linker.instantiate_pre(module)? })
    }

    /// Where an instance will live.
    pub fn store(&self, host_call: Arc<HostCall>) -> Store<Exchange> {
        Store::new(self.linked.module().engine(), Exchange::new(host_call))
    }

    /// Makes an instance and runs what it starts with; `prepare` sets the store's limits before each step.
    ///
    /// # Errors
    ///
    /// When the guest traps, or exports no `__guest_call`.
    pub fn start(&self, mut store: Store<Exchange>, prepare: impl Fn(&mut Store<Exchange>)) -> Result<Instance> {
        prepare(&mut store);
        let instance = self.linked.instantiate(&mut store)?;
        for name in STARTS {
            if instance.get_export(&mut store, name).is_some() {
                prepare(&mut store);
                instance.get_typed_func::<(), ()>(&mut store, name)?.call(&mut store, ())?;
            }
        }
        let guest_call = instance.get_typed_func(&mut store, "__guest_call")?;
        let memory = instance.get_memory(&mut store, "memory");
        Ok(Instance { store, guest_call, memory })
    }
}

impl Instance {
    /// Calls the guest; the inner error is the one that the guest reports.
    ///
    /// # Errors
    ///
    /// When the guest traps, or its store's limits end the call.
    pub fn call(&mut self, operation: &str, payload: &[u8]) -> Result<Result<Vec<u8>, String>> {
        let host_call = Arc::clone(&self.store.data().host_call);
        let exchange = Exchange { operation: operation.into(), payload: payload.into(), ..Exchange::new(host_call) };
        let lengths = (u32::try_from(operation.len())?, u32::try_from(payload.len())?);
        *self.store.data_mut() = exchange;
        let answered = self.guest_call.call(&mut self.store, lengths)? != 0;
        let exchange = self.store.data_mut();
        Ok(match (answered, exchange.response.take(), exchange.error.take()) {
            (true, Some(response), _) => Ok(response),
            (_, _, Some(error)) => Err(error),
            (true, None, None) => Err("No error message OR response set for call success".to_owned()),
            (false, _, None) => Err("No error message set for call failure".to_owned()),
        })
    }

    /// The size of the linear memory, in bytes; it never shrinks.
    pub fn memory(&self) -> usize {
        self.memory.map_or(0, |memory| memory.data_size(&self.store))
    }
}

fn guest_request(mut caller: Caller<'_, Exchange>, operation: u32, payload: u32) -> Result<()> {
    let (memory, exchange) = memory_and_exchange(&mut caller)?;
    write(memory, operation, &exchange.operation)?;
    write(memory, payload, &exchange.payload)
}

fn guest_response(mut caller: Caller<'_, Exchange>, at: u32, len: u32) -> Result<()> {
    let (memory, exchange) = memory_and_exchange(&mut caller)?;
    exchange.response = Some(read(memory, at, len)?.to_vec());
    Ok(())
}

fn guest_error(mut caller: Caller<'_, Exchange>, at: u32, len: u32) -> Result<()> {
    let (memory, exchange) = memory_and_exchange(&mut caller)?;
    exchange.error = Some(text(memory, at, len)?.to_owned());
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "waPC has it so")]
fn host_call(
    mut caller: Caller<'_, Exchange>,
    binding: u32,
    binding_len: u32,
    namespace: u32,
    namespace_len: u32,
    operation: u32,
    operation_len: u32,
    payload: u32,
    payload_len: u32,
) -> Result<i32> {
    let (memory, exchange) = memory_and_exchange(&mut caller)?;
    let memory = &*memory;
    let binding = text(memory, binding, binding_len)?;
    let namespace = text(memory, namespace, namespace_len)?;
    let operation = text(memory, operation, operation_len)?;
    let payload = read(memory, payload, payload_len)?;
    let answer = (exchange.host_call)(binding, namespace, operation, payload);
    let answered = i32::from(answer.is_ok());
    (exchange.host_response, exchange.host_error) = match answer {
        Ok(response) => (response, Vec::new()),
        Err(error) => (Vec::new(), error.into_bytes()),
    };
    Ok(answered)
}

fn memory_and_exchange<'a>(caller: &'a mut Caller<'_, Exchange>) -> Result<(&'a mut [u8], &'a mut Exchange)> {
    match caller.get_export("memory").and_then(Extern::into_memory) {
        Some(memory) => Ok(memory.data_and_store_mut(caller)),
        None => bail!("the guest exports no memory"),
    }
}

fn read(memory: &[u8], at: u32, len: u32) -> Result<&[u8]> {
    let bytes = memory.get(usize::try_from(at)?..).and_then(|rest| rest.get(..usize::try_from(len).ok()?));
    bytes.ok_or_else(outside)
}

fn text(memory: &[u8], at: u32, len: u32) -> Result<&str> {
    Ok(std::str::from_utf8(read(memory, at, len)?)?)
}

fn write(memory: &mut [u8], at: u32, bytes: &[u8]) -> Result<()> {
    let place = memory.get_mut(usize::try_from(at)?..).and_then(|rest| rest.get_mut(..bytes.len()));
    place.ok_or_else(outside)?.copy_from_slice(bytes);
    Ok(())
}

fn outside() -> wasmtime::Error {
    format_err!("the guest names bytes outside of its memory")
}
