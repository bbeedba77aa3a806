//! A prepared graph: all its blocks, in files, in memory, or in the memory of GPUs.

use super::csr::Block;
use super::host_block::{MemoryBlock, RemoteBlock};
use super::layout::Layout;
use super::placement::{BlockSize, Placement};
use super::stored::{StoredBlock, body_bytes};
use crate::error::Result;
use rayon::prelude::*;
use std::path::Path;

/// The blocks of a graph in order.
#[derive(Debug)]
pub struct Catalogue {
    /// How rows lie in blocks.
    pub layout: Layout,
    /// By block.
    sizes: Vec<BlockSize>,
    first_rows: Vec<u32>,
    blocks: Blocks,
}

#[derive(Debug)]
enum Blocks {
    Stored(Vec<StoredBlock>),
    InMemory {
        blocks: Vec<MemoryBlock>,
        /// Whether no other process has any.
        alone: bool,
    },
    OnGpus(Placement),
}

impl Catalogue {
    /// Opens all blocks of the graph `key` in `folder`.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] for the first that is missing in part, [`crate::Error::Io`].
    pub fn open(folder: &Path, key: u64, layout: Layout) -> Result<Self> {
        let blocks = (0..layout.blocks()).map(|b| StoredBlock::open(folder, key, b, &layout.block(b)));
        let blocks = blocks.collect::<Result<Vec<_>>>()?;
        let sizes = blocks.iter().map(|block| size_of(block.block())).collect();
        Ok(Catalogue { first_rows: first_rows(&layout), sizes, blocks: Blocks::Stored(blocks), layout })
    }

    /// A graph whose blocks, of these sizes, are in memory and nowhere else: in that of this process, `alone`, or of others of this
    /// machine, too.
    pub fn in_memory(layout: Layout, sizes: Vec<BlockSize>, blocks: Vec<MemoryBlock>, alone: bool) -> Self {
        Catalogue { first_rows: first_rows(&layout), sizes, blocks: Blocks::InMemory { blocks, alone }, layout }
    }

    /// A graph whose blocks, of these sizes, are in the memory of GPUs and nowhere else.
    pub fn on_gpus(layout: Layout, sizes: Vec<BlockSize>, homes: Placement) -> Self {
        Catalogue { first_rows: first_rows(&layout), sizes, blocks: Blocks::OnGpus(homes), layout }
    }

    /// Where the blocks lie, if that is in the memory of GPUs.
    pub fn placement(&self) -> Option<&Placement> {
        match &self.blocks {
            Blocks::OnGpus(homes) => Some(homes),
            Blocks::Stored(_) | Blocks::InMemory { .. } => None,
        }
    }

    /// Whether every process that works on the graph has all blocks, in files or in memory: the same on all ranks.
    pub fn is_local(&self) -> bool {
        match self.blocks {
            Blocks::Stored(_) => true,
            Blocks::InMemory { alone, .. } => alone,
            Blocks::OnGpus(_) => false,
        }
    }

    /// Block `b`. Of a graph that [is not local](Self::is_local) there may be none.
    pub fn block(&self, b: usize) -> Block<'_> {
        match self.location(b) {
            BlockLocation::Local(block) => block,
            _ => self.stored()[b].block(),
        }
    }

    /// Where block `b` of a graph that is not on GPUs lies.
    pub fn location(&self, b: usize) -> BlockLocation<'_> {
        match &self.blocks {
            Blocks::InMemory { blocks, .. } => match &blocks[b] {
                MemoryBlock::Local(block) => BlockLocation::Local(block.block()),
                &MemoryBlock::Remote(lent) => BlockLocation::Remote(lent),
            },
            _ => BlockLocation::InFile(&self.stored()[b]),
        }
    }

    /// Lets go of the pages of block `b` that were read, if it is in a file.
    pub fn release(&self, b: usize) {
        self.stored().get(b).into_iter().for_each(StoredBlock::release);
    }

    /// Rows and entries of block `b`.
    pub fn size(&self, b: usize) -> BlockSize {
        self.sizes[b]
    }

    /// First row of block `b`.
    pub fn first_row(&self, b: usize) -> u32 {
        self.first_rows[b]
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether the graph has no edge.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Number of edges.
    pub fn edges(&self) -> u64 {
        self.sizes.iter().map(|size| size.entries).sum()
    }

    /// Bytes of all blocks.
    pub fn bytes(&self) -> u64 {
        (0..self.len()).map(|b| self.bytes_of(b)).sum()
    }

    /// Bytes of block `b`.
    pub fn bytes_of(&self, b: usize) -> u64 {
        body_bytes(self.sizes[b].rows, self.sizes[b].entries)
    }

    fn stored(&self) -> &[StoredBlock] {
        match &self.blocks {
            Blocks::Stored(blocks) => blocks,
            Blocks::OnGpus(_) | Blocks::InMemory { .. } => &[],
        }
    }

    /// Entries of the largest block, rows of the one with most, and the longest row.
    pub fn extremes(&self) -> Extremes {
        let here = if self.is_local() { self.len() } else { 0 };
        (0..here).map(|b| self.block(b)).fold(Extremes::default(), |e, block| Extremes {
            entries: e.entries.max(block.targets.len() as u64),
            rows: e.rows.max(block.rows() as u64),
            row: e.row.max(block.offsets.windows(2).map(|w| u64::from(w[1] - w[0])).max().unwrap_or(0)),
        })
    }

    /// Checks every block against its checksum and its invariants; `next` is asked before each whether to go on.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] for the first that fails, what `next` returned.
    pub fn verify(&self, next: impl Fn() -> Result<()>) -> Result<()> {
        for block in self.stored() {
            next()?;
            block.verify()?;
            block.release();
        }
        Ok(())
    }
}

impl Drop for Catalogue {
    /// Gigabytes go back to the system by all threads at once.
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

/// Where the rows of a block are.
#[derive(Debug)]
pub enum BlockLocation<'a> {
    /// In a file.
    InFile(&'a StoredBlock),
    /// In this process.
    Local(Block<'a>),
    /// In another process of this machine.
    Remote(RemoteBlock),
}

/// What a backend sizes its scratch memory by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extremes {
    /// Entries of the largest block.
    pub entries: u64,
    /// Rows of the block with most.
    pub rows: u64,
    /// Entries of the longest row.
    pub row: u64,
}
