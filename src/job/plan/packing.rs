//! Rows that are packed in host memory: for which graphs, and what they take.
//!
//! A GPU that has no room for whole rows reads them from pinned memory of the host. Where that has no room for them either, they are packed
//! there, if that helps: the lower half stays in memory as it is sorted, the upper is packed as it is made of it, then the lower. Nothing of
//! them goes to the disk, and a job that is broken off prepares them anew.

use crate::config::{InputSpec, Job};
use crate::failpoint;
use crate::graph::direction::Direction;
use crate::graph::layout::Layout;
use crate::graph::packed::Packer;
use crate::job::plan::resources::Resources;
use crate::prepare::transpose::TransposeShape;

/// Bytes of packed entries, in halves: 1.9 bytes each were measured at scale 24 of Graph500 in the upper half and 2.1 in the lower, and 0.07
/// more at each scale. A graph whose entries take more is stored after all.
const HALVES_OF_BYTES: u64 = 5;

/// The memory of packed rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packing {
    /// Bytes of host memory while rows are packed: the lower half as it was sorted, the upper packed, and what making it takes.
    pub(crate) peak: u64,
    /// Bytes of both halves packed.
    pub(crate) packed: u64,
}

impl Packing {
    /// Returns the memory of the packed rows of a graph of `edges` edges, if they are to be packed: whole rows fit neither the GPU nor the
    /// host, packed ones do, and the GPU computes all tasks on them.
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
        // Within the peak that is told they are wanted, too. Entries take half a byte less than is counted: that is room for the rest where
        // rows just fit.
        let peak = (rows + (block + window).max(starts)).min(free);
        let packing = Packing { peak, packed: 2 * (half + starts) };
        (wanted && job.tasks.iter().all(|task| task.takes_packed(vertices, edges, gpu))).then_some(packing)
    }
}
