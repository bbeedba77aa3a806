//! Ids that are strings: batches of them, as a parser finds them, and how they become numbers.
//!
//! The first pass over an input with string ids hands batches of strings to its visitors, which number them
//! (`prepare/names`). In later passes a [`FindNames`] turns each batch into numbers, so that other visitors see
//! numbers alone.

use std::fmt;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::Result;
use crate::failpoint;

/// Length in bytes of the longest id. Longer ones are refused.
pub const LONGEST_NAME: usize = u16::MAX as usize;

/// Bytes of a record before the string: its hash and its length.
pub(crate) const HEAD: usize = 10;

/// Maximum number of ids in a batch, two for each edge.
pub(crate) const NAMES: usize = 2048;
/// Number of bytes of ids after which a batch is passed on.
const BATCH_BYTES: usize = 64 << 10;

/// Upper bound in bytes of the memory that a batch takes.
pub(crate) const BATCH_MEMORY: u64 = (ROOM + NAMES * (8 + 8 + 4)) as u64;

/// Bytes for the records of a batch.
const ROOM: usize = BATCH_BYTES + 2 * (HEAD + LONGEST_NAME) + SHORT;

/// Number of bytes that are copied at once.
const SHORT: usize = 32;

/// Ids of some edges, with their hashes: the two ends of the first edge, then the two ends of the next edge, and so on.
/// Each id is a record: its hash, its length as two bytes, and the id.
#[derive(Debug, Default)]
pub struct NameBatch {
    /// The records, followed by at least [`SHORT`] more bytes.
    bytes: Vec<u8>,
    ends: Vec<u32>,
    hashes: Vec<u64>,
}

impl NameBatch {
    /// Adds an id.
    #[inline]
    pub fn push(&mut self, name: &[u8]) {
        if self.bytes.is_empty() {
            self.bytes.resize(ROOM, 0);
        }
        let (start, hash) = (self.filled(), hash(name));
        let (head, rest) = self.bytes[start..].split_at_mut(HEAD);
        head[..8].copy_from_slice(&hash.to_le_bytes());
        head[8..].copy_from_slice(&(name.len() as u16).to_le_bytes());
        copy(name, rest);
        self.ends.push((start + HEAD + name.len()) as u32);
        self.hashes.push(hash);
    }

    /// Returns the number of ids.
    #[allow(clippy::len_without_is_empty, reason = "nothing asks for it")]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    fn filled(&self) -> usize {
        self.ends.last().map_or(0, |&end| end as usize)
    }

    /// Returns true if the batch is full, so that it should be handed to the visitor.
    pub(crate) fn is_full(&self) -> bool {
        self.ends.len() >= NAMES || self.filled() >= BATCH_BYTES
    }

    /// Removes all ids.
    pub(crate) fn clear(&mut self) {
        self.ends.clear();
        self.hashes.clear();
    }

    /// Returns the hashes of all ids.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// Returns the bytes of all records, followed by at least [`SHORT`] more bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the range of bytes of record number `at` in [`Self::bytes`].
    #[inline]
    pub(crate) fn record(&self, at: usize) -> Range<usize> {
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        start..self.ends[at] as usize
    }

    /// Returns id number `at`.
    #[inline]
    pub fn name(&self, at: usize) -> &[u8] {
        &self.bytes[self.record(at)][HEAD..]
    }
}

/// Copies `from` to the start of `to`. Two copies of a fixed length, which may overlap, are faster than a call for a
/// short string.
#[inline]
fn copy(from: &[u8], to: &mut [u8]) {
    let length = from.len();
    let to = &mut to[..length];
    match length {
        8..=16 => {
            let last = length - 8;
            to[..8].copy_from_slice(&from[..8]);
            to[last..].copy_from_slice(&from[last..]);
        }
        17..=32 => {
            let last = length - 16;
            to[..16].copy_from_slice(&from[..16]);
            to[last..].copy_from_slice(&from[last..]);
        }
        _ => to.copy_from_slice(from),
    }
}

/// Copies a range of `from` to place `at` of `to`. If both have enough bytes, some more are copied, because a copy of a
/// fixed length is faster.
#[inline]
pub(crate) fn copy_short(from: &[u8], range: Range<usize>, to: &mut [u8], at: usize) {
    let length = range.len();
    if length <= SHORT
        && let Some(from) = from.get(range.start..range.start + SHORT)
        && let Some(to) = to.get_mut(at..at + SHORT)
    {
        to.copy_from_slice(from);
    } else {
        to[at..at + length].copy_from_slice(&from[range]);
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
