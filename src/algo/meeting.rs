//! A place where threads wait for each other. Levels of a search may take a microsecond, so they poll before they sleep.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Polls before a thread lets others have its core.
const POLLS: u32 = 1 << 12;

/// A barrier for a number of threads.
pub struct Meeting {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    left: AtomicBool,
}

/// Notes, when it is dropped, that its thread comes to no further meeting.
pub struct Attendance<'m>(&'m Meeting);

impl Meeting {
    /// Makes a barrier for `threads` threads.
    pub fn new(threads: usize) -> Meeting {
        Meeting { threads, arrived: AtomicUsize::new(0), round: AtomicUsize::new(0), left: AtomicBool::new(false) }
    }

    /// Lets the others know if this thread panics, so that they do not wait for it.
    pub fn attend(&self) -> Attendance<'_> {
        Attendance(self)
    }

    /// Waits for all threads. What they wrote before is seen by all behind it.
    pub fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut polls = 0;
        while self.round.load(Ordering::Acquire) == round {
            assert!(!self.left.load(Ordering::Relaxed), "another thread of the search panicked");
            polls += 1;
            if polls < POLLS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }
}

impl Drop for Attendance<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.left.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::team::team;

    #[test]
    fn nobody_is_a_round_ahead() {
        let (meeting, counted) = (Meeting::new(4), AtomicUsize::new(0));
        team(4, &|_| {
            for round in 1..1000 {
                counted.fetch_add(1, Ordering::Relaxed);
                meeting.wait();
                assert_eq!(counted.load(Ordering::Relaxed), 4 * round);
                meeting.wait();
            }
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn a_thread_that_panics_leaves_nobody_waiting() {
        let meeting = Meeting::new(3);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            team(3, &|number| {
                let _here = meeting.attend();
                assert_ne!(number, 2, "on purpose");
                meeting.wait();
                Ok(())
            })
        }));
        assert!(caught.is_err());
    }
}
