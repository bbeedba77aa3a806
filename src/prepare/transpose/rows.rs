//! Builds the rows of a bin of the upper half, in cache, from the bin's entries in all batches.

use super::lengths::Lengths;
use super::memory::{PIECE, entry_words, rows_bytes};
use super::placed::PlacedEntries;
use super::write::{Files, bins_of_block};
use super::{Transpose, TransposeWork, Transposed};
use crate::error::Result;
use crate::memory::Buffer;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Builder of the rows of the upper half, one bin at a time. It reuses its memory for each bin.
pub(super) struct RowBuilder {
    words: Buffer<u32>,
}

impl RowBuilder {
    /// Makes a builder with enough memory for the largest bin with several rows.
    pub(super) fn new(work: TransposeWork<'_, '_>) -> Result<RowBuilder> {
        let Transpose { bins, budget, weights, .. } = *work.transpose;
        let weighted = weights.is_some();
        let many = bins.spans.iter().zip(work.entries).filter(|(span, _)| span.len() > 1);
        let words =
            many.map(|(span, &entries)| rows_bytes(span.len() as u64, entries, weighted) / 4).max().unwrap_or(0);
        let least = PIECE * entry_words(weighted) as usize;
        Ok(RowBuilder { words: budget.zeroed(least.max(words as usize), "rows of the upper half")? })
    }

    /// Builds and writes the rows of `bins`, which must all be bins of the same block.
    fn append_bins(&mut self, placed: &PlacedEntries<'_>, bins: Range<usize>, files: &mut Files<'_, '_>) -> Result<()> {
        let mut before = files.written.entries;
        for bin in bins.clone() {
            self.append(placed, bin, files)?;
            // The other half of the progress was counted when the entries were read from the lower half.
            files.work.advance((files.written.entries - before) / 2)?;
            before = files.written.entries;
        }
        files.end_of_bin(bins.end - 1)
    }

    /// Builds the rows of a bin and appends them to the bin's block.
    fn append(&mut self, placed: &PlacedEntries<'_>, bin: usize, files: &mut Files<'_, '_>) -> Result<()> {
        let work = files.work;
        let is_one = work.transpose.bins.spans[bin].len() == 1;
        match (is_one, work.transpose.weights.is_some()) {
            (true, true) => self.append_row::<true>(placed, bin, files),
            (true, false) => self.append_row::<false>(placed, bin, files),
            (false, true) => self.append_rows::<true>(placed, bin, files),
            (false, false) => self.append_rows::<false>(placed, bin, files),
        }
    }

    /// Builds and appends the rows of a bin with several rows.
    fn append_rows<const WEIGHTED: bool>(
        &mut self,
        placed: &PlacedEntries<'_>,
        bin: usize,
        files: &mut Files<'_, '_>,
    ) -> Result<()> {
        let work = files.work;
        let rows = work.transpose.bins.spans[bin].rows.clone();
        let entries = work.entries[bin] as usize;
        let (cursors, rest) = self.words.split_at_mut((rows.end - rows.start) as usize);
        let (targets, rest) = rest.split_at_mut(entries);
        let weights = &mut rest[..if WEIGHTED { entries } else { 0 }];
        each_row(work.lengths, rows.clone(), |row, start, _| {
            cursors[row] = start;
            true
        })?;
        let direction = work.transpose.layout.direction();
        placed.segments::<WEIGHTED>(bin, |first, entries, of_entries| {
            for (nth, &entry) in entries.iter().enumerate() {
                let cursor = &mut cursors[(entry & 0xffff) as usize];
                // If degrees are wrong, the cursor may be beyond the end. The check after the loop detects that.
                if let Some(target) = targets.get_mut(*cursor as usize) {
                    *target = direction.vertex(first + (entry >> 16));
                    if WEIGHTED {
                        weights[*cursor as usize] = of_entries[nth];
                    }
                }
                *cursor = cursor.wrapping_add(1);
            }
        });
        each_row(work.lengths, rows, |row, start, length| cursors[row] == start.wrapping_add(length))?;
        files.append(bin, targets, weights)
    }

    /// Builds and appends the only row of a bin, in slices that fit the builder's memory.
    fn append_row<const WEIGHTED: bool>(
        &mut self,
        placed: &PlacedEntries<'_>,
        bin: usize,
        files: &mut Files<'_, '_>,
    ) -> Result<()> {
        let work = files.work;
        let direction = work.transpose.layout.direction();
        let (mut filled, mut sum, mut written) = (0, 0, Ok(()));
        let all = self.words.len();
        let (targets, weights) = self.words.split_at_mut(if WEIGHTED { all / 2 } else { all });
        placed.segments::<WEIGHTED>(bin, |first, mut entries, mut of_entries| {
            sum += entries.len() as u64;
            while !entries.is_empty() && written.is_ok() {
                let (now, later) = entries.split_at(entries.len().min(targets.len() - filled));
                let words = targets[filled..].iter_mut();
                words.zip(now).for_each(|(word, entry)| *word = direction.vertex(first + (entry >> 16)));
                if WEIGHTED {
                    let (of_now, of_later) = of_entries.split_at(now.len());
                    weights[filled..filled + now.len()].copy_from_slice(of_now);
                    of_entries = of_later;
                }
                (filled, entries) = (filled + now.len(), later);
                if filled == targets.len() {
                    written = files.append(bin, targets, if WEIGHTED { &weights[..filled] } else { &[] });
                    filled = 0;
                }
            }
        });
        written?;
        if sum != work.entries[bin] {
            return Err(work.lengths.mismatch(work.transpose.bins.spans[bin].rows.start as u32));
        }
        files.append(bin, &targets[..filled], if WEIGHTED { &weights[..filled] } else { &[] })
    }
}

/// Builds and writes the rows of a window (the bins that one pass builds). If the window contains several blocks,
/// `row_builders` build them in parallel, one block at a time per builder.
pub(super) fn write_window(
    files: &mut Files<'_, '_>,
    placed: &PlacedEntries<'_>,
    row_builders: &mut [RowBuilder],
) -> Result<()> {
    let (bins, work) = (placed.bins(), files.work);
    let block_of = &work.transpose.bins.block_of;
    let blocks = block_of[bins.start]..block_of[bins.end - 1] + 1;
    if let ([row_builder, ..], 1) = (&mut *row_builders, blocks.len()) {
        return row_builder.append_bins(placed, bins, files);
    }
    let next = AtomicUsize::new(blocks.start);
    let write = |row_builder: &mut RowBuilder| {
        let mut files = Files::new(work);
        loop {
            let block = next.fetch_add(1, Ordering::Relaxed);
            if block >= blocks.end {
                return Ok(files.written);
            }
            let done = row_builder.append_bins(placed, bins_of_block(work, block), &mut files);
            // On an error, also stop the other threads.
            done.inspect_err(|_| next.store(blocks.end, Ordering::Relaxed))?;
        }
    };
    let written = row_builders.par_iter_mut().with_max_len(1).map(write).collect::<Result<Vec<Transposed>>>()?;
    written.into_iter().for_each(|one| files.written.add(one));
    Ok(())
}

/// Calls `each` for every row of a bin with (index of the row in the bin, start of its entries in the bin, length).
///
/// # Errors
/// [`crate::Error::Corrupt`] for the first row for which `each` returns false.
fn each_row(lengths: &Lengths<'_>, rows: Range<u64>, mut each: impl FnMut(usize, u32, u32) -> bool) -> Result<()> {
    let (mut row, mut start) = (0, 0);
    let first = rows.start as u32;
    lengths.chunks(rows, |chunk| {
        for &length in chunk {
            if !each(row, start, length) {
                return Err(lengths.mismatch(first + row as u32));
            }
            (row, start) = (row + 1, start.wrapping_add(length));
        }
        Ok(())
    })
}
