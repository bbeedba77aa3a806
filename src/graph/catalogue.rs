//! A prepared graph: all its blocks, opened, or in the memory of GPUs.

use super::homes::{Homes, Size};
use super::layout::Layout;
use super::stored::{StoredBlock, body_bytes};
use crate::error::Result;
use std::path::Path;

/// The blocks of a graph in order.
#[derive(Debug)]
pub struct Catalogue {
    /// How rows lie in blocks.
    pub layout: Layout,
    /// By block.
    sizes: Vec<Size>,
    first_rows: Vec<u32>,
    blocks: Blocks,
}

#[derive(Debug)]
enum Blocks {
    Stored(Vec<StoredBlock>),
    OnGpus(Homes),
}

impl Catalogue {
    /// Opens all blocks of the graph `key` in `folder`.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] for the first that is missing in part, [`crate::Error::Io`].
    pub fn open(folder: &Path, key: u64, layout: Layout) -> Result<Self> {
        let blocks = (0..layout.blocks()).map(|b| StoredBlock::open(folder, key, b, &layout.block(b)));
        let blocks = blocks.collect::<Result<Vec<_>>>()?;
        let size = |block: &StoredBlock| {
            let block = block.block();
            Size { rows: block.rows() as u64, entries: block.targets.len() as u64 }
        };
        let sizes = blocks.iter().map(size).collect();
        Ok(Catalogue { first_rows: first_rows(&layout), sizes, blocks: Blocks::Stored(blocks), layout })
    }

    /// A graph whose blocks, of these sizes, are in the memory of GPUs and nowhere else.
    pub fn on_gpus(layout: Layout, sizes: Vec<Size>, homes: Homes) -> Self {
        Catalogue { first_rows: first_rows(&layout), sizes, blocks: Blocks::OnGpus(homes), layout }
    }

    /// Where the blocks lie, if that is in the memory of GPUs.
    pub fn homes(&self) -> Option<&Homes> {
        match &self.blocks {
            Blocks::OnGpus(homes) => Some(homes),
            Blocks::Stored(_) => None,
        }
    }

    /// Block `b` of a graph that is stored. One that is on GPUs has none: [`Self::homes`] tells.
    pub fn block(&self, b: usize) -> &StoredBlock {
        &self.stored()[b]
    }

    /// Rows and entries of block `b`.
    pub fn size(&self, b: usize) -> Size {
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
        self.sizes.iter().map(|size| body_bytes(size.rows, size.entries)).sum()
    }

    fn stored(&self) -> &[StoredBlock] {
        match &self.blocks {
            Blocks::Stored(blocks) => blocks,
            Blocks::OnGpus(_) => &[],
        }
    }

    /// Entries of the largest block, rows of the one with most, and the longest row.
    pub fn extremes(&self) -> Extremes {
        self.stored().iter().map(StoredBlock::block).fold(Extremes::default(), |e, block| Extremes {
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

fn first_rows(layout: &Layout) -> Vec<u32> {
    (0..layout.blocks()).map(|b| layout.block(b).rows.start as u32).collect()
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
