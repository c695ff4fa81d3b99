//! What canonical requests cost inside the wasm, in wasmtime fuel: instructions, the same on every machine.

mod bombs;
#[path = "../canonical.rs"]
mod canonical;
mod growth;
mod meter;
#[expect(dead_code, reason = "the benchmark asks for more of it")]
mod record;

use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;

use crate::engines::{root, wasm};
use crate::guests;
use meter::Guest;

const RECORD: &str = "tests/fuel.json";

/// Another compiler makes slightly other code.
const TOLERANCE: f64 = 0.05;

/// The policy, compiled once with a counter of its fuel.
fn metered() -> Option<&'static Guest> {
    static GUEST: OnceLock<Option<Guest>> = OnceLock::new();
    GUEST.get_or_init(|| Some(Guest::new(&fs::read(wasm()?).unwrap(), true))).as_ref()
}

#[test]
fn fuel_is_what_the_record_says() {
    let Some(guest) = metered() else { return };
    let measured: BTreeMap<_, _> =
        canonical::payloads().iter().map(|(name, payload)| (*name, guest.cost("validate", payload).fuel)).collect();
    if std::env::var_os("BLESS").is_some() {
        let text = serde_json::to_string_pretty(&measured).unwrap() + "\n";
        fs::write(root().join(RECORD), text).unwrap();
    }
    let recorded: BTreeMap<String, u64> = serde_json::from_slice(&fs::read(root().join(RECORD)).unwrap()).unwrap();
    assert_eq!(recorded.len(), measured.len());
    for (name, fuel) in measured {
        let known = recorded[name];
        #[expect(clippy::cast_precision_loss, reason = "a ratio of counts far below 2^52")]
        let ratio = fuel as f64 / known as f64;
        assert!(
            (ratio - 1.0).abs() <= TOLERANCE,
            "{name}: {fuel} units of fuel, recorded {known}: make docs records anew"
        );
    }
}

#[test]
fn fuel_is_the_same_on_every_run() {
    let echo = Guest::new(&guests::echo(), true);
    let [first, second] = [echo.cost("validate", b"{}"), echo.cost("validate", b"{}")];
    assert!(first.fuel > 0 && first.memory > 0);
    assert_eq!((first.fuel, first.memory), (second.fuel, second.memory));
}
