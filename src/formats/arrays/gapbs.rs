//! Reads the serialized graphs of the GAP Benchmark Suite.
//!
//! A file starts with a byte that is 1 for directed graphs, followed by the number of adjacency entries and the number
//! of vertices (8 bytes each). Then come the start of each vertex's list and the end of the last list (8 bytes each),
//! and then the lists (4 bytes per neighbour; in `.wsg` the weight follows each neighbour). In a directed graph the
//! lists of incoming edges follow in the same layout; they are skipped, since they contain the same edges. An
//! undirected graph must list each edge at both ends, otherwise it is rejected (see `mirror`).

use crate::formats::Int;
use std::io::Read;

use super::npy::Mismatch;
use super::shape::{ArrayLayout, ArrayPlace, Column, EdgeArrays, ListKind};

/// Size of the header in bytes. The offsets of the adjacency lists follow it.
const HEADER: u64 = 17;

/// Reads the header of a GAP graph, and returns where the file stores its edges.
pub(super) fn table(from: &mut impl Read, weighted: bool) -> Result<EdgeArrays, Mismatch> {
    let mut header = [0; HEADER as usize];
    from.read_exact(&mut header).map_err(|_| ("the header of a GAP graph".into(), "the end of the file".into()))?;
    let word = |at: usize| header[at..].first_chunk().map_or(-1, |bytes| i64::from_le_bytes(*bytes));
    let (directed, edges, vertices) = (header[0], word(1), word(9));
    let step = if weighted { 8 } else { 4 };
    let length = u64::try_from(edges).ok().zip(u64::try_from(vertices).ok()).and_then(|(edges, vertices)| {
        let once = vertices.checked_add(1)?.checked_mul(8)?.checked_add(edges.checked_mul(step)?)?;
        once.checked_mul(1 + u64::from(directed))?.checked_add(HEADER)
    });
    let (Some(length @ ..=0x7fff_ffff_ffff_ffff), 0 | 1, ..=0x8000_0000) = (length, directed, vertices) else {
        let found = format!("{directed}, {edges} and {vertices}");
        return Err(("0 or 1 (directed), a number of edges and of vertices (of 31 bits)".into(), found));
    };
    let (edges, rows) = (edges as u64, vertices as u64);
    let column =
        |at, bytes, step| Column { place: ArrayPlace::File, at, int: Int { bytes, signed: true, big: false }, step };
    let offsets = column(HEADER, 8, 8);
    let neighbours = column(HEADER + 8 * (rows + 1), 4, step as usize);
    let lists = if directed == 1 { ListKind::Outgoing } else { ListKind::Mutual };
    let shape = ArrayLayout::Adjacency { offsets, rows, neighbours, lists };
    Ok(EdgeArrays { shape, edges, vertices: Some(rows), length })
}
