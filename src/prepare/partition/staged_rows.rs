//! Sorted rows that are kept in the memory of their bins until the block is written.
//!
//! An edge occupies 6 bytes in a bin and at most 4 in a row; with a weight, 10 and at most 8. So rows rarely need more
//! memory than their bin, and a rank that sorts needs little more memory than the bins of the remaining blocks.

use crate::error::Result;
use crate::memory::bytes_of;
use crate::store::map::as_u32;
use crate::store::scratch::ScratchFile;
use memmap2::Mmap;

/// The sorted rows of a bin, as a sequence of 32-bit words: the row lengths, followed by the targets and the weights.
#[derive(Debug)]
pub struct StagedRows<'a> {
    /// Chunks of memory of the block's bins. They contain the words of the rows except those in `tail`.
    chunks: Vec<&'a mut [u32]>,
    /// The last words of the sorted rows, if the chunks are too small for all words.
    tail: Tail,
    /// Numbers of elements in the three parts of the sorted rows: row lengths, targets and weights.
    numbers: [usize; 3],
}

/// The last words of a bin's sorted rows, if the chunks of the block's bins are too small for all words.
#[derive(Debug)]
enum Tail {
    InMemory(Vec<u32>),
    Spilled(Mmap),
}

impl Tail {
    fn words(&self) -> &[u32] {
        match self {
            Tail::InMemory(words) => words,
            Tail::Spilled(map) => as_u32(map).unwrap_or_default(),
        }
    }
}

impl<'a> StagedRows<'a> {
    /// Copies `rows` (lengths, targets and, if any, weights) to `chunks`. Words that do not fit there stay in other
    /// memory if there are at most `own` of them; otherwise they are spilled.
    ///
    /// # Errors
    /// Errors of the spill file.
    pub(super) fn new(
        mut chunks: Vec<&'a mut [u32]>,
        rows: [&[u32]; 3],
        own: usize,
        spill: &ScratchFile,
    ) -> Result<Self> {
        let numbers = rows.map(<[u32]>::len);
        let mut places = chunks.iter_mut();
        let mut place: &mut [u32] = &mut [];
        let rest = rows.map(|mut words| {
            while !words.is_empty() {
                if place.is_empty() {
                    let Some(next) = places.next() else { break };
                    place = next;
                }
                let (now, later) = words.split_at(words.len().min(place.len()));
                let (taken, left) = std::mem::take(&mut place).split_at_mut(now.len());
                taken.copy_from_slice(now);
                (words, place) = (later, left);
            }
            words
        });
        let words: usize = rest.iter().map(|rest| rest.len()).sum();
        let tail = match words > own {
            true => Tail::Spilled(spill.map(spill.append(&rest.map(bytes_of))?, 4 * words)?),
            false => Tail::InMemory(rest.concat()),
        };
        Ok(StagedRows { chunks, tail, numbers })
    }

    /// Discards the rows, and returns their chunks.
    pub(super) fn into_chunks(self) -> Vec<&'a mut [u32]> {
        self.chunks
    }

    /// Iterates over the chunks, and yields three slices for each: the row lengths, the targets and the weights that
    /// the chunk contains.
    pub fn pieces(&self) -> impl Iterator<Item = [&[u32]; 3]> {
        let mut left = self.numbers;
        self.chunks.iter().map(|chunk| &**chunk).chain([self.tail.words()]).map(move |mut rest| {
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
    use crate::graph::{DegreeRuns, Layout};
    use crate::prepare::partition::{BinLines, BinReader, Partition, WORDS};

    #[test]
    fn rows_come_back_from_chunks_of_bins_that_were_read_from_memory_and_from_the_disk() {
        let layout = Layout::with_target(&DegreeRuns::new(vec![(3, 100)]), u64::MAX);
        let bins = layout.bins(u64::MAX);
        let folder = tempfile::tempdir().expect("a folder");
        let mut memory = vec![7; 5 * WORDS];
        let partition =
            Partition::new(&bins, &[true], false, &mut memory, 1, &folder.path().join("spill"), None).expect("made");
        let values = |from: u32, len: usize| (from..).take(len).collect::<Vec<u32>>();
        let take = || partition.pool.lock().take(0).expect("a chunk");
        let mut staged = Vec::new();
        // For each bin: its chunks, the numbers of lengths, targets and weights, the words that do not fit, and whether
        // these are spilled.
        for (chunks, numbers, tail, spilled) in [
            (2, [WORDS - 2, 2, 0], 0, false),
            (0, [0, 0, 0], 0, false),
            (2, [WORDS, WORDS, WORDS], 0, false),
            (0, [3, 2, 1], 6, true),
            (0, [3, 0, 0], 3, false),
            (1, [WORDS - 1, 3, 1], 3, false),
            (0, [0, 1, WORDS], WORDS + 1, true),
        ] {
            let part = BinLines { chunks: (0..chunks).map(|_| take()).collect(), ..BinLines::default() };
            let mut first = 0;
            let rows = numbers.map(|number| {
                first += 1000;
                values(first, number)
            });
            let bin = BinReader { partition: &partition, part, block: 0 };
            let of_bin = bin.stage(rows.each_ref().map(Vec::as_slice)).expect("staged");
            let (words, is_spilled) = (of_bin.tail.words().len(), matches!(of_bin.tail, Tail::Spilled(_)));
            assert_eq!((words, is_spilled), (tail, spilled), "{numbers:?} in {chunks} chunks");
            staged.push((of_bin, rows));
        }
        assert!(partition.pool.lock().read[0].is_empty(), "all are in use");
        for (staged, rows) in &staged {
            let pieces: Vec<[&[u32]; 3]> = staged.pieces().collect();
            for (i, row) in rows.iter().enumerate() {
                assert_eq!(&pieces.iter().map(|piece| piece[i]).collect::<Vec<_>>().concat(), row);
            }
        }
    }
}
