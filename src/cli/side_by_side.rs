//! Work on several things at once.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

/// As many as there are cores.
pub(super) fn cores() -> NonZero<usize> {
    thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN)
}

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
    let workers = cores().get().min(most);
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

/// Works on what is sent, on that many threads; `each` gets the results in the order in which it was sent. The sender waits
/// when it is far ahead.
pub(super) fn in_order<I: Send, T: Send>(
    workers: NonZero<usize>,
    send: impl FnOnce(&dyn Fn(I)) + Send,
    work: impl Fn(I) -> T + Sync,
    mut each: impl FnMut(T),
) {
    let workers = workers.get();
    let (sender, waiting) = mpsc::sync_channel(workers);
    let (order, results) = mpsc::sync_channel(2 * workers);
    let waiting = Mutex::new(waiting);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let take = || waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
                while let Ok((item, done)) = take() {
                    let done: mpsc::SyncSender<T> = done;
                    // Both receivers outlive this thread.
                    let _ = done.send(work(item));
                }
            });
        }
        scope.spawn(move || {
            send(&|item| {
                let (done, result) = mpsc::sync_channel(1);
                let _ = order.send(result);
                let _ = sender.send((item, done));
            });
        });
        results.iter().filter_map(|result: mpsc::Receiver<T>| result.recv().ok()).for_each(&mut each);
    });
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;
    use std::thread;
    use std::time::Duration;

    use super::in_order;

    #[test]
    fn results_come_in_the_order_of_what_was_sent() {
        for workers in [1, 2, 7] {
            let mut results = Vec::new();
            let work = |number: u64| {
                thread::sleep(Duration::from_micros(number * 7919 % 500));
                number * 2
            };
            let send = |send: &dyn Fn(u64)| (0..300).for_each(send);
            in_order(NonZero::new(workers).unwrap(), send, work, |result| results.push(result));
            assert_eq!(results, (0..300).map(|number| number * 2).collect::<Vec<_>>());
        }
    }
}
