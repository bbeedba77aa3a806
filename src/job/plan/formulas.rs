//! Formulas for the memory and disk space, in bytes, that parts of a job need. They call the functions that size the
//! buffers.

use crate::algo::GraphSize;
use crate::config::Job;
use crate::formats::{Input, WeightType, Weights, WeightsOption};
use crate::graph::layout::Layout;
use crate::graph::order::DegreeRuns;
use crate::graph::stored;
use crate::graph::weights::stored as stored_weights;
use crate::job::plan::comm_memory::CommMemory;
use crate::job::plan::resources::Resources;
use crate::prepare::dictionary::Dictionary;
use crate::prepare::memory_plan::{MemoryDemand, Sizes};
use crate::prepare::prepared::InputInfo;
use crate::prepare::weight_list::WeightCodes;

/// Page size in bytes. Files occupy whole pages on the disk.
pub(crate) const PAGE: u64 = 4096;

/// Returns the numbers of edges, ids and threads of a rank, and the sizes of its buffers, from which the memory of the
/// stages `partition` and `sort` is computed. The rank receives about the fraction `part` of all edges.
pub(crate) fn needs(
    info: &InputInfo,
    input: &Input,
    comm_memory: &CommMemory,
    threads: usize,
    part: f64,
) -> MemoryDemand {
    let wide = info.weights.is_some_and(|weights| weights.kind.is_wide());
    let reading = input.scratch_bytes(threads) + looking_up(info.sparse, info.ids, wide);
    let edges = info.edges - info.loops;
    MemoryDemand {
        edges: share_of(edges, part),
        likely: (edges as f64 * part) as u64,
        ids: info.ids,
        reading,
        messages: comm_memory.messages(),
        threads,
        weighted: info.weights.is_some(),
    }
}

/// Returns the number of edges to plan for on a rank that receives about the fraction `part` of `edges`: an eighth
/// more than expected. Edges beyond that are spilled.
pub(crate) fn share_of(edges: u64, part: f64) -> u64 {
    if part < 1.0 { (edges as f64 * (1.125 * part).min(1.0)) as u64 } else { edges }
}

/// Returns the size in bytes of the input that is cached between the two passes, and the peak memory in bytes of the
/// second pass with this cache. The cache has at most `most` bytes, in slabs of `slab` bytes. The first pass needs
/// `first_pass` bytes of memory.
pub(crate) fn kept(
    most: u64,
    sizes: Result<Sizes, u64>,
    machine: &Resources,
    slab: u64,
    first_pass: u64,
) -> (u64, u64) {
    let Ok(sizes) = sizes else { return (0, 0) };
    let start = sizes.fixed[0] + sizes.at_start(machine.threads, slab);
    let free = machine.host_memory.saturating_sub(machine.process_bytes());
    match most.min(free.saturating_sub(start.max(first_pass.saturating_sub(machine.process_bytes())))) {
        0 => (0, 0),
        kept => (kept, machine.process_bytes() + sizes.with_cached(kept, machine.threads, slab)),
    }
}

/// Returns the size in bytes of the indexes for looking up `ids` ids, if they are `sparse`, and weights, if they are
/// `wide` (64 bits).
pub(crate) fn looking_up(sparse: bool, ids: u64, wide: bool) -> u64 {
    let ids = if sparse { Dictionary::index_bytes(ids) } else { 0 };
    ids + if wide { WeightCodes::INDEX_BYTES } else { 0 }
}

/// Returns true if the job's graph may store 64-bit weights, according to the job file.
pub(crate) fn may_be_wide(job: &Job) -> bool {
    let asked = job.input.weights();
    job.carries_weights() && (asked == WeightsOption::Auto || asked.named().is_some_and(WeightType::is_wide))
}

/// Returns the size in bytes of the block files of a prepared graph, including weights but not the files of degree
/// order and degrees.
pub(crate) fn store_bytes(info: &InputInfo, layout: &Layout) -> u64 {
    let bodies: u64 = (0..layout.blocks()).map(|b| stored::body_bytes(layout.block(b).len() as u64, 0)).sum();
    let blocks = layout.blocks() as u64;
    let weights = weights_bytes(info.distinct_at_most, blocks, info.weights.is_some());
    bodies + (128 + PAGE) * blocks + 4 * info.distinct_at_most + weights
}

/// Returns the size in bytes of the weight files of `edges` edges, one file for each of `blocks` blocks; 0 unless
/// `weighted`.
pub(crate) fn weights_bytes(edges: u64, blocks: u64, weighted: bool) -> u64 {
    if weighted { 4 * edges + (stored_weights::body_bytes(0) + 128 + PAGE) * blocks } else { 0 }
}

/// Returns the input as the second pass reads it, which needs the most memory: with weights if the job's graph stores
/// weights.
pub(crate) fn as_read(job: &Job, input: &Input) -> Input {
    let weights = if job.carries_weights() { Weights::Read(WeightType::U32) } else { Weights::Skip };
    input.clone().with_weights(weights)
}

/// Returns the size of a graph with `edges` edges, given the statistics `info` of its input. The size includes no
/// memory for reading the input again.
pub(crate) fn size_of<'r>(
    info: &InputInfo,
    edges: u64,
    longest_row: u64,
    blocks: u64,
    degrees: &'r DegreeRuns,
) -> GraphSize<'r> {
    let &InputInfo { connected: vertices, direction, ids, .. } = info;
    // The dictionary of string ids is about as large as the list of sparse ids.
    let sparse = info.sparse || info.names;
    let longest_whole_row = u64::from(degrees.largest()).min(vertices.saturating_sub(1));
    let rows = info.rows();
    GraphSize {
        vertices,
        direction,
        edges,
        column_rows: rows,
        ids,
        sparse,
        longest_row,
        longest_whole_row,
        blocks,
        gpu_row: None,
        reading: 0,
        degrees,
    }
}
