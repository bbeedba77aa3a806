//! Chooses the edges that GPU memory holds if rows are in host memory: the near edges, which are the first edges of each
//! row. Rows ascend by weight, and a search that has passed the hubs follows few other edges (`kernels/sssp_prepare.cu`).
//! The choice affects only how often the bus is used, never the answer.
#![allow(unsafe_code)] // kernel launches

use super::PREPARE;
use super::kernel_structs::{Excess, SsspGraph};
use crate::algo::sssp::cpu::ExcessCounts;
use crate::error::Result;
use crate::formats::WeightType;
use crate::gpu::{Arena, DeviceSlice, Scan, Workspace, constant, slice_bytes};

/// Number of steps into which excesses (a weight minus the distance of the row's vertex) are divided.
const STEPS: usize = constant(PREPARE.text, "EXCESS_STEPS") as usize;

/// GPU memory for near edges.
#[derive(Debug)]
pub(super) struct NearEdges {
    starts: DeviceSlice<u32>,
    edges: DeviceSlice<u64>,
    /// Number of edges in each step of excess, and sums of tiles of `starts`.
    counts: DeviceSlice<u64>,
}

impl NearEdges {
    /// Reserves all free memory of `arena` (the GPU memory of a rank) but `rest` bytes, and no more than for `most` edges
    /// of `rows` rows.
    ///
    /// # Errors
    /// [`crate::Error::internal`] if the arena has fewer than `rest` bytes.
    pub fn take(arena: &mut Arena, rows: u64, most: u64, rest: u64) -> Result<NearEdges> {
        let (starts, counts) = (rows + 1, (STEPS as u64 + 2).max(Scan::scratch(rows + 1)));
        let free = arena.free().saturating_sub(rest + slice_bytes::<u32>(starts) + slice_bytes::<u64>(counts));
        let edges = (free / 8).saturating_sub(64).min(most).min(u32::MAX.into());
        let [starts, counts] = if edges > 0 { [starts, counts] } else { [0, 0] };
        Ok(NearEdges {
            starts: arena.take_planned(starts)?,
            edges: arena.take_planned(edges)?,
            counts: arena.take_planned(counts)?,
        })
    }

    /// Chooses the near edges of the rows of `graph`, copies them from host memory, and enters them in `graph`. `excess`
    /// has the distances of all vertices from the first, which is a hub.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn choose(&self, workspace: &Workspace, graph: &mut SsspGraph, excess: Excess) -> Result<()> {
        let queue = &workspace.queue;
        let kernel = |name| workspace.kernel(&PREPARE, name);
        let Some(rows) = self.starts.len().checked_sub(1) else { return Ok(()) };
        queue.fill(self.counts, 0)?;
        let arguments = (*graph, excess, rows, self.counts.address());
        // SAFETY: the arguments match the kernel's; rows and distances are in place.
        unsafe { queue.launch(&kernel("sssp_excess")?, queue.grid(rows.saturating_mul(32)), arguments)? };
        let mut found = vec![0; STEPS + 2];
        queue.read(self.counts.part(0..STEPS as u64 + 2), &mut found)?;
        let rows_with_edges = found.pop().unwrap_or_default();
        let counts = ExcessCounts { entries: found, rows: rows_with_edges };
        let Some((kept, steps)) = counts.fit(self.edges.len()) else { return Ok(()) };
        let (starts, edges) = (self.starts.address(), self.edges.address());
        // SAFETY: the arguments match the kernel's. There is an element for each row and one more.
        unsafe {
            let arguments = (*graph, excess, rows, steps as u32, starts);
            queue.launch(&kernel("sssp_near_counts")?, queue.grid(rows + 1), arguments)?;
        }
        Scan::load(workspace)?.launch(queue, self.starts, DeviceSlice::at(self.counts.address(), self.counts.len()))?;
        // SAFETY: the arguments match the kernel's. The sum of all counts is `kept`, for which there is room.
        unsafe {
            let arguments = (*graph, rows, starts, edges);
            queue.launch(&kernel("sssp_near")?, queue.grid(rows.saturating_mul(32)), arguments)?;
        }
        queue.finish()?;
        (graph.near, graph.near_starts) = (edges, starts);
        tracing::info!("GPU memory keeps {kept} edges of rows in host memory");
        Ok(())
    }
}

/// Returns the number by which kernels know a type of weights.
pub(super) fn scale_of(kind: WeightType) -> u32 {
    match kind {
        WeightType::U32 => 0,
        WeightType::F32 => 1,
        WeightType::U64 => 2,
        WeightType::F64 => 3,
    }
}
