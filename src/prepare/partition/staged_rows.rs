//! Keeps sorted rows in the memory of the bins that they come from, until their block is written.
//!
//! An edge takes 6 bytes in a bin and at most 4 in a row, so a block's rows rarely need memory of their own. A rank that sorts then holds
//! nothing but the bins of the blocks to come.

use super::Partition;
use crate::memory::discard;
use std::sync::PoisonError;

/// The lengths of some rows and then their targets, in chunks.
#[derive(Debug)]
pub struct StagedRows<'a> {
    chunks: Vec<&'a mut [u32]>,
    lengths: usize,
    targets: usize,
}

impl<'a> Partition<'a> {
    /// Copies rows into chunks of bins of `block` that were read. Returns `None` if there are too few of these.
    pub fn stage(&self, block: usize, lengths: &[u32], targets: &[u32]) -> Option<StagedRows<'a>> {
        let count = (lengths.len() + targets.len()).div_ceil(self.chunk);
        let mut chunks = {
            let read = &mut self.pool.lock().unwrap_or_else(PoisonError::into_inner).read[block];
            // The last chunks are the most recently used.
            read.split_off(read.len().checked_sub(count)?)
        };
        let mut at = 0;
        for mut words in [lengths, targets] {
            while !words.is_empty() {
                let room = &mut chunks[at / self.chunk][at % self.chunk..];
                let (now, later) = words.split_at(words.len().min(room.len()));
                room[..now.len()].copy_from_slice(now);
                (words, at) = (later, at + now.len());
            }
        }
        Some(StagedRows { chunks, lengths: lengths.len(), targets: targets.len() })
    }

    /// Gives the memory of block `block` back to the system, once it is written and its rows are no longer needed. It is given back in one
    /// call, so that whole huge pages are freed.
    pub fn release(&self, block: usize, rows: Vec<StagedRows<'a>>) {
        let mut chunks = std::mem::take(&mut self.pool.lock().unwrap_or_else(PoisonError::into_inner).read[block]);
        chunks.extend(rows.into_iter().flat_map(|rows| rows.chunks));
        discard(chunks);
    }
}

impl StagedRows<'_> {
    /// Iterates over the rows in pieces: lengths, and targets.
    pub fn pieces(&self) -> impl Iterator<Item = (&[u32], &[u32])> {
        let (mut lengths, mut targets) = (self.lengths, self.targets);
        self.chunks.iter().map(move |chunk| {
            let (first, rest) = chunk.split_at(lengths.min(chunk.len()));
            let second = &rest[..targets.min(rest.len())];
            (lengths, targets) = (lengths - first.len(), targets - second.len());
            (first, second)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::layout::Layout;
    use crate::graph::order::DegreeRuns;
    use crate::prepare::partition::WORDS;

    #[test]
    fn rows_come_back_as_they_were_shelved_and_only_chunks_that_were_read_are_used() {
        let layout = Layout::with_target(&DegreeRuns::new(vec![(3, 100)]), u64::MAX);
        let bins = layout.bins(u64::MAX);
        let folder = tempfile::tempdir().expect("a folder");
        let mut memory = vec![7; 5 * WORDS];
        let partition =
            Partition::new(&bins, &[true], &mut memory, 1, &folder.path().join("spill"), None).expect("made");
        let values = |from: u32, len: usize| (from..).take(len).collect::<Vec<u32>>();
        assert!(partition.stage(0, &[1], &[2]).is_none(), "no chunk was read yet");
        let take = || partition.pool.lock().expect("no panic").take(0).expect("a chunk");
        let read: Vec<_> = (0..5).map(|_| take()).collect();
        partition.pool.lock().expect("no panic").read[0].extend(read);
        let mut staged = Vec::new();
        for (lengths, targets) in [(WORDS - 1, 2), (0, 0), (WORDS + 3, 0), (0, WORDS)] {
            let (lengths, targets) = (values(1000, lengths), values(5000, targets));
            let rows = partition.stage(0, &lengths, &targets).expect("room");
            staged.push((rows, lengths, targets));
        }
        assert!(partition.stage(0, &[1], &[]).is_none(), "all are in use");
        for (rows, lengths, targets) in &staged {
            let (of, at): (Vec<&[u32]>, Vec<&[u32]>) = rows.pieces().unzip();
            assert_eq!((&of.concat(), &at.concat()), (lengths, targets));
        }
    }
}
