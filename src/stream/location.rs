//! Where rows lie, as sources of copies to a GPU.

use super::batch::Segment;
use crate::gpu::{DeviceSlice, Source};
use crate::graph::catalogue::{BlockLocation, Catalogue};
use crate::graph::host_block::RemoteBlock;
use crate::graph::placement::{DeviceBlock, Placement};
use crate::memory::bytes_of;

/// Where a segment of rows is to lie in device memory.
pub struct SegmentPlace {
    /// One word for each row that says where it starts, counted from the first entry of its block as it arrives. The end of a
    /// segment's last row is the start of the next segment's first, so only the last segment of a batch has a word more.
    pub starts: DeviceSlice<u32>,
    /// The entries.
    pub targets: DeviceSlice<u32>,
    /// The number of entries of the batch that stand before these.
    pub entry: u64,
}

impl SegmentPlace {
    /// Returns the two copies that bring `segment` there: from the GPU that has its block, if `placement` says so, else from the
    /// host.
    pub(super) fn copies<'g>(
        &self,
        graph: &'g Catalogue,
        placement: Option<&Placement>,
        segment: &Segment,
    ) -> [(Source<'g>, DeviceSlice<u8>); 2] {
        let (row, entry) = (segment.rows.start as u64, segment.entries.start as u64);
        if let Some(DeviceBlock { offsets, targets }) = placement.map(|placement| placement.of(segment.block)) {
            let part = |from: DeviceSlice<u32>, first: u64, to: DeviceSlice<u32>| {
                (Source::Gpu(from.part(first..first + to.len()).as_bytes()), to.as_bytes())
            };
            return [part(offsets, row, self.starts), part(targets, entry, self.targets)];
        }
        copies_from_host(graph, segment.block, (row, self.starts), (entry, self.targets))
    }
}

/// Returns the copies of a block's offsets from one of its rows on, and of its targets from one of its entries on, to the place of
/// each. The block is in a file, in this process or in another of this machine.
pub(super) fn copies_from_host<'g>(
    graph: &'g Catalogue,
    block: usize,
    (row, offsets): (u64, DeviceSlice<u32>),
    (entry, targets): (u64, DeviceSlice<u32>),
) -> [(Source<'g>, DeviceSlice<u8>); 2] {
    let sources = match graph.location(block) {
        BlockLocation::InFile(file) => {
            let (path, first_offset, first_target) = file.place();
            let part = |start, to: DeviceSlice<u32>| Source::File { path, start, bytes: to.bytes() };
            [part(first_offset + 4 * row, offsets), part(first_target + 4 * entry, targets)]
        }
        BlockLocation::Local(here) => {
            let part = |words: &'g [u32], first, to: DeviceSlice<u32>| {
                Source::Memory(bytes_of(&words[first as usize..][..to.len() as usize]))
            };
            [part(here.offsets, row, offsets), part(here.targets, entry, targets)]
        }
        BlockLocation::Remote(RemoteBlock { process, address }) => {
            let part = |word: u64, to: DeviceSlice<u32>| Source::Process {
                process,
                start: address + 4 * word,
                bytes: to.bytes(),
            };
            [part(row, offsets), part(graph.size(block).rows + 1 + entry, targets)]
        }
    };
    let [from, behind] = sources;
    [(from, offsets.as_bytes()), (behind, targets.as_bytes())]
}
