//! How much work a policy does for one call: fuel is counted in wasm instructions and is the same on every machine.

#![expect(clippy::panic, reason = "what cannot be measured must not be recorded")]

use std::sync::Arc;

use stable_hooks_host::runtime::wapc;
use wasmtime::{Config, Engine, Module, OptLevel, RegallocAlgorithm, Result};

/// Far more than any call takes.
const TANK: u64 = u64::MAX;

/// A compiled guest, linked once as policy-server does; every host call fails with an empty text.
pub(super) struct Guest {
    guest: wapc::Guest,
}

/// One instance, after `_start` and `wapc_init`.
pub(super) struct Instance {
    instance: wapc::Instance,
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
            Ok(guest) => Self { guest },
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
        let mut store = self.guest.store(Arc::new(|_, _, _, _| Err(String::new())));
        // It is an error where fuel is not counted.
        let _ = store.set_fuel(TANK);
        match self.guest.start(store, |_| ()) {
            Ok(instance) => Instance { instance },
            Err(error) => panic!("cannot start the guest: {error:#}"),
        }
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
        let answer = self.instance.call(operation, payload)?;
        let fuel = self.instance.store.get_fuel().map_or(0, |left| TANK - left);
        let memory = self.instance.memory();
        let answer = answer.map_err(wasmtime::Error::msg)?;
        Ok(Cost { fuel, memory, answer })
    }
}

fn link(wasm: &[u8], metered: bool) -> Result<wapc::Guest> {
    let mut config = Config::new();
    if metered {
        // Fuel is the same however the code is compiled, and here that takes longer than the code runs.
        config.cranelift_opt_level(OptLevel::None).cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
    }
    let engine = Engine::new(config.consume_fuel(metered))?;
    wapc::Guest::link(&engine, &Module::new(&engine, wasm)?)
}
