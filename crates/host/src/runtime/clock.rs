//! The clock behind the time limit: policies run until wasmtime's epoch has advanced far enough.

use std::io;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use wasmtime::Engine;

/// How exact the time limit is.
const TICK: Duration = Duration::from_millis(10);

/// Advances the engine's epoch for as long as the engine lives.
pub(super) fn start(engine: &Engine) -> io::Result<JoinHandle<()>> {
    let engine = engine.weak();
    let clock = move || {
        let mut next = Instant::now();
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            // Waking at fixed moments keeps small delays from adding up; after a long stop
            // (a suspended process) the missed moments are skipped, or a fresh call would pay for them.
            let now = Instant::now();
            next = (next + TICK).max(now);
            thread::sleep(next - now);
        }
    };
    thread::Builder::new().name("policy-clock".to_owned()).spawn(clock)
}

/// One tick more than fits, because the current one has already begun.
pub(super) fn ticks(timeout: Duration) -> u64 {
    let whole = timeout.as_nanos().div_ceil(TICK.as_nanos()) + 1;
    // wasmtime adds this to the current epoch and does not expect the sum to overflow.
    u64::try_from(whole).unwrap_or(u64::MAX).min(u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_stops_when_the_engine_is_gone() {
        let engine = Engine::default();
        let clock = start(&engine).unwrap();
        thread::sleep(TICK * 3);
        assert!(!clock.is_finished());
        drop(engine);
        clock.join().unwrap();
    }

    #[test]
    fn a_deadline_is_never_early_and_never_overflows() {
        assert_eq!(ticks(Duration::from_millis(20)), 3);
        assert_eq!(ticks(Duration::from_millis(21)), 4);
        assert_eq!(ticks(Duration::ZERO), 1);
        assert_eq!(ticks(Duration::MAX), u64::from(u32::MAX));
    }
}
