//! Work stealing between ranks. Each rank owns a share of the work, a sequence of work items. A rank that has finished
//! its own share steals items from the end of the share with the most remaining items.

use super::{Comm, SharedCounters};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Shared counters for work stealing. For each rank's share of the work, they count the items taken from its front and
/// from its end. A rank takes items of its own share from the front. When no item is left there, it steals items from
/// the end of other shares.
pub struct WorkStealing {
    words: StealingCounters,
    rank: usize,
    ranks: usize,
    passes: AtomicU64,
}

/// Memory of the work-stealing counters, one 64-bit word for each rank.
enum StealingCounters {
    #[cfg(feature = "testing")]
    Within(std::sync::Arc<[AtomicU64]>),
    Shared(SharedCounters),
}

/// Number of bits of each of the two counters in a 64-bit word: items taken from the front and from the end of a share.
const COUNT: u32 = 28;
const MASK: u64 = (1 << COUNT) - 1;

impl WorkStealing {
    /// Maximum number of work items in a rank's share.
    pub const MOST: u64 = MASK;

    /// Creates the work-stealing counters of the ranks of `comm`. Returns `None` if there is only one rank or the ranks
    /// can't share memory. Collective.
    pub fn open(comm: &Comm) -> Option<WorkStealing> {
        let words = StealingCounters::Shared(comm.shared_counters(1)?);
        Some(WorkStealing { words, rank: comm.rank(), ranks: comm.ranks(), passes: AtomicU64::new(0) })
    }

    /// Creates the work-stealing counters of `ranks` simulated ranks within this process, for tests.
    #[cfg(feature = "testing")]
    pub fn within(ranks: usize) -> Vec<WorkStealing> {
        let words: std::sync::Arc<[AtomicU64]> = (0..ranks).map(|_| AtomicU64::new(0)).collect();
        let of = |rank| WorkStealing {
            words: StealingCounters::Within(words.clone()),
            rank,
            ranks,
            passes: AtomicU64::new(0),
        };
        (0..ranks).map(of).collect()
    }

    /// Begins the next pass over the work items. A pass takes every item once. All ranks must begin the same number of
    /// passes. No rank may begin a pass before all ranks have ended the previous one.
    pub fn begin(&self) -> Pass<'_> {
        Pass { stealing: self, number: (self.passes.fetch_add(1, Relaxed) + 1) & 0xff }
    }

    fn word(&self, rank: usize) -> &AtomicU64 {
        match &self.words {
            #[cfg(feature = "testing")]
            StealingCounters::Within(words) => &words[rank],
            StealingCounters::Shared(counters) => counters.word(rank, 0),
        }
    }
}

impl fmt::Debug for WorkStealing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkStealing").field("rank", &self.rank).field("ranks", &self.ranks).finish_non_exhaustive()
    }
}

/// One pass over the work items of all ranks. Each rank's share has at most [`WorkStealing::MOST`] items.
#[derive(Debug, Clone, Copy)]
pub struct Pass<'c> {
    stealing: &'c WorkStealing,
    number: u64,
}

/// State of a rank's share of the work: the number of items taken from its front and from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShareState {
    /// Rank that owns the share of the work items.
    pub rank: usize,
    /// Number of work items taken from the front of the share.
    pub front: u64,
    /// Number of work items taken from the end of the share.
    pub back: u64,
}

impl Pass<'_> {
    /// Takes the next work item of this rank's own share, which has `len` items. Returns the 0-based index of the item
    /// in the share, or `None` if no item is left.
    pub fn take(&self, len: u64) -> Option<u64> {
        let word = self.stealing.word(self.stealing.rank);
        // No other data is published through the counter, so relaxed ordering is enough.
        let mut seen = word.load(Relaxed);
        loop {
            let [front, back] = self.counts(seen);
            if front + back >= len {
                return None;
            }
            match word.compare_exchange_weak(seen, self.packed(front + 1, back), Relaxed, Relaxed) {
                Ok(_) => return Some(front),
                Err(now) => seen = now,
            }
        }
    }

    /// Returns the state of the share with the most work items left among the shares of the other ranks, or `None` if
    /// none of them has any. `len(rank)` is the number of items in the share of `rank`.
    pub fn most_left(&self, len: impl Fn(usize) -> u64) -> Option<ShareState> {
        let others = (0..self.stealing.ranks).filter(|&rank| rank != self.stealing.rank);
        let left = others.map(|rank| {
            let [front, back] = self.counts(self.stealing.word(rank).load(Relaxed));
            (len(rank).saturating_sub(front + back), ShareState { rank, front, back })
        });
        left.max_by_key(|&(left, _)| left).filter(|&(left, _)| left > 0).map(|(_, taken)| taken)
    }

    /// Steals the last remaining work item of another rank's share. Returns false, without stealing, if an item of that
    /// share was taken since [`Self::most_left`] returned this `ShareState`.
    pub fn help(&self, ShareState { rank, front, back }: ShareState) -> bool {
        let word = self.stealing.word(rank);
        let seen = word.load(Relaxed);
        let then = self.packed(front, back + 1);
        self.counts(seen) == [front, back] && word.compare_exchange(seen, then, Relaxed, Relaxed).is_ok()
    }

    fn packed(&self, front: u64, back: u64) -> u64 {
        (self.number << (2 * COUNT)) | (back << COUNT) | front
    }

    /// Decodes a 64-bit word into the two counters of a share: work items taken from the front, and work items taken
    /// from the end. A word of an earlier pass counts as zeros, because no item of the share was taken in this pass.
    fn counts(&self, word: u64) -> [u64; 2] {
        if word >> (2 * COUNT) == self.number { [word & MASK, (word >> COUNT) & MASK] } else { [0, 0] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_taken_once_in_every_pass_whoever_is_fast() {
        let lens = [40u64, 0, 1, 100];
        let stealing = WorkStealing::within(lens.len());
        for idle in 0..lens.len() {
            let taken: Vec<Vec<(usize, u64)>> = std::thread::scope(|scope| {
                // One rank begins every pass but takes nothing. The others steal all its items.
                let work = |rank: usize, pass: Pass<'_>| {
                    let mut mine = Vec::new();
                    while let Some(front) = pass.take(lens[rank]) {
                        mine.push((rank, front));
                    }
                    while let Some(taken) = pass.most_left(|rank| lens[rank]) {
                        if pass.help(taken) {
                            mine.push((taken.rank, lens[taken.rank] - 1 - taken.back));
                        }
                    }
                    mine
                };
                let passes: Vec<_> = stealing.iter().map(WorkStealing::begin).enumerate().collect();
                let busy = passes.into_iter().filter(|&(rank, _)| rank != idle);
                let ranks: Vec<_> = busy.map(|(rank, pass)| scope.spawn(move || work(rank, pass))).collect();
                ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
            });
            let mut all = taken.concat();
            all.sort_unstable();
            let want: Vec<_> =
                lens.iter().enumerate().flat_map(|(rank, &len)| (0..len).map(move |n| (rank, n))).collect();
            assert_eq!(all, want, "{idle} idle");
        }
    }

    #[test]
    fn helping_fails_if_a_piece_was_taken_since() {
        let stealing = WorkStealing::within(2);
        let (own, other) = (stealing[0].begin(), stealing[1].begin());
        let taken = own.most_left(|_| 3).expect("nothing was taken");
        assert_eq!(taken, ShareState { rank: 1, front: 0, back: 0 });
        assert_eq!(other.take(3), Some(0));
        assert!(!own.help(taken));
        assert!(own.most_left(|_| 3).is_some_and(|taken| own.help(taken)));
        assert_eq!([other.take(3), other.take(3)], [Some(1), None]);
        assert_eq!(own.most_left(|_| 3), None);
    }

    #[test]
    fn pass_numbers_wrap_around() {
        let stealing = WorkStealing::within(1);
        for _ in 0..300 {
            let pass = stealing[0].begin();
            assert_eq!([0; 3].map(|_| pass.take(2)), [Some(0), Some(1), None]);
        }
        assert!(WorkStealing::open(&Comm::Solo).is_none());
    }
}
