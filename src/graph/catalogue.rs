//! All blocks of a half of a prepared graph: in files, in host memory (packed or not), or in GPU memory.

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

/// The blocks of a half of a graph, in the order of rows.
#[derive(Debug)]
pub struct Catalogue {
    /// Division of the rows into blocks.
    pub layout: Layout,
    /// Size of each block.
    sizes: Vec<BlockSize>,
    first_rows: Vec<u32>,
    blocks: BlockStorage,
    /// Weights of each block; empty if edges have none or no task reads them.
    weights: Vec<StoredWeights>,
}

#[derive(Debug)]
enum BlockStorage {
    InFiles(Vec<StoredBlock>),
    InMemory {
        blocks: Vec<MemoryBlock>,
        /// True if this process has all blocks.
        alone: bool,
        /// Reservation for blocks that were allocated without one.
        reserved: Option<Reservation>,
    },
    OnGpus(Placement),
    Packed(PackedRows),
}

impl Catalogue {
    /// Opens all blocks of a half of the graph with key `key` in `folder`.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] for the first block that is missing or incomplete; [`crate::Error::Io`].
    pub fn open(folder: &Path, key: u64, half: Half, layout: Layout) -> Result<Self> {
        let blocks = (0..layout.blocks()).map(|b| StoredBlock::open(folder, key, half, &layout, b));
        let blocks = blocks.collect::<Result<Vec<_>>>()?;
        let sizes = blocks.iter().map(|block| size_of(block.block())).collect();
        Ok(Catalogue::of(layout, sizes, BlockStorage::InFiles(blocks)))
    }

    fn of(layout: Layout, sizes: Vec<BlockSize>, blocks: BlockStorage) -> Self {
        Catalogue { first_rows: first_rows(&layout), sizes, blocks, layout, weights: Vec::new() }
    }

    /// Opens the weights of all blocks, if `weights` are given. The half must be in files in `folder`.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] for the first file that is missing or incomplete; [`crate::Error::Io`].
    pub fn with_weights(mut self, folder: &Path, half: Half, weights: Option<GraphWeights>) -> Result<Self> {
        let open = |(weights, b)| StoredWeights::open(folder, weights, half, &self.layout, b, self.sizes[b].entries);
        let of_all = weights.into_iter().flat_map(|weights| (0..self.len()).map(move |b| (weights, b)));
        self.weights = of_all.map(open).collect::<Result<Vec<_>>>()?;
        Ok(self)
    }

    /// Makes a catalogue of `blocks` of these sizes that are only in host memory. If `alone`, all are in this process;
    /// otherwise some are in other processes of this machine.
    pub fn in_memory(layout: Layout, sizes: Vec<BlockSize>, blocks: Vec<MemoryBlock>, alone: bool) -> Self {
        Catalogue::of(layout, sizes, BlockStorage::InMemory { blocks, alone, reserved: None })
    }

    /// Reserves memory for blocks that were allocated without a reservation.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn reserve(&mut self, budget: &Budget) -> Result<()> {
        let bytes = self.sizes.iter().map(|size| HostBlock::bytes(size.rows, size.entries)).sum();
        if let BlockStorage::InMemory { reserved, .. } = &mut self.blocks {
            *reserved = Some(budget.reserve(bytes, "rows that stay in memory")?);
        }
        Ok(())
    }

    /// Whether the blocks are in memory of this process or others, and not packed.
    pub fn is_in_memory(&self) -> bool {
        matches!(self.blocks, BlockStorage::InMemory { .. })
    }

    /// Makes a catalogue of blocks of these sizes that are only in GPU memory.
    pub fn on_gpus(layout: Layout, sizes: Vec<BlockSize>, placement: Placement) -> Self {
        Catalogue::of(layout, sizes, BlockStorage::OnGpus(placement))
    }

    /// Makes a catalogue of rows that are only in host memory, packed.
    pub fn of_packed(layout: Layout, rows: PackedRows) -> Self {
        Catalogue::of(layout, rows.sizes(), BlockStorage::Packed(rows))
    }

    /// Takes out the blocks that are in memory of this process, and the reservation for blocks that were allocated
    /// without one. Afterwards only sizes can be read from the catalogue.
    pub fn take_blocks(&mut self) -> (Vec<HostBlock>, Option<Reservation>) {
        let BlockStorage::InMemory { blocks, reserved, .. } = &mut self.blocks else { return Default::default() };
        let local = |block| match block {
            MemoryBlock::Local(block) => Some(block),
            MemoryBlock::Remote(_) => None,
        };
        (std::mem::take(blocks).into_iter().filter_map(local).collect(), reserved.take())
    }

    /// Returns the packed rows, if the rows are packed.
    pub fn packed(&self) -> Option<&PackedRows> {
        match &self.blocks {
            BlockStorage::Packed(rows) => Some(rows),
            _ => None,
        }
    }

    /// Returns where the blocks are in GPU memory, if they are there.
    pub fn placement(&self) -> Option<&Placement> {
        match &self.blocks {
            BlockStorage::OnGpus(placement) => Some(placement),
            _ => None,
        }
    }

    /// Whether every process that works on the graph has all blocks, unpacked, in files or in host memory. The result
    /// is the same on all ranks.
    pub fn is_local(&self) -> bool {
        match self.blocks {
            BlockStorage::InFiles(_) => true,
            BlockStorage::InMemory { alone, .. } => alone,
            BlockStorage::OnGpus(_) | BlockStorage::Packed(_) => false,
        }
    }

    /// Returns block `b`. If the graph [is not local](Self::is_local), this process may not have it.
    pub fn block(&self, b: usize) -> Block<'_> {
        match self.location(b) {
            BlockLocation::Local(block) => block,
            _ => self.stored()[b].block(),
        }
    }

    /// Returns row `v` of this half. The graph must [be local](Self::is_local).
    #[inline]
    pub fn row(&self, v: u32) -> &[u32] {
        let block = self.block(self.layout.block_of(v));
        block.row((v - block.first_row) as usize)
    }

    /// Iterates over the rows `rows` in order, each with its number. The graph must [be local](Self::is_local).
    pub fn rows(&self, rows: Range<u32>) -> impl Iterator<Item = (u32, &[u32])> {
        self.blocks_of(rows.clone()).map(|b| self.block(b)).flat_map(move |block| {
            let inside = rows.start.max(block.first_row)..rows.end.min(block.end_row());
            inside.map(move |v| (v, block.row((v - block.first_row) as usize)))
        })
    }

    /// Returns the weights of all targets of block `b`, in the order of targets: whole numbers, or the bits of f32.
    /// Empty if the graph has no weights or was opened without them.
    pub fn weights(&self, b: usize) -> &[u32] {
        self.weights.get(b).map_or(&[], StoredWeights::weights)
    }

    /// Returns row `v`, like [`Self::row`], and the weight of the edge to each neighbour. The graph must have weights.
    #[inline]
    pub fn weighted_row(&self, v: u32) -> (&[u32], &[u32]) {
        let b = self.layout.block_of(v);
        let (block, weights) = (self.block(b), self.weights(b));
        let entries = block.entries((v - block.first_row) as usize);
        (&block.targets[entries.clone()], &weights[entries])
    }

    /// Iterates over the rows `rows`, like [`Self::rows`], each with the weight of the edge to each neighbour. The
    /// graph must have weights.
    pub fn weighted_rows(&self, rows: Range<u32>) -> impl Iterator<Item = (u32, &[u32], &[u32])> {
        self.blocks_of(rows.clone()).flat_map(move |b| {
            let (block, weights) = (self.block(b), self.weights(b));
            let inside = rows.start.max(block.first_row)..rows.end.min(block.end_row());
            inside.map(move |v| {
                let entries = block.entries((v - block.first_row) as usize);
                (v, &block.targets[entries.clone()], &weights[entries])
            })
        })
    }

    /// Returns the blocks that contain any of the rows `rows`.
    fn blocks_of(&self, rows: Range<u32>) -> impl Iterator<Item = usize> {
        let first = self.first_rows.partition_point(|&first| first <= rows.start).saturating_sub(1);
        (first..self.len()).take_while(move |&b| self.first_rows[b] < rows.end)
    }

    /// Returns the location of block `b`. The graph must not be on GPUs.
    pub fn location(&self, b: usize) -> BlockLocation<'_> {
        match &self.blocks {
            BlockStorage::InMemory { blocks, .. } => match &blocks[b] {
                MemoryBlock::Local(block) => BlockLocation::Local(block.block()),
                &MemoryBlock::Remote(lent) => BlockLocation::Remote(lent),
            },
            _ => BlockLocation::InFile(&self.stored()[b]),
        }
    }

    /// Returns the rows `rows` of block `b`, counted from the block's first row. Packed rows are unpacked into
    /// `unpacked`. The graph must be local or packed.
    pub fn part<'u>(&'u self, b: usize, rows: Range<usize>, unpacked: &'u mut Unpacked) -> Block<'u> {
        let BlockStorage::Packed(packed) = &self.blocks else {
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

    /// Returns row `row`. A packed row is unpacked into `unpacked`. The graph must be local or packed.
    pub fn unpacked_row<'u>(&'u self, row: u32, unpacked: &'u mut Unpacked) -> &'u [u32] {
        let b = self.layout.block_of(row);
        let local = (row - self.first_rows[b]) as usize;
        self.part(b, local..local + 1, unpacked).row(0)
    }

    /// Whether row `row` contains `neighbour`. The graph must be local or packed.
    pub fn lists(&self, row: u32, neighbour: u32) -> bool {
        match &self.blocks {
            BlockStorage::Packed(packed) => {
                let b = self.layout.block_of(row);
                packed.block(b).contains((row - self.first_rows[b]) as usize, neighbour)
            }
            _ => self.row(row).binary_search(&neighbour).is_ok(),
        }
    }

    /// Frees the pages of block `b` that were read, if the block is in a file.
    pub fn release(&self, b: usize) {
        self.stored().get(b).into_iter().for_each(StoredBlock::release);
        self.weights.get(b).into_iter().for_each(StoredWeights::release);
    }

    /// Returns the number of rows and of entries in block `b`.
    pub fn size(&self, b: usize) -> BlockSize {
        self.sizes[b]
    }

    /// Returns the first row of block `b`.
    pub fn first_row(&self, b: usize) -> u32 {
        self.first_rows[b]
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether there are no blocks, because the graph has no edge.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Returns the number of edges.
    pub fn edges(&self) -> u64 {
        self.sizes.iter().map(|size| size.entries).sum()
    }

    /// Returns the total bytes of all blocks.
    pub fn bytes(&self) -> u64 {
        (0..self.len()).map(|b| self.bytes_of(b)).sum()
    }

    /// Returns the bytes of all weights that are opened.
    pub fn weights_bytes(&self) -> u64 {
        self.weights.iter().map(StoredWeights::bytes).sum()
    }

    /// Returns the bytes of block `b` in its stored form.
    pub fn bytes_of(&self, b: usize) -> u64 {
        body_bytes(self.sizes[b].rows, self.sizes[b].entries)
    }

    fn stored(&self) -> &[StoredBlock] {
        match &self.blocks {
            BlockStorage::InFiles(blocks) => blocks,
            _ => &[],
        }
    }

    /// Returns the maxima over all blocks: most entries, most rows, longest row.
    pub fn extremes(&self) -> Extremes {
        let blocks = if self.is_local() { self.len() } else { 0 };
        (0..blocks).map(|b| self.block(b)).fold(Extremes::default(), |e, block| Extremes {
            entries: e.entries.max(block.targets.len() as u64),
            rows: e.rows.max(block.rows() as u64),
            row: e.row.max(block.offsets.windows(2).map(|w| u64::from(w[1] - w[0])).max().unwrap_or(0)),
        })
    }

    /// Checks the checksum and the invariants of every block and of its weights. Calls `next` before each file.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] for the first file that fails; the error of `next`.
    pub fn verify(&self, next: impl Fn() -> Result<()>) -> Result<()> {
        for block in self.stored() {
            next()?;
            block.verify()?;
            block.release();
        }
        for weights in &self.weights {
            next()?;
            weights.verify()?;
            weights.release();
        }
        Ok(())
    }
}

impl Drop for Catalogue {
    /// Frees the blocks on all threads at once, because unmapping gigabytes takes time.
    fn drop(&mut self) {
        if let BlockStorage::InMemory { blocks, .. } = &mut self.blocks {
            std::mem::take(blocks).into_par_iter().for_each(drop);
        }
    }
}

fn size_of(block: Block<'_>) -> BlockSize {
    BlockSize { rows: block.rows() as u64, entries: block.targets.len() as u64 }
}

fn first_rows(layout: &Layout) -> Vec<u32> {
    (0..layout.blocks()).map(|b| layout.block(b).rows.start as u32).collect()
}

/// Buffer into which rows are unpacked.
#[derive(Debug, Default)]
pub struct Unpacked {
    offsets: Vec<u32>,
    targets: Vec<u32>,
}

/// Location of the rows of a block.
#[derive(Debug)]
pub enum BlockLocation<'a> {
    /// In a file.
    InFile(&'a StoredBlock),
    /// In this process.
    Local(Block<'a>),
    /// In another process of this machine.
    Remote(RemoteBlock),
}

/// Maxima over all blocks, from which a backend plans its scratch memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extremes {
    /// Entries of the block with most entries.
    pub entries: u64,
    /// Rows of the block with most rows.
    pub rows: u64,
    /// Entries of the longest row.
    pub row: u64,
}
