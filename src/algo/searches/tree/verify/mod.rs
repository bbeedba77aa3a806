//! Checks the results that a job has written: compares the columns of parents and levels with the edges of the input.
//!
//! The checks trust neither the search nor, if the input still exists, the prepared graph. They count degrees again to
//! compute the order of vertices, which decides which parent is the first (`searches::places`). They read the columns
//! of as many sources as fit in memory (`columns`). One pass over the edges checks all of these trees (`edges`), by the
//! rules in `super::fault`.

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

/// Result of the search from one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceOutput {
    /// Input id of the source.
    pub source: InputId,
    /// Number of reached vertices, including the source.
    pub reached: u64,
    /// Largest level of a reached vertex.
    pub depth: u64,
    /// Number of input edges between reached vertices. Repeated edges count, self-loops do not. In a directed graph,
    /// the number of distinct edges that leave reached vertices.
    pub edges: u64,
}

/// Statistics that the job reports about one source, for the check of its tree.
pub(super) struct SourceChecked {
    /// The result that the job reports for the source.
    pub output: SourceOutput,
    /// Number of vertices in each level, beginning at the source. If the tree is deep, these are only the first levels.
    pub frontiers: Vec<u64>,
}

/// Maximum number of sources whose trees one pass over the edges checks. The levels of a vertex for 64 sources fill a
/// few cache lines.
const MOST: usize = 64;

/// Size in bytes of the buffers through which a thread reads the two columns of a source.
const READING: u64 = 2 * read::READING;

/// Checks the result columns of all sources in `found` against the edges of the graph. `algorithm` is the name of the
/// table. Returns a sentence about the result.
///
/// # Errors
/// [`crate::Error::Validation`] for a wrong tree; read errors; [`crate::Error::Stopped`].
pub(super) fn trees(
    algorithm: &'static str,
    edges: &EdgeSource<'_>,
    results: &Results<'_>,
    found: &[SourceChecked],
) -> Result<String> {
    let (budget, threads) = (results.budget, results.threads);
    let reading = edges.scratch_bytes(threads).max(READING * threads as u64);
    let _reading = budget.reserve(reading, "reading edges and results again")?;
    let places = Places::new(edges, results)?;
    // Eight sources need 8 * (4 + 4) bytes per vertex for levels and parents, and 8 bits for seen edges.
    let of_eight = 65 * places.vertices().max(1);
    let batch = (budget.free().saturating_mul(8) / of_eight).clamp(1, MOST as u64) as usize;
    for sources in found.chunks(batch) {
        let columns = TreeColumns::read(&places, results, sources, algorithm)?;
        columns.check_parent_chains(threads)?;
        let seen = edges::pass(edges, &places, &columns, results)?;
        counted::compare(&columns, results, &seen)?;
    }
    let reached = found.iter().map(|source| source.output.reached).sum::<u64>();
    Ok(format!(
        "{} checked against the edges of {}, by the five rules of Graph500: {reached} vertices, each with its first parent",
        found.len(),
        edges.name()
    ))
}
