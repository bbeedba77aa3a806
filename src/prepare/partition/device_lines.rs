//! Lines (groups of 64 edges of one bin) that stay in GPU memory. The host neither copies nor sends these lines. Every
//! GPU has memory for the lines of its own rank's bins. Each rank that fills these bins writes to its own part of this
//! memory, so that no rank waits for another.

use crate::error::Result;
use crate::gpu::{DeviceSlice, Queue};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A run of consecutive lines (groups of 64 edges) of a bin, in the GPU memory of the rank that owns the bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRun {
    /// Index of the first line of the run.
    pub first: u32,
    /// Number of lines in the run.
    pub lines: u32,
}

/// The memory for lines (groups of 64 edges) on all GPUs, as used by one rank.
#[derive(Debug)]
pub struct DeviceLines {
    /// Number of 32-bit words of a line (group of 64 edges).
    words: usize,
    /// GPU memory for the edges of this rank's own bins, in lines (groups of 64 edges).
    lines: DeviceSlice<u32>,
    /// For each rank, the part of that rank's GPU memory to which this rank writes.
    parts: Vec<PeerLines>,
    /// GPU queue for copying lines (groups of 64 edges) back to the host.
    queue: Queue,
}

#[derive(Debug)]
struct PeerLines {
    lines: DeviceSlice<u32>,
    /// Index of the part's first line (group of 64 edges) in the owning rank's memory.
    first: u64,
    used: AtomicU64,
}

impl DeviceLines {
    /// Makes the `DeviceLines` of rank `rank`. `lines` lists the GPU memory of each rank for lines (groups of 64
    /// edges). A line has `words` 32-bit words.
    pub fn new(lines: &[DeviceSlice<u32>], words: usize, rank: usize, queue: Queue) -> DeviceLines {
        let (ranks, line_words) = (lines.len() as u64, words as u64);
        let part = |room: &DeviceSlice<u32>| {
            let each = room.len() / line_words / ranks;
            let first = each * rank as u64;
            let words = |line: u64| line * line_words;
            PeerLines { lines: room.part(words(first)..words(first + each)), first, used: AtomicU64::new(0) }
        };
        DeviceLines { words, lines: lines[rank], parts: lines.iter().map(part).collect(), queue }
    }

    /// Queues a copy of `lines` (groups of 64 edges) to the memory of `rank`. If not all of them fit, only the first
    /// ones are copied. Returns the run of copied lines.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn put(&self, queue: &Queue, rank: usize, lines: DeviceSlice<u32>) -> Result<LineRun> {
        let PeerLines { lines: room, first, used } = &self.parts[rank];
        let words = self.words as u64;
        let (all, wanted) = (room.len() / words, lines.len() / words);
        let at = used.fetch_add(wanted, Relaxed).min(all);
        let fit = wanted.min(all - at);
        if fit > 0 {
            queue.copy(lines.part(0..fit * words), room.part(at * words..(at + fit) * words))?;
        }
        Ok(LineRun { first: (first + at) as u32, lines: fit as u32 })
    }

    /// Returns the GPU memory that contains the edges of this rank's bins, for kernels to read.
    pub fn lines(&self) -> DeviceSlice<u32> {
        self.lines
    }

    /// Reads a run of this rank's own lines (groups of 64 edges) back to the host. Passes the lines to `each`, at most
    /// `most` at a time. `words` is the buffer for reading.
    ///
    /// # Errors
    /// Errors of `each`, and [`crate::Error::Lost`].
    pub fn read(
        &self,
        run: LineRun,
        most: usize,
        words: &mut Vec<u32>,
        mut each: impl FnMut(&[u32]) -> Result<()>,
    ) -> Result<()> {
        let end = (run.first + run.lines) as usize;
        for first in (run.first as usize..end).step_by(most.max(1)) {
            let range = first * self.words..end.min(first + most.max(1)) * self.words;
            words.resize(range.len(), 0);
            self.queue.read(self.lines.part(range.start as u64..range.end as u64), words)?;
            each(words)?;
        }
        Ok(())
    }
}
