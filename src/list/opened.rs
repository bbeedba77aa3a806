//! A list that a job has opened.

use super::ListSource;
use crate::error::Result;
use std::fmt;

/// A list with its length and the key of its version.
pub struct List {
    /// The place of its successors.
    pub source: ListSource,
    /// Elements.
    pub length: u64,
    /// The key of the input: it differs for another input, and for another version of it.
    pub identity: u64,
}

impl List {
    /// Opens a source: its length is found by `threads` threads.
    ///
    /// # Errors
    /// [`crate::Error::Input`] where it can't be read or is no list.
    pub fn open(source: ListSource, threads: usize) -> Result<List> {
        let (length, identity) = (source.length(threads)?, source.identity()?);
        Ok(List { source, length, identity })
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} elements", self.source.name(), self.length)
    }
}
