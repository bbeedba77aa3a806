//! Chooses the *near edges*: the first edges of each row, which are copied to GPU memory if rows are in host memory.
//! Rows are sorted by ascending weight. A search that has passed the hubs follows few edges that are longer than the
//! path from a hub to their heads. So the edges with the smallest *excess* (weight minus the length of this path) are
//! chosen. The choice affects only how often the bus is used, never the answer.
#![allow(unsafe_code)] // kernel launches

use super::PREPARE;
use super::kernel_structs::{Excess, SsspGraph};
use crate::algo::sssp::cpu::ExcessCounts;
use crate::error::Result;
use crate::gpu::{Arena, DeviceSlice, Scan, Workspace, constant, slice_bytes};

/// Number of equal intervals into which the range of excesses is divided. An excess is the weight of an edge minus the
/// distance of the row's vertex from a hub.
pub(super) const STEPS: usize = constant(PREPARE.text, "EXCESS_STEPS") as usize;

/// GPU memory for near edges: the first edges of each adjacency row.
#[derive(Debug)]
pub(super) struct NearEdges {
    starts: DeviceSlice<u32>,
    edges: DeviceSlice<u64>,
    /// Number of edges in each interval of excesses (weights minus distances from a hub). It is also the scratch memory
    /// for the prefix sums of `starts`.
    counts: DeviceSlice<u64>,
}

impl NearEdges {
    /// Allocates the free memory of `arena` (the GPU memory of a rank), except `rest` bytes, for near edges (the first
    /// edges of each of `rows` rows). Allocates no more than `most` near edges need. Returns `None` if no edge fits.
    ///
    /// # Errors
    /// [`crate::Error::internal`] if the arena has fewer than `rest` bytes.
    pub fn take(arena: &mut Arena, rows: u64, most: u64, rest: u64) -> Result<Option<NearEdges>> {
        let (starts, counts) = (rows + 1, (STEPS as u64 + 2).max(Scan::scratch(rows + 1)));
        let others = rest + slice_bytes::<u32>(starts) + slice_bytes::<u64>(counts) + slice_bytes::<u64>(1);
        let edges = (arena.free().saturating_sub(others) / 8).min(most).min(u32::MAX.into());
        if edges == 0 {
            return Ok(None);
        }
        let (starts, edges) = (arena.take_planned(starts)?, arena.take_planned(edges)?);
        Ok(Some(NearEdges { starts, edges, counts: arena.take_planned(counts)? }))
    }

    /// Chooses the near edges (the first edges of each row) of `graph`, copies them from host memory, and stores their
    /// addresses in `graph`. `excess` gives access to the distances of all vertices from the first vertex, which is a
    /// hub.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn choose(&self, workspace: &Workspace, graph: &mut SsspGraph, excess: Excess) -> Result<()> {
        let queue = &workspace.queue;
        let kernel = |name| workspace.kernel(&PREPARE, name);
        let rows = self.starts.len() - 1;
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
        // SAFETY: the arguments match the kernel's. The sum of all counts is `kept`, which is at most the length of
        // `edges`.
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
