//! Teams of threads that work on one task together, and the division of items among them.

pub mod barrier;
pub mod serial_policy;

use parking_lot::Mutex;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::error::Result;
use crate::process::host::cores_at_hand;
use crate::process::signals;
use crate::process::threads::{join, spawn};

/// Runs `work` on `threads` threads, one of which is the calling thread. `work` is called with the index of its thread;
/// the calling thread has index 0. Returns when all threads have ended.
///
/// # Errors
/// [`crate::error::Error::Addresses`] if the operating system can't start another thread, and the first error of
/// `work`.
pub fn team(threads: usize, work: &(dyn Fn(usize) -> Result<()> + Sync)) -> Result<()> {
    gathered(threads, work).map(drop)
}

/// Runs `work` on `threads` threads, like [`team`]. Returns the results of all threads in the order of thread indices.
///
/// # Errors
/// Errors of [`team`].
pub fn gathered<T: Send>(threads: usize, work: &(dyn Fn(usize) -> Result<T> + Sync)) -> Result<Vec<T>> {
    // Threads may wait for each other, so none begins before all are started. Otherwise they might wait for one that
    // never starts.
    let begins = OnceLock::new();
    std::thread::scope(|scope| {
        let begins = &begins;
        let others = (1..threads.max(1)).map(|number| {
            let begin = move || if *begins.wait() { work(number).map(Some) } else { Ok(None) };
            spawn(scope, begin)
        });
        let others: Result<Vec<_>> = others.collect();
        begins.get_or_init(|| others.is_ok());
        let first = others.as_ref().map_or(Ok(None), |_| work(0).map(Some));
        let ended = others?.into_iter().map(join);
        // All threads are joined before the first error is returned.
        let all: Vec<_> = std::iter::once(first).chain(ended).collect();
        all.into_iter().filter_map(Result::transpose).collect()
    })
}

/// Divides `items` items into parts of `part` items, and calls `find` with the index range of each part, on `threads`
/// threads. If `find` returns a value for several parts, returns the value of the first of these parts in item order.
/// So the result does not depend on the number of threads. Once a part has a value, later parts are skipped if they
/// have not begun.
///
/// # Errors
/// Errors of [`check_parts`].
pub fn first<T: Send>(
    threads: usize,
    items: usize,
    part: usize,
    find: impl Fn(Range<usize>) -> Option<T> + Sync,
) -> Result<Option<T>> {
    let checked = check_parts(threads, items, part, || (), |part, ()| find(part).map_or(Ok(()), Err))?;
    Ok(checked.err())
}

/// Divides `items` items into parts of `part` items, and calls `check` with the index range of each part and the state
/// of the calling thread, which `state` creates. Returns the states of all threads. If `check` fails for several parts,
/// returns the error of the first of these parts in item order. So the error does not depend on the number of threads.
/// Once a part has failed, later parts are skipped if they have not begun.
///
/// # Errors
/// [`crate::error::Error::Addresses`] if the operating system can't start another thread;
/// [`crate::error::Error::Stopped`] after a signal.
pub fn check_parts<S: Send, F: Send>(
    threads: usize,
    items: usize,
    part: usize,
    state: impl Fn() -> S + Sync,
    check: impl Fn(Range<usize>, &mut S) -> Result<(), F> + Sync,
) -> Result<Result<Vec<S>, F>> {
    let parts = Parts::new(items, part);
    let earliest = AtomicUsize::new(usize::MAX);
    let done = gathered(threads, &|_| {
        let (mut state, mut failure) = (state(), None);
        parts.each(|part| {
            signals::check()?;
            let start = part.start;
            if start < earliest.load(Ordering::Relaxed)
                && let Err(found) = check(part, &mut state)
            {
                earliest.fetch_min(start, Ordering::Relaxed);
                failure = Some((start, found));
            }
            Ok(())
        })?;
        Ok((state, failure))
    })?;
    let (states, failures): (Vec<S>, Vec<Option<(usize, F)>>) = done.into_iter().unzip();
    let first = failures.into_iter().flatten().min_by_key(|&(start, _)| start);
    Ok(first.map_or(Ok(states), |(_, found)| Err(found)))
}

/// Returns how many of `threads` threads should take part in a search: at most two per core. More threads would only
/// delay the others at every barrier.
pub fn of_cores(threads: usize) -> usize {
    threads.min(2 * cores_at_hand())
}

/// Returns the index range of the items for thread `thread` (0-based), if `all` items are divided evenly among
/// `threads` threads.
pub fn share(all: usize, thread: usize, threads: usize) -> Range<usize> {
    all * thread / threads..all * (thread + 1) / threads
}

/// A queue of items that threads take one at a time, in order.
pub struct WorkList<T>(Mutex<std::vec::IntoIter<T>>);

impl<T> WorkList<T> {
    /// Creates a work queue with the given items.
    pub fn new(items: Vec<T>) -> WorkList<T> {
        WorkList(Mutex::new(items.into_iter()))
    }

    /// Takes the next item from the queue; `None` if the queue is empty.
    pub fn take(&self) -> Option<T> {
        self.0.lock().next()
    }
}

/// A division of items into parts. Threads take the parts one at a time.
pub struct Parts<'c> {
    /// Number of items that threads of this process have taken; used if `shared` is `None`.
    taken: AtomicU64,
    /// Number of items that were taken by all MPI processes, if they divide the items among each other.
    shared: Option<&'c AtomicU64>,
    total: usize,
    part: usize,
}

impl<'c> Parts<'c> {
    /// Divides `total` items into parts of `part` items for the threads of this process.
    pub fn new(total: usize, part: usize) -> Parts<'static> {
        Parts { taken: AtomicU64::new(0), shared: None, total, part }
    }

    /// Divides `total` items into parts of `part` items for several MPI processes. `taken`, in memory that they share,
    /// counts the items that any process has taken. It must be zero at first.
    pub fn shared(taken: &'c AtomicU64, total: usize, part: usize) -> Parts<'c> {
        Parts { shared: Some(taken), ..Parts::new(total, part) }
    }

    /// Takes the next part. Returns the index range of its items, which is empty if no items are left.
    pub fn take(&self) -> Range<usize> {
        let taken = self.shared.unwrap_or(&self.taken);
        let first = (taken.fetch_add(self.part as u64, Ordering::Relaxed) as usize).min(self.total);
        first..(first + self.part).min(self.total)
    }

    /// Takes parts and calls `work` with the index range of each of them, until no items are left or `work` fails.
    ///
    /// # Errors
    /// The first error of `work`.
    pub fn each(&self, mut work: impl FnMut(Range<usize>) -> Result<()>) -> Result<()> {
        loop {
            let part = self.take();
            if part.is_empty() {
                return Ok(());
            }
            work(part)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_part_that_has_something_counts_and_those_after_it_are_left_out() {
        for threads in 1..5 {
            let calls = AtomicUsize::new(0);
            let find = |part: Range<usize>| {
                calls.fetch_add(1, Ordering::Relaxed);
                part.into_iter().find(|&n| n == 305 || n == 309 || n > 900)
            };
            assert_eq!(first(threads, 1000, 10, find).unwrap(), Some(305), "{threads} threads");
            let calls = calls.into_inner();
            assert!(calls >= 31 && (threads > 1 || calls == 31), "{calls} parts by {threads} threads");
            assert_eq!(first(threads, 1000, 10, |_| None::<u8>).unwrap(), None);
            assert_eq!(first(threads, 0, 10, |part| Some(part.start)).unwrap(), None);
        }
    }
}
