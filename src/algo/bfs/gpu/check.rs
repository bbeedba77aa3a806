//! Checks breadth-first trees in GPU memory, where searches write them. The kernels are in `kernels/bfs_check.cu`.
#![allow(unsafe_code)] // kernel launches

use super::device_graph::BfsDeviceGraph;
use super::programs::CHECK;
use crate::algo::searches::gpu::GpuRows;
use crate::error::Result;
use crate::gpu::{DeviceSlice, Kernel, Workspace, constant};
use crate::graph::ids::Vertex;

/// Number of 32-bit words that the kernels report: whether a rule is broken, the depth of the tree, and the number of
/// reached vertices.
const FOUND: u64 = 3;

/// Value that the array `marks` contains for a vertex whose level has not been computed yet.
const UNKNOWN: u8 = constant(CHECK.text, "UNKNOWN") as u8;

/// Arguments of the kernels that check trees. The layout must match the struct `Check` in `kernels/bfs_check.cu`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct CheckArguments {
    lower: GpuRows,
    parents: u64,
    marks: u64,
    found: u64,
    entries: u64,
    vertices: u32,
    root: u32,
}

const _: () = assert!(size_of::<CheckArguments>() == 112);

/// The kernels that check trees, and the GPU memory that they use.
pub(super) struct TreeCheck {
    /// Three kernels, in this order: one computes the levels of vertices, one checks edges, and one computes totals.
    kernels: [Kernel; 3],
    /// The level of each vertex in the tree, with flags.
    marks: DeviceSlice<u8>,
    found: DeviceSlice<u32>,
    arguments: CheckArguments,
}

impl TreeCheck {
    /// Prepares to check trees whose parents are in the GPU array `parents`. Returns `None` if the host has to check
    /// them: the graph is directed, its rows are not all in the memory of this GPU, or less than one byte per vertex of
    /// GPU memory is free.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn new(
        workspace: &mut Workspace,
        placed: &BfsDeviceGraph<'_>,
        parents: DeviceSlice<u32>,
    ) -> Result<Option<TreeCheck>> {
        let graph = &placed.graph;
        if graph.shift > 0 || !placed.on_host.is_empty() || placed.parts.is_some() {
            return Ok(None);
        }
        let arena = &mut workspace.arena;
        let (Some(marks), Some(found)) = (arena.take(graph.vertices.into()), arena.take(FOUND)) else {
            return Ok(None);
        };
        let kernel = |name| workspace.kernel(&CHECK, name);
        let kernels = [kernel("bfs_mark")?, kernel("bfs_check_edges")?, kernel("bfs_sum_up")?];
        let arguments = CheckArguments {
            lower: graph.halves[0],
            parents: parents.address(),
            marks: marks.address(),
            found: found.address(),
            // Each edge is in both halves.
            entries: placed.slots / 2,
            vertices: graph.vertices,
            root: 0,
        };
        Ok(Some(TreeCheck { kernels, marks, found, arguments }))
    }

    /// Checks the tree that the last search found, which began at `root`. Returns the number of reached vertices and
    /// the depth; `None` if a rule is broken or the tree has more levels than the kernels can represent.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn run(&self, workspace: &Workspace, root: Vertex) -> Result<Option<(u64, u64)>> {
        let queue = &workspace.queue;
        let arguments = CheckArguments { root: root.0, ..self.arguments };
        queue.fill(self.marks, UNKNOWN)?;
        queue.fill(self.found, 0)?;
        let vertices = u64::from(arguments.vertices);
        for (kernel, items) in self.kernels.iter().zip([vertices, arguments.entries, vertices]) {
            // SAFETY: the arguments match the kernels'; marks has a byte for each vertex, and the other memory belongs
            // to the search, which has ended.
            unsafe { queue.launch(kernel, queue.grid(items), (arguments,))? };
        }
        let [broken, depth, reached] = queue.read_first(self.found)?;
        Ok((broken == 0).then_some((reached.into(), depth.into())))
    }
}
