//! Ranks a list with the MPI processes of one machine in shared memory, like the threads of one process.
//!
//! The processes take sublists from a shared counter and send no messages. Every process accesses all of the memory, so
//! the kernel may count every page once per process. Therefore this method is used only if the list fits the memory
//! limit of every process. Otherwise each process stores only its share, and messages between processes follow the
//! sublists.

use super::part::{ListShare, shares};
use crate::algo::listrank::cpu::Context;
use crate::algo::listrank::cpu::ruling_set::{SHIFT, SublistWalk};
use crate::algo::listrank::index::Index;
use crate::algo::listrank::read::mark;
use crate::comm::{Comm, SharedMemory};
use crate::error::Result;
use crate::list::List;
use crate::memory::{Budget, Reservation};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Index of the shared counter of sublists that were started.
const TAKEN: usize = 0;
/// Index of the shared counter of splits. A sublist longer than 2^[`SHIFT`] elements is split, and the rest gets a new
/// index.
const FRESH: usize = 1;

/// Maximum number of elements of a list in shared memory. No machine has enough memory for a longer list.
const MOST: usize = 1 << 48;
/// Value of [`memory`] for a list that can't be ranked in shared memory. No machine has so many bytes of memory.
const NEVER: u64 = 1 << 60;

/// Offsets in bytes of the parts of a list in shared memory.
#[derive(Clone, Copy)]
struct SharedLayout {
    links: usize,
    /// Number of integers in the links between sublists.
    numbers: usize,
    marks: usize,
    /// Number of 64-bit words of a bitmap with a bit per element.
    words: usize,
    bytes: usize,
}

impl SharedLayout {
    /// Returns the layout for a list of `length` elements; `None` if indices of type `I` are too narrow.
    fn of<I: Index>(length: u64) -> Option<SharedLayout> {
        let (n, width) = (usize::try_from(length).ok().filter(|n| (1..=MOST).contains(n))?, size_of::<I>());
        let numbers = SublistWalk::<I>::links(n).filter(|_| length < I::END.wide())?;
        let links = n * width;
        let marks = (links + numbers * width).next_multiple_of(8);
        let words = n.div_ceil(64);
        Some(SharedLayout { links, numbers, marks, words, bytes: marks + 8 * words })
    }
}

/// Returns the memory in bytes that every process needs to rank a list of `length` elements, without the memory for
/// reading. Returns [`NEVER`] for an empty list and for a list that is too long.
pub fn memory(length: u64) -> u64 {
    let bytes = |layout: Option<SharedLayout>, width| {
        let other_bytes = |layout: SharedLayout| 2 * layout.numbers as u64 * width;
        layout.map(|layout| layout.bytes as u64 + other_bytes(layout))
    };
    bytes(SharedLayout::of::<u32>(length), 4).or_else(|| bytes(SharedLayout::of::<u64>(length), 8)).unwrap_or(NEVER)
}

/// Returns true if 32-bit indices are wide enough to rank a list of `length` elements.
pub fn is_narrow(length: u64) -> bool {
    SharedLayout::of::<u32>(length).is_some()
}

/// A list in memory that all MPI processes of a machine share.
pub struct SharedList<I: Index> {
    memory: SharedMemory,
    _reserved: Reservation,
    layout: SharedLayout,
    pub part: ListShare,
    is_list: bool,
    index: std::marker::PhantomData<I>,
}

impl<I: Index> SharedList<I> {
    /// Reads the list; each process reads its share. Returns `None` on all processes if they can't share memory.
    /// Collective.
    ///
    /// # Errors
    /// Read errors; [`crate::Error::Limit`], [`crate::Error::Stopped`].
    pub fn load(list: &List, comm: &Comm, threads: usize, budget: &Budget) -> Result<Option<SharedList<I>>> {
        let Some(layout) = SharedLayout::of::<I>(list.length) else { return Ok(None) };
        let Some(memory) = comm.shared_memory(layout.bytes as u64) else { return Ok(None) };
        let reserved = budget.reserve(layout.bytes as u64, "the list that ranks share")?;
        let (twice, own) = (AtomicBool::new(false), shares(list.length, comm.ranks()).elements(comm.rank() as u64));
        let marks: &[AtomicU64] = memory.numbers(layout.marks, layout.words);
        let cells = &memory.numbers(0, list.length as usize)[own.start as usize..own.end as usize];
        let part = ListShare::fill::<I>(list, comm, cells, threads, budget, &|successor| {
            if mark(marks, successor) {
                twice.store(true, Relaxed);
            }
        })?;
        let is_list = comm.all(!twice.into_inner()) && part.tails == 1;
        Ok(Some(SharedList { memory, _reserved: reserved, layout, part, is_list, index: std::marker::PhantomData }))
    }

    /// Returns the cells of the whole list: successors before [`Self::rank`], and ranks after it.
    pub fn cells(&self) -> &[I::Cell] {
        self.memory.numbers(0, self.part.length as usize)
    }

    /// Replaces successors by ranks. Returns false if the input is not a list; the contents of the cells are then
    /// undefined. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Limit`]; [`crate::Error::Stopped`].
    pub fn rank(&self, comm: &Comm, context: &Context<'_>) -> Result<bool> {
        if !self.is_list {
            return Ok(false);
        }
        let SharedLayout { links, numbers, .. } = self.layout;
        let counters = [TAKEN, FRESH].map(|counter| self.memory.counter(counter));
        let walk = SublistWalk::<I>::new(self.cells(), self.memory.numbers(links, numbers), counters, SHIFT);
        let head = I::of(self.part.head);
        context.rounds.time("walk", self.part.length, || {
            walk.run(head, context)?;
            comm.barrier();
            Ok(())
        })?;
        let own = self.part.elements();
        let is_path = walk.finish(head, own.start as usize..own.end as usize, context)?;
        comm.barrier();
        Ok(is_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_each_other_and_indices_widen_with_the_list() {
        for length in [1, 63, 64, 1000, 1 << 20, (1 << 31) - (1 << 22), 1 << 31, 1 << 40] {
            let narrow = SharedLayout::of::<u32>(length);
            // A cell has 32 bits: 23 for the index of a sublist, and 9 for the offset in it. There are at most two
            // sublists per 512 elements, and one more.
            assert_eq!(narrow.is_some(), 2 * length.div_ceil(512) < 1 << 23, "{length}");
            assert!(narrow.is_none_or(|layout| layout.links as u64 == 4 * length));
            let wide = SharedLayout::of::<u64>(length).expect("64 bits do");
            let ends = [8 * length as usize, wide.links + 8 * wide.numbers, wide.marks + 8 * wide.words];
            assert!(ends[0] <= wide.links && ends[1] <= wide.marks && ends[2] == wide.bytes, "{length}");
            assert!(64 * wide.words as u64 >= length && memory(length) > 4 * length);
        }
        assert_eq!((memory(0), memory(u64::MAX >> 1)), (NEVER, NEVER));
    }
}
