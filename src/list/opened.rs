//! A list that a job has opened.

use super::ListSource;
use crate::error::Result;
use std::fmt;

/// An open list, with its length and its identity hash.
pub struct List {
    /// The source from which the successors are read.
    pub source: ListSource,
    /// Number of elements of the list.
    pub length: u64,
    /// Hash that identifies the input. It differs between inputs, and between versions of the same input.
    pub identity: u64,
}

impl List {
    /// Opens a source, and finds its length with `threads` threads.
    ///
    /// # Errors
    /// [`crate::Error::Input`] if the source can't be read or is not a list.
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
