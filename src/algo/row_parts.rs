//! A pass over the rows of the lower half by several threads. The pass visits each edge of the graph once.

use super::team::{Parts, gathered};
use crate::error::Result;
use crate::graph::block_store::{BlockStore, Unpacked};
use crate::graph::csr::Block;
use crate::process::signals;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Number of rows that a thread processes at a time.
const PART: usize = 2048;

/// Consecutive rows of a block.
pub struct RowPart<'a> {
    /// Number of the block.
    pub number: usize,
    /// The block that has the rows. If rows are packed (compressed), it is a copy of these rows alone, unpacked.
    pub block: Block<'a>,
    /// The rows, numbered from the first row of `block`.
    pub rows: Range<usize>,
}

/// Calls `work` for parts of all rows, with the state of the calling thread. Frees each block when all its rows are
/// done. Returns the states of all threads. If `work` fails, returns the failure of the first part that fails, so the
/// result does not depend on the number of threads.
///
/// # Errors
/// [`crate::Error::Stopped`]; [`crate::Error::Addresses`] if no thread can be started.
pub fn check_rows<S: Send, F: Send>(
    rows: &BlockStore,
    threads: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&RowPart<'_>, &mut S) -> Result<(), F> + Sync,
) -> Result<Result<Vec<S>, F>> {
    let left: Vec<AtomicUsize> =
        (0..rows.len()).map(|b| AtomicUsize::new((rows.size(b).rows as usize).div_ceil(PART))).collect();
    let parts: Vec<(usize, usize)> =
        left.iter().enumerate().flat_map(|(b, left)| (0..left.load(Relaxed)).map(move |part| (b, part))).collect();
    let next = Parts::new(parts.len(), 1);
    let wrong_part = AtomicUsize::new(usize::MAX);
    let done = gathered(threads, &|_| {
        let (mut state, mut unpacked, mut wrong) = (state(), Unpacked::default(), None);
        next.each(|part| {
            let number = part.start;
            signals::check()?;
            if wrong_part.load(Relaxed) < number {
                return Ok(());
            }
            let (b, part) = parts[number];
            let of_part = part * PART..(rows.size(b).rows as usize).min((part + 1) * PART);
            let part = match rows.packed() {
                // Each part of packed rows is unpacked into a block of its own.
                Some(_) => {
                    let block = rows.part(b, of_part, &mut unpacked);
                    RowPart { number: b, block, rows: 0..block.rows() }
                }
                None => RowPart { number: b, block: rows.block(b), rows: of_part },
            };
            if let Err(found) = work(&part, &mut state) {
                // Other threads still check all earlier parts, so that the reported failure does not depend on timing.
                wrong_part.fetch_min(number, Relaxed);
                wrong = Some((number, found));
            }
            if left[b].fetch_sub(1, Relaxed) == 1 {
                rows.release(b);
            }
            Ok(())
        })?;
        Ok((state, wrong))
    })?;
    let (states, wrong): (Vec<S>, Vec<Option<(usize, F)>>) = done.into_iter().unzip();
    let first = wrong.into_iter().flatten().min_by_key(|&(number, _)| number);
    Ok(first.map_or(Ok(states), |(_, found)| Err(found)))
}
