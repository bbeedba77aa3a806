//! Windows: the rows of the upper half that are made in one pass over the lower half.

use super::batch::{Batch, Batches, Target};
use super::lengths::Lengths;
use super::memory::bin_bytes;
use super::{Transpose, Work};
use crate::error::Result;
use crate::graph::layout::{Bins, Layout};
use crate::memory::Buffer;
use rayon::prelude::*;
use std::ops::Range;

/// The rows that are made in a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Window {
    /// The rows of some bins: those of whole blocks, or of a part of one.
    Bins(Range<usize>),
    /// The only row of a bin, which does not fit memory.
    Row(usize),
}

/// Divides the wanted blocks into windows of at most `most` bytes.
pub(super) fn windows(layout: &Layout, bins: &Bins, entries: &[u64], wanted: &[bool], most: u64) -> Vec<Window> {
    let bytes = |bin: usize| bin_bytes(bins.spans[bin].len() as u64, entries[bin]);
    let mut all: Vec<Window> = Vec::new();
    let (mut sum, mut last_is_whole) = (0, false);
    let mut end = 0;
    for (block, &wanted) in wanted.iter().enumerate().take(layout.blocks()) {
        let start = end;
        end = bins.block_of.partition_point(|&b| b <= block);
        if !wanted {
            continue;
        }
        let of_block: u64 = (start..end).map(bytes).sum();
        if of_block <= most {
            match all.last_mut() {
                Some(Window::Bins(range)) if last_is_whole && range.end == start && sum + of_block <= most => {
                    range.end = end;
                    sum += of_block;
                }
                _ => {
                    all.push(Window::Bins(start..end));
                    sum = of_block;
                }
            }
            last_is_whole = true;
            continue;
        }
        last_is_whole = false;
        // The first bin of a block never joins those of the block before.
        sum = most;
        for bin in start..end {
            let of_bin = bytes(bin);
            match all.last_mut() {
                Some(Window::Bins(range)) if range.end == bin && sum + of_bin <= most => {
                    range.end += 1;
                    sum += of_bin;
                }
                _ => {
                    let is_long = of_bin > most && bins.spans[bin].len() == 1;
                    all.push(if is_long { Window::Row(bin) } else { Window::Bins(bin..bin + 1) });
                    sum = of_bin;
                }
            }
        }
    }
    all
}

/// The rows of a window.
pub(super) struct Rows {
    targets: Buffer<u32>,
    /// Entry that each bin of the window begins with, and the end of the last.
    starts: Vec<usize>,
    bins: Range<usize>,
}

/// A bin in the making.
struct Growing<'w> {
    targets: &'w mut [u32],
    /// Where the next entry of each row goes.
    cursors: &'w mut [u32],
}

impl Growing<'_> {
    /// Appends entries of one batch, whose first row is `first`.
    #[inline]
    fn append(&mut self, first: u32, entries: &[u32]) {
        if let [cursor] = self.cursors {
            let end = *cursor as usize + entries.len();
            if let Some(targets) = self.targets.get_mut(*cursor as usize..end) {
                targets.iter_mut().zip(entries).for_each(|(target, entry)| *target = first + (entry >> 16));
            }
            *cursor = end as u32;
            return;
        }
        for &entry in entries {
            let cursor = &mut self.cursors[(entry & 0xffff) as usize];
            // Where degrees are wrong, an entry may lie beyond the end; that is seen when all are there.
            if let Some(target) = self.targets.get_mut(*cursor as usize) {
                *target = first + (entry >> 16);
            }
            *cursor = cursor.wrapping_add(1);
        }
    }
}

impl Rows {
    /// Makes the rows of the bins `range` in one pass over the lower half.
    pub(super) fn make(work: Work<'_, '_>, range: Range<usize>) -> Result<Rows> {
        let Work { transpose, lengths, entries, .. } = work;
        let Transpose { bins, budget, .. } = *transpose;
        let purpose = "rows of the upper half";
        let mut starts = vec![0];
        let mut sum = 0;
        starts.extend(entries[range.clone()].iter().map(|&entries| {
            sum += entries as usize;
            sum
        }));
        let target = Target::new(bins, range.clone());
        let rows = target.rows();
        let mut targets = budget.zeroed::<u32>(sum, purpose)?;
        let mut cursors = budget.zeroed::<u32>((rows.end - rows.start) as usize, purpose)?;
        let mut growing: Vec<Growing<'_>> = Vec::with_capacity(range.len());
        let (mut rest, mut rest_cursors) = (&mut targets[..], &mut cursors[..]);
        for bin in range.clone() {
            let (targets, after) = rest.split_at_mut(entries[bin] as usize);
            let (cursors, after_cursors) = rest_cursors.split_at_mut(bins.spans[bin].len());
            (rest, rest_cursors) = (after, after_cursors);
            growing.push(Growing { targets, cursors });
        }
        let of_bin = |bin: usize| bins.spans[range.start + bin].rows.clone();
        growing.par_iter_mut().enumerate().try_for_each(|(bin, growing)| {
            each_row(lengths, of_bin(bin), |row, start, _| {
                growing.cursors[row] = start;
                true
            })
        })?;
        grow(work, &target, &mut growing)?;
        growing.par_iter().enumerate().try_for_each(|(bin, growing)| {
            each_row(lengths, of_bin(bin), |row, start, length| growing.cursors[row] == start + length)
        })?;
        drop(growing);
        Ok(Rows { targets, starts, bins: range })
    }

    /// Returns the bins.
    pub(super) fn bins(&self) -> Range<usize> {
        self.bins.clone()
    }

    /// Returns the targets of some of the window's bins.
    pub(super) fn targets(&self, bins: Range<usize>) -> &[u32] {
        &self.targets[self.starts[bins.start - self.bins.start]..self.starts[bins.end - self.bins.start]]
    }
}

/// Calls `each` with the place, the start and the length of every row of a bin.
///
/// # Errors
/// [`crate::Error::Corrupt`] for the first row for which it returns false.
fn each_row(lengths: &Lengths<'_>, rows: Range<u64>, mut each: impl FnMut(usize, u32, u32) -> bool) -> Result<()> {
    let (mut row, mut start) = (0, 0);
    let first = rows.start as u32;
    lengths.chunks(rows, |chunk| {
        for &length in chunk {
            if !each(row, start, length) {
                return Err(lengths.differ(first + row as u32));
            }
            (row, start) = (row + 1, start.wrapping_add(length));
        }
        Ok(())
    })
}

/// Lets the rows of all bins grow, round by round: batches are put into the order of bins by all threads, then bins take theirs.
fn grow(work: Work<'_, '_>, target: &Target<'_>, growing: &mut [Growing<'_>]) -> Result<()> {
    let Transpose { lower, memory, budget, .. } = *work.transpose;
    let purpose = "entries on their way to the upper half";
    let width = target.range.len() + 2;
    let mut placed = budget.zeroed::<u32>(memory.batches * memory.batch, purpose)?;
    let mut starts = budget.zeroed::<u32>(memory.batches * width, purpose)?;
    // Rows of larger vertices alone list those of the window.
    let from = (target.rows().start + 1).min(u64::from(u32::MAX)) as u32;
    let mut batches = Batches::from(lower, memory.batch, from).peekable();
    while let Some(block) = batches.peek().map(|batch| batch.block) {
        let round: Vec<Batch> = batches.by_ref().take(memory.batches).collect();
        let places = round.par_iter().zip(placed.par_chunks_mut(memory.batch)).zip(starts.par_chunks_mut(width));
        let entries: u64 = places.map(|((batch, placed), starts)| batch.place(lower, target, starts, placed)).sum();
        let firsts: Vec<u32> = round.iter().map(|batch| batch.first_vertex(lower)).collect();
        growing.par_iter_mut().enumerate().for_each(|(bin, growing)| {
            for ((&first, placed), starts) in firsts.iter().zip(placed.chunks(memory.batch)).zip(starts.chunks(width)) {
                growing.append(first, &placed[starts[bin] as usize..starts[bin + 1] as usize]);
            }
        });
        work.watch.advance(entries)?;
        let next = batches.peek().map_or(lower.len(), |batch| batch.block);
        (block..next).for_each(|block| lower.release(block));
    }
    Ok(())
}
