//! Copies batches of rows to device memory: first the resident batch, which stays there, and then the passing batches,
//! which follow each other in slots (buffers). The loader runs on its own thread, while another thread processes the
//! batches.

use super::CancelCheck;
use super::batch::{RowBatch, Segment};
use super::location::SegmentPlace;
use super::relay::Relay;
use crate::error::Result;
use crate::gpu::{CopySource, DeviceSlice, Event, Uploader, slice_bytes};
use crate::graph::{BlockStore, Placement};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;

/// The rows of a batch in device memory.
#[derive(Clone, Copy)]
pub struct ResidentRows {
    /// Start of each row in `targets`, followed by the end of the last row (rows + 1 elements).
    pub starts: DeviceSlice<u32>,
    /// Entries (neighbours) of all rows of the batch, row after row.
    pub targets: DeviceSlice<u32>,
}

impl ResidentRows {
    /// Divides `slot`, a buffer in device memory, into the row starts and the targets of `batch`.
    pub fn in_slot(slot: DeviceSlice<u32>, batch: &RowBatch) -> ResidentRows {
        let after = slice_bytes::<u32>(batch.rows + 1) / 4;
        ResidentRows { starts: slot.part(0..batch.rows + 1), targets: slot.part(after..after + batch.entries) }
    }

    /// Returns the number of bytes that `batch` occupies in a slot (buffer in device memory).
    pub fn slot_bytes(batch: &RowBatch) -> u64 {
        slice_bytes::<u32>(batch.rows + 1) + slice_bytes::<u32>(batch.entries)
    }

    /// Iterates over the segments of `batch`, each with its destination in device memory.
    pub fn segments<'b>(self, batch: &'b RowBatch) -> impl Iterator<Item = (&'b Segment, SegmentPlace)> + use<'b> {
        let (mut row, mut entry, last) = (0, 0, batch.segments.len() - 1);
        batch.segments.iter().enumerate().map(move |(i, segment)| {
            let (rows, entries) = (segment.rows.len() as u64, segment.entries.len() as u64);
            let starts = self.starts.part(row..row + rows + u64::from(i == last));
            let place = SegmentPlace { starts, targets: self.targets.part(entry..entry + entries), entry };
            row += rows;
            entry += entries;
            (segment, place)
        })
    }
}

/// Rows whose copy to the GPU has been queued.
pub struct Arrival {
    /// Event that is recorded after the copy. The device may use the rows after this event.
    pub copied: Event,
    /// Which rows the copy moves to the GPU: segments of the resident batch, or a passing batch.
    pub rows: Arriving,
}

/// Rows that one copy moves to the GPU.
pub enum Arriving {
    /// The next segments of the resident batch. The field is the number of segments.
    Resident(usize),
    /// A passing batch, with its index and the slot (buffer) that receives it.
    Passing(usize, DeviceSlice<u32>),
}

/// Segments of the resident batch that are copied in one step, each with its destination in device memory.
pub type ResidentStep<'s, 'b> = &'s [(&'b Segment, SegmentPlace)];

/// Copies batches to device memory while another thread works on batches that have arrived.
pub struct Loader<'l, 'r> {
    /// Graph whose rows are copied to the GPU.
    pub graph: &'l BlockStore,
    /// Addresses of the graph's blocks on GPUs; `None` if blocks are copied from the host.
    pub placement: Option<&'l Placement>,
    /// Relay through which all ranks load the resident batch together, and the arena (all GPU memory of this rank) to
    /// which the batch is copied. `None` if this rank loads the batch alone.
    pub relay: Option<(&'l mut Relay<'r>, DeviceSlice<u32>)>,
    /// Uploader that makes the copies to the GPU.
    pub uploader: &'l mut Uploader,
    /// Function that is called when a slot is free. It must return the index of the next passing batch; an index that
    /// is out of range ends the loading.
    pub next: &'l (dyn Fn() -> Result<usize> + Sync),
    /// Cancellation check, which is called while copies are started. If it returns an error, loading ends with this
    /// error.
    pub check_cancelled: CancelCheck<'l>,
    /// Channel that delivers free slots (buffers for passing batches).
    pub free_slots: Receiver<DeviceSlice<u32>>,
    /// Channel to which arrivals are sent, in order. After an error no message follows.
    pub arrivals: Sender<Result<Arrival>>,
}

impl Loader<'_, '_> {
    /// Copies the resident batch step by step, as `resident` lists it. Then copies those of the batches `passing` whose
    /// indices `next` returns. Returns when all arrivals are sent or when the receiver of the arrivals is gone.
    pub fn run(mut self, resident: &[ResidentStep<'_, '_>], passing: &[RowBatch]) {
        if let Err(e) = self.load_all(resident, passing) {
            let _ = self.arrivals.send(Err(e));
        }
    }

    fn load_all(&mut self, resident: &[ResidentStep<'_, '_>], passing: &[RowBatch]) -> Result<()> {
        for step in resident {
            if !self.load(step.iter().map(|(segment, place)| (*segment, place)), Arriving::Resident)? {
                return Ok(());
            }
        }
        if let Some((relay, _)) = self.relay.take() {
            // Other ranks copy the resident batch from this GPU, so it must be complete before passing batches follow.
            self.uploader.finish()?;
            relay.end();
        }
        if passing.is_empty() {
            return Ok(());
        }
        while let Ok(slot) = self.free_slots.recv() {
            let number = (self.next)()?;
            let Some(batch) = passing.get(number) else { break };
            let places: Vec<_> = ResidentRows::in_slot(slot, batch).segments(batch).collect();
            let segments = places.iter().map(|(segment, place)| (*segment, place));
            if !self.load(segments, |_| Arriving::Passing(number, slot))? {
                break;
            }
        }
        Ok(())
    }

    /// Starts the copies of some segments of rows, and sends an [`Arrival`] for them. Returns false if the receiver of
    /// the arrivals is gone.
    fn load<'i>(
        &mut self,
        places: impl Iterator<Item = (&'i Segment, &'i SegmentPlace)>,
        arriving: impl FnOnce(usize) -> Arriving,
    ) -> Result<bool> {
        let started = Instant::now();
        let copies: Vec<_> = places.map(|(segment, place)| place.copies(self.graph, self.placement, segment)).collect();
        let copied = match &mut self.relay {
            Some((relay, arena)) => {
                // Row starts are rebased on the GPU as soon as they arrive, so other ranks must not copy them from this
                // GPU.
                let (starts, targets): (Vec<(CopySource<'_>, _)>, Vec<_>) =
                    copies.iter().map(|&[starts, targets]| (starts, targets)).unzip();
                relay.copy_step(self.uploader, *arena, starts, &targets, self.check_cancelled)
            }
            None => self.uploader.upload(copies.as_flattened(), self.check_cancelled),
        };
        tracing::debug!(blocks = copies.len(), seconds = started.elapsed().as_secs_f64(), "copied");
        let arrival = Arrival { copied: copied?, rows: arriving(copies.len()) };
        Ok(self.arrivals.send(Ok(arrival)).is_ok())
    }
}
