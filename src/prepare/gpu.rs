//! Preparation on a GPU, which does the units of `ingest`, `partition` and `sort`. The kernels are in `kernels/{ingest,partition,sort}.cu`.
//!
//! The host's threads read, copy and store; each has a lane: a queue of work and pinned memory. A stage takes its GPU memory from the
//! workspace's arena and gives all of it back at its end.

use super::Accelerator;
use super::ingest::{Counting, gpu::Counters};
use super::partition::{Placing, gpu::Placers, route::Route};
use super::sort::{Sorting, gpu::Sorters};
use super::transpose::{self, Transpose, Transposed};
use crate::error::Result;
use crate::formats::{Edges, Watch};
use crate::gpu::{COMMON, DeviceSlice, Peers, ProgramSource, SCAN, Workspace};
use crate::graph::layout::Bins;
use crate::memory::Budget;
use crate::size;
use std::ops::DerefMut;

const HEADERS: &[(&str, &str)] = &[COMMON, ("prepare.cuh", include_str!("../../kernels/prepare.cuh"))];

const fn program(name: &'static str, text: &'static str) -> ProgramSource {
    ProgramSource { name, text, headers: HEADERS }
}

/// The kernels that count degrees.
pub static INGEST: ProgramSource = program("ingest.cu", include_str!("../../kernels/ingest.cu"));
/// The kernels that put edges into bins of rows.
pub static PARTITION: ProgramSource = program("partition.cu", include_str!("../../kernels/partition.cu"));
/// The kernels that make rows of bins.
pub static SORT: ProgramSource = program("sort.cu", include_str!("../../kernels/sort.cu"));

/// The kernels that make the upper half of rows.
pub static TRANSPOSE: ProgramSource = program("transpose.cu", include_str!("../../kernels/transpose.cu"));

/// All programs that every preparation launches.
pub static PROGRAMS: [&ProgramSource; 4] = [&SCAN, &INGEST, &PARTITION, &SORT];

/// Words that a lane copies to the GPU at once. The batches in flight of all lanes should stay in the CPU's cache, from where the GPU reads
/// them. (Batches of 4 MiB took a seventh longer to partition 43 GB, those of 256 KiB a third longer to ingest.)
pub(super) const LARGEST_BATCH: u64 = 1 << 18;
/// From this many ranks on one machine, which share its cache, half of that batch is faster. (With four ranks both passes took 0.93 s
/// rather than 1.0 s.)
const MANY_RANKS: usize = 3;

/// The [`Accelerator`] that is a GPU.
pub struct Gpu<'b, W> {
    workspace: W,
    peers: &'b Peers,
}

impl<'b, W: DerefMut<Target = Workspace>> Gpu<'b, W> {
    /// Takes all of `workspace`; `peers` are the other ranks.
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

/// Logs that a stage is left to the CPU, and why.
fn left(stage: &str, workspace: &Workspace) {
    let bytes = size::show(workspace.arena.bytes());
    tracing::info!("{stage} on the CPU: this graph takes more than the {bytes} of GPU memory");
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
        device_map: Option<DeviceSlice<u32>>,
        source: &'s str,
    ) -> Result<Option<Box<dyn Placing + 's>>> {
        let batch = self.largest_batch();
        let workspace = self.ready();
        let Some(plan) = Placers::plan(workspace, route, map, device_map.is_some(), batch) else {
            left("partition", workspace);
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
    ) -> Result<Option<Box<dyn Sorting + 's>>> {
        let workspace = self.ready();
        let Some(plan) = Sorters::plan(workspace, bins, rows, threads, most) else {
            left("sort", workspace);
            return Ok(None);
        };
        Ok(Some(Box::new(Sorters::new(workspace, plan)?)))
    }

    fn transposing(&mut self, transpose: &Transpose<'_>, watch: &dyn Watch) -> Result<Option<Transposed>> {
        let workspace = self.ready();
        let done = transpose::gpu::build(transpose, workspace, watch)?;
        if done.is_none() {
            left("transpose", self.ready());
        }
        Ok(done)
    }
}

/// Hands `edges` to `push` as pairs of 32-bit ids, the only ones that the GPU takes; an edge with a larger id goes to `beyond`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepare::partition;

    #[test]
    fn constants_are_those_of_the_kernels() {
        for program in PROGRAMS.into_iter().filter(|program| program.name != "scan.cu") {
            let of = |name| program.constant(name);
            assert_eq!(of("THREADS"), u64::from(crate::gpu::THREADS));
            assert_eq!([of("LINE"), of("LINE_WORDS")], [partition::LINE, partition::WORDS].map(|number| number as u64));
            assert_eq!(of("NONE"), u64::from(u32::MAX));
        }
    }
}
