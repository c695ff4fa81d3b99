//! How much a reader may do: whatever a template says, it comes to an end, on every machine at the same place.

use std::cell::Cell;

/// Many times what the largest charts take, and a few seconds.
const MOST: u64 = 12_000_000;
/// One template that leads nowhere shall not hide the others.
const MOST_OF_FILE: u64 = 1_000_000;

/// What is spent of both.
#[derive(Clone, Copy)]
struct Spent {
    all: u64,
    of_file: u64,
}

thread_local! {
    /// Each reader has a thread of its own.
    static SPENT: Cell<Spent> = const { Cell::new(Spent { all: 0, of_file: 0 }) };
}

/// Begins with another file.
pub(super) fn begin_file() {
    SPENT.with(|spent| spent.set(Spent { of_file: 0, ..spent.get() }));
}

/// Spends so much; nothing is done any more when all is spent.
pub(super) fn spend(effort: usize) -> bool {
    let effort = u64::try_from(effort).unwrap_or(u64::MAX);
    SPENT.with(|spent| {
        let Spent { all, of_file } = spent.get();
        let new = Spent { all: all.saturating_add(effort), of_file: of_file.saturating_add(effort) };
        spent.set(new);
        new.all <= MOST && new.of_file <= MOST_OF_FILE
    })
}

pub(super) fn is_spent() -> bool {
    !spend(0)
}
