//! Keeps sorted rows in the memory of the bins that they come from, until their block is written.
//!
//! An edge takes 6 bytes in a bin and at most 4 in a row, with a weight 10 and at most 8, so a block's rows rarely need memory of their own. A rank that sorts then holds
//! nothing but the bins of the blocks to come.

use super::Partition;
use crate::memory::discard;
use std::sync::PoisonError;

/// The lengths of some rows, then their targets, then the weights of these, in chunks.
#[derive(Debug)]
pub struct StagedRows<'a> {
    chunks: Vec<&'a mut [u32]>,
    /// The number of each.
    numbers: [usize; 3],
}

impl<'a> Partition<'a> {
    /// Copies rows into chunks of bins of `block` that were read: lengths, targets and, if there are some, weights. Returns `None` if there
    /// are too few chunks.
    pub fn stage(&self, block: usize, rows: [&[u32]; 3]) -> Option<StagedRows<'a>> {
        let numbers = rows.map(<[u32]>::len);
        let count = numbers.iter().sum::<usize>().div_ceil(self.chunk);
        let mut chunks = {
            let read = &mut self.pool.lock().unwrap_or_else(PoisonError::into_inner).read[block];
            // The last chunks are the most recently used.
            read.split_off(read.len().checked_sub(count)?)
        };
        let mut at = 0;
        for mut words in rows {
            while !words.is_empty() {
                let room = &mut chunks[at / self.chunk][at % self.chunk..];
                let (now, later) = words.split_at(words.len().min(room.len()));
                room[..now.len()].copy_from_slice(now);
                (words, at) = (later, at + now.len());
            }
        }
        Some(StagedRows { chunks, numbers })
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
    /// Iterates over the rows in pieces: lengths, targets and weights.
    pub fn pieces(&self) -> impl Iterator<Item = [&[u32]; 3]> {
        let mut left = self.numbers;
        self.chunks.iter().map(move |chunk| {
            let mut rest = &**chunk;
            left.each_mut().map(|left| {
                let (piece, behind) = rest.split_at(rest.len().min(*left));
                *left -= piece.len();
                rest = behind;
                piece
            })
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
            Partition::new(&bins, &[true], false, &mut memory, 1, &folder.path().join("spill"), None).expect("made");
        let values = |from: u32, len: usize| (from..).take(len).collect::<Vec<u32>>();
        assert!(partition.stage(0, [&[1], &[2], &[]]).is_none(), "no chunk was read yet");
        let take = || partition.pool.lock().expect("no panic").take(0).expect("a chunk");
        let read: Vec<_> = (0..5).map(|_| take()).collect();
        partition.pool.lock().expect("no panic").read[0].extend(read);
        let mut staged = Vec::new();
        for numbers in [[WORDS - 1, 2, 0], [0, 0, 0], [WORDS - 1, 3, 1], [0, 1, WORDS - 1]] {
            let mut first = 0;
            let rows = numbers.map(|number| {
                first += 1000;
                values(first, number)
            });
            staged.push((partition.stage(0, rows.each_ref().map(Vec::as_slice)).expect("room"), rows));
        }
        assert!(partition.stage(0, [&[1], &[], &[]]).is_none(), "all are in use");
        for (staged, rows) in &staged {
            let pieces: Vec<[&[u32]; 3]> = staged.pieces().collect();
            for (i, row) in rows.iter().enumerate() {
                assert_eq!(&pieces.iter().map(|piece| piece[i]).collect::<Vec<_>>().concat(), row);
            }
        }
    }
}
