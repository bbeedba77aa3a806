//! String ids: batches of them, as a parser produces them, and their translation to numbers.
//!
//! The first pass over an input with string ids passes batches of strings to its visitors, which build the dictionary
//! of string ids (`prepare/names`). In later passes, a [`FindNames`] translates each batch to numbers, so that other
//! visitors only see numbers.

use std::fmt;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::Result;
use crate::failpoint;

/// Maximum length of a string id in bytes. Longer ids are rejected.
pub const LONGEST_NAME: usize = u16::MAX as usize;

/// Number of bytes before the string in the record of a string id: the string's hash and its length.
pub(crate) const HEAD: usize = 10;

/// Maximum number of string ids in a batch; each edge has two.
pub(crate) const NAMES: usize = 2048;
/// Total size of the records of string ids, in bytes, at which a batch is full and is passed to the visitor.
const BATCH_BYTES: usize = 64 << 10;

/// Upper bound on the memory of a batch of string ids, in bytes.
pub(crate) const BATCH_MEMORY: u64 = (ROOM + NAMES * (8 + 8 + 4)) as u64;

/// Size in bytes of the buffer for the records of a batch of string ids.
const ROOM: usize = BATCH_BYTES + 2 * (HEAD + LONGEST_NAME) + SHORT;

/// Number of bytes that [`copy_short`] copies at once.
const SHORT: usize = 32;

/// The string ids of some edges, with their hashes: the two ends of the first edge, then the two ends of the next
/// edge, and so on. Each id is stored as a record: its hash, its length in two bytes, and its bytes.
#[derive(Debug, Default)]
pub struct NameBatch {
    /// The records of the string ids, followed by at least [`SHORT`] unused bytes.
    bytes: Vec<u8>,
    ends: Vec<u32>,
    hashes: Vec<u64>,
}

impl NameBatch {
    /// Adds a string id to the batch.
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

    /// Returns the number of string ids in the batch.
    #[allow(clippy::len_without_is_empty, reason = "nothing asks for it")]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    fn filled(&self) -> usize {
        self.ends.last().map_or(0, |&end| end as usize)
    }

    /// Returns true if the batch of string ids is full and should be passed to the visitor.
    pub(crate) fn is_full(&self) -> bool {
        self.ends.len() >= NAMES || self.filled() >= BATCH_BYTES
    }

    /// Removes all string ids from the batch.
    pub(crate) fn clear(&mut self) {
        self.ends.clear();
        self.hashes.clear();
    }

    /// Returns the hashes of all string ids in the batch.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// Returns the records of all string ids in the batch, followed by at least [`SHORT`] unused bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the byte range in [`Self::bytes`] of the record of the string id with index `at`.
    #[inline]
    pub(crate) fn record(&self, at: usize) -> Range<usize> {
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        start..self.ends[at] as usize
    }

    /// Returns the string id with index `at` in the batch.
    #[inline]
    pub fn name(&self, at: usize) -> &[u8] {
        &self.bytes[self.record(at)][HEAD..]
    }
}

/// Copies `from` to the start of `to`. For short strings, two fixed-size copies, which may overlap, are faster than a
/// call of memcpy.
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

/// Copies `from[range]` to offset `at` of `to`. If both slices are long enough, copies [`SHORT`] bytes even if `range`
/// is shorter, because a fixed-size copy is faster.
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

/// Returns the hash of a string id.
#[inline]
pub fn hash(name: &[u8]) -> u64 {
    failpoint::weakened(xxh3_64(name))
}

/// A dictionary that translates string ids to numbers.
pub trait FindNames: fmt::Debug + Send + Sync {
    /// Writes the number of each string id in `names` to `numbers`, which it clears first.
    ///
    /// # Errors
    /// An error if the dictionary does not contain an id, or can't be read.
    fn find(&self, names: &NameBatch, numbers: &mut Vec<u32>) -> Result<()>;
}
