//! The ruling-set engine for lists in memory. Each thread walks many sublists (parts of the list from one ruler to the
//! next) at the same time.
//!
//! On two cores, 2^26 elements in random order take 0.35 to 0.6 s; [`serial`](super::serial) takes 12 s. The last pass
//! takes 5 % of the time if the ranks of the sublists' first elements fit the second-level cache. They do with one
//! ruler in 512 elements. With one in 256, and pairs instead of ranks, the pass takes 20 %. Ranking the sublists takes
//! less than 1 %. Two variants did not pay: 16 or 24 sublists in flight instead of 48 (a fifth slower), and prefetching
//! into the first-level cache (as fast as into the second).

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Context;
use super::active_sublists::{SublistVisitor, walk_sublists};
use super::links::{Links, WeightedList, links_bytes, rank_links, walk_twice};
use super::rulers::Rulers;
use crate::algo::listrank::index::Index;
use crate::algo::team::{Parts, team};
use crate::error::Result;
use crate::memory::prefetch;

/// Base-2 logarithm of the number of elements per ruler.
const SHIFT: u32 = 9;
/// Number of elements that a thread converts to ranks at a time.
const PART: usize = 1 << 16;

/// Returns the bytes of memory that [`ruling_set`] takes for a list of `n` elements of `word` bytes each, in addition
/// to the list.
pub fn bytes(n: u64, word: u64) -> u64 {
    let sublists = n.div_ceil(1 << SHIFT) + 1 + (n >> SHIFT);
    2 * word * sublists + links_bytes(sublists, word)
}

/// Ranks a list by ruling sets. Each thread has many cache misses in flight, while a thread that follows the whole list
/// waits for one miss after another. The time falls with the number of threads. [The module](super) describes the
/// contract.
///
/// # Source
/// D. R. Helman and J. JáJá, "Designing practical efficient algorithms for symmetric multiprocessors", ALENEX 1999. Any
/// free thread takes the next sublists. The walk overwrites each element's successor with the element's sublist and its
/// offset there, as on GPUs: Z. Wei and J. JáJá, "Optimization of linked list prefix computations on multithreaded GPUs
/// using CUDA", IPDPS 2010.
///
/// # Errors
/// [`crate::error::Error::Limit`] if the sublists ([`bytes`]) do not fit the budget; errors of `check_cancelled`.
pub fn ruling_set<I: Index>(list: &mut [I], head: u64, context: &Context<'_>) -> Result<bool> {
    rank_spaced(list, head, SHIFT.min(I::BITS - 1), context)
}

/// Ranks like [`ruling_set`], with one ruler in each 2^`shift` elements.
pub(super) fn rank_spaced<I: Index>(list: &mut [I], head: u64, shift: u32, context: &Context<'_>) -> Result<bool> {
    let (n, head) = (list.len(), I::of(head));
    if n == 0 {
        return Ok(true);
    }
    let rulers = Rulers::new(n, shift);
    let reached = if packs::<I>(n, shift) {
        let mut links = context.budget.zeroed::<I>(2 * sublists(n, shift), "the links of sublists")?;
        let (list, taken, fresh) = (I::shared(list), AtomicU64::new(0), AtomicU64::new(0));
        let walk =
            SublistWalk::new(WalkMemory { list, links: I::shared(&mut links), taken: &taken, fresh: &fresh }, shift);
        context.rounds.time("walk", n as u64, || walk.run(head, context))?;
        let used = walk.used();
        let reached = rank_sublists(&mut links[..2 * used], rulers.sublist(head), context)?;
        if reached.at() == n {
            context.rounds.time("rank", n as u64, || unpack::<I>(list, &links, shift, context))?;
        }
        reached
    } else {
        // The number of a sublist and an offset in it do not fit one cell of the list.
        walk_twice(&Cells::<I>(I::shared(list)), n, shift, head, ["walk", "rank"], context)?
    };
    Ok(reached.at() == n)
}

/// Returns the maximum number of sublists of `n` elements, with one ruler in each 2^`shift`. If a sublist has more than
/// 2^`shift` elements, the rest counts as another sublist.
fn sublists(n: usize, shift: u32) -> usize {
    n.div_ceil(1 << shift) + 1 + (n >> shift)
}

/// Returns true if the number of a sublist and an offset in it fit one cell of the list.
fn packs<I: Index>(n: usize, shift: u32) -> bool {
    sublists(n, shift) as u64 <= 1 << (I::BITS - shift)
}

/// Memory of a walk over a list, which several processes may share. Everything but the list is initially zero.
pub struct WalkMemory<'a, I: Index> {
    /// The successors, all distinct. After the walk, the sublist of each element and its offset there.
    pub list: &'a [I::Cell],
    /// A pair for each sublist: the number of the next sublist, and the number of elements.
    pub links: &'a [I::Cell],
    /// Number of sublists that were started.
    pub taken: &'a AtomicU64,
    /// Number of sublists that were continued under a new number.
    pub fresh: &'a AtomicU64,
}

/// The walk over all elements. It overwrites each element's successor with the element's sublist and offset, and links
/// the sublists.
pub struct SublistWalk<'a, I: Index> {
    memory: WalkMemory<'a, I>,
    rulers: Rulers,
    shift: u32,
}

impl<'a, I: Index> SublistWalk<'a, I> {
    fn new(memory: WalkMemory<'a, I>, shift: u32) -> SublistWalk<'a, I> {
        let rulers = Rulers::new(memory.list.len(), shift);
        SublistWalk { memory, rulers, shift }
    }

    /// Returns the length of [`WalkMemory::links`] for `n` elements; `None` if indices of this type are too narrow.
    pub fn links(n: usize) -> Option<usize> {
        packs::<I>(n, SHIFT).then(|| 2 * sublists(n, SHIFT))
    }

    /// Prepares the walk of processes that share `memory`, which has at least one element.
    pub fn of_ranks(memory: WalkMemory<'a, I>) -> SublistWalk<'a, I> {
        SublistWalk::new(memory, SHIFT)
    }

    /// Walks the sublists that no other process has taken. The walk is complete once all processes have returned.
    ///
    /// # Errors
    /// Errors of `check_cancelled`.
    pub fn run(&self, head: I, context: &Context<'_>) -> Result<()> {
        let WalkMemory { list, links, taken, fresh } = self.memory;
        let first_fresh = self.rulers.blocks() + 1;
        let visit = Pack::<I> { list, links: Links(links), first_fresh, fresh, shift: self.shift };
        walk_sublists(self.rulers, head, &visit, context.threads, Some(taken), context.check_cancelled)
    }

    /// Returns the number of sublists after the walk.
    fn used(&self) -> usize {
        self.rulers.blocks() + 1 + self.memory.fresh.load(Ordering::Relaxed) as usize
    }

    /// Ranks the elements of `part` after all processes have walked the list. First ranks the list of sublists, in
    /// private memory. Returns false if the list has a cycle; the cells of the list are undefined then.
    ///
    /// # Errors
    /// [`crate::error::Error::Limit`]; errors of `check_cancelled`.
    pub fn finish(&self, head: I, part: Range<usize>, context: &Context<'_>) -> Result<bool> {
        let WalkMemory { list, links, .. } = self.memory;
        let mut own = context.budget.zeroed::<I>(2 * self.used(), "the links of sublists")?;
        own.iter_mut().zip(links).for_each(|(own, link)| *own = I::get(link));
        let reached = rank_sublists(&mut own, self.rulers.sublist(head), context)?;
        let is_path = reached.at() == list.len();
        if is_path {
            let unpacked = || unpack::<I>(&list[part], &own, self.shift, context);
            context.rounds.time("rank", list.len() as u64, unpacked)?;
        }
        Ok(is_path)
    }
}

/// Ranks the list of sublists, and moves the ranks of their first elements to the start of `links`. Returns the number
/// of elements from the head to the end of the list.
fn rank_sublists<I: Index>(links: &mut [I], head: usize, context: &Context<'_>) -> Result<I> {
    let reached = rank_links(links, I::of(head as u64), context)?;
    // Without the links between them, the ranks take half as much cache.
    for sublist in 0..links.len() / 2 {
        links[sublist] = I::of(links[2 * sublist + 1].wide().wrapping_sub(1));
    }
    Ok(reached)
}

/// Replaces the sublist and the offset in every cell by the rank of the element.
fn unpack<I: Index>(cells: &[I::Cell], first: &[I], shift: u32, context: &Context<'_>) -> Result<()> {
    let offset = (1 << shift) - 1;
    let parts = Parts::new(cells.len(), PART);
    let finish = |_| {
        parts.each(|part| {
            (context.check_cancelled)()?;
            for cell in &cells[part] {
                let code = I::get(cell).wide();
                let rank = first[(code >> shift) as usize].wide() - (code & offset);
                I::set(cell, I::of(rank));
            }
            Ok(())
        })
    };
    team(context.threads, &finish)
}

/// Visitor that overwrites each element's successor with the element's sublist and offset.
struct Pack<'a, I: Index> {
    list: &'a [I::Cell],
    links: Links<'a, I>,
    /// First number under which a long sublist is continued, and how many such numbers are in use.
    first_fresh: usize,
    fresh: &'a AtomicU64,
    shift: u32,
}

impl<I: Index> SublistVisitor<I> for Pack<'_, I> {
    /// Number of the sublist, and how many of its elements were visited.
    type State = (usize, usize);

    fn begin(&self, sublist: usize) -> Self::State {
        (sublist, 0)
    }

    #[inline(always)]
    fn expect(&self, element: usize) {
        prefetch(self.list, element);
    }

    #[inline(always)]
    fn visit(&self, element: usize, (sublist, offset): &mut Self::State) -> I {
        if *offset >> self.shift != 0 {
            let fresh = self.first_fresh + self.fresh.fetch_add(1, Ordering::Relaxed) as usize;
            self.links.write(*sublist, I::of(fresh as u64), I::of(*offset as u64));
            (*sublist, *offset) = (fresh, 0);
        }
        let cell = &self.list[element];
        let next = I::get(cell);
        I::set(cell, I::of((*sublist << self.shift | *offset) as u64));
        *offset += 1;
        next
    }

    fn end(&self, (sublist, offset): Self::State, next: I) {
        self.links.write(sublist, next, I::of(offset as u64));
    }
}

/// A list whose elements have weight 1, and whose cells receive ranks.
struct Cells<'a, I: Index>(&'a [I::Cell]);

impl<I: Index> WeightedList<I> for Cells<'_, I> {
    #[inline(always)]
    fn expect(&self, element: usize) {
        prefetch(self.0, element);
    }

    #[inline(always)]
    fn step(&self, element: usize) -> (I, I) {
        (I::get(&self.0[element]), I::of(1))
    }

    #[inline(always)]
    fn put(&self, element: usize, sum: I) {
        I::set(&self.0[element], I::of(sum.wide().wrapping_sub(1)));
    }
}
