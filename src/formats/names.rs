//! Ids that are strings: batches of them, as a parser finds them, and how they become numbers.
//!
//! The first pass over an input with string ids hands batches of strings to its visitors, which number them
//! (`prepare/names`). In later passes a [`FindNames`] turns each batch into numbers, so that other visitors see
//! numbers alone.

use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::Result;
use crate::failpoint;

/// Length in bytes of the longest id. Longer ones are refused.
pub const LONGEST_NAME: usize = u16::MAX as usize;

/// Number of ids in a batch, two for each edge.
pub(crate) const NAMES: usize = 2048;
/// Number of bytes of ids after which a batch is handed over.
const BATCH_BYTES: usize = 64 << 10;

/// Upper bound in bytes of the memory that a batch takes.
pub(crate) const BATCH_MEMORY: u64 = (2 * (BATCH_BYTES + 2 * LONGEST_NAME) + NAMES * (8 + 8 + 4)) as u64;

/// Ids of some edges, with their hashes: the two ends of the first edge, then those of the next.
#[derive(Debug, Default)]
pub struct NameBatch {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    hashes: Vec<u64>,
}

impl NameBatch {
    /// Adds an id.
    #[inline]
    pub fn push(&mut self, name: &[u8]) {
        self.bytes.extend_from_slice(name);
        self.ends.push(self.bytes.len() as u32);
        self.hashes.push(hash(name));
    }

    /// Returns the number of ids.
    #[allow(clippy::len_without_is_empty, reason = "nothing asks for it")]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if the batch should be handed over.
    pub(crate) fn is_full(&self) -> bool {
        self.ends.len() >= NAMES || self.bytes.len() >= BATCH_BYTES
    }

    /// Removes all ids.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.hashes.clear();
    }

    /// Returns the hashes of all ids.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// Returns id number `at`.
    #[inline]
    pub fn name(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        &self.bytes[start..self.ends[at] as usize]
    }
}

/// Returns the hash of an id.
#[inline]
pub fn hash(name: &[u8]) -> u64 {
    failpoint::weakened(xxh3_64(name))
}

/// A numbering of strings that a pass uses to turn ids into numbers.
pub trait FindNames: fmt::Debug + Send + Sync {
    /// Writes the number of each id of `names` to `numbers`, which it clears first.
    ///
    /// # Errors
    /// An error if an id has no number. Errors of reading the list of ids.
    fn find(&self, names: &NameBatch, numbers: &mut Vec<u32>) -> Result<()>;
}
