//! Lines of bins in the memory of GPUs, this rank's and those of ranks it reaches: they are neither copied to the host nor sent by it.
//! Every rank has room for lines of its own bins, with a part for each rank that fills it, so that none waits for another.

use crate::error::Result;
use crate::gpu::{DeviceSlice, Queue};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Consecutive lines in the memory of the rank that has their bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRun {
    /// Index of the first line.
    pub first: u32,
    /// Number of lines.
    pub lines: u32,
}

/// The lines in the memory of all GPUs, as one rank sees them.
#[derive(Debug)]
pub struct DeviceLines {
    /// Words of a line.
    words: usize,
    /// The lines of this rank's own bins.
    lines: DeviceSlice<u32>,
    /// The part that this rank fills of each rank's lines, by rank.
    parts: Vec<PeerLines>,
    /// The queue on which lines are read back.
    queue: Queue,
}

#[derive(Debug)]
struct PeerLines {
    lines: DeviceSlice<u32>,
    /// Index of the first line of this part in all of that rank's lines.
    first: u64,
    used: AtomicU64,
}

impl DeviceLines {
    /// Takes memory for whole lines of `words` words, by rank, which rank `rank` of them writes to and reads from.
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

    /// Queues copies of whole `lines` to the memory of `rank`. Returns where the first will be, and how many found room.
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

    /// Returns the lines of this rank's bins, as kernels read them.
    pub fn lines(&self) -> DeviceSlice<u32> {
        self.lines
    }

    /// Hands a run of this rank's own lines to `each`, at most `most` lines at a time, by way of `words`.
    ///
    /// # Errors
    /// Those of `each`, [`crate::Error::Lost`].
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
