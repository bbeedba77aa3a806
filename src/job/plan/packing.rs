//! Decides which graphs have their rows packed (compressed) in host memory, and how much memory that needs.
//!
//! If both halves of the rows do not fit in GPU memory, the GPU reads the rows from pinned host memory. If the rows
//! do not fit in host memory either, but fit when packed, they are packed in host memory. The lower half remains in
//! memory after sorting. The upper half is packed while it is derived from the lower half; then the lower half is
//! packed. No rows are written to the disk, so an interrupted job prepares the rows again.

use crate::config::{InputSpec, Job};
use crate::failpoint;
use crate::graph::direction::Direction;
use crate::graph::layout::Layout;
use crate::graph::packed::Packer;
use crate::job::plan::resources::Resources;
use crate::prepare::transpose::TransposeShape;

/// Twice the number of bytes that an entry (neighbour) of a packed row is assumed to need. At scale 24 of Graph500,
/// entries took 1.9 bytes in the upper half and 2.1 bytes in the lower half. Each further scale adds 0.07 bytes. If the
/// entries of a graph need more, its rows are stored in files instead.
const HALVES_OF_BYTES: u64 = 5;

/// Host memory for rows that are packed (compressed), during packing and afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packing {
    /// Host memory in bytes during packing: the sorted lower half, the packed upper half, and the buffers for deriving
    /// it.
    pub(crate) peak: u64,
    /// Size in bytes of the packed rows, both halves together.
    pub(crate) packed: u64,
}

impl Packing {
    /// Returns the memory for packed rows of a graph with `edges` edges; `None` if its rows should not be packed.
    /// Rows are packed under three conditions: the unpacked rows fit neither in GPU memory nor in host memory, the
    /// packed rows fit in host memory, and the GPU can compute all tasks on packed rows.
    pub(crate) fn of(
        machine: &Resources,
        job: &Job,
        (edges, vertices, direction): (u64, u64, Direction),
    ) -> Option<Packing> {
        let gpu = machine.gpu.as_ref()?.memory?;
        let is_kept = job.keep || matches!(job.input, InputSpec::Prepared(_)) || job.carries_weights();
        if machine.ranks > 1 || is_kept || !job.needs_upper() || direction == Direction::Directed {
            return None;
        }
        let free = machine.free_for_edges();
        let (half, starts) = (HALVES_OF_BYTES * edges / 2, 4 * vertices);
        let target = Layout::block_target(edges) + edges / 512;
        let block = Packer::block_bytes(vertices.min(target), edges.min(target));
        let window = TransposeShape::at_most(edges, vertices, false).least();
        let rows = 4 * edges + half + 2 * starts;
        let fits_unpacked = 8 * edges + starts <= free.max(gpu) && failpoint::hit("rows.unpacked").is_ok();
        let wanted = !fits_unpacked && rows + starts <= free;
        // The reported peak is at most the free memory, so that rows are still packed under a limit equal to the
        // reported size. Entries need half a byte less than `HALVES_OF_BYTES` assumes, which leaves memory for the
        // other buffers if rows just fit.
        let peak = (rows + (block + window).max(starts)).min(free);
        let packing = Packing { peak, packed: 2 * (half + starts) };
        (wanted && job.tasks.iter().all(|task| task.takes_packed(vertices, edges, gpu))).then_some(packing)
    }
}
