//! Work on all processors, with the results in order.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Works on each item, and passes the results to `take` in the order of the items until `take`
/// fails.
///
/// # Errors
/// When `take` fails; returns its error.
pub(crate) fn in_order<'i, I: Sync, T: Send, E>(
    items: &'i [I],
    work: impl Fn(&'i I) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    // The bound keeps results from piling up when `take` is slow.
    let (sender, receiver) = mpsc::sync_channel(workers);
    thread::scope(|scope| {
        for _ in 0..workers.min(items.len()) {
            let sender = sender.clone();
            let (next, work) = (&next, &work);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else {
                        return;
                    };
                    // The receiver is gone because `take` has failed.
                    if sender.send((index, work(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut due = 0;
        for (index, result) in receiver {
            waiting.insert(index, result);
            while let Some(result) = waiting.remove(&due) {
                take(result)?;
                due += 1;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_until_one_is_refused() {
        let items: Vec<usize> = (0..200).collect();
        let mut taken = Vec::new();
        let done = in_order(
            &items,
            |item| item * 2,
            |result| {
                taken.push(result);
                if result < 100 { Ok(()) } else { Err(result) }
            },
        );
        assert_eq!(done, Err(100));
        assert_eq!(taken, (0..=50).map(|item| item * 2).collect::<Vec<_>>());
        assert_eq!(in_order(&[0_u8; 0], |_| (), |()| Err(())), Ok(()));
    }
}
