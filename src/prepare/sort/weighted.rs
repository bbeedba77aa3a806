//! Sorts one bin of weighted edges into rows. Duplicate edges become one, with the smallest weight.
//!
//! An entry is a 64-bit word with the neighbour in its high half and the weight in its low half. The bit patterns of
//! weights compare like the weights, so in a sorted row the first entry of each neighbour has its smallest weight. A
//! row with at least as many edges as there are vertices with smaller ids is not sorted. Instead, while the row is
//! filled, it is an array with one element for each smaller id. The element is the smallest entry with this id as its
//! neighbour.

use super::{SortBin, Sorted, SortedRows, sort_row, start_rows};
use crate::error::Result;
use crate::prepare::partition::BinReader;

/// Value of an empty element of an array. No entry has this value, because `u32::MAX` is not a vertex.
const NOTHING: u64 = u64::MAX;

/// Sorter of bins of weighted edges, on the CPU, for one thread. It reuses its buffers for each bin.
#[derive(Debug, Default)]
pub(super) struct WeightedSorter {
    chunk: Vec<u32>,
    ends: Vec<u32>,
    entries: Vec<u64>,
}

impl WeightedSorter {
    /// Number of bytes of memory for an entry (neighbour with weight): 8 while it is sorted, and 8 for the neighbour
    /// and the weight in the result.
    pub(super) const ENTRY: u64 = 16;
}

impl SortBin for WeightedSorter {
    fn sort(&mut self, bin: &BinReader<'_, '_>, first_row: u32, rows: usize, out: &mut SortedRows) -> Result<Sorted> {
        let direction = bin.direction();
        let most = |r: usize| direction.vertex(first_row + r as u32);
        let WeightedSorter { chunk, ends, entries } = self;
        let edges = start_rows(bin, rows, most, ends, chunk)?;
        // At first `ends[r]` is the start of row `r`. It advances with each entry that is written, so in the end it is
        // the end of the row. If the row is an array, `ends[r]` stays the start.
        entries.clear();
        entries.resize(ends[rows] as usize, NOTHING);
        let SortedRows { lengths, targets, weights } = out;
        // Until the row lengths are known, a length of 1 marks a row that is an array.
        lengths.clear();
        lengths.extend((0..rows).map(|r| u32::from(ends[r + 1] - ends[r] == most(r))));
        if lengths.contains(&1) {
            bin.for_each_weighted(chunk, |place, low, weight| {
                let (at, entry) = (&mut ends[usize::from(place)], entry(low, weight));
                if lengths[usize::from(place)] == 0 {
                    entries[*at as usize] = entry;
                    *at += 1;
                } else {
                    let smallest = &mut entries[(*at + low) as usize];
                    *smallest = entry.min(*smallest);
                }
            })?;
        } else {
            bin.for_each_weighted(chunk, |place, low, weight| {
                let at = &mut ends[usize::from(place)];
                entries[*at as usize] = entry(low, weight);
                *at += 1;
            })?;
        }
        for of in [&mut *targets, &mut *weights] {
            of.clear();
            of.resize(entries.len(), 0);
        }
        let (mut start, mut kept) = (0, 0);
        for (r, length) in lengths.iter_mut().enumerate() {
            let (before, is_array) = (kept, *length > 0);
            let end = if is_array { start + most(r) as usize } else { ends[r] as usize };
            if !is_array {
                sort_row(&mut entries[start..end]);
            }
            let mut last = None;
            for &entry in &entries[start..end] {
                let target = (entry >> 32) as u32;
                (targets[kept], weights[kept]) = (target, entry as u32);
                kept += usize::from(last != Some(target) && entry != NOTHING);
                last = Some(target);
            }
            start = end;
            *length = (kept - before) as u32;
        }
        targets.truncate(kept);
        weights.truncate(kept);
        Ok(Sorted { edges, counted: false })
    }
}

fn entry(low: u32, weight: u32) -> u64 {
    u64::from(low) << 32 | u64::from(weight)
}
