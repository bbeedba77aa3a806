//! Reads the entries of a window (the bins that one pass builds) from the lower half, and stores them batch by batch,
//! sorted by bin.

use super::batch::{Batch, PassTarget};
use super::{Transpose, TransposeWork};
use crate::error::Result;
use crate::memory::{Buffer, prefetch};
use parking_lot::Mutex;
use rayon::prelude::*;
use std::ops::Range;

/// Number of batches that a thread sorts by bin between two checks for cancellation.
const BATCHES: usize = 8;

/// Prefetch distance, in batches, for the start of a bin's entries in a batch.
const STARTS_AHEAD: usize = 16;
/// Prefetch distance, in batches, for the entries of a bin in a batch.
const ENTRIES_AHEAD: usize = 6;
/// Number of entries (4 bytes each) in a cache line.
const LINE: usize = 16;

/// The entries of a window (the bins that one pass builds), sorted by batch and then by bin.
pub(super) struct PlacedEntries<'b> {
    batches: &'b [Batch],
    bins: Range<usize>,
    /// Entries of all batches, in the order in which the batches were processed.
    entries: Buffer<u32>,
    /// Weights of the entries, if edges have weights.
    weights: Buffer<u32>,
    /// Range of each batch's entries in `entries`.
    bounds: Vec<Range<usize>>,
    /// For each batch, the start of each bin's entries, relative to the batch's first entry.
    starts: Buffer<u32>,
}

impl<'b> PlacedEntries<'b> {
    /// Reads the entries of the bins `range` from the lower half, on all threads. Advances the progress by half of the
    /// number of these entries.
    pub(super) fn take(work: TransposeWork<'b, '_>, range: Range<usize>) -> Result<PlacedEntries<'b>> {
        let Transpose { lower, bins, budget, .. } = *work.transpose;
        let target = PassTarget::new(bins, range.clone());
        // Entries of the window come from lower rows of vertices with larger ids, so earlier batches contain none.
        let first = target.rows().start;
        let batches = &work.batches[work.batches.partition_point(|batch| u64::from(batch.rows[1]) <= first)..];
        let (round, width) = (BATCHES * rayon::current_num_threads(), range.len());
        let purpose = "entries for the upper half";
        let mut starts = budget.zeroed::<u32>(batches.len() * width, purpose)?;
        let sum: u64 = work.entries[range.clone()].iter().sum();
        let mut entries = budget.zeroed::<u32>(sum as usize, purpose)?;
        let mut bounds = Vec::with_capacity(batches.len());
        let weighted = work.transpose.weights.is_some();
        let mut weights = budget.zeroed::<u32>(if weighted { sum as usize } else { 0 }, purpose)?;
        let free = Mutex::new((0, [&mut entries[..], &mut weights[..]]));
        for (batches, counts) in batches.chunks(round).zip(starts.chunks_mut(round * width)) {
            let place = |(batch, counts): (&Batch, &mut [u32])| {
                // Counting loads the entries into the cache, where the next step, sorting by bin, finds them.
                let length = batch.count(lower, &target, counts);
                let (start, [out, weights]) = split_off(&free, length)?;
                match weighted {
                    true => batch.place::<true>(lower, &target, counts, out, weights),
                    false => batch.place::<false>(lower, &target, counts, out, weights),
                }
                Some(start..start + length)
            };
            let before = bounds.len();
            let counts = counts.par_chunks_mut(width);
            let places: Option<Vec<Range<usize>>> = batches.par_iter().zip(counts).map(place).collect();
            bounds.extend(places.ok_or_else(|| work.lengths.mismatch_among(target.rows()))?);
            release(work, batches);
            work.advance(bounds[before..].iter().map(|place| place.len() as u64).sum::<u64>() / 2)?;
        }
        if !free.into_inner().1[0].is_empty() {
            return Err(work.lengths.mismatch_among(target.rows()));
        }
        Ok(PlacedEntries { batches, bins: range, entries, weights, bounds, starts })
    }

    /// Returns the range of the window's bins.
    pub(super) fn bins(&self) -> Range<usize> {
        self.bins.clone()
    }

    /// Calls `each` for every batch with three arguments: the batch's first row, the batch's entries of bin `bin`, and
    /// their weights (empty unless edges are `WEIGHTED`).
    #[inline]
    pub(super) fn segments<const WEIGHTED: bool>(&self, bin: usize, mut each: impl FnMut(u32, &[u32], &[u32])) {
        let (bin, width) = (bin - self.bins.start, self.bins.len());
        for (i, batch) in self.batches.iter().enumerate() {
            prefetch(&self.starts, (i + STARTS_AHEAD) * width + bin);
            let ahead = i + ENTRIES_AHEAD;
            if let Some(&start) = self.starts.get(ahead * width + bin) {
                let at = self.bounds[ahead].start + start as usize;
                prefetch(&self.entries, at);
                prefetch(&self.entries, at + LINE);
                if WEIGHTED {
                    prefetch(&self.weights, at);
                    prefetch(&self.weights, at + LINE);
                }
            }
            let starts = &self.starts[i * width..(i + 1) * width];
            let entries = &self.entries[self.bounds[i].clone()];
            let end = starts.get(bin + 1).map_or(entries.len(), |&end| end as usize);
            let here = starts[bin] as usize..end;
            let weights = if WEIGHTED { &self.weights[self.bounds[i].clone()][here.clone()] } else { &[] };
            each(batch.rows[0], &entries[here], weights);
        }
    }
}

/// Unused memory: first for entries (neighbours), then for their weights (empty if edges have no weights).
type FreeEntries<'w> = [&'w mut [u32]; 2];

/// Removes memory for `length` entries from `free`. Returns the index of the first of these entries, and the memory.
/// Returns `None` if less memory is free, which happens only if the degrees are wrong.
fn split_off<'w>(free: &Mutex<(usize, FreeEntries<'w>)>, length: usize) -> Option<(usize, FreeEntries<'w>)> {
    let mut free = free.lock();
    let [entries, weights] = std::mem::take(&mut free.1);
    let of_weights = length.min(weights.len());
    let (entries, weights) = (entries.split_at_mut_checked(length)?, weights.split_at_mut(of_weights));
    free.1 = [entries.1, weights.1];
    free.0 += length;
    Some((free.0 - length, [entries.0, weights.0]))
}

/// Releases the memory pages of the lower half from which `batches` were read.
fn release(work: TransposeWork<'_, '_>, batches: &[Batch]) {
    if let [first, .., last] | [first @ last] = batches {
        (first.block..=last.block).for_each(|block| work.transpose.lower.release(block));
    }
}
