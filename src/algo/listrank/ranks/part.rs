//! The share of a list that one rank owns.

use crate::algo::listrank::index::Index;
use crate::algo::listrank::read;
use crate::comm::Comm;
use crate::error::Result;
use crate::formats::Watch;
use crate::list::List;
use crate::memory::{Budget, Buffer};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A rank's share of a list of `length` elements. It has consecutive elements.
#[derive(Debug, Clone, Copy)]
pub struct ListShare {
    /// Number of elements of the whole list.
    pub length: u64,
    /// Number of elements of every share but the last ones.
    size: u64,
    /// Reciprocal of `size`, so that owners are found without a division.
    reciprocal: u64,
    /// The first element of this share.
    pub first: u64,
    /// Number of elements of this share.
    len: u64,
    /// The head: the element that is nobody's successor, if the input is a list. The same on all ranks.
    pub head: u64,
    /// Number of elements of the whole list that have no successor.
    pub tails: u64,
}

/// Returns the bytes of an index in a list of `length` elements that is divided among ranks. One bit marks visited
/// cells.
pub fn width(length: u64) -> u64 {
    if length <= 1 << 30 { 4 } else { 8 }
}

/// Returns the number of elements of each share of a list but the last ones.
pub fn share(length: u64, ranks: usize) -> u64 {
    length.div_ceil(ranks as u64).next_multiple_of(16)
}

impl ListShare {
    /// Reads the share of this rank, with the successor of each of its elements; [`Index::END`] stands for none.
    /// Collective.
    ///
    /// # Errors
    /// Read errors; [`crate::Error::Limit`].
    pub fn load<I: Index>(
        list: &List,
        comm: &Comm,
        threads: usize,
        budget: &Budget,
        watch: &dyn Watch,
    ) -> Result<(ListShare, Buffer<I>)> {
        let own = elements(list.length, comm.ranks(), comm.rank());
        let mut cells = budget.zeroed::<I>((own.end - own.start) as usize, "the successors of a rank's elements")?;
        let part = ListShare::fill::<I>(list, comm, I::shared(&mut cells), threads, budget, watch, &|_| ())?;
        Ok((part, cells))
    }

    /// Reads the share of this rank into `cells`, and calls `see` with every successor. Collective.
    ///
    /// # Errors
    /// Errors of [`Self::load`].
    pub fn fill<I: Index>(
        list: &List,
        comm: &Comm,
        cells: &[I::Cell],
        threads: usize,
        budget: &Budget,
        watch: &dyn Watch,
        see: &(impl Fn(u64) + Sync),
    ) -> Result<ListShare> {
        let size = share(list.length, comm.ranks());
        let elements = bounds(list.length, size, comm.rank());
        let (first, len) = (elements.start, elements.end - elements.start);
        let _reading = budget.reserve(list.source.scratch_bytes(threads), "reading the list")?;
        let (sum, tails) = (AtomicU64::new(0), AtomicU64::new(0));
        list.source.scan(elements, threads, watch, &|from, values| {
            let (mut own, mut ends) = (0_u64, 0);
            for (cell, &value) in cells[(from - first) as usize..].iter().zip(values) {
                match u64::try_from(value) {
                    Ok(successor) => {
                        see(successor);
                        own = own.wrapping_add(successor);
                        I::set(cell, I::of(successor));
                    }
                    Err(_) => {
                        ends += 1;
                        I::set(cell, I::END);
                    }
                }
            }
            sum.fetch_add(own, Relaxed);
            tails.fetch_add(ends, Relaxed);
            Ok(())
        })?;
        let mut sums = [sum.into_inner(), tails.into_inner()];
        comm.all_sum(&mut sums);
        let head = read::head(list.length, sums[0]);
        Ok(ListShare { length: list.length, size, reciprocal: reciprocal(size), first, len, head, tails: sums[1] })
    }

    /// Returns the elements of this share.
    pub fn elements(&self) -> Range<u64> {
        self.first..self.first + self.len
    }

    /// Returns true if the element belongs to this share.
    #[inline(always)]
    pub fn holds(&self, element: u64) -> bool {
        element.wrapping_sub(self.first) < self.len
    }

    /// Returns the rank that owns an element.
    #[inline(always)]
    pub fn owner(&self, element: u64) -> usize {
        let rank = ((u128::from(element) * u128::from(self.reciprocal)) >> 64) as u64;
        // The reciprocal is rounded down, so the quotient may be too small by one.
        (rank + u64::from(element - rank * self.size >= self.size)) as usize
    }
}

/// Returns the elements of the share of `rank`.
pub fn elements(length: u64, ranks: usize, rank: usize) -> Range<u64> {
    bounds(length, share(length, ranks), rank)
}

fn reciprocal(size: u64) -> u64 {
    u64::MAX / size.max(1)
}

fn bounds(length: u64, size: u64, rank: usize) -> Range<u64> {
    let from = (size * rank as u64).min(length);
    from..(from + size).min(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_partition_the_elements() {
        for length in [0, 1, 15, 16, 17, 1000, 4096] {
            for ranks in 1..9 {
                let size = share(length, ranks);
                let mut next = 0;
                for rank in 0..ranks {
                    let elements = bounds(length, size, rank);
                    assert_eq!(elements.start, next, "{length} {ranks}");
                    let (first, len, reciprocal) = (elements.start, elements.end - elements.start, reciprocal(size));
                    let part = ListShare { length, size, reciprocal, first, len, head: 0, tails: 1 };
                    assert!(elements.clone().all(|element| part.owner(element) == rank));
                    next = elements.end;
                }
                assert_eq!(next, length);
            }
        }
    }
}
