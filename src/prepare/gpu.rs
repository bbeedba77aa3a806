//! Preparation on a GPU: the units of `ingest`, `partition` and `sort` in its memory. Kernels are in
//! `kernels/{ingest,partition,sort}.cu`.
//!
//! The host's threads read, copy and store; each has a lane: a queue of work and pinned memory. All memory on the GPU is
//! taken from the workspace's arena for one stage and given back after it.

use super::Accelerator;
use super::ingest::{Counting, gpu::Counters};
use super::partition::{Placing, gpu::Placers, route::Route};
use super::sort::{Sorting, gpu::Sorters};
use crate::error::Result;
use crate::formats::Edges;
use crate::gpu::{COMMON, DeviceSlice, Peers, ProgramSource, SCAN, Workspace};
use crate::graph::layout::Bins;
use crate::memory::Budget;
use crate::size;
use std::ops::DerefMut;

const HEADERS: &[(&str, &str)] = &[COMMON, ("prepare.cuh", include_str!("../../kernels/prepare.cuh"))];

const fn program(name: &'static str, text: &'static str) -> ProgramSource {
    ProgramSource { name, text, headers: HEADERS }
}

/// Counts degrees.
pub static INGEST: ProgramSource = program("ingest.cu", include_str!("../../kernels/ingest.cu"));
/// Puts edges into bins of rows.
pub static PARTITION: ProgramSource = program("partition.cu", include_str!("../../kernels/partition.cu"));
/// Makes rows of bins.
pub static SORT: ProgramSource = program("sort.cu", include_str!("../../kernels/sort.cu"));

/// All programs that preparation launches.
pub static PROGRAMS: [&ProgramSource; 4] = [&SCAN, &INGEST, &PARTITION, &SORT];

/// Words that a lane copies to the GPU at once: what is on its way from all lanes should not leave the processor's cache, from
/// where the GPU reads it. (Batches of 4 MiB took a seventh longer to partition 43 GB, those of 256 KiB a third to ingest.)
pub(super) const LARGEST_BATCH: u64 = 1 << 18;
/// Ranks of one machine, which share its cache, that half of it is better for. (Four: 0.93 s for both passes rather than 1.0 s.)
const MANY_RANKS: usize = 3;

/// Prepares with a GPU.
pub struct Gpu<'b, W> {
    workspace: W,
    peers: &'b Peers,
}

impl<'b, W: DerefMut<Target = Workspace>> Gpu<'b, W> {
    /// With all of `workspace`; `peers` are the other ranks.
    pub fn new(workspace: W, peers: &'b Peers) -> Self {
        Gpu { workspace, peers }
    }

    fn largest_batch(&self) -> u64 {
        if self.peers.comm().local_ranks() < MANY_RANKS { LARGEST_BATCH } else { LARGEST_BATCH / 2 }
    }

    fn ready(&mut self) -> &mut Workspace {
        self.workspace.arena.reset(0);
        &mut self.workspace
    }
}

/// What a device does is left to the processor: says why.
fn left(stage: &str, workspace: &Workspace) {
    let bytes = size::show(workspace.arena.bytes());
    tracing::info!("{stage} on the processor: this graph takes more than the {bytes} of GPU memory");
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
        let workspace = self.ready();
        let Some(plan) = Counters::plan(workspace, end, exact, batch) else {
            left("ingest", workspace);
            return Ok(None);
        };
        Ok(Some(Box::new(Counters::new(workspace, plan, expected_edges, budget, peers)?)))
    }

    fn placing<'s>(
        &'s mut self,
        route: &'s Route<'_, '_>,
        map: &'s [u32],
        there: Option<DeviceSlice<u32>>,
        source: &'s str,
    ) -> Result<Option<Box<dyn Placing + 's>>> {
        let batch = self.largest_batch();
        let workspace = self.ready();
        let Some(plan) = Placers::plan(workspace, route, map, there.is_some(), batch) else {
            left("partition", workspace);
            return Ok(None);
        };
        Ok(Some(Box::new(Placers::new(workspace, plan, route, (map, there), source)?)))
    }

    fn sorting<'s>(
        &'s mut self,
        bins: &Bins,
        rows: u64,
        threads: usize,
        most: u64,
    ) -> Result<Option<Box<dyn Sorting + 's>>> {
        let workspace = self.ready();
        let Some(plan) = Sorters::plan(workspace, bins, rows, threads, most) else {
            left("sort", workspace);
            return Ok(None);
        };
        Ok(Some(Box::new(Sorters::new(workspace, plan)?)))
    }
}

/// Hands `edges` to `push` as pairs of 32-bit ids, all that a GPU can name; an edge of a larger id goes to `beyond`.
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
