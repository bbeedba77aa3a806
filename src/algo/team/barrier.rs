//! A barrier for threads that arrive every few microseconds. If the other threads take longer, a waiting thread sleeps
//! and leaves its core to other threads.

use crate::process::host::cores_at_hand;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Time for which a thread at the barrier polls before it sleeps, if every thread has a core. Waking a thread takes
/// about as long.
const AWAKE: Duration = Duration::from_micros(20);
/// Number of times that a thread at the barrier polls between two readings of the clock.
const POLLS: u32 = 16;

/// A reusable barrier for a fixed number of threads.
pub struct Barrier {
    threads: usize,
    awake: Duration,
    arrived: AtomicUsize,
    round: AtomicU32,
    /// Number of threads that sleep at the barrier or are about to sleep.
    sleepers: AtomicUsize,
    sleeping: Mutex<()>,
    woken: Condvar,
    left: AtomicBool,
}

/// Guard that reports a panic of its thread to the other threads, so that they do not wait for it at the barrier.
pub struct PanicGuard<'b>(&'b Barrier);

impl Barrier {
    /// Creates a barrier for `threads` threads.
    pub fn new(threads: usize) -> Barrier {
        Barrier {
            threads,
            // A thread that polls on a core that another thread needs would delay all threads.
            awake: if threads <= cores_at_hand() { AWAKE } else { Duration::ZERO },
            arrived: AtomicUsize::new(0),
            round: AtomicU32::new(0),
            sleepers: AtomicUsize::new(0),
            sleeping: Mutex::new(()),
            woken: Condvar::new(),
            left: AtomicBool::new(false),
        }
    }

    /// Returns a guard that reports a panic of this thread, so that the other threads do not wait for this thread.
    pub fn panic_guard(&self) -> PanicGuard<'_> {
        PanicGuard(self)
    }

    /// Waits until all threads have called this function. Afterwards every thread sees all data that the others wrote
    /// before their calls.
    pub fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            // This store is ordered with the count of sleepers. Either this thread sees a sleeper, or the sleeper sees
            // the new round.
            self.round.store(round.wrapping_add(1), Ordering::SeqCst);
            self.wake();
        } else if !self.poll(round) {
            self.sleep(round);
        }
    }

    /// Polls until all other threads have arrived at the barrier, which ends round `round`, or until the polling time
    /// is over. Returns true if the round has ended.
    fn poll(&self, round: u32) -> bool {
        if self.awake.is_zero() {
            return false;
        }
        let mut begun = None;
        loop {
            for _ in 0..POLLS {
                if self.round.load(Ordering::Acquire) != round {
                    return true;
                }
                std::hint::spin_loop();
            }
            if begun.get_or_insert_with(Instant::now).elapsed() > self.awake {
                return false;
            }
        }
    }

    /// Sleeps until all other threads have arrived at the barrier, which ends round `round`.
    fn sleep(&self, round: u32) {
        let mut sleeping = self.sleeping.lock();
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while self.round.load(Ordering::SeqCst) == round {
            if self.left.load(Ordering::SeqCst) {
                // The thread that panicked has printed the reason.
                std::panic::resume_unwind(Box::new("another thread of the search panicked"));
            }
            self.woken.wait(&mut sleeping);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    fn wake(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            // A thread that is about to sleep holds the lock until it sleeps.
            drop(self.sleeping.lock());
            self.woken.notify_all();
        }
    }
}

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.left.store(true, Ordering::SeqCst);
            self.0.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::team::team;

    /// Checks that the barrier never lets a thread get a round ahead of another. Two threads poll at the barrier if
    /// there are two cores. 64 threads sleep at once on a machine with fewer cores.
    #[test]
    fn nobody_is_a_round_ahead() {
        for (threads, rounds) in [(2, 5000), (64, 50)] {
            let (barrier, counted) = (Barrier::new(threads), AtomicUsize::new(0));
            team(threads, &|_| {
                for round in 1..rounds {
                    counted.fetch_add(1, Ordering::Relaxed);
                    barrier.wait();
                    assert_eq!(counted.load(Ordering::Relaxed), threads * round);
                    barrier.wait();
                }
                Ok(())
            })
            .unwrap();
        }
    }

    #[test]
    fn a_thread_that_panics_leaves_nobody_waiting() {
        for threads in [2, 64] {
            let barrier = Barrier::new(threads);
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                team(threads, &|number| {
                    let _here = barrier.panic_guard();
                    // Leaves the other threads time to fall asleep at the barrier.
                    if number == 1 {
                        std::thread::sleep(10 * AWAKE);
                        // Unlike `panic!`, this prints nothing.
                        std::panic::resume_unwind(Box::new("on purpose"));
                    }
                    barrier.wait();
                    Ok(())
                })
            }));
            assert!(caught.is_err());
        }
    }
}
