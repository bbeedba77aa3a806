//! The numberings of vertices, as types that can't be confused.
//!
//! A reader delivers edges between [`RawId`]s. Ingest maps these to [`DenseId`]s, and the degree order maps those to [`Vertex`]es, which
//! number rows and blocks. Users know a vertex by its [`InputId`], which is the raw id plus the [`FirstId`] of the job. Results have a row
//! for each dense id, labelled with the input's id. Slices of many ids stay slices of plain integers, whose docs say which they hold.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An id as a reader delivers it. Readers of formats that count from 1 subtract 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RawId(pub u64);

/// An id as users write it in a job and find it in results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InputId(pub u64);

/// `[input] first_id`: the id that users give the vertex whose raw id is 0. It is 0, or 1 where results keep the ids of a file that counts
/// from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FirstId(pub u64);

/// The input's id if ids are dense; else its index in the sorted list of ids that occur. It is also the row of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DenseId(pub u32);

/// The index of a vertex in the order of descending degree: 0 is the largest hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vertex(pub u32);

impl FirstId {
    /// Returns the id that users know a vertex by.
    #[inline]
    pub fn input(self, RawId(raw): RawId) -> InputId {
        InputId(raw.wrapping_add(self.0))
    }

    /// Returns the raw id of the vertex that users name; `None` for one below the first.
    #[inline]
    pub fn raw(self, InputId(id): InputId) -> Option<RawId> {
        id.checked_sub(self.0).map(RawId)
    }
}

impl RawId {
    /// Returns the dense id of this one, which may lack an edge: its place in the ascending `list` of ids, if these are sparse. `None` for an id
    /// that can't be one.
    pub fn dense(self, list: Option<&[u64]>) -> Option<DenseId> {
        match list {
            Some(list) => list.binary_search(&self.0).ok().map(|place| DenseId(place as u32)),
            None => u32::try_from(self.0).ok().map(DenseId),
        }
    }
}

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
