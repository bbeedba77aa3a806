//! Preparation on a GPU, which does the work of `ingest`, `partition`, `sort` and `transpose`. The kernels are in the
//! files of these names in `kernels`. Kernels for edges with weights are separate programs, compiled from the same
//! text.
//!
//! The host's threads read, copy and store. Each has a lane: a queue of work for the GPU, and pinned memory. A stage
//! takes its GPU memory from the workspace's arena and gives all of it back at its end.

use super::Accelerator;
use super::ingest::{Counting, gpu::Counters};
use super::partition;
use super::partition::{Placing, gpu::Placers, gpu_plan::PlacerPlan, route::Route};
use super::sort::{Sorting, gpu::Sorters};
use super::transpose::GROUP_BITS;
use super::transpose::{self, Transpose, Transposed};
use crate::error::Result;
use crate::formats::{Edges, Watch};
use crate::gpu::{COMMON, DeviceSlice, Peers, ProgramSource, SCAN, THREADS, Workspace, constant};
use crate::graph::layout::Bins;
use crate::memory::Budget;
use crate::size;
use std::ops::DerefMut;

const HEADER: &str = include_str!("../../kernels/prepare.cuh");
const HEADERS: &[(&str, &str)] = &[COMMON, ("prepare.cuh", HEADER)];
const INGEST_TEXT: &str = include_str!("../../kernels/ingest.cu");
const TRANSPOSE_TEXT: &str = include_str!("../../kernels/transpose.cu");

const PARTITION_TEXT: &str = include_str!("../../kernels/partition.cu");
const SORT_TEXT: &str = include_str!("../../kernels/sort.cu");
const WEIGHTED_HEADERS: &[(&str, &str)] =
    &[HEADERS[0], HEADERS[1], ("partition.cu", PARTITION_TEXT), ("sort.cu", SORT_TEXT)];

// The CPU's constants, which the kernels repeat.
const _: () = {
    assert!(constant(HEADER, "THREADS") == THREADS);
    assert!(constant(HEADER, "LINE") as usize == partition::LINE);
    assert!(constant(HEADER, "PLAIN_WORDS") as usize == partition::WORDS);
    assert!(constant(TRANSPOSE_TEXT, "GROUP_BITS") == GROUP_BITS);
};
/// Number of hashes in the sample of edges.
pub(super) const SAMPLED: usize = constant(INGEST_TEXT, "SAMPLED") as usize;

const fn program(name: &'static str, text: &'static str) -> ProgramSource {
    ProgramSource { name, text, headers: HEADERS }
}

const fn weighted_program(name: &'static str, text: &'static str) -> ProgramSource {
    ProgramSource { name, text, headers: WEIGHTED_HEADERS }
}

/// The kernels that count degrees.
pub static INGEST: ProgramSource = program("ingest.cu", INGEST_TEXT);
/// The kernels that place edges in bins of rows.
pub static PARTITION: ProgramSource = program("partition.cu", PARTITION_TEXT);
static WEIGHTED_PARTITION: ProgramSource =
    weighted_program("partition_weighted.cu", include_str!("../../kernels/partition_weighted.cu"));
/// The kernels that sort bins into rows.
pub static SORT: ProgramSource = program("sort.cu", SORT_TEXT);
static WEIGHTED_SORT: ProgramSource =
    weighted_program("sort_weighted.cu", include_str!("../../kernels/sort_weighted.cu"));

/// The kernels that build the upper half of rows from the lower half.
pub static TRANSPOSE: ProgramSource = program("transpose.cu", TRANSPOSE_TEXT);

/// Returns the program that places edges in bins; `weighted` says whether edges have weights.
pub(super) fn partition_program(weighted: bool) -> &'static ProgramSource {
    if weighted { &WEIGHTED_PARTITION } else { &PARTITION }
}

/// Returns the program that sorts bins into rows; `weighted` says whether edges have weights.
pub(super) fn sort_program(weighted: bool) -> &'static ProgramSource {
    if weighted { &WEIGHTED_SORT } else { &SORT }
}

/// Returns the programs that every preparation launches; `weighted` says whether edges have weights.
pub fn programs(weighted: bool) -> [&'static ProgramSource; 4] {
    [&SCAN, &INGEST, partition_program(weighted), sort_program(weighted)]
}

/// Most words that a lane copies to the GPU at once. The batches of all lanes should stay in the CPU's cache, from
/// where the GPU reads them. (With batches of 4 MiB, partitioning 43 GB took a seventh longer; with batches of 256 KiB,
/// ingest took a third longer.)
pub(super) const LARGEST_BATCH: u64 = 1 << 18;
/// From this many ranks on one machine, batches of half the size are faster, because the ranks share the cache. (With
/// four ranks both passes took 0.93 s rather than 1.0 s.)
const MANY_RANKS: usize = 3;

/// A GPU as an [`Accelerator`].
pub struct Gpu<'b, W> {
    workspace: W,
    peers: &'b Peers,
}

impl<'b, W: DerefMut<Target = Workspace>> Gpu<'b, W> {
    /// Makes an accelerator that may use all of `workspace`. `peers` gives access to the GPUs of other ranks.
    pub fn new(workspace: W, peers: &'b Peers) -> Self {
        Gpu { workspace, peers }
    }

    fn largest_batch(&self) -> u64 {
        if self.peers.comm().local_ranks() < MANY_RANKS { LARGEST_BATCH } else { LARGEST_BATCH / 2 }
    }

    fn reset_workspace(&mut self) -> &mut Workspace {
        self.workspace.arena.reset(0);
        &mut self.workspace
    }
}

/// Logs that the CPU does a stage, and why.
fn log_fallback(stage: &str, workspace: &Workspace) {
    let bytes = size::show(workspace.arena.bytes());
    tracing::info!("{stage} on the CPU: this graph needs more than the {bytes} of GPU memory");
}

impl<W: DerefMut<Target = Workspace>> Accelerator for Gpu<'_, W> {
    fn counting<'s>(
        &'s mut self,
        end: u64,
        exact: bool,
        expected_edges: u64,
        budget: &Budget,
    ) -> Result<Option<Box<dyn Counting + 's>>> {
        let (peers, batch) = (self.peers, self.largest_batch());
        let workspace = self.reset_workspace();
        let Some(plan) = Counters::plan(workspace, end, exact, batch) else {
            log_fallback("ingest", workspace);
            return Ok(None);
        };
        Ok(Some(Box::new(Counters::new(workspace, plan, expected_edges, budget, peers)?)))
    }

    fn placing<'s>(
        &'s mut self,
        route: &'s Route<'_, '_>,
        map: &'s [u32],
        device_map: Option<DeviceSlice<u32>>,
        source: &'s str,
    ) -> Result<Option<Box<dyn Placing + 's>>> {
        let batch = self.largest_batch();
        let workspace = self.reset_workspace();
        let Some(plan) = PlacerPlan::new(workspace, route, map, device_map.is_some(), batch) else {
            log_fallback("partition", workspace);
            return Ok(None);
        };
        Ok(Some(Box::new(Placers::new(workspace, plan, route, (map, device_map), source)?)))
    }

    fn sorting<'s>(
        &'s mut self,
        bins: &Bins,
        rows: u64,
        threads: usize,
        most: u64,
        weighted: bool,
    ) -> Result<Option<Box<dyn Sorting + 's>>> {
        let workspace = self.reset_workspace();
        let Some(plan) = Sorters::plan(workspace, bins, rows, threads, most, weighted) else {
            log_fallback("sort", workspace);
            return Ok(None);
        };
        Ok(Some(Box::new(Sorters::new(workspace, plan)?)))
    }

    fn transposing(&mut self, transpose: &Transpose<'_>, watch: &dyn Watch) -> Result<Option<Transposed>> {
        let workspace = self.reset_workspace();
        let done = transpose::gpu::build(transpose, workspace, watch)?;
        if done.is_none() {
            log_fallback("transpose", self.reset_workspace());
        }
        Ok(done)
    }
}

/// Passes `edges` to `push` as pairs of 32-bit ids, because the GPU takes no larger ones. An edge with a larger id goes
/// to `beyond`.
pub(super) fn narrow<T>(
    to: &mut T,
    edges: Edges<'_>,
    push: impl Fn(&mut T, &[u32]) -> Result<()>,
    beyond: impl Fn(&mut T, u64, u64) -> Result<()>,
) -> Result<()> {
    let edges = match edges {
        Edges::Narrow(edges) => return push(to, edges.as_flattened()),
        Edges::Wide(edges) => edges,
    };
    let mut narrow = [[0u32; 2]; 512];
    for edges in edges.chunks(narrow.len()) {
        let mut filled = 0;
        for &[u, v] in edges {
            match (u32::try_from(u), u32::try_from(v)) {
                (Ok(u), Ok(v)) => {
                    narrow[filled] = [u, v];
                    filled += 1;
                }
                _ => beyond(to, u, v)?,
            }
        }
        push(to, narrow[..filled].as_flattened())?;
    }
    Ok(())
}
