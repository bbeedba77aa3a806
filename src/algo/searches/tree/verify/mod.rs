//! Checks of results: parents and levels as they were written, against the edges of the input once more.
//!
//! Nothing of the search is believed, nor of the graph that was prepared for it, if the input is still there. The order of vertices, in which
//! a parent is the first of its kind, is worked out from degrees that are counted anew (`searches::places`). Columns are read for as many sources as
//! memory has room for (`columns`), and each pass over the edges holds all of these trees against them (`edges`), by the rules of
//! `super::fault`.

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

/// Figures of the search from one source, as a job tells them.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceChecked {
    /// The source.
    pub source: InputId,
    /// Vertices reached, the source included.
    pub reached: u64,
    /// The level of the vertices that are farthest from it.
    pub depth: u64,
    /// Edges of the input with an end that is reached: repeats count, loops don't. Of a directed graph, the distinct edges that leave what is reached.
    pub edges: u64,
    /// The speed of the search.
    pub speed: Speed,
    /// Vertices of each level, from the source's on; of a deep tree those of the first levels alone.
    pub frontiers: Vec<u64>,
}

/// Most sources of one pass: the levels of a vertex in all trees then lie in a few cache lines.
const MOST: usize = 64;

/// Bytes of the buffers in which a thread reads the columns of a source.
const READING: u64 = 2 * read::READING;

/// Checks the figures of a job against each other and, if it wrote columns, the columns against the edges. `algorithm` is the name of the table.
///
/// # Errors
/// Those of telling, and a stop; what is wrong goes to `verdict`.
pub fn verify(
    algorithm: &'static str,
    told: &Reported<'_>,
    results: &Results<'_>,
    found: &[SourceChecked],
    verdict: &mut Verdict<'_>,
) -> Result<()> {
    verdict.note("searches", figures::agree(told, results.info, found))?;
    let check = |edges: &EdgeSource<'_>| trees(algorithm, edges, results, found);
    check_trees(algorithm, told.options.write, results, verdict, found.len(), check)
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
    // Eight sources have a level and a parent of 4 bytes each for every vertex, and a byte of bits.
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
        "{} hold against the edges of {what}, by the five rules of Graph500: {reached} vertices, each with its first parent",
        found.len()
    ))
}
