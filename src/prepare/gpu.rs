//! Preparation of a graph on a GPU, which executes the steps `ingest`, `partition`, `sort` and `transpose`. The kernels
//! are in the files of these names in `kernels`. Kernels for weighted edges are separate programs, compiled from the
//! same source text.
//!
//! Host threads read the input, copy edges to the GPU and store the results. Each thread uses a *lane*: a GPU queue
//! with pinned buffers. A step allocates GPU memory from the workspace's arena, and frees all of this memory when it
//! ends.

use crate::error::Result;
use crate::formats::Edges;
use crate::gpu::{COMMON, Peers, ProgramSource, SCAN, SPLITMIX, THREADS, Workspace, constant};
use crate::size;
use parking_lot::MutexGuard;

/// Source text of the header shared by all GPU programs of preparation.
pub(super) const HEADER: &str = include_str!("../../kernels/prepare.cuh");
const HEADERS: &[(&str, &str)] = &[COMMON, ("prepare.cuh", HEADER)];
const INGEST_TEXT: &str = include_str!("../../kernels/ingest.cu");
/// Source text of the program [`TRANSPOSE`].
pub(super) const TRANSPOSE_TEXT: &str = include_str!("../../kernels/transpose.cu");

const PARTITION_TEXT: &str = include_str!("../../kernels/partition.cu");
const SORT_TEXT: &str = include_str!("../../kernels/sort.cu");
const WEIGHTED_HEADERS: &[(&str, &str)] =
    &[HEADERS[0], HEADERS[1], ("partition.cu", PARTITION_TEXT), ("sort.cu", SORT_TEXT)];

const _: () = assert!(constant(HEADER, "THREADS") == THREADS, "the kernels have the same constant");
/// Maximum number of hashes of sampled edges that a kernel returns for a batch.
pub(super) const SAMPLED: usize = constant(INGEST_TEXT, "SAMPLED") as usize;

const fn program(name: &'static str, text: &'static str) -> ProgramSource {
    ProgramSource { name, text, headers: HEADERS }
}

const fn weighted_program(name: &'static str, text: &'static str) -> ProgramSource {
    ProgramSource { name, text, headers: WEIGHTED_HEADERS }
}

/// GPU program with the kernels that count degrees.
pub static INGEST: ProgramSource =
    ProgramSource { name: "ingest.cu", text: INGEST_TEXT, headers: &[COMMON, ("prepare.cuh", HEADER), SPLITMIX] };
/// GPU program with the kernels that put edges in bins.
pub static PARTITION: ProgramSource = program("partition.cu", PARTITION_TEXT);
static WEIGHTED_PARTITION: ProgramSource =
    weighted_program("partition_weighted.cu", include_str!("../../kernels/partition_weighted.cu"));
/// GPU program with the kernels that sort bins into rows.
pub static SORT: ProgramSource = program("sort.cu", SORT_TEXT);
static WEIGHTED_SORT: ProgramSource =
    weighted_program("sort_weighted.cu", include_str!("../../kernels/sort_weighted.cu"));

/// GPU program with the kernels that build the upper half of rows from the lower half.
pub static TRANSPOSE: ProgramSource = program("transpose.cu", TRANSPOSE_TEXT);

/// Returns the GPU program that puts edges in bins; `weighted` says whether edges have weights.
pub(super) fn partition_program(weighted: bool) -> &'static ProgramSource {
    if weighted { &WEIGHTED_PARTITION } else { &PARTITION }
}

/// Returns the GPU program that sorts bins into rows; `weighted` says whether edges have weights.
pub(super) fn sort_program(weighted: bool) -> &'static ProgramSource {
    if weighted { &WEIGHTED_SORT } else { &SORT }
}

/// Returns the GPU programs that every preparation launches; `weighted` says whether edges have weights.
pub fn programs(weighted: bool) -> [&'static ProgramSource; 4] {
    [&SCAN, &INGEST, partition_program(weighted), sort_program(weighted)]
}

/// Maximum number of 32-bit words that a lane (one host thread's GPU queue) copies to the GPU at once. The batches of
/// all lanes should stay in the CPU's cache, from which the GPU reads them. (With batches of 4 MiB, partitioning 43 GB
/// took a seventh longer; with batches of 256 KiB, ingest took a third longer.)
pub(super) const LARGEST_BATCH: u64 = 1 << 18;
/// Minimum number of ranks on one machine for which batches of half the size are faster, because the ranks share the
/// cache. (With four ranks both passes took 0.93 s rather than 1.0 s.)
const MANY_RANKS: usize = 3;

/// The GPU of this rank, for the steps of preparation. Each step may use all GPU memory of the workspace.
pub struct PrepareGpu<'a> {
    workspace: MutexGuard<'a, Workspace>,
    pub(super) peers: &'a Peers,
}

impl<'a> PrepareGpu<'a> {
    /// Makes a `PrepareGpu` from a locked workspace. `peers` gives access to the GPUs of other ranks.
    pub fn new(workspace: MutexGuard<'a, Workspace>, peers: &'a Peers) -> Self {
        PrepareGpu { workspace, peers }
    }

    /// Returns the maximum number of 32-bit words that a lane (one host thread's GPU queue) copies to the GPU at once.
    pub(super) fn largest_batch(&self) -> u64 {
        if self.peers.comm().local_ranks() < MANY_RANKS { LARGEST_BATCH } else { LARGEST_BATCH / 2 }
    }

    /// Frees all GPU memory of the workspace and calls `plan`, which plans the step `name`. Then calls `step` with this
    /// plan, and returns the result. If `plan` returns `None`, because memory is too small, logs that the CPU executes
    /// the step, and returns `None`.
    pub(super) fn begin<'s, P, S>(
        &'s mut self,
        name: &str,
        plan: impl FnOnce(&Workspace) -> Option<P>,
        step: impl FnOnce(&'s mut Workspace, P) -> Result<S>,
    ) -> Result<Option<S>> {
        match plan(self.reset()) {
            Some(plan) => step(&mut self.workspace, plan).map(Some),
            None => {
                self.log_fallback(name);
                Ok(None)
            }
        }
    }

    /// Frees all memory of the workspace's arena, and returns the workspace.
    pub(super) fn reset(&mut self) -> &mut Workspace {
        self.workspace.arena.reset(0);
        &mut self.workspace
    }

    /// Logs that the CPU executes the step `name`, and why.
    pub(super) fn log_fallback(&self, name: &str) {
        let bytes = size::show(self.workspace.arena.bytes());
        tracing::info!("{name} on the CPU: this graph needs more than the {bytes} of GPU memory");
    }
}

/// Passes `edges` to `push` as pairs of 32-bit ids, the only ids that the GPU supports. Edges with larger ids are
/// passed to `beyond`.
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
