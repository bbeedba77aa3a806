//! A prepared graph: all its blocks, opened.

use super::layout::Layout;
use super::stored::StoredBlock;
use crate::error::Result;
use std::path::Path;

/// The blocks of a graph in order.
#[derive(Debug)]
pub struct Catalogue {
    /// How rows lie in blocks.
    pub layout: Layout,
    blocks: Vec<StoredBlock>,
}

impl Catalogue {
    /// Opens all blocks of the graph `key` in `folder`.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] for the first that is missing in part, [`crate::Error::Io`].
    pub fn open(folder: &Path, key: u64, layout: Layout) -> Result<Self> {
        let blocks = (0..layout.blocks()).map(|b| StoredBlock::open(folder, key, b, &layout.block(b)));
        Ok(Catalogue { blocks: blocks.collect::<Result<_>>()?, layout })
    }

    /// Block `b`.
    pub fn block(&self, b: usize) -> &StoredBlock {
        &self.blocks[b]
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether the graph has no edge.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Number of edges.
    pub fn edges(&self) -> u64 {
        self.blocks.iter().map(|b| b.block().targets.len() as u64).sum()
    }

    /// Bytes of all blocks.
    pub fn bytes(&self) -> u64 {
        self.blocks.iter().map(StoredBlock::bytes).sum()
    }

    /// Entries of the largest block, rows of the one with most, and the longest row.
    pub fn extremes(&self) -> Extremes {
        self.blocks.iter().map(StoredBlock::block).fold(Extremes::default(), |e, block| Extremes {
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
        for block in &self.blocks {
            next()?;
            block.verify()?;
            block.release();
        }
        Ok(())
    }
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
