//! Copies a front and the partners that pass it into device memory, while others are counted.

use super::pair::Resident;
use super::relay::Relay;
use crate::algo::triangle::driver::Work;
use crate::algo::triangle::parcels::{Parcel, Piece};
use crate::error::Result;
use crate::gpu::{DeviceSlice, Event, Source, Uploader, slice_bytes};
use crate::graph::catalogue::{BlockLocation, Catalogue};
use crate::graph::host_block::RemoteBlock;
use crate::graph::placement::{DeviceBlock, Placement};
use crate::memory::bytes_of;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;

/// What is on its way: what counts it waits until it is `copied`.
pub(super) struct Loaded {
    pub(super) copied: Event,
    pub(super) parcel: Arrived,
}

pub(super) enum Arrived {
    /// So many pieces of the front.
    Front(usize),
    /// A partner by its place in the list, in a slot.
    Partner(usize, DeviceSlice<u32>),
}

/// Copies a front and its partners while others are counted.
pub(super) struct Loader<'l, 'r> {
    pub(super) work: &'l Work<'l>,
    /// Where blocks are on GPUs, else they come from the host.
    pub(super) homes: Option<&'l Placement>,
    pub(super) first_row: u32,
    /// Where all ranks bring a front together, and the arena that it comes to.
    pub(super) relay: Option<(&'l mut Relay<'r>, DeviceSlice<u32>)>,
    pub(super) uploader: &'l mut Uploader,
    pub(super) to_fill: Receiver<DeviceSlice<u32>>,
    pub(super) filled: Sender<Result<Loaded>>,
}

impl Loader<'_, '_> {
    pub(super) fn run(
        mut self,
        front: &[&[(&Piece, Place)]],
        partners: &[Parcel],
        go_on: &(dyn Fn() -> Result<()> + Sync),
    ) {
        for step in front {
            if !self.load(step.iter().map(|(piece, place)| (*piece, place)), Arrived::Front, go_on) {
                return;
            }
        }
        if let Some((relay, _)) = self.relay.take() {
            // Partners come behind the front, and others have it from here.
            if let Err(e) = self.uploader.finish() {
                let _ = self.filled.send(Err(e));
                return;
            }
            relay.end();
        }
        if partners.is_empty() {
            return;
        }
        while let Ok(slot) = self.to_fill.recv() {
            let partner = match self.work.next(self.first_row, 1, 1) {
                Ok(partner) if partner < partners.len() => partner,
                Ok(_) => return,
                Err(e) => {
                    let _ = self.filled.send(Err(e));
                    return;
                }
            };
            let places: Vec<_> = places(&partners[partner], in_slot(slot, &partners[partner])).collect();
            let pieces = places.iter().map(|(piece, place)| (*piece, place));
            if !self.load(pieces, |_| Arrived::Partner(partner, slot), go_on) {
                return;
            }
        }
    }

    /// False if nobody waits for more.
    fn load<'i>(
        &mut self,
        places: impl Iterator<Item = (&'i Piece, &'i Place)>,
        arrived: impl FnOnce(usize) -> Arrived,
        go_on: &(dyn Fn() -> Result<()> + Sync),
    ) -> bool {
        let started = Instant::now();
        let parts: Vec<_> = places.map(|(piece, place)| place.parts(self.work.graph, self.homes, piece)).collect();
        let copied = match &mut self.relay {
            Some((relay, arena)) => {
                // Starts are made to count from another entry as soon as they are here, so others may not copy them.
                let (starts, targets): (Vec<_>, Vec<_>) =
                    parts.iter().map(|&[starts, targets]| (starts, targets)).unzip();
                relay.bring(self.uploader, *arena, starts, &targets, go_on)
            }
            None => self.uploader.upload(parts.as_flattened(), go_on),
        };
        tracing::debug!(blocks = parts.len(), seconds = seconds(started), "copied");
        let failed = copied.is_err();
        let loaded = copied.map(|copied| Loaded { copied, parcel: arrived(parts.len()) });
        self.filled.send(loaded).is_ok() && !failed
    }
}

/// Where a piece of a parcel lies in device memory.
pub(super) struct Place {
    pub(super) starts: DeviceSlice<u32>,
    pub(super) targets: DeviceSlice<u32>,
    /// Its first entry in the parcel.
    pub(super) entry: u64,
}

impl Place {
    /// What is copied there.
    fn parts<'g>(
        &self,
        graph: &'g Catalogue,
        homes: Option<&Placement>,
        piece: &Piece,
    ) -> [(Source<'g>, DeviceSlice<u8>); 2] {
        let (row, entry) = (piece.rows.start as u64, piece.entries.start as u64);
        if let Some(DeviceBlock { offsets, targets }) = homes.map(|homes| homes.of(piece.block)) {
            let part = |from: DeviceSlice<u32>, first: u64, to: DeviceSlice<u32>| {
                (Source::Gpu(from.part(first..first + to.len()).as_bytes()), to.as_bytes())
            };
            return [part(offsets, row, self.starts), part(targets, entry, self.targets)];
        }
        from_host(graph, piece.block, (row, self.starts), (entry, self.targets))
    }
}

/// Offsets of a block from one of its rows on, and targets from one of its entries on, with the place of each.
pub(super) fn from_host<'g>(
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

/// The pieces of a parcel behind one another. The end of a piece's last row is the start of the next one's first.
pub(super) fn places(parcel: &Parcel, to: Resident) -> impl Iterator<Item = (&Piece, Place)> {
    let (mut row, mut entry, last) = (0, 0, parcel.pieces.len() - 1);
    parcel.pieces.iter().enumerate().map(move |(i, piece)| {
        let (rows, entries) = (piece.rows.len() as u64, piece.entries.len() as u64);
        let starts = to.starts.part(row..row + rows + u64::from(i == last));
        let place = Place { starts, targets: to.targets.part(entry..entry + entries), entry };
        row += rows;
        entry += entries;
        (piece, place)
    })
}

/// Pieces that are copied at once: enough to keep all threads busy, an eighth of all if that is more, and none beyond a
/// partner within the front, which is counted while the next is copied.
pub(super) fn steps<'s, 'p>(places: &'s [(&'p Piece, Place)], inside: &[Parcel]) -> Vec<&'s [(&'p Piece, Place)]> {
    let bytes = |(_, place): &(&Piece, Place)| place.starts.bytes() + place.targets.bytes();
    let enough = (places.iter().map(bytes).sum::<u64>() / 8).max(32 << 20);
    let ends = |block| inside.iter().any(|parcel| parcel.pieces.last().is_some_and(|last| last.block == block));
    let mut sum = 0;
    let together = |before: &(&Piece, Place), _: &(&Piece, Place)| {
        sum += bytes(before);
        let open = sum < enough && !ends(before.0.block);
        sum = if open { sum } else { 0 };
        open
    };
    places.chunk_by(together).collect()
}

/// Where a partner parcel lies in a slot.
pub(super) fn in_slot(slot: DeviceSlice<u32>, partner: &Parcel) -> Resident {
    let after = slice_bytes::<u32>(partner.rows + 1) / 4;
    Resident { starts: slot.part(0..partner.rows + 1), targets: slot.part(after..after + partner.entries) }
}

fn seconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64()
}
