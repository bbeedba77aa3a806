//! What parts of a job take in memory and on disk, by the functions that its buffers are sized with.

use super::graph::Facts;
use super::journal::Record;
use super::machine::Machine;
use super::moving::Moving;
use crate::algo::triangle::{Counter, Settings};
use crate::config::{Job, OutputFormat};
use crate::formats::Input;
use crate::graph::layout::Layout;
use crate::graph::stored;
use crate::prepare::dictionary::Dictionary;
use crate::prepare::shares::{Needs, Sizes};

/// Files take whole pages on the disk.
pub(super) const PAGE: u64 = 4096;

/// What partitioning and sorting are sized by on a rank that gets about this `part` of all edges.
pub(super) fn needs(facts: &Facts, input: &Input, moving: &Moving, threads: usize, part: f64) -> Needs {
    let reading = input.scratch_bytes(threads) + looking_up(facts.sparse, facts.ids);
    let edges = share_of(facts.edges - facts.loops, part);
    Needs { edges, ids: facts.ids, reading, moving: moving.on_the_way(), threads }
}

/// Edges of a rank that gets about this `part` of `edges`: an eighth more than it should be; what is beyond that spills.
pub(super) fn share_of(edges: u64, part: f64) -> u64 {
    if part < 1.0 { (edges as f64 * (1.125 * part).min(1.0)) as u64 } else { edges }
}

/// How many of `most` bytes of the input may be kept between passes on `machine`, in slabs of `slab` bytes, where the
/// first pass takes `beside` bytes; and what the second pass then takes at most.
pub(super) fn kept(most: u64, sizes: Result<Sizes, u64>, machine: &Machine, slab: u64, beside: u64) -> (u64, u64) {
    let Ok(sizes) = sizes else { return (0, 0) };
    let start = sizes.beside[0] + sizes.at_start(machine.threads, slab);
    let free = machine.host_memory.saturating_sub(machine.own());
    match most.min(free.saturating_sub(start.max(beside.saturating_sub(machine.own())))) {
        0 => (0, 0),
        kept => (kept, machine.own() + sizes.with_kept(kept, machine.threads, slab)),
    }
}

pub(super) fn looking_up(sparse: bool, ids: u64) -> u64 {
    if sparse { Dictionary::index_bytes(ids) } else { 0 }
}

/// What counting is sized by: the vertices, edges and longest row of a graph.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    pub(super) vertices: u64,
    pub(super) edges: u64,
    pub(super) row: u64,
}

impl Counted {
    /// Host memory of counting on `machine`, beside what is taken before it, and the least that does. On a GPU both are the
    /// counts of vertices alone.
    pub(super) fn bytes(&self, job: &Job, on_gpu: bool, machine: &Machine) -> [u64; 2] {
        let Counted { vertices, edges, row } = *self;
        let counts = if job.triangle.is_some_and(|table| table.per_vertex) { 8 * vertices } else { 0 };
        if on_gpu {
            return [counts; 2];
        }
        let free = machine.host_memory.saturating_sub(machine.own() + counts);
        [free, 0].map(|free| {
            let settings = Settings::within(machine.threads, edges, vertices, row, free);
            counts + Counter::scratch_bytes(&settings, vertices, row)
        })
    }
}

/// Bytes of the files of a prepared graph, without order and degrees.
pub(super) fn store_bytes(facts: &Facts, layout: &Layout) -> u64 {
    let bodies: u64 = (0..layout.blocks()).map(|b| stored::body_bytes(layout.block(b).len() as u64, 0)).sum();
    bodies + (128 + PAGE) * layout.blocks() as u64 + 4 * facts.distinct_at_most
}

/// Bytes of results per vertex and of the checkpoints on the way to them.
pub(super) fn results_bytes(job: &Job, vertices: u64, connected: u64, sparse: bool) -> u64 {
    if !job.triangle.is_some_and(|table| table.per_vertex) {
        return 0;
    }
    // A checkpoint for each trial, and one that is being written.
    let checkpoints = (8 * connected + PAGE) * (u64::from(job.run.trials) + 1);
    let columns = match job.output.format {
        OutputFormat::Npy => 16,
        // An id, a count of up to 20 digits and a fraction of up to 20, with commas and newlines.
        OutputFormat::Csv => 2 * 22 + 20,
    };
    checkpoints + (columns + if sparse { 8 } else { 0 }) * vertices + 3 * PAGE
}

/// Bytes of the journals of `units` units, one for each trial; per vertex checkpoints have the units instead.
pub(super) fn units_bytes(job: &Job, units: u64) -> u64 {
    let per_vertex = job.triangle.is_some_and(|table| table.per_vertex);
    let each = if per_vertex { 8 } else { Record::bytes(super::triangle::RESULT_BYTES) };
    each * units * (u64::from(job.run.trials) + u64::from(per_vertex))
}

/// Bytes that ranks send to others for counts at vertices: each gets its share of the sum from all, and gives it to the
/// leader.
pub(super) fn counts_exchanged(job: &Job, ranks: usize, vertices: u64) -> u64 {
    match job.triangle {
        Some(table) if table.per_vertex && ranks > 1 => u64::from(job.run.trials) * 8 * vertices * ranks as u64,
        _ => 0,
    }
}
