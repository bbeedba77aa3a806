//! Multithreaded pass over the lower half of all rows, which contains the neighbours with smaller ids. This half
//! contains each edge of the graph once.

use super::team::check_parts;
use crate::error::Result;
use crate::graph::block_store::{BlockStore, Unpacked};
use crate::graph::csr::Block;
use crate::graph::direction::{Direction, EdgeDirection};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Number of rows that a thread processes at a time.
const PART: usize = 2048;

/// A range of consecutive rows, all in one block of the graph.
pub struct RowPart<'a> {
    /// Index of the block that contains the rows.
    pub number: usize,
    /// The block that contains the rows. If rows are packed (compressed), it is an unpacked copy of these rows only.
    pub block: Block<'a>,
    /// Index range of the rows, relative to the first row of `block`.
    pub rows: Range<usize>,
}

impl<'a> RowPart<'a> {
    /// Yields `(vertex, is_in, neighbours)` for each row of the range. `is_in` is true for a row of in-neighbours. In
    /// an undirected graph, it is always false.
    pub fn each_row(&self, direction: Direction) -> impl Iterator<Item = (u32, bool, &'a [u32])> {
        let RowPart { block, ref rows, .. } = *self;
        rows.clone().map(move |local| {
            let row = block.first_row + local as u32;
            let v = direction.vertex(row);
            (v, row != direction.row(v, EdgeDirection::Out), block.row(local))
        })
    }
}

/// Calls `work` with all rows, in ranges of up to `PART` rows, on several threads. Calls `state` once on each thread,
/// and passes the returned state to every call of `work` on that thread. Returns the states of all threads. If `work`
/// fails for several ranges, returns the failure for the first of these in row order, so the result does not depend on
/// the number of threads. Each block of rows is released after its last row.
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
            // Each range of packed rows is unpacked into a separate block.
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
