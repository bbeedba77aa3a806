//! Checks results once more: the parents and levels in the written columns, against the edges of the input.
//!
//! The checks do not trust the search. If the input still exists, they do not trust the prepared graph either. The
//! order of vertices, which decides which parent is the first, is computed from degrees that are counted again
//! (`searches::places`). Columns are read for as many sources as fit memory (`columns`). One pass over the edges checks
//! all of these trees (`edges`), by the rules in `super::fault`.

mod columns;
mod counted;
mod edges;
mod reader;

use crate::algo::searches::places::Places;
use crate::algo::{EdgeSource, Results};
use crate::error::Result;
use crate::graph::ids::InputId;
use crate::results::read;
use columns::TreeColumns;
use serde::{Deserialize, Serialize};

/// The result of one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceOutput {
    /// The source's id in the input.
    pub source: InputId,
    /// Number of reached vertices, including the source.
    pub reached: u64,
    /// Largest level of a reached vertex.
    pub depth: u64,
    /// Edges of the input between reached vertices. Repeats count, loops do not. In a directed graph, distinct edges
    /// that leave reached vertices.
    pub edges: u64,
}

/// The result of one source, and what its details say of its levels.
pub(super) struct SourceChecked {
    /// The result.
    pub output: SourceOutput,
    /// Number of vertices of each level, beginning at the source. For a deep tree only the first levels.
    pub frontiers: Vec<u64>,
}

/// Maximum number of sources in one pass. The levels of a vertex in all trees then fill a few cache lines.
const MOST: usize = 64;

/// Bytes of the buffers through which a thread reads the columns of a source.
const READING: u64 = 2 * read::READING;

/// Checks the columns of all sources against the edges. `algorithm` is the name of the table.
///
/// # Errors
/// [`crate::Error::Validation`] for a wrong tree; errors of reading; a stop.
pub(super) fn trees(
    algorithm: &'static str,
    edges: &EdgeSource<'_>,
    results: &Results<'_>,
    found: &[SourceChecked],
) -> Result<String> {
    let (budget, threads) = (results.budget, results.threads);
    let (reading, what) = match edges {
        EdgeSource::Input(input) => (input.scratch_bytes(threads), "the input"),
        EdgeSource::Blocks(_) => (0, "the blocks"),
    };
    let _reading = budget.reserve(reading.max(READING * threads as u64), "reading edges and results again")?;
    let places = Places::new(edges, results)?;
    // For every vertex, eight sources take a level and a parent of 4 bytes each, and together a byte of bits.
    let of_eight = 65 * places.vertices().max(1);
    let batch = (budget.free().saturating_mul(8) / of_eight).clamp(1, MOST as u64) as usize;
    for sources in found.chunks(batch) {
        let columns = TreeColumns::read(&places, results, sources, algorithm)?;
        columns.lead_to_roots(threads)?;
        let seen = edges::pass(edges, &places, &columns, results)?;
        counted::agree(&columns, results, &seen)?;
    }
    let reached = found.iter().map(|source| source.output.reached).sum::<u64>();
    Ok(format!(
        "{} checked against the edges of {what}, by the five rules of Graph500: {reached} vertices, each with its first parent",
        found.len()
    ))
}
