//! A block of rows in memory, of this process or another, for graphs that are in no file.

use super::csr::Block;
use super::layout::RowRange;
use crate::error::Result;
use crate::memory::{Budget, Buffer, Process, discard};

/// A block in the memory of another process, which must keep it: the address of its offsets.
#[derive(Debug, Clone, Copy)]
pub struct RemoteBlock {
    /// The process.
    pub process: Process,
    /// The address there.
    pub address: u64,
}

/// A block that is here or there.
#[derive(Debug)]
pub enum MemoryBlock {
    /// In this process.
    Local(HostBlock),
    /// In another.
    Remote(RemoteBlock),
}

/// A block in memory: one offset a row and one more, then the targets.
#[derive(Debug)]
pub struct HostBlock {
    first_row: u32,
    rows: usize,
    words: Buffer<u32>,
}

impl HostBlock {
    /// Bytes of a block of these sizes.
    pub fn bytes(rows: u64, entries: u64) -> u64 {
        4 * (rows + 1 + entries)
    }

    /// Room for the rows of `span` with `entries` entries at most. What is not written takes no memory yet.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(span: &RowRange, entries: u64, budget: &Budget) -> Result<HostBlock> {
        let words = budget.zeroed(span.len() + 1 + entries as usize, "rows that stay in memory")?;
        Ok(HostBlock { first_row: span.rows.start as u32, rows: span.len(), words })
    }

    /// Offsets and targets, to be written.
    pub fn parts(&mut self) -> (&mut [u32], &mut [u32]) {
        self.words.split_at_mut(self.rows + 1)
    }

    /// Gives back what is beyond `entries` entries.
    pub fn shorten(&mut self, entries: u64) {
        let len = self.rows + 1 + entries as usize;
        discard(vec![&mut self.words[len..]]);
        self.words.shorten(len);
    }

    /// Where other processes find it.
    pub fn address(&self) -> u64 {
        self.words.as_ptr() as u64
    }

    /// The rows.
    pub fn block(&self) -> Block<'_> {
        let (offsets, targets) = self.words.split_at(self.rows + 1);
        Block { first_row: self.first_row, offsets, targets }
    }
}
