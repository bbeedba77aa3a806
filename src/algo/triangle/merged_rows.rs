//! Files of merged rows, from which a GPU counts the links of a directed graph (the directed edges between the
//! neighbours of each vertex). The merged row of a vertex contains a *code* for each neighbour with a smaller id:
//! twice the neighbour's id, plus 1 if the edge goes both ways.
//!
//! The host merges the out-row and the in-row of each vertex, once per trial. Block `b` of the files contains the
//! vertices whose out-rows are in block `b` of the graph, so a GPU counts the same units (pairs of blocks) as a CPU.

use crate::algo::triangle::cpu::links::merged;
use crate::error::Result;
use crate::graph::block_store::BlockStore;
use crate::graph::half::Half;
use crate::graph::stored;
use crate::memory::Budget;
use crate::process::signals;
use rayon::prelude::*;
use std::path::Path;

/// Number of vertices whose rows a thread merges at a time.
const PART: usize = 1 << 12;

/// Returns the memory in bytes for merging a block of `rows` rows with `entries` entries. No row has more than `row`
/// entries. The in-row of the last vertex may be in the next block, so the memory of one more row is included.
pub(super) fn block_bytes(rows: u64, entries: u64, row: u64) -> u64 {
    4 * (rows + entries + row)
}

/// Merges the out-rows and in-rows of `graph` into files in `folder`, and opens the files. `key` identifies them.
/// Merges up to `threads` blocks at a time, but fewer if `budget` has no memory for them.
///
/// # Errors
/// [`crate::Error::Limit`], disk errors, [`crate::Error::Stopped`].
pub(super) fn build(
    graph: &BlockStore,
    (folder, key): (&Path, u64),
    threads: usize,
    budget: &Budget,
) -> Result<BlockStore> {
    let layout = graph.layout.merged();
    let sizes = (0..graph.len()).map(|b| graph.size(b));
    let row = graph.extremes().row;
    let largest = sizes.map(|size| block_bytes(size.rows, size.entries, row)).max().unwrap_or(0);
    let at_once = (budget.free() / largest.max(1)).clamp(1, threads as u64);
    let _scratch = budget.reserve(at_once * largest, "merging out-rows and in-rows")?;
    let blocks: Vec<usize> = (0..layout.blocks()).collect();
    for some in blocks.chunks(at_once as usize) {
        signals::check()?;
        some.par_iter().try_for_each(|&b| {
            let rows = layout.block(b).rows;
            let rows = rows.start as usize..rows.end as usize;
            let parts = rows.clone().into_par_iter().step_by(PART).map(|first| {
                let (ends, codes) = merged(graph, first as u32..rows.end.min(first + PART) as u32);
                let starts = std::iter::once(&0).chain(&ends);
                let lengths: Vec<u32> = ends.iter().zip(starts).map(|(end, start)| end - start).collect();
                (lengths, codes)
            });
            let parts: Vec<(Vec<u32>, Vec<u32>)> = parts.collect();
            let slices: Vec<(&[u32], &[u32])> = parts.iter().map(|(lengths, codes)| (&**lengths, &**codes)).collect();
            // The file need not be durable, because it is built again after a power failure.
            let _pending = stored::write(folder, key, &layout, b, &slices)?;
            graph.release(b);
            Ok(())
        })?;
    }
    BlockStore::open(folder, key, Half::Lower, layout)
}
