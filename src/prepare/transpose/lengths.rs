//! Lengths of the rows of the upper half. The length of a vertex's upper row is its degree minus the length of its
//! lower row.

use crate::error::{At, Error, Result};
use crate::graph::{Bins, BlockStore};
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;

/// Number of rows whose lengths are computed at a time.
pub(super) const CHUNK: usize = 1 << 13;

/// The degrees and the lower half, from which the lengths of upper rows are computed.
pub(super) struct Lengths<'a> {
    pub(super) lower: &'a BlockStore,
    pub(super) degrees: &'a [u32],
}

impl Lengths<'_> {
    /// Calls `each` with the lengths of the upper rows `rows`, in order, up to [`CHUNK`] rows at a time.
    pub(super) fn chunks(&self, rows: Range<u64>, mut each: impl FnMut(&[u32]) -> Result<()>) -> Result<()> {
        let mut lengths = Vec::with_capacity(CHUNK);
        let mut from = rows.start;
        while from < rows.end {
            let block = self.lower.block(self.lower.layout.block_of(from as u32));
            let end = rows.end.min(block.end_row().into()).min(from + CHUNK as u64);
            let local = from as usize - block.first_row as usize;
            let Some(degrees) = self.degrees.get(from as usize..end as usize) else {
                return Err(self.mismatch(from as u32));
            };
            lengths.clear();
            for (i, &degree) in degrees.iter().enumerate() {
                let lower = block.offsets[local + i + 1] - block.offsets[local + i];
                let Some(upper) = degree.checked_sub(lower) else { return Err(self.mismatch(from as u32 + i as u32)) };
                lengths.push(upper);
            }
            each(&lengths)?;
            from = end;
        }
        Ok(())
    }

    /// Returns the number of entries in each bin of the upper half.
    pub(super) fn of_bins(&self, bins: &Bins) -> Result<Vec<u64>> {
        let of_bin = |rows: Range<u64>| {
            let mut sum = 0;
            self.chunks(rows, |lengths| {
                sum += lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
                Ok(())
            })?;
            Ok(sum)
        };
        bins.spans.par_iter().map(|span| of_bin(span.rows.clone())).collect()
    }

    /// Returns the error for vertex `v` if its degree differs from its number of neighbours.
    pub(super) fn mismatch(&self, v: u32) -> Error {
        let what = format!("the degree of vertex {v} does not match its rows");
        Error::corrupt(Path::new("graph/degrees"), At::File, what)
    }

    /// Returns the error for a range of rows if a vertex in it has a degree that differs from its number of neighbours.
    pub(super) fn mismatch_among(&self, rows: Range<u64>) -> Error {
        let what = format!("some degrees of vertices {} to {} do not match their rows", rows.start, rows.end - 1);
        Error::corrupt(Path::new("graph/degrees"), At::File, what)
    }
}
