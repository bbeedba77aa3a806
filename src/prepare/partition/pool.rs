//! The memory of the bins, divided into chunks: a bin grows by one chunk at a time. Bins of the same block get adjacent
//! chunks.

use crate::memory::HUGE;

/// Pool of free chunks. A chunk is memory for a fixed number of edges.
#[derive(Debug)]
pub(super) struct Pool<'a> {
    /// Free slabs. A slab is memory for several adjacent chunks, of whole huge pages if possible.
    slabs: Vec<&'a mut [u32]>,
    /// For each block, the free chunks of its latest slab. The chunks of a block are adjacent, so that whole huge pages
    /// can be released once the block is sorted.
    open: Vec<Vec<&'a mut [u32]>>,
    /// For each block, the chunks whose edges were read, so that the chunks can be reused.
    pub(super) read: Vec<Vec<&'a mut [u32]>>,
    /// For each block, the remainders of its slabs that are too short for a chunk.
    tails: Vec<Vec<&'a mut [u32]>>,
    /// Number of free chunks of memory in `slabs` and `open`.
    pub(super) left: usize,
    /// Number of wanted bins without a chunk. One chunk is reserved for each of these bins. In a sorted input, the
    /// first bins use all other chunks long before the first edge of the last bins is read.
    pub(super) waiting: usize,
    /// Number of 32-bit words of a chunk. `per_slab` is the number of chunks in a slab.
    chunk: usize,
    per_slab: usize,
    /// Number of 32-bit words that [`Self::adopt`] may still add.
    expected: usize,
}

impl<'a> Pool<'a> {
    /// Divides `memory` into chunks of `chunk` 32-bit words, for the bins of `blocks` blocks; `waiting` is the number
    /// of wanted bins.
    pub(super) fn new(memory: &'a mut [u32], chunk: usize, blocks: usize, waiting: usize) -> Self {
        let lists = || (0..blocks).map(|_| Vec::new()).collect();
        let (open, read, tails) = (lists(), lists(), lists());
        let mut pool = Pool { slabs: Vec::new(), open, read, tails, left: 0, waiting, chunk, per_slab: 1, expected: 0 };
        pool.plan_slabs(memory.len() / chunk);
        pool.add(memory);
        pool
    }

    /// Chooses the number of chunks per slab. It is the smallest number that fills whole huge pages, or fewer if the
    /// pool's `chunks` chunks are too few for eight such slabs per block.
    fn plan_slabs(&mut self, chunks: usize) {
        let whole = ((HUGE / 4) >> self.chunk.trailing_zeros()).max(1);
        self.per_slab = whole.min(chunks / (8 * self.open.len().max(1))).max(1);
    }

    /// Divides `memory` into slabs. The last slab includes the remainder that is too short for a chunk.
    fn add(&mut self, memory: &'a mut [u32]) {
        let (chunks, slab) = (memory.len() / self.chunk, self.per_slab * self.chunk);
        let (slabs, last) = memory.split_at_mut(chunks.saturating_sub(1) / self.per_slab * slab);
        self.slabs.extend(slabs.chunks_exact_mut(slab).chain([last]).rev());
        self.left += chunks;
    }

    /// Announces that [`Self::adopt`] will add up to `words` 32-bit words of memory to the pool.
    pub(super) fn expect(&mut self, words: usize) {
        self.expected = words;
        self.plan_slabs(self.left + words / self.chunk);
    }

    /// Adds announced memory to the pool. Bins use it before other memory, because the kernel has already allocated its
    /// pages. Returns the memory if the pool does not need it.
    pub(super) fn adopt<'m: 'a>(&mut self, memory: &'m mut [u32]) -> Option<&'m mut [u32]> {
        if memory.len() > self.expected || memory.len() < self.chunk {
            return Some(memory);
        }
        self.expected -= memory.len();
        self.add(memory);
        None
    }

    /// Returns a chunk for a bin of `block`; `None` if there is no free chunk. The chunk comes from the block's current
    /// slab or a free slab. If there is neither, it comes from the current slab of any block.
    pub(super) fn take(&mut self, block: usize) -> Option<&'a mut [u32]> {
        if self.open[block].is_empty()
            && let Some(slab) = self.slabs.pop()
        {
            let (chunks, tail) = slab.split_at_mut(slab.len() / self.chunk * self.chunk);
            self.open[block].extend(chunks.chunks_exact_mut(self.chunk).rev());
            self.tails[block].push(tail);
        }
        let taken = self.open[block].pop().or_else(|| self.open.iter_mut().find_map(Vec::pop));
        self.left -= usize::from(taken.is_some());
        taken
    }

    /// Removes from the pool, and returns, the memory of `block` whose edges were read. When all edges of the block
    /// were read, this is whole slabs.
    pub(super) fn take_read(&mut self, block: usize) -> Vec<&'a mut [u32]> {
        let mut read = std::mem::take(&mut self.read[block]);
        read.append(&mut self.tails[block]);
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_takes_its_own_slab_then_any() {
        let mut memory: Vec<u32> = (0..12).collect();
        let mut pool = Pool::new(&mut [], 2, 2, 0);
        pool.per_slab = 2;
        pool.add(&mut memory);
        // Chunks have two words. Two blocks take chunks alternately; the chunks of each block must be adjacent.
        let mut take = |block| pool.take(block).map(|chunk| chunk[0]);
        assert_eq!([take(0), take(1), take(0), take(1)], [Some(0), Some(4), Some(2), Some(6)]);
        // Block 0 gets the last slab; block 1 then gets the rest of that slab.
        assert_eq!([take(0), take(1), take(1)], [Some(8), Some(10), None]);
        assert_eq!(pool.left, 0);
    }

    #[test]
    fn no_more_is_adopted_than_was_expected_and_what_was_comes_first() {
        let mut memory: Vec<u32> = (0..30).collect();
        let (own, others) = memory.split_at_mut(4);
        let mut pool = Pool::new(own, 2, 1, 0);
        pool.expect(21);
        let handed_back: Vec<u32> =
            others.chunks_mut(7).filter_map(|memory| pool.adopt(memory)).map(|memory| memory[0]).collect();
        assert_eq!(handed_back, [25], "three of seven words fit, and then no more");
        assert_eq!(pool.left, 2 + 3 * 3);
        let mut taken: Vec<u32> = std::iter::from_fn(|| pool.take(0).map(|chunk| chunk[0])).collect();
        assert!(taken[0] >= 4);
        taken.sort_unstable();
        assert_eq!(taken, [0, 2, 4, 6, 8, 11, 13, 15, 18, 20, 22]);
        assert!(pool.adopt(&mut [0]).is_some());
    }
}
