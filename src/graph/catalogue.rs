//! A prepared graph: all its blocks, in files, in host memory, packed or not, or in GPU memory.

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

/// The blocks of a graph, in order of rows.
#[derive(Debug)]
pub struct Catalogue {
    /// Division of the rows into blocks.
    pub layout: Layout,
    /// Size of each block.
    sizes: Vec<BlockSize>,
    first_rows: Vec<u32>,
    blocks: Blocks,
    /// The weights of each block, if edges have weights that somebody reads.
    weights: Vec<StoredWeights>,
}

#[derive(Debug)]
enum Blocks {
    InFiles(Vec<StoredBlock>),
    InMemory {
        blocks: Vec<MemoryBlock>,
        /// True if no other process has any block.
        alone: bool,
        /// The memory of blocks that were made without reserving any.
        reserved: Option<Reservation>,
    },
    OnGpus(Placement),
    Packed(PackedRows),
}

impl Catalogue {
    /// Opens all blocks of a half of the graph `key` in `folder`.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] for the first block that is missing or incomplete, [`crate::Error::Io`].
    pub fn open(folder: &Path, key: u64, half: Half, layout: Layout) -> Result<Self> {
        let blocks = (0..layout.blocks()).map(|b| StoredBlock::open(folder, key, half, &layout, b));
        let blocks = blocks.collect::<Result<Vec<_>>>()?;
        let sizes = blocks.iter().map(|block| size_of(block.block())).collect();
        Ok(Catalogue::of(layout, sizes, Blocks::InFiles(blocks)))
    }

    fn of(layout: Layout, sizes: Vec<BlockSize>, blocks: Blocks) -> Self {
        Catalogue { first_rows: first_rows(&layout), sizes, blocks, layout, weights: Vec::new() }
    }

    /// Opens the weights of all blocks of a half that is in files in `folder`, if there are `weights`.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] for the first file that is missing or incomplete, [`crate::Error::Io`].
    pub fn with_weights(mut self, folder: &Path, half: Half, weights: Option<GraphWeights>) -> Result<Self> {
        let open = |(weights, b)| StoredWeights::open(folder, weights, half, &self.layout, b, self.sizes[b].entries);
        let of_all = weights.into_iter().flat_map(|weights| (0..self.len()).map(move |b| (weights, b)));
        self.weights = of_all.map(open).collect::<Result<Vec<_>>>()?;
        Ok(self)
    }

    /// Returns a graph whose blocks, of these sizes, are only in host memory: that of this process if `alone`, else also that of other
    /// processes of this machine.
    pub fn in_memory(layout: Layout, sizes: Vec<BlockSize>, blocks: Vec<MemoryBlock>, alone: bool) -> Self {
        Catalogue::of(layout, sizes, Blocks::InMemory { blocks, alone, reserved: None })
    }

    /// Reserves the memory of blocks that were made without reserving it.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn reserve(&mut self, budget: &Budget) -> Result<()> {
        let bytes = self.sizes.iter().map(|size| HostBlock::bytes(size.rows, size.entries)).sum();
        if let Blocks::InMemory { reserved, .. } = &mut self.blocks {
            *reserved = Some(budget.reserve(bytes, "rows that stay in memory")?);
        }
        Ok(())
    }

    /// Returns true if the blocks are in memory of this process or others, and not packed.
    pub fn is_in_memory(&self) -> bool {
        matches!(self.blocks, Blocks::InMemory { .. })
    }

    /// Returns a graph whose blocks, of these sizes, are only in GPU memory.
    pub fn on_gpus(layout: Layout, sizes: Vec<BlockSize>, placement: Placement) -> Self {
        Catalogue::of(layout, sizes, Blocks::OnGpus(placement))
    }

    /// Returns a half of a graph whose rows are only packed in host memory.
    pub fn of_packed(layout: Layout, rows: PackedRows) -> Self {
        Catalogue::of(layout, rows.sizes(), Blocks::Packed(rows))
    }

    /// Takes the blocks that are in memory of this process out, and what is reserved for them beside their own reservations. Nothing can be read
    /// from the catalogue then but sizes.
    pub fn take_blocks(&mut self) -> (Vec<HostBlock>, Option<Reservation>) {
        let Blocks::InMemory { blocks, reserved, .. } = &mut self.blocks else { return Default::default() };
        let local = |block| match block {
            MemoryBlock::Local(block) => Some(block),
            MemoryBlock::Remote(_) => None,
        };
        (std::mem::take(blocks).into_iter().filter_map(local).collect(), reserved.take())
    }

    /// Returns the packed rows, if they are packed.
    pub fn packed(&self) -> Option<&PackedRows> {
        match &self.blocks {
            Blocks::Packed(rows) => Some(rows),
            _ => None,
        }
    }

    /// Returns the placement of the blocks, if they are in GPU memory.
    pub fn placement(&self) -> Option<&Placement> {
        match &self.blocks {
            Blocks::OnGpus(placement) => Some(placement),
            _ => None,
        }
    }

    /// Returns true if every process that works on the graph has all blocks, in files or in host memory, and not packed; it is the same on all
    /// ranks.
    pub fn is_local(&self) -> bool {
        match self.blocks {
            Blocks::InFiles(_) => true,
            Blocks::InMemory { alone, .. } => alone,
            Blocks::OnGpus(_) | Blocks::Packed(_) => false,
        }
    }

    /// Returns block `b`. A graph that [is not local](Self::is_local) may not have it in this process.
    pub fn block(&self, b: usize) -> Block<'_> {
        match self.location(b) {
            BlockLocation::Local(block) => block,
            _ => self.stored()[b].block(),
        }
    }

    /// Returns the half of the row of vertex `v` that the blocks hold, of a graph that [is local](Self::is_local).
    #[inline]
    pub fn row(&self, v: u32) -> &[u32] {
        let block = self.block(self.layout.block_of(v));
        block.row((v - block.first_row) as usize)
    }

    /// Returns these rows of a graph that [is local](Self::is_local), each with its vertex, in order.
    pub fn rows(&self, rows: Range<u32>) -> impl Iterator<Item = (u32, &[u32])> {
        self.blocks_of(rows.clone()).map(|b| self.block(b)).flat_map(move |block| {
            let inside = rows.start.max(block.first_row)..rows.end.min(block.end_row());
            inside.map(move |v| (v, block.row((v - block.first_row) as usize)))
        })
    }

    /// Returns the weights of all targets of block `b`, in their order: whole numbers, or the bits of f32. It is empty if the graph has no
    /// weights, or was opened without.
    pub fn weights(&self, b: usize) -> &[u32] {
        self.weights.get(b).map_or(&[], StoredWeights::weights)
    }

    /// Returns the row of vertex `v` as [`Self::row`] does, and the weight of the edge to each neighbour, of a graph with weights.
    #[inline]
    pub fn weighted_row(&self, v: u32) -> (&[u32], &[u32]) {
        let b = self.layout.block_of(v);
        let (block, weights) = (self.block(b), self.weights(b));
        let entries = block.entries((v - block.first_row) as usize);
        (&block.targets[entries.clone()], &weights[entries])
    }

    /// Returns these rows as [`Self::rows`] does, each with the weight of the edge to each neighbour, of a graph with weights.
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

    /// Returns the blocks that have any of these rows.
    fn blocks_of(&self, rows: Range<u32>) -> impl Iterator<Item = usize> {
        let first = self.first_rows.partition_point(|&first| first <= rows.start).saturating_sub(1);
        (first..self.len()).take_while(move |&b| self.first_rows[b] < rows.end)
    }

    /// Returns the location of block `b` of a graph that is not on GPUs.
    pub fn location(&self, b: usize) -> BlockLocation<'_> {
        match &self.blocks {
            Blocks::InMemory { blocks, .. } => match &blocks[b] {
                MemoryBlock::Local(block) => BlockLocation::Local(block.block()),
                &MemoryBlock::Remote(lent) => BlockLocation::Remote(lent),
            },
            _ => BlockLocation::InFile(&self.stored()[b]),
        }
    }

    /// Returns these rows of block `b`, counted from its first, of a graph that is local or packed. Packed ones are put into `unpacked`.
    pub fn part<'u>(&'u self, b: usize, rows: Range<usize>, unpacked: &'u mut Unpacked) -> Block<'u> {
        let Blocks::Packed(packed) = &self.blocks else {
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

    /// Returns this row of a graph that is local or packed. A packed one is put into `unpacked`.
    pub fn unpacked_row<'u>(&'u self, row: u32, unpacked: &'u mut Unpacked) -> &'u [u32] {
        let b = self.layout.block_of(row);
        let local = (row - self.first_rows[b]) as usize;
        self.part(b, local..local + 1, unpacked).row(0)
    }

    /// Returns true if this row of a graph that is local or packed lists this neighbour.
    pub fn lists(&self, row: u32, neighbour: u32) -> bool {
        match &self.blocks {
            Blocks::Packed(packed) => {
                let b = self.layout.block_of(row);
                packed.block(b).contains((row - self.first_rows[b]) as usize, neighbour)
            }
            _ => self.row(row).binary_search(&neighbour).is_ok(),
        }
    }

    /// Frees the pages of block `b` that were read, if it is in a file.
    pub fn release(&self, b: usize) {
        self.stored().get(b).into_iter().for_each(StoredBlock::release);
        self.weights.get(b).into_iter().for_each(StoredWeights::release);
    }

    /// Returns the numbers of rows and entries of block `b`.
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

    /// Returns true if the graph has no edge.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Returns the number of edges.
    pub fn edges(&self) -> u64 {
        self.sizes.iter().map(|size| size.entries).sum()
    }

    /// Returns the bytes of all blocks.
    pub fn bytes(&self) -> u64 {
        (0..self.len()).map(|b| self.bytes_of(b)).sum()
    }

    /// Returns the bytes of all weights that are read.
    pub fn weights_bytes(&self) -> u64 {
        self.weights.iter().map(StoredWeights::bytes).sum()
    }

    /// Returns the bytes of block `b`.
    pub fn bytes_of(&self, b: usize) -> u64 {
        body_bytes(self.sizes[b].rows, self.sizes[b].entries)
    }

    fn stored(&self) -> &[StoredBlock] {
        match &self.blocks {
            Blocks::InFiles(blocks) => blocks,
            _ => &[],
        }
    }

    /// Returns the extremes of all blocks: most entries, most rows, longest row.
    pub fn extremes(&self) -> Extremes {
        let blocks = if self.is_local() { self.len() } else { 0 };
        (0..blocks).map(|b| self.block(b)).fold(Extremes::default(), |e, block| Extremes {
            entries: e.entries.max(block.targets.len() as u64),
            rows: e.rows.max(block.rows() as u64),
            row: e.row.max(block.offsets.windows(2).map(|w| u64::from(w[1] - w[0])).max().unwrap_or(0)),
        })
    }

    /// Checks every block, and its weights, against checksums and invariants, calling `next` before each.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] for the first block that fails, that of `next`.
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
    /// Frees the blocks by all threads at once, as unmapping gigabytes takes time.
    fn drop(&mut self) {
        if let Blocks::InMemory { blocks, .. } = &mut self.blocks {
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

/// Memory for rows that are unpacked.
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

/// Sizes by which a backend plans its scratch memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extremes {
    /// Entries of the block with most.
    pub entries: u64,
    /// Rows of the block with most.
    pub rows: u64,
    /// Entries of the longest row.
    pub row: u64,
}
