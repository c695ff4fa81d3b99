//! Work on several things at once: other programs take most of the time of each.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

/// Works on all items, on as many cores as there are; `each` gets every result as soon as it is there, with the item's
/// number.
pub(super) fn side_by_side<I: Send, T: Send>(items: Vec<I>, work: impl Fn(I) -> T + Sync, each: impl FnMut(usize, T)) {
    as_they_come(items.into_iter(), work, each);
}

/// The same with items that are still to come.
pub(super) fn as_they_come<I: Send, T: Send>(
    items: impl Iterator<Item = I> + Send,
    work: impl Fn(I) -> T + Sync,
    mut each: impl FnMut(usize, T),
) {
    let most = items.size_hint().1.unwrap_or(usize::MAX);
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(most);
    let waiting = Mutex::new(items.enumerate());
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, waiting, work) = (sender.clone(), &waiting, &work);
            scope.spawn(move || {
                let take = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
                while let Some((number, item)) = take() {
                    // The receiver outlives this thread.
                    let _ = sender.send((number, work(item)));
                }
            });
        }
        drop(sender);
        for (number, result) in receiver {
            each(number, result);
        }
    });
}
