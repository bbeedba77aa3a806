//! Describes where arrays store the ends of edges.

use crate::formats::{BodyLayout, Directions, Head, Int};
use std::sync::Arc;

/// A member of a zip archive, which contains one array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::formats) struct NpzMember {
    /// Name of the member, without `.npy`.
    pub name: String,
    pub deflated: bool,
    /// Byte range `from..to` of the member's stored data in the file.
    pub from: u64,
    pub to: u64,
    /// Uncompressed size in bytes, as the zip directory declares it.
    pub size: u64,
    /// Checksum of the decompressed bytes, as the zip directory declares it.
    pub crc: u32,
}

/// Where an array is stored: in the file itself, or in a member of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::formats) enum ArrayPlace {
    File,
    Member(Arc<NpzMember>),
}

/// Location and type of an array of numbers, which start `step` bytes apart.
#[derive(Debug, Clone)]
pub(in crate::formats) struct Column {
    pub place: ArrayPlace,
    /// Offset of the first number in the decompressed file or member.
    pub at: u64,
    pub int: Int,
    /// Number of bytes from the start of one number to the start of the next.
    pub step: usize,
}

/// How the arrays of a file store the ends of its edges.
#[derive(Debug, Clone)]
pub(in crate::formats) enum ArrayLayout {
    /// One array of pairs, in which the two ends of an edge follow each other.
    Rows(Column),
    /// One array with the first end of every edge, and one with the second.
    Columns { from: Column, to: Column },
    /// Adjacency lists. `offsets` contains the start of the list of each of the `rows` vertices and the end of the
    /// last list, and `neighbours` contains the lists.
    Adjacency { offsets: Column, rows: u64, neighbours: Column, lists: ListKind },
}

/// Direction of the edges between the vertex that owns a list and the neighbours in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::formats) enum ListKind {
    /// Each edge is directed from the vertex to the neighbour.
    Outgoing,
    /// Each edge is directed from the neighbour to the vertex.
    Incoming,
    /// Edges are undirected, and each is in the lists of both ends.
    Mutual,
}

/// The edges of a file of arrays, as its header describes them.
#[derive(Debug, Clone)]
pub(in crate::formats) struct EdgeArrays {
    pub shape: ArrayLayout,
    pub edges: u64,
    /// The declared number of vertices, which all ids must be below; `None` if there is no such declaration.
    pub vertices: Option<u64>,
    /// Size in bytes of the decompressed file. In an archive: size of the array of pairs, or 0 if there is none.
    pub length: u64,
}

impl EdgeArrays {
    /// Returns the [`Head`] of a file with these edges. `weighted` states whether they have weights.
    pub fn head(&self, weighted: bool) -> Head {
        let directions = match self.shape {
            ArrayLayout::Adjacency { lists: ListKind::Mutual, .. } => Directions::Both,
            _ => Directions::Listed,
        };
        let (vertices, entries) = (self.vertices, Some(self.edges));
        Head { vertices, entries, weighted, directions, ..Head::of(BodyLayout::Arrays, 0) }
    }
}
