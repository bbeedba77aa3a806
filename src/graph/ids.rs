//! The three numberings of vertices, as types that can't be confused.
//!
//! An edge of the input has two [`InputId`]s. Ingest maps these to [`DenseId`]s, and the degree order maps those to [`Vertex`]es, which
//! number rows and blocks. Results have a row for each dense id, labelled with the input's id. Slices of many ids stay slices of plain
//! integers, whose docs say which they hold.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An id of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InputId(pub u64);

/// The input's id if ids are dense; else its index in the sorted list of ids that occur. It is also the row of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DenseId(pub u32);

/// The index of a vertex in the order of descending degree: 0 is the largest hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vertex(pub u32);

impl DenseId {
    /// Returns the index in arrays with an element for each dense id.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Vertex {
    /// Returns the index in arrays with an element for each vertex.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for InputId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
