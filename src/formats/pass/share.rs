//! The share of one process in a pass, and the chunks that its threads take.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::comm::{Pass, WorkStealing};

/// One of `ranks` shares of an input, one per MPI rank. Uncompressed files and generated edges are divided into chunks,
/// which may be in different shares; a compressed file is in one share as a whole.
#[derive(Debug, Clone, Copy)]
pub struct Share<'c> {
    /// 0-based index of the share.
    pub rank: usize,
    /// Number of shares, at least 1.
    pub ranks: usize,
    /// Counters of the chunks that each process has taken; `None` without work stealing.
    pub helping: Option<&'c WorkStealing>,
}

impl<'c> Share<'c> {
    /// The share that is the whole input.
    pub const ALL: Share<'static> = Share::of(0, 1);

    /// Returns share `rank` of `ranks` shares, without work stealing.
    pub const fn of(rank: usize, ranks: usize) -> Share<'c> {
        Share { rank, ranks, helping: None }
    }

    /// Returns the range of chunks in the share of `rank` if the input has `chunks` chunks.
    fn range(self, rank: usize, chunks: u64) -> Range<u64> {
        let start = |rank: usize| (u128::from(chunks) * rank as u128 / self.ranks as u128) as u64;
        start(rank)..start(rank + 1)
    }

    /// Begins a pass over this share. The whole input has `chunks` chunks.
    pub(crate) fn begin(self, chunks: u64) -> ChunkQueue<'c> {
        let own = self.range(self.rank, chunks);
        let pass = self.helping.filter(|_| chunks <= WorkStealing::MOST).map(WorkStealing::begin);
        ChunkQueue { share: self, chunks, next: AtomicU64::new(own.start), own, pass }
    }

    /// Returns true if the compressed file with index `nth` is in this share.
    pub fn has(self, nth: usize) -> bool {
        nth % self.ranks == self.rank
    }
}

/// The chunks that a process's threads take in a pass: first the chunks of its own share in order, then chunks from
/// the ends of the shares of processes that are behind.
pub(crate) struct ChunkQueue<'c> {
    share: Share<'c>,
    chunks: u64,
    pub own: Range<u64>,
    /// The next chunk of the process's own share. Used only without work stealing.
    next: AtomicU64,
    pass: Option<Pass<'c>>,
}

impl ChunkQueue<'_> {
    /// Takes the next chunk of the process's own share; `None` if all are taken.
    pub fn take(&self) -> Option<u64> {
        let Some(pass) = self.pass else {
            return Some(self.next.fetch_add(1, Relaxed)).filter(|number| self.own.contains(number));
        };
        pass.take(self.own.end - self.own.start).map(|taken| self.own.start + taken)
    }

    /// Takes the last remaining chunk of the process that has the most chunks left. Returns `None` if no chunk is left,
    /// or if `worth` returns false for the chunk.
    pub fn help(&self, worth: impl Fn(u64) -> bool) -> Option<u64> {
        let pass = self.pass?;
        let share = |rank| self.share.range(rank, self.chunks);
        while let Some(taken) = pass.most_left(|rank| share(rank).end - share(rank).start) {
            let last = share(taken.rank).end - 1 - taken.back;
            if !worth(last) {
                break;
            }
            if pass.help(taken) {
                return Some(last);
            }
        }
        None
    }
}
