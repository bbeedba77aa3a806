//! Makes the edges of a generated graph on the GPU. This needs no copy, and takes a hundredth of the time of a CPU
//! core.
#![allow(unsafe_code)] // kernel launches

use super::gpu::INGEST;
use crate::error::Result;
use crate::formats::KroneckerParameters;
use crate::gpu::{DeviceSlice, Grid, Kernel, Queue, Workspace};
use std::ops::Range;

/// Minimum number of edges that a GPU thread makes, so that copying the alias table to shared memory pays off.
const PER_THREAD: u32 = 4;

/// The kernel that makes edges, with the parameters of a graph.
pub(super) struct EdgeMaker {
    kernel: Kernel,
    parameters: KroneckerParameters,
}

impl EdgeMaker {
    /// Returns the maker of the edges with `parameters`; `None` if there are no parameters.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn new(workspace: &Workspace, parameters: Option<KroneckerParameters>) -> Result<Option<EdgeMaker>> {
        let with = |parameters| Ok(EdgeMaker { kernel: workspace.kernel(&INGEST, "make_edges")?, parameters });
        parameters.map(with).transpose()
    }

    /// Queues a kernel that makes edges by their numbers, and writes them to the start of `to` as pairs of ids.
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
