//! Work on several things at once: other programs take most of the time of each.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

/// Works on all items, on as many cores as there are; `each` gets every result as soon as it is there, with the item's
/// number.
pub(super) fn side_by_side<I: Send, T: Send>(
    items: Vec<I>,
    work: impl Fn(I) -> T + Sync,
    mut each: impl FnMut(usize, T),
) {
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(items.len());
    let waiting = Mutex::new(items.into_iter().enumerate());
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
