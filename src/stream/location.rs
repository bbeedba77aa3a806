//! Finds the source from which rows of a block are copied to a GPU: a file, memory of a process, or a GPU.

use super::batch::Segment;
use crate::gpu::{CopySource, DeviceSlice};
use crate::graph::{BlockLocation, BlockStore, DeviceBlock, Placement, RemoteBlock};
use crate::memory::bytes_of;

/// Destination of a segment of rows in device memory.
pub struct SegmentPlace {
    /// Device memory for the row starts, one 32-bit word for each row. A start is relative to the first entry of the
    /// block. A row ends where the next one starts, so only the last segment of a batch has an additional word, for the
    /// end of its last row.
    pub starts: DeviceSlice<u32>,
    /// Device memory for the entries (neighbours) of the rows.
    pub targets: DeviceSlice<u32>,
    /// Number of entries (neighbours) in earlier segments of the batch.
    pub entry: u64,
}

impl SegmentPlace {
    /// Returns the two copies that bring `segment` to this destination, each as (source, destination): first the row
    /// starts, then the targets. The source is the GPU in `placement`, or the host if `placement` is `None`.
    pub(super) fn copies<'g>(
        &self,
        graph: &'g BlockStore,
        placement: Option<&Placement>,
        segment: &Segment,
    ) -> [(CopySource<'g>, DeviceSlice<u8>); 2] {
        let (row, entry) = (segment.rows.start as u64, segment.entries.start as u64);
        if let Some(DeviceBlock { offsets, targets }) = placement.map(|placement| placement.of(segment.block)) {
            let part = |from: DeviceSlice<u32>, first: u64, to: DeviceSlice<u32>| {
                (CopySource::Gpu(from.part(first..first + to.len()).as_bytes()), to.as_bytes())
            };
            return [part(offsets, row, self.starts), part(targets, entry, self.targets)];
        }
        copies_from_host(graph, segment.block, (row, self.starts), (entry, self.targets))
    }
}

/// Returns the two copies, as (source, destination), that bring a part of block `block` from the host to GPU memory.
/// The first fills `offsets` with the block's row offsets from row `row` on; the second fills `targets` with its
/// targets from entry `entry` on. The block must be in a file, in this process or in another process of this machine.
pub fn copies_from_host<'g>(
    graph: &'g BlockStore,
    block: usize,
    (row, offsets): (u64, DeviceSlice<u32>),
    (entry, targets): (u64, DeviceSlice<u32>),
) -> [(CopySource<'g>, DeviceSlice<u8>); 2] {
    let sources = match graph.location(block) {
        BlockLocation::InFile(file) => {
            let (path, first_offset, first_target) = file.place();
            let part = |start, to: DeviceSlice<u32>| CopySource::File { path, start, bytes: to.bytes() };
            [part(first_offset + 4 * row, offsets), part(first_target + 4 * entry, targets)]
        }
        BlockLocation::Local(local) => {
            let part = |words: &'g [u32], first, to: DeviceSlice<u32>| {
                CopySource::Memory(bytes_of(&words[first as usize..][..to.len() as usize]))
            };
            [part(local.offsets, row, offsets), part(local.targets, entry, targets)]
        }
        BlockLocation::Remote(RemoteBlock { process, address }) => {
            let part = |word: u64, to: DeviceSlice<u32>| CopySource::Process {
                process,
                start: address + 4 * word,
                bytes: to.bytes(),
            };
            [part(row, offsets), part(graph.size(block).rows + 1 + entry, targets)]
        }
    };
    let [first, second] = sources;
    [(first, offsets.as_bytes()), (second, targets.as_bytes())]
}
