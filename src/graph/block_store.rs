//! All blocks of one half of a prepared graph, stored in files, in host memory (packed or not), or in GPU memory.

use super::csr::Block;
use super::half::Half;
use super::host_block::{HostBlock, MemoryBlock, RemoteBlock};
use super::layout::Layout;
use super::packed::PackedRows;
use super::placement::{BlockSize, Placement};
use super::stored::{StoredBlock, body_bytes};
use super::weights::stored::{GraphWeights, StoredWeights};
use crate::error::Result;
use crate::memory::{Budget, Reservation};
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;

/// The blocks of one half of a graph, in the order of their rows.
#[derive(Debug)]
pub struct BlockStore {
    /// Division of a graph's rows into blocks.
    pub layout: Layout,
    /// Number of rows and of entries (neighbours) of each block.
    sizes: Vec<BlockSize>,
    first_rows: Vec<u32>,
    blocks: Backing,
    /// Weights of each block; empty if edges have no weights or no task reads them.
    weights: Vec<StoredWeights>,
}

#[derive(Debug)]
enum Backing {
    InFiles(Vec<StoredBlock>),
    InMemory {
        blocks: Vec<MemoryBlock>,
        /// True if all blocks are in this process.
        alone: bool,
        /// Memory that [`BlockStore::reserve`] reserved for the blocks, if they were allocated without a reservation.
        reserved: Option<Reservation>,
    },
    OnGpus(Placement),
    Packed(PackedRows),
}

impl BlockStore {
    /// Opens all blocks of one half of a graph, whose files are in `folder`. `key` identifies the graph.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] for the first block that is missing or incomplete; [`crate::Error::Io`].
    pub fn open(folder: &Path, key: u64, half: Half, layout: Layout) -> Result<Self> {
        let blocks = (0..layout.blocks()).map(|b| StoredBlock::open(folder, key, half, &layout, b));
        let blocks = blocks.collect::<Result<Vec<_>>>()?;
        let sizes = blocks.iter().map(|block| size_of(block.block())).collect();
        Ok(BlockStore::of(layout, sizes, Backing::InFiles(blocks)))
    }

    fn of(layout: Layout, sizes: Vec<BlockSize>, blocks: Backing) -> Self {
        BlockStore { first_rows: first_rows(&layout), sizes, blocks, layout, weights: Vec::new() }
    }

    /// Opens the weights files of all blocks in `folder`, unless `weights` is `None`. The blocks must be in files
    /// there, too.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] for the first file that is missing or incomplete; [`crate::Error::Io`].
    pub fn with_weights(mut self, folder: &Path, half: Half, weights: Option<GraphWeights>) -> Result<Self> {
        let open = |(weights, b)| StoredWeights::open(folder, weights, half, &self.layout, b, self.sizes[b].entries);
        let of_all = weights.into_iter().flat_map(|weights| (0..self.len()).map(move |b| (weights, b)));
        self.weights = of_all.map(open).collect::<Result<Vec<_>>>()?;
        Ok(self)
    }

    /// Makes a store of `blocks` that exist only in host memory; `sizes` are their sizes. If `alone` is true, all
    /// blocks are in this process. Otherwise some are in other processes of this machine.
    pub fn in_memory(layout: Layout, sizes: Vec<BlockSize>, blocks: Vec<MemoryBlock>, alone: bool) -> Self {
        BlockStore::of(layout, sizes, Backing::InMemory { blocks, alone, reserved: None })
    }

    /// Reserves memory for the blocks, if they are in host memory and were allocated without a reservation.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn reserve(&mut self, budget: &Budget) -> Result<()> {
        let bytes = self.sizes.iter().map(|size| HostBlock::bytes(size.rows, size.entries)).sum();
        if let Backing::InMemory { reserved, .. } = &mut self.blocks {
            *reserved = Some(budget.reserve(bytes, "rows that stay in memory")?);
        }
        Ok(())
    }

    /// Whether the blocks are unpacked and in host memory, of this process or of others.
    pub fn is_in_memory(&self) -> bool {
        matches!(self.blocks, Backing::InMemory { .. })
    }

    /// Whether the blocks of the graph are in files.
    pub fn is_in_files(&self) -> bool {
        matches!(self.blocks, Backing::InFiles(_))
    }

    /// Makes a store of blocks that exist only in GPU memory; `sizes` are their sizes, and `placement` their addresses.
    pub fn on_gpus(layout: Layout, sizes: Vec<BlockSize>, placement: Placement) -> Self {
        BlockStore::of(layout, sizes, Backing::OnGpus(placement))
    }

    /// Makes a store of packed (compressed) rows, which exist only in host memory.
    pub fn of_packed(layout: Layout, rows: PackedRows) -> Self {
        BlockStore::of(layout, rows.sizes(), Backing::Packed(rows))
    }

    /// Removes and returns the blocks in this process's memory, and the reservation of [`Self::reserve`]. Afterwards
    /// only sizes can be read from the store.
    pub fn take_blocks(&mut self) -> (Vec<HostBlock>, Option<Reservation>) {
        let Backing::InMemory { blocks, reserved, .. } = &mut self.blocks else { return Default::default() };
        let local = |block| match block {
            MemoryBlock::Local(block) => Some(block),
            MemoryBlock::Remote(_) => None,
        };
        (std::mem::take(blocks).into_iter().filter_map(local).collect(), reserved.take())
    }

    /// Returns the packed rows; `None` if the rows are not packed.
    pub fn packed(&self) -> Option<&PackedRows> {
        match &self.blocks {
            Backing::Packed(rows) => Some(rows),
            _ => None,
        }
    }

    /// Returns the GPU addresses of the blocks; `None` if they are not on GPUs.
    pub fn placement(&self) -> Option<&Placement> {
        match &self.blocks {
            Backing::OnGpus(placement) => Some(placement),
            _ => None,
        }
    }

    /// Whether every process that works on the graph can read all blocks in unpacked form, from files or from its own
    /// memory. The result is the same on all ranks.
    pub fn is_local(&self) -> bool {
        match self.blocks {
            Backing::InFiles(_) => true,
            Backing::InMemory { alone, .. } => alone,
            Backing::OnGpus(_) | Backing::Packed(_) => false,
        }
    }

    /// Returns a view of block `b`. Panics unless the block is unpacked, in a file or in this process's memory. If the
    /// graph [is local](Self::is_local), this holds for all blocks.
    pub fn block(&self, b: usize) -> Block<'_> {
        match self.location(b) {
            BlockLocation::Local(block) => block,
            _ => self.stored()[b].block(),
        }
    }

    /// Returns the neighbours in row `v` of this half. The graph must [be local](Self::is_local).
    #[inline]
    pub fn row(&self, v: u32) -> &[u32] {
        let block = self.block(self.layout.block_of(v));
        block.row((v - block.first_row) as usize)
    }

    /// Iterates over a range of rows in order. Yields (row index, neighbours). The graph must [be
    /// local](Self::is_local).
    pub fn rows(&self, rows: Range<u32>) -> impl Iterator<Item = (u32, &[u32])> {
        self.blocks_of(rows.clone()).map(|b| self.block(b)).flat_map(move |block| {
            let inside = rows.start.max(block.first_row)..rows.end.min(block.end_row());
            inside.map(move |v| (v, block.row((v - block.first_row) as usize)))
        })
    }

    /// Returns the weights of all edges in block `b`, in the order of its targets. Weights are integers, bit patterns
    /// of f32, or codes of 64-bit weights. The slice is empty if the graph has no weights or was opened without them.
    pub fn weights(&self, b: usize) -> &[u32] {
        self.weights.get(b).map_or(&[], StoredWeights::weights)
    }

    /// Returns the neighbours in row `v`, and the weights of the edges to them (empty if the graph has none). The graph
    /// must [be local](Self::is_local).
    #[inline]
    pub fn weighted_row(&self, v: u32) -> (&[u32], &[u32]) {
        let b = self.layout.block_of(v);
        weighted_entries(&self.block(b), self.weights(b), v)
    }

    /// Iterates over a range of rows in order. Yields (row index, neighbours, weights of the edges to them); the
    /// weights are empty if the graph has none. The graph must [be local](Self::is_local).
    pub fn weighted_rows(&self, rows: Range<u32>) -> impl Iterator<Item = (u32, &[u32], &[u32])> {
        self.blocks_of(rows.clone()).flat_map(move |b| {
            let (block, weights) = (self.block(b), self.weights(b));
            let inside = rows.start.max(block.first_row)..rows.end.min(block.end_row());
            inside.map(move |v| {
                let (row, weights) = weighted_entries(&block, weights, v);
                (v, row, weights)
            })
        })
    }

    /// Returns the indices of the blocks that contain any of the rows `rows`.
    pub fn blocks_of(&self, rows: Range<u32>) -> impl Iterator<Item = usize> {
        let first = self.first_rows.partition_point(|&first| first <= rows.start).saturating_sub(1);
        (first..self.len()).take_while(move |&b| self.first_rows[b] < rows.end)
    }

    /// Returns the location of block `b`. The blocks must be in files or unpacked in host memory.
    pub fn location(&self, b: usize) -> BlockLocation<'_> {
        match &self.blocks {
            Backing::InMemory { blocks, .. } => match &blocks[b] {
                MemoryBlock::Local(block) => BlockLocation::Local(block.block()),
                &MemoryBlock::Remote(lent) => BlockLocation::Remote(lent),
            },
            _ => BlockLocation::InFile(&self.stored()[b]),
        }
    }

    /// Returns a view of the rows `rows` of block `b`, where 0 is the block's first row. Packed rows are unpacked into
    /// `unpacked`. The graph must be [local](Self::is_local) or packed.
    pub fn part<'u>(&'u self, b: usize, rows: Range<usize>, unpacked: &'u mut Unpacked) -> Block<'u> {
        let Backing::Packed(packed) = &self.blocks else {
            let block = self.block(b);
            let first_row = block.first_row + rows.start as u32;
            return Block { first_row, offsets: &block.offsets[rows.start..=rows.end], ..block };
        };
        let block = packed.block(b);
        let Unpacked { offsets, targets } = unpacked;
        targets.clear();
        offsets.clear();
        offsets.push(0);
        for local in rows.clone() {
            block.unpack(local, targets);
            offsets.push(targets.len() as u32);
        }
        Block { first_row: self.first_rows[b] + rows.start as u32, offsets, targets }
    }

    /// Returns the neighbours in row `row`. A packed row is unpacked into `unpacked`. The graph must be
    /// [local](Self::is_local) or packed.
    pub fn unpacked_row<'u>(&'u self, row: u32, unpacked: &'u mut Unpacked) -> &'u [u32] {
        self.row_in_block(row, unpacked).row(0)
    }

    /// Returns a view of only the row `row`. A packed row is unpacked into `unpacked`; otherwise the `targets` of the
    /// view are those of the whole block. The graph must be [local](Self::is_local) or packed.
    #[inline]
    pub fn row_in_block<'u>(&'u self, row: u32, unpacked: &'u mut Unpacked) -> Block<'u> {
        let b = self.layout.block_of(row);
        let local = (row - self.first_rows[b]) as usize;
        self.part(b, local..local + 1, unpacked)
    }

    /// Whether row `row` contains the neighbour `neighbour`. The graph must be [local](Self::is_local) or packed.
    pub fn lists(&self, row: u32, neighbour: u32) -> bool {
        match &self.blocks {
            Backing::Packed(packed) => {
                let b = self.layout.block_of(row);
                packed.block(b).contains((row - self.first_rows[b]) as usize, neighbour)
            }
            _ => self.row(row).binary_search(&neighbour).is_ok(),
        }
    }

    /// Releases the memory pages of block `b` and its weights, if these are in mapped files.
    pub fn release(&self, b: usize) {
        self.stored().get(b).into_iter().for_each(|block| block.file.release());
        self.weights.get(b).into_iter().for_each(|weights| weights.file.release());
    }

    /// Returns the size of block `b`: its number of rows and its number of entries (neighbours).
    pub fn size(&self, b: usize) -> BlockSize {
        self.sizes[b]
    }

    /// Returns the index, in the graph, of the first row of block `b`.
    pub fn first_row(&self, b: usize) -> u32 {
        self.first_rows[b]
    }

    /// Returns the number of blocks of this half of the graph.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether there are no blocks, because the graph has no edges.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Returns the total number of entries (neighbours), which is the number of distinct edges.
    pub fn edges(&self) -> u64 {
        self.sizes.iter().map(|size| size.entries).sum()
    }

    /// Returns the total size in bytes that all blocks have, or would have, in files.
    pub fn bytes(&self) -> u64 {
        (0..self.len()).map(|b| self.bytes_of(b)).sum()
    }

    /// Returns the total size in bytes of the opened weights files.
    pub fn weights_bytes(&self) -> u64 {
        self.weights.iter().map(|weights| weights.file.bytes()).sum()
    }

    /// Returns the size in bytes that block `b` has, or would have, in a file.
    pub fn bytes_of(&self, b: usize) -> u64 {
        body_bytes(self.sizes[b].rows, self.sizes[b].entries)
    }

    fn stored(&self) -> &[StoredBlock] {
        match &self.blocks {
            Backing::InFiles(blocks) => blocks,
            _ => &[],
        }
    }

    /// Returns the maximum number of entries (neighbours) and of rows of any block, and the length of the longest row.
    /// All are 0 if the graph [is not local](Self::is_local).
    pub fn extremes(&self) -> Extremes {
        let blocks = if self.is_local() { self.len() } else { 0 };
        (0..blocks).map(|b| self.block(b)).fold(Extremes::default(), |e, block| Extremes {
            entries: e.entries.max(block.targets.len() as u64),
            rows: e.rows.max(block.rows() as u64),
            row: e.row.max(block.offsets.windows(2).map(|w| u64::from(w[1] - w[0])).max().unwrap_or(0)),
        })
    }

    /// Verifies the checksums and the contents of all block files and weights files. Calls `next` before each file.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] for the first file that fails; the error of `next`.
    pub fn verify(&self, next: impl Fn() -> Result<()>) -> Result<()> {
        for block in self.stored() {
            next()?;
            block.verify()?;
            block.file.release();
        }
        for weights in &self.weights {
            next()?;
            weights.verify()?;
            weights.file.release();
        }
        Ok(())
    }
}

impl Drop for BlockStore {
    /// Frees the blocks on all threads in parallel, because unmapping gigabytes takes time.
    fn drop(&mut self) {
        if let Backing::InMemory { blocks, .. } = &mut self.blocks {
            std::mem::take(blocks).into_par_iter().for_each(drop);
        }
    }
}

/// Returns the neighbours in row `v` of `block`, and the weights of the edges to them. `weights` lists the weights of
/// the whole block, or is empty.
#[inline]
fn weighted_entries<'b>(block: &Block<'b>, weights: &'b [u32], v: u32) -> (&'b [u32], &'b [u32]) {
    let entries = block.entries((v - block.first_row) as usize);
    (&block.targets[entries.clone()], if weights.is_empty() { weights } else { &weights[entries] })
}

fn size_of(block: Block<'_>) -> BlockSize {
    BlockSize { rows: block.rows() as u64, entries: block.targets.len() as u64 }
}

fn first_rows(layout: &Layout) -> Vec<u32> {
    (0..layout.blocks()).map(|b| layout.block(b).rows.start as u32).collect()
}

/// Buffer into which packed rows are unpacked.
#[derive(Debug, Default)]
pub struct Unpacked {
    offsets: Vec<u32>,
    targets: Vec<u32>,
}

/// Location of the rows of a block.
#[derive(Debug)]
pub enum BlockLocation<'a> {
    /// The block is in a file.
    InFile(&'a StoredBlock),
    /// The block is in the host memory of this process.
    Local(Block<'a>),
    /// The block is in the host memory of another process of this machine.
    Remote(RemoteBlock),
}

/// Largest sizes over all blocks of a graph. Backends compute the size of their scratch memory from them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extremes {
    /// Maximum number of entries (neighbours) in a block.
    pub entries: u64,
    /// Maximum number of rows in a block.
    pub rows: u64,
    /// Number of entries (neighbours) in the longest row of any block.
    pub row: u64,
}
