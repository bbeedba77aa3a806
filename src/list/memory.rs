//! A list that the caller of the library has in memory.

use crate::error::{Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// A linked list in memory, in any layout: the successor of each element, or -1 at the end.
///
/// Several threads read pieces of the list at the same time, and some pieces more than once. The list must not change
/// meanwhile.
pub trait SuccessorList: Send + Sync {
    /// Returns the number of elements of the list.
    fn elements(&self) -> u64;

    /// Writes the successors of the elements from `first` on to `out`. All these elements are below [`Self::elements`].
    fn read(&self, first: u64, out: &mut [i64]);
}

/// A list in memory, with its length and a hash of its successors.
#[derive(Clone, Serialize, Deserialize)]
pub struct MemoryList {
    length: u64,
    /// Hash of the successors of all elements.
    identity: u64,
    /// The list. `None` if this description comes from another process or from a file, because only the process that
    /// created it stores the list.
    #[serde(skip)]
    list: Option<Arc<dyn SuccessorList>>,
}

/// Number of elements of a list that are hashed at once.
const CHUNK: u64 = 1 << 15;

impl MemoryList {
    /// Checks all successors of `list`, and computes their hash.
    ///
    /// # Errors
    /// [`Error::Usage`] if a successor is neither an element nor -1.
    pub fn new(list: Arc<dyn SuccessorList>) -> Result<MemoryList> {
        let length = list.elements();
        let chunk = |first: u64| {
            let mut successors = vec![0; (length - first).min(CHUNK) as usize];
            list.read(first, &mut successors);
            let is_good = |&next: &i64| next == -1 || u64::try_from(next).is_ok_and(|next| next < length);
            let bad = successors.iter().position(|next| !is_good(next)).map(|at| (first + at as u64, successors[at]));
            let mut hash = Xxh3::new();
            hash.update(crate::memory::bytes_of(&successors));
            (bad, hash.digest())
        };
        let chunks: Vec<_> = (0..length.div_ceil(CHUNK)).into_par_iter().map(|n| chunk(n * CHUNK)).collect();
        if let Some((element, next)) = chunks.iter().find_map(|chunk| chunk.0) {
            return Err(Error::Usage(format!(
                "element {element} of the list in memory: expected a successor from 0 to {} or -1, found {next}; correct it",
                length.saturating_sub(1)
            )));
        }
        let mut hash = Xxh3::new();
        hash.update(&length.to_le_bytes());
        chunks.iter().for_each(|(_, digest)| hash.update(&digest.to_le_bytes()));
        Ok(MemoryList { length, identity: hash.digest(), list: Some(list) })
    }

    /// Returns the number of elements of the list.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the hash of the successors of all elements.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// Writes the successors of the elements from `first` on to `out`.
    pub fn fill(&self, first: u64, out: &mut [i64]) {
        if let Some(list) = &self.list {
            list.read(first, out);
        }
    }

    /// Returns an error if the list is not in the memory of this process.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn check_present(&self) -> Result<()> {
        match self.list {
            Some(_) => Ok(()),
            None => Err(Error::Usage(format!("{self}: it was in the memory of another process, which is gone"))),
        }
    }
}

impl PartialEq for MemoryList {
    fn eq(&self, other: &Self) -> bool {
        self.identity == other.identity
    }
}

impl fmt::Debug for MemoryList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for MemoryList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of {} elements in memory", self.length)
    }
}
