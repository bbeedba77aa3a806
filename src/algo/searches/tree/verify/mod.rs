//! Checks results once more: the parents and levels in the written columns, against the edges of the input.
//!
//! The checks do not trust the search. If the input still exists, they do not trust the prepared graph either. The
//! order of vertices, which decides which parent is the first, is computed from degrees that are counted again
//! (`searches::places`). Columns are read for as many sources as fit memory (`columns`). One pass over the edges checks
//! all of these trees (`edges`), by the rules in `super::fault`.

mod columns;
mod counted;
mod edges;
mod figures;
mod reader;

use crate::algo::searches::agreement::{Reported, check_trees};
use crate::algo::searches::places::Places;
use crate::algo::searches::results::Speed;
use crate::algo::{EdgeSource, Results, Verdict};
use crate::error::Result;
use crate::graph::ids::InputId;
use crate::results::read;
use columns::Columns;

/// Figures of the search from one source, as the job reports them.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceChecked {
    /// The source.
    pub source: InputId,
    /// Number of reached vertices, including the source.
    pub reached: u64,
    /// Largest level of a reached vertex.
    pub depth: u64,
    /// Edges of the input between reached vertices. Repeats count, loops do not. In a directed graph, distinct edges
    /// that leave reached vertices.
    pub edges: u64,
    /// The speed of the search.
    pub speed: Speed,
    /// Number of vertices of each level, beginning at the source. For a deep tree only the first levels.
    pub frontiers: Vec<u64>,
}

/// Maximum number of sources in one pass. The levels of a vertex in all trees then fill a few cache lines.
const MOST: usize = 64;

/// Bytes of the buffers through which a thread reads the columns of a source.
const READING: u64 = 2 * read::READING;

/// Checks the figures of a job against each other, and the columns, if the job wrote them, against the edges.
/// `algorithm` is the name of the table.
///
/// # Errors
/// Errors of `verdict`, and a stop. Mistakes go to `verdict`.
pub fn verify(
    algorithm: &'static str,
    reported: &Reported<'_>,
    results: &Results<'_>,
    found: &[SourceChecked],
    verdict: &mut Verdict<'_>,
) -> Result<()> {
    verdict.note("searches", figures::agree(reported, results.info, found))?;
    let check = |edges: &EdgeSource<'_>| trees(algorithm, edges, results, found);
    check_trees(algorithm, reported.options.write, results, verdict, found.len(), check)
}

fn trees(
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
        let columns = Columns::read(&places, results, sources, algorithm)?;
        columns.lead_to_roots(threads)?;
        let seen = edges::pass(edges, &places, &columns, results)?;
        counted::agree(&columns, results, &seen)?;
    }
    let reached = found.iter().map(|source| source.reached).sum::<u64>();
    Ok(format!(
        "{} checked against the edges of {what}, by the five rules of Graph500: {reached} vertices, each with its first parent",
        found.len()
    ))
}
