//! Placement of a graph's blocks in the memory of GPUs. On each GPU, the offsets of all its blocks come first, and
//! their targets follow.

use crate::gpu::{DeviceSlice, slice_bytes};

/// Size of a block: its numbers of rows and of entries (neighbours in rows).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSize {
    /// Number of rows.
    pub rows: u64,
    /// Number of entries (neighbours in rows).
    pub entries: u64,
}

/// Assigns each block to a rank, and returns the ranks. Each rank gets consecutive blocks with about the same total
/// weight; `parts` has the weight of each block.
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
    /// Start of each row in `targets`, and the end of the last row: one word more than there are rows.
    pub offsets: DeviceSlice<u32>,
    /// Neighbours of all rows, row after row.
    pub targets: DeviceSlice<u32>,
}

/// Addresses of all blocks of a graph, each in the memory of this GPU or of another rank's GPU.
#[derive(Debug, Clone, Default)]
pub struct Placement(Vec<DeviceBlock>);

impl Placement {
    /// Places blocks in the memory of GPUs; `sizes` are their sizes, and block `b` belongs to rank `ranks[b]`.
    /// `slice(rank, at, words)` must return the slice of `words` words from byte `at` on in the memory of that rank's
    /// GPU.
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

    /// Returns the bytes of GPU memory that blocks of these `sizes` take.
    pub fn bytes(sizes: impl Iterator<Item = BlockSize>) -> u64 {
        sizes.map(|size| slice_bytes::<u32>(size.rows + 1) + slice_bytes::<u32>(size.entries)).sum()
    }

    /// Returns the addresses of the offsets and targets of block `b`.
    pub fn of(&self, b: usize) -> DeviceBlock {
        self.0[b]
    }
}
