//! Generates the edges of a synthetic graph on the GPU. This avoids copies, and needs a hundredth of the time that a
//! CPU core would need.
#![allow(unsafe_code)] // kernel launches

use super::gpu::INGEST;
use crate::error::Result;
use crate::formats::KroneckerParameters;
use crate::gpu::{DeviceSlice, Grid, Kernel, Queue, Workspace};
use std::ops::Range;

/// Minimum number of edges that each GPU thread generates. With fewer, copying the alias table to shared memory would
/// not pay off.
const PER_THREAD: u32 = 4;

/// The kernel that generates edges, with the parameters of a graph.
pub(super) struct EdgeMaker {
    kernel: Kernel,
    parameters: KroneckerParameters,
}

impl EdgeMaker {
    /// Makes the edge generator of the graph with these `parameters`; `None` if `parameters` is `None`.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn new(workspace: &Workspace, parameters: Option<KroneckerParameters>) -> Result<Option<EdgeMaker>> {
        let with = |parameters| Ok(EdgeMaker { kernel: workspace.kernel(&INGEST, "make_edges")?, parameters });
        parameters.map(with).transpose()
    }

    /// Queues a kernel that generates the edges with the indices `edges`, and writes them to the start of `to` as pairs
    /// of ids.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn make(&self, queue: &Queue, edges: Range<u64>, to: DeviceSlice<u32>) -> Result<()> {
        let count = edges.end - edges.start;
        debug_assert!(2 * count <= to.len());
        let grid = queue.grid(count);
        let grid = Grid { blocks: grid.blocks.div_ceil(PER_THREAD), ..grid };
        // SAFETY: the arguments are as the kernel declares them, and `to` has room for the edges.
        unsafe { queue.launch(&self.kernel, grid, (self.parameters, edges.start, count as u32, to.address())) }
    }
}
