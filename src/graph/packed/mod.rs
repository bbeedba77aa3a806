//! Packed (compressed) rows in host memory, for graphs whose unpacked rows do not fit there.
//!
//! A GPU reads packed rows over the bus, so halving their size also halves the transfer time. Packed rows are never
//! stored in files.

pub mod chunk;
mod half;
mod packer;

pub use self::half::{HalfPacked, pack_half};
pub use self::packer::{BlockPacker, Packer};

use self::chunk::{WORDS, unpack, unpack_row};
use crate::graph::placement::BlockSize;
use crate::memory::{Buffer, Reservation};

/// The packed rows of one half of a graph, block after block.
#[derive(Debug)]
pub struct PackedRows {
    blocks: Vec<BlockOffsets>,
    /// The [chunks](chunk) of all rows, [`WORDS`] 32-bit words each.
    chunks: Buffer<u32>,
    _reserved: Reservation,
}

/// Positions, in units of chunks, of the rows of one packed block.
#[derive(Debug)]
struct BlockOffsets {
    /// Number of chunks in the blocks before this block.
    before: u64,
    /// Index of the first chunk of each row, relative to the block, followed by the end of the last row.
    starts: Vec<u32>,
    entries: u64,
    _reserved: Reservation,
}

/// A view of a block of packed rows.
#[derive(Debug, Clone, Copy)]
pub struct PackedBlock<'a> {
    /// Index of the first chunk of each row, relative to the block, followed by the end of the last row.
    pub starts: &'a [u32],
    /// Chunks (groups of packed neighbours) of the block, as 32-bit words.
    pub chunks: &'a [u32],
}

impl PackedRows {
    /// Returns a view of the packed block `b`.
    pub fn block(&self, b: usize) -> PackedBlock<'_> {
        let BlockOffsets { before, starts, .. } = &self.blocks[b];
        let chunks = starts.last().map_or(0, |&end| end as usize);
        let from = *before as usize * WORDS;
        PackedBlock { starts, chunks: &self.chunks[from..from + chunks * WORDS] }
    }

    /// Returns the number of rows and of entries of every packed block.
    pub fn sizes(&self) -> Vec<BlockSize> {
        let size = |block: &BlockOffsets| BlockSize { rows: block.starts.len() as u64 - 1, entries: block.entries };
        self.blocks.iter().map(size).collect()
    }

    /// Returns the chunks (groups of packed neighbours) of all blocks, as 32-bit words.
    pub fn words(&self) -> &[u32] {
        &self.chunks
    }

    /// Returns the size in bytes of all chunks and of the row starts.
    pub fn bytes(&self) -> u64 {
        let starts: usize = self.blocks.iter().map(|block| block.starts.len()).sum();
        4 * (starts + self.chunks.len()) as u64
    }

    /// Returns the number of chunks (groups of packed neighbours) of all blocks.
    pub fn chunks(&self) -> u64 {
        (self.chunks.len() / WORDS) as u64
    }
}

impl<'a> PackedBlock<'a> {
    /// Returns the chunks of row `local` of the block (0-based), as 32-bit words.
    pub fn row(&self, local: usize) -> &'a [u32] {
        &self.chunks[self.starts[local] as usize * WORDS..self.starts[local + 1] as usize * WORDS]
    }

    /// Unpacks the neighbours of row `local` of the block (0-based), and appends them to `row`.
    pub fn unpack(&self, local: usize, row: &mut Vec<u32>) {
        row.extend(unpack_row(self.row(local)));
    }

    /// Whether row `local` of the block (0-based) contains `neighbour`.
    pub fn contains(&self, local: usize, neighbour: u32) -> bool {
        let (chunks, _) = self.row(local).as_chunks::<WORDS>();
        let after = chunks.partition_point(|chunk| chunk[0] <= neighbour);
        after > 0 && unpack(chunks[after - 1]).any(|other| other == neighbour)
    }
}
