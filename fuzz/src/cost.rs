//! What an answer may cost, counted in allocations: the same on every machine, and at any time of the day.

use allocation_counter::measure;

/// Of memory and of work at most so much for each byte of input, on top of what no input causes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    /// Held at once.
    pub(crate) bytes: u64,
    pub(crate) bytes_for_each: u64,
    /// Made one after the other: what bounds the time.
    pub(crate) allocations: u64,
    pub(crate) allocations_for_each: u64,
}

/// Does the work, which must stay below that.
pub(crate) fn bounded<T>(most: Most, input: usize, work: impl FnOnce() -> T) -> T {
    let mut done = None;
    let cost = measure(|| done = Some(work()));
    let size = u64::try_from(input).unwrap();
    assert!(
        cost.bytes_max <= most.bytes + most.bytes_for_each * size,
        "{} bytes for an input of {size}",
        cost.bytes_max
    );
    let allocations = most.allocations + most.allocations_for_each * size;
    assert!(cost.count_total <= allocations, "{} allocations for an input of {size}", cost.count_total);
    done.unwrap()
}
