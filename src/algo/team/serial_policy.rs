//! Decides which rounds of a search one thread does alone, while the others sleep. These are rounds with few edges.
//!
//! A round with few edges takes less time than the threads need to meet at a barrier. What counts as few depends on the
//! machine. At a barrier, threads that share their cores with others wait for milliseconds, and threads with cores of
//! their own wait for a microsecond. So the time of rounds by one thread is compared with the time of rounds by all.
//! The result of a search does not depend on the choice.

use crate::process::host::cores_at_hand;
use std::time::Instant;

/// Number of edges below which one thread always does a round of a search alone, if every thread has a core.
pub const LEAST: u64 = 1 << 11;
/// Minimum number of edges with which all threads always do a round of a search together, if every thread has a core.
const MOST: u64 = 1 << 16;
/// Number of edges below which a round of a search is not timed, because reading the clock would noticeably prolong it.
const TIMED: u64 = LEAST / 4;
/// Maximum number of rounds by all threads whose total time is compared with the estimated time of one thread.
const WINDOW: u32 = 32;
/// Tolerance in seconds: all threads together are too slow if up to [`WINDOW`] of their rounds take longer than the
/// estimated time of one thread by more than this.
const SLACK: f64 = 1e-4;
/// Number of rounds that one thread does alone so that its time per edge is known.
const TRIAL: u32 = 8;
/// Minimum and maximum number of rounds that one thread does alone after all threads together were too slow. The number
/// doubles whenever they are too slow again.
const ALONE: [u32; 2] = [64, 1 << 16];

/// Measures the rounds of a search, and decides which rounds one thread does alone. Only the first thread of the team
/// uses it.
pub struct SerialPolicy {
    /// Number of threads per core, rounded up. The time that threads spend at a barrier is proportional to it.
    share: u64,
    /// Estimated time per edge of a round by one thread, in seconds, near the median of the measurements.
    of_edge: Option<f64>,
    /// The rounds that all threads did together since the last decision: their number, edges and seconds.
    together: Window,
    /// Number of further rounds that one thread does alone, although they have enough edges for all threads.
    alone: u32,
    /// Number of rounds that one thread will do alone when all threads together are too slow the next time.
    next: u32,
    /// The round of the search that is being timed, if any.
    round: Option<Round>,
}

#[derive(Default)]
struct Window {
    rounds: u32,
    edges: f64,
    seconds: f64,
}

/// A round of a search that is being timed.
struct Round {
    edges: u64,
    is_alone: bool,
    begun: Instant,
}

impl SerialPolicy {
    /// Creates the policy for a search by `threads` threads.
    pub fn new(threads: usize) -> SerialPolicy {
        SerialPolicy::of(threads.div_ceil(cores_at_hand()) as u64)
    }

    fn of(share: u64) -> SerialPolicy {
        SerialPolicy { share, of_edge: None, together: Window::default(), alone: 0, next: ALONE[0], round: None }
    }

    /// Returns the minimum number of edges of a round that all threads should do together.
    pub fn bound(&self) -> u64 {
        if self.alone > 0 { self.most() } else { self.least() }
    }

    fn least(&self) -> u64 {
        LEAST * self.share
    }

    fn most(&self) -> u64 {
        MOST * self.share
    }

    /// Ends the timing of the previous round, and begins a round of `edges` edges. If `is_alone` is true, one thread
    /// does the round, otherwise all threads do.
    pub fn begin(&mut self, edges: u64, is_alone: bool) {
        let is_timed = (TIMED..self.most()).contains(&edges);
        if !is_timed && self.round.is_none() {
            return;
        }
        let now = Instant::now();
        if let Some(round) = self.round.take() {
            self.record_round(round.edges, round.is_alone, (now - round.begun).as_secs_f64());
        }
        self.round = is_timed.then_some(Round { edges, is_alone, begun: now });
    }

    fn record_round(&mut self, edges: u64, is_alone: bool, seconds: f64) {
        if is_alone {
            let sample = seconds / edges as f64;
            // The estimate changes by a fixed factor, because a single sample may be far off: a thread may lose its
            // core for longer than a thousand rounds take.
            self.of_edge = Some(self.of_edge.map_or(sample, |old| old * if sample > old { 1.1 } else { 0.9 }));
            self.alone = self.alone.saturating_sub(u32::from(edges >= self.least()));
            return;
        }
        self.together.rounds += 1;
        self.together.edges += edges as f64;
        self.together.seconds += seconds;
        let is_full = self.together.rounds == WINDOW;
        match self.of_edge {
            Some(of_edge) if self.together.seconds > self.together.edges * of_edge + SLACK => {
                self.alone = self.next;
                self.next = (2 * self.next).min(ALONE[1]);
            }
            Some(_) if is_full => self.next = (self.next / 2).max(ALONE[0]),
            None if is_full => self.alone = TRIAL,
            _ => return,
        }
        self.together = Window::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates `count` rounds of `edges` edges each. `seconds` contains the time of a round by one thread, and its
    /// time by all threads. Returns the number of rounds that one thread did alone.
    fn rounds(policy: &mut SerialPolicy, count: u32, edges: u64, seconds: [f64; 2]) -> u32 {
        let mut alone = 0;
        for _ in 0..count {
            let is_alone = edges < policy.bound();
            policy.record_round(edges, is_alone, seconds[usize::from(!is_alone)]);
            alone += u32::from(is_alone);
        }
        alone
    }

    #[test]
    fn the_faster_side_does_the_rounds() {
        let mut policy = SerialPolicy::of(1);
        assert_eq!(rounds(&mut policy, 100, LEAST - 1, [1e-5, 1.0]), 100);
        // All threads are faster, then equally fast, then ever slower.
        assert_eq!(rounds(&mut policy, 1000, LEAST, [1e-5, 5e-6]), 0);
        assert_eq!(rounds(&mut policy, 1000, LEAST, [1e-5, 1e-5]), 0);
        let alone = rounds(&mut policy, 10_000, LEAST, [1e-5, 1e-3]);
        assert!((9980..10_000).contains(&alone), "{alone}");
        // All threads are fast again. This is noticed once one thread has done its rounds.
        rounds(&mut policy, ALONE[1], LEAST, [1e-5, 5e-6]);
        assert_eq!(rounds(&mut policy, 1000, LEAST, [1e-5, 5e-6]), 0);
        // All threads do rounds with many edges, however long these take.
        assert_eq!(rounds(&mut policy, 100, MOST, [1e-5, 1.0]), 0);
        // There are four threads on each core.
        assert_eq!(
            [4 * LEAST - 1, 4 * LEAST].map(|edges| rounds(&mut SerialPolicy::of(4), 9, edges, [1e-5, 5e-6])),
            [9, 0]
        );
    }

    #[test]
    fn one_thread_is_timed_if_rounds_are_wide_from_the_first() {
        let mut policy = SerialPolicy::of(1);
        assert_eq!(rounds(&mut policy, 1000, 2 * LEAST, [1e-5, 5e-6]), TRIAL);
        let mut policy = SerialPolicy::of(1);
        assert!(rounds(&mut policy, 1000, 2 * LEAST, [1e-5, 1e-3]) > 900);
    }

    #[test]
    fn a_round_without_a_core_changes_little() {
        let mut policy = SerialPolicy::of(1);
        rounds(&mut policy, 100, LEAST - 1, [1e-5, 1.0]);
        policy.record_round(LEAST - 1, true, 1.0);
        assert_eq!(rounds(&mut policy, 1000, LEAST, [1e-5, 5e-6]), 0);
        policy.record_round(LEAST, false, 3e-3);
        let alone = rounds(&mut policy, 1000, LEAST, [1e-5, 5e-6]);
        assert_eq!(alone, ALONE[0]);
    }
}
