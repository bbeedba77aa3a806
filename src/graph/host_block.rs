//! Blocks of rows in the host memory of this process or another, for graphs that are not stored in files.

use super::csr::Block;
use super::layout::RowRange;
use crate::error::Result;
use crate::memory::{Budget, Buffer, Process, discard};

/// A block in the memory of another process. That process must keep it mapped.
#[derive(Debug, Clone, Copy)]
pub struct RemoteBlock {
    /// Process whose memory contains the block.
    pub process: Process,
    /// Address of the block's first row offset in that process.
    pub address: u64,
}

/// A block in host memory.
#[derive(Debug)]
pub enum MemoryBlock {
    /// The block is in this process.
    Local(HostBlock),
    /// The block is in another process.
    Remote(RemoteBlock),
}

/// A block in this process's memory, as one array: the start of each row in the list of targets, the end of the last
/// row, and the targets.
#[derive(Debug)]
pub struct HostBlock {
    first_row: u32,
    rows: usize,
    words: Buffer<u32>,
}

impl HostBlock {
    /// Returns the size in bytes of a block with `rows` rows and `entries` entries.
    pub fn bytes(rows: u64, entries: u64) -> u64 {
        4 * (rows + 1 + entries)
    }

    /// Allocates a block for the rows of `span` with at most `entries` entries. The kernel commits no memory to its
    /// pages until they are written.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(span: &RowRange, entries: u64, budget: &Budget) -> Result<HostBlock> {
        let words = budget.zeroed(span.len() + 1 + entries as usize, "rows that stay in memory")?;
        Ok(HostBlock { first_row: span.rows.start as u32, rows: span.len(), words })
    }

    /// Allocates a block like [`Self::new`], but without reserving its memory in the budget. The caller must reserve
    /// the memory, or free at least as much other reserved memory while it fills the block.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if the kernel refuses to map the address range.
    pub fn unreserved(span: &RowRange, entries: u64, budget: &Budget) -> Result<HostBlock> {
        let words = budget.addresses(span.len() + 1 + entries as usize, "rows that stay in memory")?;
        Ok(HostBlock { first_row: span.rows.start as u32, rows: span.len(), words })
    }

    /// Returns the block's row offsets and its targets, for writing.
    pub fn parts(&mut self) -> (&mut [u32], &mut [u32]) {
        self.words.split_at_mut(self.rows + 1)
    }

    /// Shortens the block to `entries` entries, and releases the memory after them.
    pub fn shorten(&mut self, entries: u64) {
        let len = self.rows + 1 + entries as usize;
        discard(vec![&mut self.words[len..]]);
        self.words.shorten(len);
    }

    /// Returns the address of the block in this process, from which other processes can read it.
    pub fn address(&self) -> u64 {
        self.words.as_ptr() as u64
    }

    /// Returns a view of the block's rows.
    pub fn block(&self) -> Block<'_> {
        let (offsets, targets) = self.words.split_at(self.rows + 1);
        Block { first_row: self.first_row, offsets, targets }
    }
}
