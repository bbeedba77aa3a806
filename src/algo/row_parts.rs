//! A pass over the rows of the lower half by several threads, which sees each edge of the graph once.

use super::team::{Parts, team};
use crate::error::Result;
use crate::graph::catalogue::{Catalogue, Unpacked};
use crate::graph::csr::Block;
use crate::process::signals;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Rows that a thread takes at a time.
const PART: usize = 2048;

/// Some rows of a block.
pub struct RowPart<'a> {
    /// The number of the block.
    pub number: usize,
    /// The block; if rows are packed, these rows of it alone.
    pub block: Block<'a>,
    /// The rows, counted from the block's first.
    pub rows: Range<usize>,
}

/// Hands all rows to `work`, a part at a time, with the thread's own state, and frees blocks behind it. Returns the states, or what is wrong
/// in the first part where `work` finds something, whatever the number of threads.
///
/// # Errors
/// [`crate::Error::Stopped`]; [`crate::Error::Addresses`] without threads.
pub fn check_rows<S: Send, F: Send>(
    rows: &Catalogue,
    threads: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&RowPart<'_>, &mut S) -> Result<(), F> + Sync,
) -> Result<Result<Vec<S>, F>> {
    let left: Vec<AtomicUsize> =
        (0..rows.len()).map(|b| AtomicUsize::new((rows.size(b).rows as usize).div_ceil(PART))).collect();
    let parts: Vec<(usize, usize)> =
        left.iter().enumerate().flat_map(|(b, left)| (0..left.load(Relaxed)).map(move |part| (b, part))).collect();
    let next = Parts::new(parts.len(), 1);
    let wrong: Mutex<Option<(usize, F)>> = Mutex::new(None);
    let wrong_part = AtomicUsize::new(usize::MAX);
    let states = Mutex::new(Vec::new());
    team(threads, &|_| {
        let (mut state, mut unpacked) = (state(), Unpacked::default());
        next.each(|part| {
            let number = part.start;
            signals::check()?;
            if wrong_part.load(Relaxed) < number {
                return Ok(());
            }
            let (b, part) = parts[number];
            let of_part = part * PART..(rows.size(b).rows as usize).min((part + 1) * PART);
            let part = match rows.packed() {
                // Those that are unpacked are a block of their own.
                Some(_) => {
                    let block = rows.part(b, of_part, &mut unpacked);
                    RowPart { number: b, block, rows: 0..block.rows() }
                }
                None => RowPart { number: b, block: rows.block(b), rows: of_part },
            };
            if let Err(found) = work(&part, &mut state) {
                // Parts before this one are carried through, so that the fault that is told does not depend on threads.
                let mut wrong = wrong.lock().unwrap_or_else(PoisonError::into_inner);
                if wrong.as_ref().is_none_or(|(first, _)| number < *first) {
                    *wrong = Some((number, found));
                }
                wrong_part.fetch_min(number, Relaxed);
            }
            if left[b].fetch_sub(1, Relaxed) == 1 {
                rows.release(b);
            }
            Ok(())
        })?;
        states.lock().unwrap_or_else(PoisonError::into_inner).push(state);
        Ok(())
    })?;
    match wrong.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, found)) => Ok(Err(found)),
        None => Ok(Ok(states.into_inner().unwrap_or_else(PoisonError::into_inner))),
    }
}
