//! Lines that stay in the memory of GPUs, this one's and those of other ranks that it reaches: what fits there is neither
//! brought to the host nor sent by it. Every rank has a shelf for the lines of its bins, with a part for each rank that fills
//! it, so that none waits for another.

use super::WORDS;
use crate::error::Result;
use crate::gpu::{DeviceSlice, Queue};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Consecutive lines on the shelf of the rank that has their bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The first.
    pub first: u32,
    /// How many.
    pub lines: u32,
}

/// The shelves as one rank knows them.
#[derive(Debug)]
pub struct Shelf {
    /// All of this rank's own.
    lines: DeviceSlice<u32>,
    /// By rank, its part of that rank's shelf.
    parts: Vec<Part>,
    /// For reading lines back.
    queue: Queue,
}

#[derive(Debug)]
struct Part {
    lines: DeviceSlice<u32>,
    /// The first of these lines on the whole shelf.
    first: u64,
    used: AtomicU64,
}

impl Shelf {
    /// Shelves of whole lines, by rank, as rank `rank` of those writes to and reads from them.
    pub fn new(shelves: &[DeviceSlice<u32>], rank: usize, queue: Queue) -> Shelf {
        let ranks = shelves.len() as u64;
        let part = |shelf: &DeviceSlice<u32>| {
            let each = shelf.len() / WORDS as u64 / ranks;
            let first = each * rank as u64;
            let words = |line: u64| line * WORDS as u64;
            Part { lines: shelf.part(words(first)..words(first + each)), first, used: AtomicU64::new(0) }
        };
        Shelf { lines: shelves[rank], parts: shelves.iter().map(part).collect(), queue }
    }

    /// Bytes of a shelf of `lines` lines.
    pub fn bytes(lines: u64) -> u64 {
        lines * 4 * WORDS as u64
    }

    /// Queues copies of whole `lines` to the shelf of `rank`: where the first will be, and how many found room.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn put(&self, queue: &Queue, rank: usize, lines: DeviceSlice<u32>) -> Result<Run> {
        let Part { lines: room, first, used } = &self.parts[rank];
        let (all, wanted) = (room.len() / WORDS as u64, lines.len() / WORDS as u64);
        let at = used.fetch_add(wanted, Relaxed).min(all);
        let fit = wanted.min(all - at);
        let words = WORDS as u64;
        if fit > 0 {
            queue.copy(lines.part(0..fit * words), room.part(at * words..(at + fit) * words))?;
        }
        Ok(Run { first: (first + at) as u32, lines: fit as u32 })
    }

    /// This rank's lines, as kernels see them.
    pub fn lines(&self) -> DeviceSlice<u32> {
        self.lines
    }

    /// Hands over a run on this rank's own shelf, at most `most` lines at a time. `words` is used for that.
    ///
    /// # Errors
    /// What `each` returned, [`crate::Error::Lost`].
    pub fn read(
        &self,
        run: Run,
        most: usize,
        words: &mut Vec<u32>,
        mut each: impl FnMut(&[u32]) -> Result<()>,
    ) -> Result<()> {
        let end = (run.first + run.lines) as usize;
        for first in (run.first as usize..end).step_by(most.max(1)) {
            let range = first * WORDS..end.min(first + most.max(1)) * WORDS;
            words.resize(range.len(), 0);
            self.queue.read(self.lines.part(range.start as u64..range.end as u64), words)?;
            each(words)?;
        }
        Ok(())
    }
}
