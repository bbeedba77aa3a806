//! Scoped threads, which end before their caller continues, and thread pools. A failure to start a thread is an error,
//! not a panic.

use parking_lot::Mutex;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::error::{Error, Result};
use crate::memory::addresses_left;

/// Address space in bytes for a thread of a command that has no limit on memory: its stack and its buffers.
const ADDRESSES: u64 = 4 << 20;

/// Checks that `ulimit -v` leaves enough address space for `threads` threads. If the stacks of some threads took all
/// of it, an allocation by another thread would abort the process.
///
/// # Errors
/// [`Error::Addresses`].
pub fn check_addresses(threads: usize) -> Result<()> {
    match addresses_left() {
        Some(left) if left < threads as u64 * ADDRESSES => Err(Error::thread()),
        _ => Ok(()),
    }
}

/// Starts a pool of `threads` threads, whose names begin with `name`.
///
/// # Errors
/// [`Error::Addresses`] if a thread can't be started.
pub fn pool(name: &'static str, threads: usize) -> Result<ThreadPool> {
    let named = ThreadPoolBuilder::new().num_threads(threads).thread_name(move |i| format!("{name} {i}"));
    named.build().map_err(|_| Error::thread())
}

/// Starts the pool of `threads` threads for parallel work outside of other pools. Only the first call in a process has
/// an effect.
///
/// # Errors
/// [`Error::Addresses`] if a thread can't be started.
pub fn start_global_pool(threads: usize) -> Result<()> {
    let is_failure = |e: &ThreadPoolBuildError| std::error::Error::source(e).is_some();
    match ThreadPoolBuilder::new().num_threads(threads).build_global() {
        Err(e) if is_failure(&e) => Err(Error::thread()),
        _ => Ok(()),
    }
}

/// Starts a scoped thread.
///
/// # Errors
/// [`Error::Addresses`] if the thread can't be started.
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().spawn_scoped(scope, work).map_err(|_| Error::thread())
}

/// Waits for a thread and returns its result. If the thread panicked, the panic continues in this thread.
pub fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Calls `work` for each item, each on its own thread. Waits for all threads, and then returns the error of the first
/// item that failed.
///
/// # Errors
/// Errors of `work`; [`Error::Addresses`] if not all threads can be started.
pub fn on_threads<T: Send>(items: impl Iterator<Item = T>, work: impl Fn(T) -> Result<()> + Sync) -> Result<()> {
    on_threads_until(items, work, || ())
}

/// Calls `work` for each item, like [`on_threads`]. If a thread can't be started, starts no more threads and calls
/// `stop`.
fn on_threads_until<T: Send>(
    items: impl Iterator<Item = T>,
    work: impl Fn(T) -> Result<()> + Sync,
    stop: impl Fn(),
) -> Result<()> {
    let work = &work;
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for item in items {
            threads.push(spawn(scope, move || work(item)));
            if threads.last().is_some_and(Result::is_err) {
                stop();
                break;
            }
        }
        threads.into_iter().map(|thread| thread.and_then(join)).fold(Ok(()), Result::and)
    })
}

/// Calls `work(state, number)` for each number of the range `numbers`, on up to `threads` threads that take the numbers
/// in ascending order. Each thread has its own state, which `begin` creates. When no number is left, `end` consumes the
/// state. With one thread, the calling thread does the work.
///
/// # Errors
/// If `work` fails, no thread takes another number; if it fails for several numbers, the error for the smallest number
/// is returned. Also errors of `end`, and [`Error::Addresses`] if not all threads can be started; the others then take
/// no other number.
pub fn in_threads<S>(
    threads: usize,
    numbers: Range<usize>,
    begin: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> Result<()> + Sync,
    end: impl Fn(S) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(numbers.start);
    let failure: Mutex<Option<(usize, Error)>> = Mutex::default();
    let run = |_| {
        let mut state = begin();
        loop {
            let number = next.fetch_add(1, Relaxed);
            if number >= numbers.end {
                return end(state);
            }
            if let Err(error) = work(&mut state, number) {
                next.store(numbers.end, Relaxed);
                let mut failure = failure.lock();
                if failure.as_ref().is_none_or(|(before, _)| number < *before) {
                    *failure = Some((number, error));
                }
                return Ok(());
            }
        }
    };
    let ended = match threads.min(numbers.len()) {
        0 | 1 => run(0),
        threads => on_threads_until(0..threads, run, || next.store(numbers.end, Relaxed)),
    };
    failure.into_inner().map_or(ended, |(_, error)| Err(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_taken_once_and_each_state_ends() {
        for threads in [0, 1, 3, 8] {
            for numbers in [0..0, 5..6, 5..105] {
                let (sum, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
                let work = |own: &mut usize, number| {
                    *own += number;
                    Ok(())
                };
                let end = |own| {
                    sum.fetch_add(own, Relaxed);
                    ended.fetch_add(1, Relaxed);
                    Ok(())
                };
                in_threads(threads, numbers.clone(), || 0, work, end).expect("no errors");
                assert_eq!(sum.into_inner(), numbers.clone().sum::<usize>());
                assert_eq!(ended.into_inner(), threads.min(numbers.len()).max(1), "{threads} {numbers:?}");
            }
        }
    }

    #[test]
    fn the_error_of_the_smallest_number_is_returned() {
        // All four numbers are taken before the first of them fails.
        let taken = std::sync::Barrier::new(4);
        let work = |(): &mut (), number: usize| {
            taken.wait();
            if number == 7 { Ok(()) } else { Err(Error::Usage(number.to_string())) }
        };
        let failed = in_threads(4, 7..11, || (), work, Ok).expect_err("an error");
        assert_eq!(failed.to_string(), "8");
    }
}
