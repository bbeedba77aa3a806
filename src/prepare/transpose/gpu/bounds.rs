//! Computes the start and the end of each row in the entries of a window (the rows that one pass builds), from the row
//! lengths. All lanes (GPU queues of threads) share the work.

use super::super::TransposeWork;
use super::TransposeLane;
use crate::error::Result;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Position of a window (the rows that one pass builds) in the upper half, for computing the start and end of its rows.
pub(super) struct Position<'t, 'a> {
    pub(super) work: TransposeWork<'t, 'a>,
    pub(super) bins: Range<usize>,
    /// First row of the window.
    pub(super) first: u64,
    /// Number of 32-bit words in a slot (buffer of a lane).
    pub(super) slot: usize,
}

impl Position<'_, '_> {
    /// Computes, for each row of the window, the position in the window at which the row's entries start, or if `ends`
    /// is 1, the position at which they end. Threads claim bins with the shared counter `next` until none is left. When
    /// a slot (buffer) is full, calls `send` with three arguments: the lane, the index (in the window) of the first row
    /// in the slot, and the number of rows.
    pub(super) fn bounds(
        &self,
        on_gpu: &mut TransposeLane<'_>,
        next: &AtomicUsize,
        ends: usize,
        send: impl Fn(&mut TransposeLane<'_>, u64, u64) -> Result<()>,
    ) -> Result<()> {
        let TransposeWork { transpose, lengths, entries, .. } = self.work;
        let (mut known, mut start) = (self.bins.start, 0u32);
        while let Some(bin) = self.bins.clone().nth(next.fetch_add(1, Relaxed)) {
            start += entries[known..bin].iter().sum::<u64>() as u32;
            known = bin;
            let rows = transpose.bins.spans[bin].rows.clone();
            let (mut row, mut at) = (rows.start - self.first, start);
            let mut send_slot = |on_gpu: &mut TransposeLane<'_>| {
                let filled = on_gpu.lane.filled() as u64;
                send(on_gpu, row, filled)?;
                row += filled;
                on_gpu.lane.pass()
            };
            let mut bounds = Vec::new();
            lengths.chunks(rows, |lengths| {
                bounds.clear();
                bounds.extend(lengths.iter().map(|&length| {
                    let of = [at, at.wrapping_add(length)];
                    at = of[1];
                    of[ends]
                }));
                let mut words = &bounds[..];
                while !words.is_empty() {
                    if on_gpu.lane.put(&mut words, self.slot)? {
                        send_slot(on_gpu)?;
                    }
                }
                Ok(())
            })?;
            if on_gpu.lane.filled() > 0 {
                send_slot(on_gpu)?;
            }
        }
        Ok(())
    }
}
