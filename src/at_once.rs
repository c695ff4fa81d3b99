//! Two things done at once, where there are threads.

/// Does both; the first one's answer is `None` where it could not be done.
#[cfg(feature = "cli")]
pub(crate) fn both<A: Send, B>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (Option<A>, B) {
    std::thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        (first.join().ok(), second)
    })
}

/// Does one after the other.
#[cfg(not(feature = "cli"))]
pub(crate) fn both<A, B>(first: impl FnOnce() -> A, second: impl FnOnce() -> B) -> (Option<A>, B) {
    (Some(first()), second())
}
