//! A pass over the rows of the lower half by several threads. The pass visits each edge of the graph once.

use super::team::check_parts;
use crate::error::Result;
use crate::graph::block_store::{BlockStore, Unpacked};
use crate::graph::csr::Block;
use crate::graph::direction::{Direction, EdgeDirection};
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

impl<'a> RowPart<'a> {
    /// Yields the vertex of each row, whether the row has its in-neighbours, and the neighbours. The row of an
    /// undirected graph has out-neighbours.
    pub fn each_row(&self, direction: Direction) -> impl Iterator<Item = (u32, bool, &'a [u32])> {
        let RowPart { block, ref rows, .. } = *self;
        rows.clone().map(move |local| {
            let row = block.first_row + local as u32;
            let v = direction.vertex(row);
            (v, row != direction.row(v, EdgeDirection::Out), block.row(local))
        })
    }
}

/// Calls `work` with parts of all rows, on several threads. `state` makes a state for each thread, which `work` gets.
/// Frees each block when all of its rows are done. Returns the states of all threads. If `work` fails, returns the
/// failure of the first part that fails, so the result does not depend on the number of threads.
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
    let new = || (state(), Unpacked::default());
    let checked = check_parts(threads, parts.len(), 1, new, |part, (state, unpacked)| {
        let (b, part) = parts[part.start];
        let of_part = part * PART..(rows.size(b).rows as usize).min((part + 1) * PART);
        let part = match rows.packed() {
            // Each part of packed rows is unpacked into a separate block.
            Some(_) => {
                let block = rows.part(b, of_part, unpacked);
                RowPart { number: b, block, rows: 0..block.rows() }
            }
            None => RowPart { number: b, block: rows.block(b), rows: of_part },
        };
        let checked = work(&part, state);
        if left[b].fetch_sub(1, Relaxed) == 1 {
            rows.release(b);
        }
        checked
    })?;
    Ok(checked.map(|states| states.into_iter().map(|(state, _)| state).collect()))
}
