//! How much a reader may do: whatever a template says, it comes to an end, on every machine at the same place.

use std::cell::Cell;

/// Many times what the largest charts take, and some seconds.
const MOST: u64 = 30_000_000;

thread_local! {
    /// Each reader has a thread of its own.
    static SPENT: Cell<u64> = const { Cell::new(0) };
}

/// Spends so much; nothing is done any more when all is spent.
pub(super) fn spend(effort: usize) -> bool {
    SPENT.with(|spent| {
        spent.set(spent.get().saturating_add(u64::try_from(effort).unwrap_or(u64::MAX)));
        spent.get() <= MOST
    })
}

pub(super) fn is_spent() -> bool {
    !spend(0)
}
