//! The share of a list that one MPI process owns.

use crate::algo::listrank::index::{Index, Shares};
use crate::algo::listrank::read;
use crate::comm::Comm;
use crate::error::Result;
use crate::formats::Signals;
use crate::list::List;
use crate::memory::{Budget, Buffer};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The share of a list that one MPI process owns: a range of consecutive elements.
#[derive(Debug, Clone, Copy)]
pub struct ListShare {
    /// Number of elements of the whole list.
    pub length: u64,
    /// Division of the list into the shares of all processes.
    shares: Shares,
    /// The first element of this share.
    pub first: u64,
    /// Number of elements of this share.
    len: u64,
    /// The head of the list: the element that is no element's successor. It is the same on all processes, and
    /// meaningless if the input is not a list.
    pub head: u64,
    /// Number of elements of the whole list that have no successor.
    pub tails: u64,
}

/// Returns the size of an index in bytes (4 or 8) for a list of `length` elements that is divided among MPI processes.
/// One bit of an index marks an element as visited, so a 4-byte index has fewer than 32 bits for the element.
pub fn width(length: u64) -> u64 {
    if length <= 1 << 30 { 4 } else { 8 }
}

/// Divides a list of `length` elements among `ranks` MPI processes.
pub fn shares(length: u64, ranks: usize) -> Shares {
    Shares::new(length, length.div_ceil(ranks as u64).next_multiple_of(16))
}

impl ListShare {
    /// Reads the successors of the elements in the share of this process. An element without a successor has
    /// [`Index::END`]. Collective.
    ///
    /// # Errors
    /// Read errors; [`crate::Error::Limit`], [`crate::Error::Stopped`].
    pub fn load<I: Index>(list: &List, comm: &Comm, threads: usize, budget: &Budget) -> Result<(ListShare, Buffer<I>)> {
        let own = shares(list.length, comm.ranks()).elements(comm.rank() as u64);
        let mut cells = budget.zeroed::<I>((own.end - own.start) as usize, "the successors of a rank's elements")?;
        let part = ListShare::fill::<I>(list, comm, I::shared(&mut cells), threads, budget, &|_| ())?;
        Ok((part, cells))
    }

    /// Reads the share of this process into `cells`, and calls `see` with each successor. Collective.
    ///
    /// # Errors
    /// Errors of [`Self::load`].
    pub fn fill<I: Index>(
        list: &List,
        comm: &Comm,
        cells: &[I::Cell],
        threads: usize,
        budget: &Budget,
        see: &(impl Fn(u64) + Sync),
    ) -> Result<ListShare> {
        let shares = shares(list.length, comm.ranks());
        let elements = shares.elements(comm.rank() as u64);
        let (first, len) = (elements.start, elements.end - elements.start);
        let _reading = budget.reserve(list.source.scratch_bytes(threads), "reading the list")?;
        let (sum, tails) = (AtomicU64::new(0), AtomicU64::new(0));
        list.source.scan(elements, threads, &Signals, &|from, values| {
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
        Ok(ListShare { length: list.length, shares, first, len, head, tails: sums[1] })
    }

    /// Returns the elements of this share.
    pub fn elements(&self) -> Range<u64> {
        self.first..self.first + self.len
    }

    /// Returns true if `element` is in this share.
    #[inline(always)]
    pub fn holds(&self, element: u64) -> bool {
        element.wrapping_sub(self.first) < self.len
    }

    /// Returns the MPI rank that owns `element`.
    #[inline(always)]
    pub fn owner(&self, element: u64) -> usize {
        self.shares.of(element) as usize
    }
}
