//! Checks layers and core numbers against the edges of the input, without computing them again. Vertices are identified
//! by input ids.
//!
//! All vertices of a layer have the same core number. Layers are correct if this number never decreases from one layer
//! to the next, and if for every vertex with core number k in layer l:
//!
//! - at most k neighbours are in layer l or later, so the vertex can be removed then, and exactly k if l is the first
//!   layer with core number k, so that no smaller level would remove the vertex;
//! - more neighbours are in layer l - 1 or later than the core number of layer l - 1, so the vertex cannot be removed
//!   earlier.
//!
//! The check needs only two counts for each vertex, so the edges can be read in parts.

use super::output::CoresOutput;
use crate::algo::verify::edge_list::EdgeList;
use crate::algo::verify::reread::Ids;
use crate::algo::{EdgeSource, Results};
use crate::error::{Error, Result};
use crate::graph::direction::Direction;
use crate::memory::Buffer;
use crate::process::signals;
use crate::results::read::READING;

/// Memory, in bytes, that a check of core numbers takes per input id: for two values, two counts, and the core number
/// of a layer. If the check reads a prepared graph, this includes the id of a vertex.
const ID_BYTES: u64 = 24;

/// Returns the minimum memory, in bytes, with which core numbers can be checked.
pub(super) fn least_bytes(ids: u64, edges: u64, threads: usize) -> u64 {
    READING + EdgeList::batch_bytes(threads) + ID_BYTES * (ids + 2) + EdgeList::least_bytes(edges, threads)
}

/// Checks the reported statistics and the result columns. Returns a sentence about the result of the check.
///
/// # Errors
/// [`Error::Validation`] if anything is wrong; [`Error::Limit`]; read errors; [`Error::Stopped`].
pub(super) fn compare(output: &CoresOutput, edges: &EdgeSource<'_>, results: &Results<'_>) -> Result<String> {
    let (info, budget, threads) = (results.info, results.budget, results.threads);
    let _reserved = budget.reserve(READING + EdgeList::batch_bytes(threads), "edges and a column")?;
    let ids = Ids::open(results)?;
    let purpose = "core numbers to verify by (20 bytes for each id)";
    let buffer = || -> Result<Buffer<u32>> { budget.zeroed(info.ids as usize, purpose) };
    let (mut cores, mut layers, mut with, mut before) = (buffer()?, buffer()?, buffer()?, buffer()?);
    let mut levels: Buffer<u32> = budget.zeroed(info.ids as usize + 2, purpose)?;
    let mut found = CoresOutput::default();
    let column = |name| results.column::<i64>(name, &ids, -1);
    let (mut core_values, mut layer_values) = (column("out/cores/core")?, column("out/cores/layer")?);
    let wrong = |row: u64, what: String| Error::Validation(format!("vertex {}: {what}", ids.label(row)));
    for row in 0u64.. {
        let values = (core_values.next().transpose()?, layer_values.next().transpose()?);
        let (Some(core), Some(layer)) = values else { break };
        // Vertices that the input declares may have larger ids than any vertex of an edge. They have no edge.
        let most = if row < info.ids { info.ids as i64 } else { 0 };
        if !(0..=most).contains(&core) || !(1..=most + 1).contains(&layer) {
            return Err(wrong(row, format!("core number {core} in layer {layer}")));
        }
        found.add(core as u64, layer as u64, 1);
        let level = &mut levels[layer as usize];
        if *level != 0 && *level != core as u32 + 1 {
            return Err(wrong(row, format!("core number {core}, others in layer {layer} have {}", *level - 1)));
        }
        *level = core as u32 + 1;
        if row < info.ids {
            (cores[row as usize], layers[row as usize]) = (core as u32, layer as u32);
        }
    }
    if *output != found {
        return Err(Error::Validation(format!("{found:?} by the columns, the job has {output:?}")));
    }
    let levels = &levels[1..=found.layers as usize];
    if let Some(layer) = levels.iter().position(|&level| level == 0) {
        return Err(Error::Validation(format!("out/cores/layer: no vertex is in layer {}", layer + 1)));
    }
    if !levels.is_sorted() {
        return Err(Error::Validation("out/cores: a later layer has smaller core numbers".into()));
    }

    // Reading takes memory as well. Reading the blocks of a prepared graph also takes memory for the ids of vertices.
    let scratch = edges.scratch_bytes(threads) + 4 * info.connected;
    let wanted = EdgeList::bytes_of_graph(results, 1);
    let mut list = EdgeList::new(wanted.min(budget.free().saturating_sub(scratch)), budget)?;
    let parts = list.parts(results.stored.edges);
    for part in 0..parts {
        list.collect_part((edges, &ids, results), (part, parts), Direction::Undirected)?;
        signals::check()?;
        for &edge in list.edges() {
            let [u, v] = [edge as u32 as usize, (edge >> 32) as usize];
            for [of, to] in [[u, v], [v, u]] {
                with[of] += u32::from(layers[to] >= layers[of]);
                before[of] += u32::from(layers[to] + 1 >= layers[of]);
            }
        }
    }
    // `levels` stores, for each layer, its core number plus one.
    let core_of = |layer: u32| levels.get((layer as usize).wrapping_sub(1)).map_or(0, |level| level - 1);
    for row in 0..info.ids as usize {
        let (core, layer, with, before) = (cores[row], layers[row], with[row], before[row]);
        let is_first = layer == 1 || core_of(layer - 1) < core;
        if with > core || is_first && with < core {
            return Err(wrong(row as u64, format!("core number {core}, but {with} neighbours in its layer and later")));
        }
        if layer > 1 && before <= core_of(layer - 1) {
            return Err(wrong(row as u64, format!("in layer {layer}, but removable in the one before")));
        }
    }
    Ok(format!("{} layers fit the edges of {}, and the core numbers follow", found.layers, edges.name()))
}
