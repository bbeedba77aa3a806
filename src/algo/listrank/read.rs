//! Reads a list into memory and checks its successors, but does not detect cycles. Ranking detects them.

use crate::algo::listrank::faults::ListFault;
use crate::algo::listrank::index::Index;
use crate::error::Result;
use crate::formats::Signals;
use crate::list::List;
use crate::memory::{Budget, Buffer};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A list in memory: its successors and its head.
pub struct LoadedList<I: Index> {
    /// The successor of each element; [`Index::END`] for the last element.
    pub successors: Buffer<I>,
    /// The first element, which is no element's successor; 0 if the list is empty.
    pub head: u64,
}

/// Returns the memory in bytes that [`load`] takes for `length` elements: an index of `width` bytes and one bit per
/// element.
pub fn bytes(length: u64, width: u64) -> u64 {
    length * width + marks_bytes(length)
}

fn marks_bytes(length: u64) -> u64 {
    8 * length.div_ceil(64)
}

/// Reads `list` into memory with `threads` threads and checks it.
///
/// # Errors
/// [`crate::Error::Input`] if two elements have the same successor, or if the number of elements without a successor is
/// not one; read errors; [`crate::Error::Stopped`]; [`crate::Error::Limit`] if the list does not fit the budget.
pub fn load<I: Index>(list: &List, threads: usize, budget: &Budget) -> Result<LoadedList<I>> {
    let n = list.length;
    let _reading = budget.reserve(list.source.scratch_bytes(threads), "reading the list")?;
    let mut successors = budget.zeroed::<I>(n as usize, "the successors of the list")?;
    let mut marks = budget.zeroed::<u64>(n.div_ceil(64) as usize, "marks of successors")?;
    let marks = u64::shared(&mut marks);
    // Sum of all successors, number of elements without a successor, smallest of these, and smallest element that is
    // the successor of two elements.
    let (sum, tails) = (AtomicU64::new(0), AtomicU64::new(0));
    let (tail, twice) = (AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX));
    let cells = I::shared(&mut successors);
    list.source.scan(0..n, threads, &Signals, &|first, values| {
        let mut here = 0_u64;
        for (element, &value) in (first..).zip(values) {
            let Ok(successor) = u64::try_from(value) else {
                I::set(&cells[element as usize], I::END);
                tails.fetch_add(1, Relaxed);
                tail.fetch_min(element, Relaxed);
                continue;
            };
            I::set(&cells[element as usize], I::of(successor));
            here = here.wrapping_add(successor);
            if mark(marks, successor) {
                twice.fetch_min(successor, Relaxed);
            }
        }
        sum.fetch_add(here, Relaxed);
        Ok(())
    })?;
    let [sum, tails, tail, twice] = [sum, tails, tail, twice].map(AtomicU64::into_inner);
    if twice != u64::MAX {
        return Err(ListFault::Twice { successor: twice }.error(list, threads)?);
    }
    if n > 0 && tails != 1 {
        let element = (tails > 0).then_some(tail);
        return Err(ListFault::Tails { count: tails, element }.error(list, threads)?);
    }
    Ok(LoadedList { successors, head: head(n, sum) })
}

/// Sets the bit of `successor` in the bitmap `marks`. Returns true if the bit was set before.
#[inline(always)]
pub fn mark(marks: &[AtomicU64], successor: u64) -> bool {
    let bit = 1 << (successor % 64);
    marks[successor as usize / 64].fetch_or(bit, Relaxed) & bit != 0
}

/// Returns the head of a list of `length` elements. It is the sum of all elements minus the sum of all successors,
/// which is `sum` modulo 2^64. If the input is not a list, the result is meaningless.
pub fn head(length: u64, sum: u64) -> u64 {
    let all = u128::from(length) * u128::from(length.saturating_sub(1)) / 2;
    (all as u64).wrapping_sub(sum)
}
