//! Placement of a graph's blocks in the memory of GPUs. On each GPU, the row offsets of all its blocks come first,
//! followed by their targets.

use crate::gpu::{DeviceSlice, slice_bytes};

/// Size of a block: number of rows, and number of entries (neighbours in rows).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSize {
    /// Number of rows of the block.
    pub rows: u64,
    /// Number of entries (neighbours in rows) of the block.
    pub entries: u64,
}

/// Assigns each block to an MPI rank, and returns the rank of each block. `parts` contains the cost of each block, such
/// as its number of entries. Each rank gets consecutive blocks, and all ranks get about the same total cost.
pub fn assign_ranks(parts: &[f64], ranks: usize) -> Vec<usize> {
    let total = parts.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut before = 0.0;
    let rank = |&part: &f64| {
        let middle = before + part / 2.0;
        before += part;
        ((middle / total * ranks as f64) as usize).min(ranks - 1)
    };
    parts.iter().map(rank).collect()
}

/// A block in the memory of a GPU.
#[derive(Debug, Clone, Copy)]
pub struct DeviceBlock {
    /// Start of each row in `targets`, followed by the end of the last row (rows + 1 elements).
    pub offsets: DeviceSlice<u32>,
    /// Neighbours in all rows of the block, row after row.
    pub targets: DeviceSlice<u32>,
}

/// GPU addresses of all blocks of a graph. Each block is in the memory of this rank's GPU or of another rank's.
#[derive(Debug, Clone, Default)]
pub struct Placement(Vec<DeviceBlock>);

impl Placement {
    /// Assigns GPU addresses to blocks of the given `sizes`; block `b` is placed on the GPU of rank `ranks[b]`.
    /// `slice(rank, at, words)` must return the slice of `words` 32-bit words that begins at byte `at` of that GPU's
    /// memory.
    pub fn new(
        sizes: &[BlockSize],
        ranks: &[u32],
        mut slice: impl FnMut(u32, u64, u64) -> DeviceSlice<u32>,
    ) -> Placement {
        let nowhere = DeviceBlock { offsets: DeviceSlice::default(), targets: DeviceSlice::default() };
        let mut placed = vec![nowhere; sizes.len()];
        let end = ranks.iter().max().map_or(0, |&most| most + 1);
        for rank in 0..end {
            let blocks: Vec<usize> = (0..sizes.len()).filter(|&b| ranks[b] == rank).collect();
            let mut at = 0;
            let mut next = |words: u64| {
                let piece = slice(rank, at, words);
                at += slice_bytes::<u32>(words);
                piece
            };
            blocks.iter().for_each(|&b| placed[b].offsets = next(sizes[b].rows + 1));
            blocks.iter().for_each(|&b| placed[b].targets = next(sizes[b].entries));
        }
        Placement(placed)
    }

    /// Returns the number of bytes of GPU memory that blocks of these `sizes` occupy.
    pub fn bytes(sizes: impl Iterator<Item = BlockSize>) -> u64 {
        sizes.map(|size| slice_bytes::<u32>(size.rows + 1) + slice_bytes::<u32>(size.entries)).sum()
    }

    /// Returns the GPU addresses of the row offsets and of the targets of block `b`.
    pub fn of(&self, b: usize) -> DeviceBlock {
        self.0[b]
    }
}
