//! Rounds among ranks of one machine, through a ring of bytes in shared memory from every rank to every other rank.
//!
//! A ring has one writer and one reader. Each has a position that only it advances. A round ends in a ring at the
//! position where its writer declares the end. A writer's own round ends only when the reader's has, so no writer is
//! more than one round ahead of its reader. So it is enough to keep the ends of two rounds, by parity. Positions begin
//! each round at a cache line, so that numbers of any size are aligned.
//!
//! Every rank also has two cache lines of values for reductions of a few numbers, used in turn. A rank that writes a
//! line again has seen all values of the reduction in between, and each rank gave those after it had read the values
//! before. So no value is overwritten before it is read.
#![allow(unsafe_code)] // views of shared memory; positions settle who uses a part of a ring

use super::other_words;
use super::waiting::Waiting;
use crate::comm::mpi::Ranks;
use crate::comm::mpi::segment::Segment;
use crate::comm::mpi::stores::Stores;
use crate::comm::round_shape::RoundShape;
use crate::comm::rounds::{LINE, Line, TakeWords};
use crate::error::Result;
use crate::memory::Number;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that are written or taken before the position is published. Ranks write and take by turns of this size, so
/// that a ring is nearly empty and its content is in cache. Filling the whole ring first is slower, and the more so the
/// longer the ring. With pieces of 32 KiB a long round takes a twentieth longer.
const PIECE_BYTES: usize = 128 << 10;
const CACHE_LINE: usize = 64;
/// Words that a ring's writer sets: its position, the number of rounds that it has ended, and the positions of the last
/// two ends.
const WRITTEN: usize = 0;
const ENDED: usize = 1;
const ENDS: usize = 2;

pub(super) struct ShmLinks {
    segment: Segment,
    /// By rank, the way in which words are written to it.
    stores: Vec<Stores>,
    rank: usize,
    ranks: usize,
    /// Size of a ring in bytes.
    capacity: usize,
    /// This rank's positions in the rings to each rank, and in the rings from each rank.
    written: Vec<u64>,
    read: Vec<u64>,
    /// Positions of the readers, as this rank read them last.
    freed: Vec<u64>,
    round: u64,
    reductions: u64,
}

impl ShmLinks {
    /// Opens the rings. Returns `None` on all ranks if they share no memory. Collective.
    pub(super) fn open(ranks: &Ranks, shape: RoundShape) -> Option<ShmLinks> {
        let (rank, count) = (ranks.place().rank, ranks.place().ranks);
        let capacity = shape.link_bytes();
        let part = capacity.checked_mul(count - 1)?.checked_add(head(count))?;
        let segment = Segment::open(ranks, part)?;
        let none = vec![0; count];
        let (written, read, freed) = (none.clone(), none.clone(), none);
        let stores = vec![Stores::default(); count];
        Some(ShmLinks { segment, stores, rank, ranks: count, capacity, written, read, freed, round: 0, reductions: 0 })
    }

    fn words(&self, rank: usize, line: usize) -> &[AtomicU64] {
        // SAFETY: the lines before the rings are only used as atomics.
        unsafe { self.segment.view(rank, line * CACHE_LINE, CACHE_LINE / 8) }
    }

    /// Returns the words that the writer of the ring `from` -> `to` sets.
    fn writer(&self, from: usize, to: usize) -> &[AtomicU64] {
        self.words(from, 2 + 2 * to)
    }

    /// Returns the position that the reader of the ring `from` -> `to` sets.
    fn reader(&self, from: usize, to: usize) -> &AtomicU64 {
        &self.words(to, 2 + 2 * from + 1)[0]
    }

    /// Returns the byte offset, in the part of `from`, of a position of the ring `from` -> `to`.
    fn at(&self, from: usize, to: usize, position: u64) -> usize {
        let ring = (to + self.ranks - from - 1) % self.ranks;
        head(self.ranks) + ring * self.capacity + self.offset(position)
    }

    fn offset(&self, position: u64) -> usize {
        (position % self.capacity as u64) as usize
    }

    /// Writes words to rank `to`: at most `PIECE_BYTES` bytes, and only as many as there is room for. Returns the
    /// number of words written.
    pub(super) fn push<T: Number>(&mut self, to: usize, words: &[T]) -> usize {
        let position = self.written[to];
        let room = |freed: u64| self.capacity.saturating_sub((position - freed) as usize) / size_of::<T>();
        let straight = (self.capacity - self.offset(position)).min(PIECE_BYTES) / size_of::<T>();
        let wanted = straight.min(words.len());
        if room(self.freed[to]) < wanted {
            self.freed[to] = self.reader(self.rank, to).load(Ordering::Acquire);
        }
        let count = room(self.freed[to]).min(wanted);
        if count > 0 {
            // SAFETY: the reader has left this part of the ring, and enters it only after the position below is
            // published.
            let part = unsafe { self.segment.view_mut(self.rank, self.at(self.rank, to, position), count) };
            self.stores[to].copy(part, &words[..count]);
            self.written[to] += (count * size_of::<T>()) as u64;
            self.writer(self.rank, to)[WRITTEN].store(self.written[to], Ordering::Release);
        }
        count
    }

    /// Ends the round towards rank `to`.
    pub(super) fn end(&mut self, to: usize) {
        let words = self.writer(self.rank, to);
        words[ENDS + (self.round % 2) as usize].store(self.written[to], Ordering::Relaxed);
        words[ENDED].store(self.round + 1, Ordering::Release);
        self.written[to] = self.written[to].next_multiple_of(CACHE_LINE as u64);
    }

    /// Passes the words that have arrived from rank `from` to `take`, at most `PIECE_BYTES` bytes of them. Returns
    /// whether there was progress, and whether that rank has ended the round and all its words are taken.
    pub(super) fn pull<T: Number>(&mut self, from: usize, take: TakeWords<'_, T>) -> Result<(bool, bool)> {
        let words = self.writer(from, self.rank);
        // Read the position before the end; otherwise it could belong to the next round.
        let written = words[WRITTEN].load(Ordering::Acquire);
        let ended = words[ENDED].load(Ordering::Acquire) > self.round;
        let until = if ended { words[ENDS + (self.round % 2) as usize].load(Ordering::Relaxed) } else { written };
        let position = self.read[from];
        let bytes = until.saturating_sub(position) as usize;
        if bytes > 0 {
            let bytes = bytes.min(self.capacity - self.offset(position)).min(PIECE_BYTES);
            let (at, count) = (self.at(from, self.rank, position), bytes / size_of::<T>());
            if count == 0 {
                return Err(other_words(from, bytes));
            }
            // SAFETY: the writer has filled this part, and does not write to it until the position below is published.
            take(from, unsafe { self.segment.view(from, at, count) })?;
            self.read[from] += (count * size_of::<T>()) as u64;
            self.reader(from, self.rank).store(self.read[from], Ordering::Release);
        }
        let over = ended && self.read[from] >= until;
        if over {
            self.read[from] = until.next_multiple_of(CACHE_LINE as u64);
            self.reader(from, self.rank).store(self.read[from], Ordering::Release);
        }
        Ok((bytes > 0 || over, over))
    }

    pub(super) fn next_round(&mut self) {
        self.round += 1;
    }

    /// Returns the values of every rank, indexed by rank. Collective.
    pub(super) fn gather_lines(&mut self, mine: Line, waiting: &mut Waiting) -> Vec<Line> {
        self.reductions += 1;
        let line = (self.reductions % 2) as usize;
        let own = self.words(self.rank, line);
        own[1..].iter().zip(mine).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
        own[0].store(self.reductions, Ordering::Release);
        let mut lines = vec![mine; self.ranks];
        for from in (0..self.ranks).filter(|&from| from != self.rank) {
            let words = self.words(from, line);
            while words[0].load(Ordering::Acquire) != self.reductions {
                waiting.take();
            }
            lines[from] = std::array::from_fn(|at| words[1 + at].load(Ordering::Relaxed));
        }
        lines
    }
}

/// Returns the bytes of a part before the rings: two cache lines of values, and two cache lines for each rank.
pub(in crate::comm) const fn head(ranks: usize) -> usize {
    const { assert!((LINE + 1) * 8 == CACHE_LINE) };
    (2 + 2 * ranks) * CACHE_LINE
}
