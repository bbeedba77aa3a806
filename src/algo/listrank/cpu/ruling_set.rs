//! Ranks lists in memory with ruling sets. A sublist is the part of a list from one ruler (selected element) to the
//! next. Each thread walks many sublists at the same time.
//!
//! On two cores, 2^26 elements in random order take 0.35 to 0.6 s; [`serial`](super::serial) takes 12 s. The last pass,
//! which computes ranks from offsets in sublists, takes 5 % of the time if the ranks of all sublists fit in the
//! second-level cache, as they do with one ruler in 512 elements. With one ruler in 256, and pairs in memory instead of
//! ranks, it takes 20 % of the time. Ranking the list of sublists takes less than 1 %. Two variants are not faster: 16
//! or 24 sublists at a time instead of 48 take a fifth longer, and prefetching into the first-level cache takes as long
//! as into the second.

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

/// Base-2 logarithm of the number of elements per ruler. A ruler is an element at which a sublist begins.
pub const SHIFT: u32 = 9;
/// Number of elements that a thread converts to ranks at a time.
const PART: usize = 1 << 16;

/// Returns the memory in bytes that [`ruling_set`] takes for a list of `n` elements of `word` bytes each, in addition
/// to the list.
pub fn bytes(n: u64, word: u64) -> u64 {
    let sublists = n.div_ceil(1 << SHIFT) + 1 + (n >> SHIFT);
    2 * word * sublists + links_bytes(sublists, word)
}

/// Replaces the successors in `list` by ranks, with ruling sets. Returns false if the list has a cycle. Each thread has
/// many cache misses in flight, whereas a thread that follows the whole list waits for one miss after another. See [the
/// module](super) for the requirements on the input.
///
/// # Source
/// D. R. Helman and J. JáJá, "Designing practical efficient algorithms for symmetric multiprocessors", ALENEX 1999.
/// Here a thread takes the next sublists whenever it is free. The walk overwrites each element's successor with the
/// index of the element's sublist and its offset there, as in Z. Wei and J. JáJá, "Optimization of linked list prefix
/// computations on multithreaded GPUs using CUDA", IPDPS 2010.
///
/// # Errors
/// [`crate::error::Error::Limit`] if the sublists ([`bytes`]) do not fit the budget; errors of `check_cancelled`.
pub fn ruling_set<I: Index>(list: &mut [I], head: u64, context: &Context<'_>) -> Result<bool> {
    rank_spaced(list, head, SHIFT.min(I::BITS - 1), context)
}

/// Ranks like [`ruling_set`], but with one ruler in each 2^`shift` elements instead of 2^[`SHIFT`].
pub(super) fn rank_spaced<I: Index>(list: &mut [I], head: u64, shift: u32, context: &Context<'_>) -> Result<bool> {
    let (n, head) = (list.len(), I::of(head));
    if n == 0 {
        return Ok(true);
    }
    if !packs::<I>(n, shift) {
        // Walk the sublists twice if the index of a sublist and an offset in it do not fit one cell of the list.
        let reached = walk_twice(&Cells::<I>(I::shared(list)), n, shift, head, ["walk", "rank"], context)?;
        return Ok(reached.at() == n);
    }
    let mut links = context.budget.zeroed::<I>(2 * sublists(n, shift), "the links of sublists")?;
    let (list, taken, fresh) = (I::shared(list), AtomicU64::new(0), AtomicU64::new(0));
    let walk = SublistWalk::<I>::new(list, I::shared(&mut links), [&taken, &fresh], shift);
    context.rounds.time("walk", n as u64, || walk.run(head, context))?;
    let (used, first) = (walk.used(), walk.rulers.sublist(head));
    rank_cells(list, &mut links[..2 * used], first, n, (shift, I::wide), context)
}

/// Returns the maximum number of sublists in a list of `n` elements, with one ruler in each 2^`shift` elements. A
/// sublist longer than 2^`shift` elements is split, and its rest counts as another sublist.
fn sublists(n: usize, shift: u32) -> usize {
    n.div_ceil(1 << shift) + 1 + (n >> shift)
}

/// Returns true if one cell of the list has enough bits for the index of a sublist and an offset in it.
fn packs<I: Index>(n: usize, shift: u32) -> bool {
    sublists(n, shift) as u64 <= 1 << (I::BITS - shift)
}

/// Walk over the sublists of a list in memory, which several processes may share. It overwrites each element's
/// successor with the index of the element's sublist and the offset in it, and writes a link from each sublist to the
/// next.
pub struct SublistWalk<'a, I: Index> {
    /// The list. Before the walk, each cell contains the successor of an element; all successors are distinct. After
    /// the walk, it contains the index of the element's sublist and the offset in it.
    list: &'a [I::Cell],
    /// For each sublist two numbers: the index of the next sublist, and the number of elements.
    links: &'a [I::Cell],
    /// Number of sublists that were started.
    taken: &'a AtomicU64,
    /// Number of splits of sublists that are longer than 2^`shift` elements.
    fresh: &'a AtomicU64,
    rulers: Rulers,
    shift: u32,
}

impl<'a, I: Index> SublistWalk<'a, I> {
    /// Prepares the walk over `list`, which has at least one element and one ruler in each 2^`shift` elements. `links`
    /// and both counters must be zero. `taken` counts started sublists, and `fresh` counts splits of long sublists.
    pub fn new(
        list: &'a [I::Cell],
        links: &'a [I::Cell],
        [taken, fresh]: [&'a AtomicU64; 2],
        shift: u32,
    ) -> SublistWalk<'a, I> {
        SublistWalk { list, links, taken, fresh, rulers: Rulers::new(list.len(), shift), shift }
    }

    /// Returns how many integers the links between sublists take, for `n` elements with one ruler in each 2^[`SHIFT`].
    /// Returns `None` if indices of type `I` are too narrow.
    pub fn links(n: usize) -> Option<usize> {
        packs::<I>(n, SHIFT).then(|| 2 * sublists(n, SHIFT))
    }

    /// Walks sublists that no other process has taken until none is left. The walk is complete once all processes have
    /// returned.
    ///
    /// # Errors
    /// Errors of `check_cancelled`.
    pub fn run(&self, head: I, context: &Context<'_>) -> Result<()> {
        let SublistWalk { list, links, taken, fresh, .. } = *self;
        let first_fresh = self.rulers.blocks() + 1;
        let visit = Pack::<I> { list, links: Links(links), first_fresh, fresh, shift: self.shift };
        walk_sublists(self.rulers, head, &visit, context.threads, Some(taken), context.check_cancelled)
    }

    /// Returns the exclusive end of the sublist indices that are in use.
    fn used(&self) -> usize {
        self.rulers.blocks() + 1 + self.fresh.load(Ordering::Relaxed) as usize
    }

    /// Computes the ranks of the elements in `part` after all processes have walked the list. Each process ranks the
    /// whole list of sublists for itself, in private memory. Returns false if the list has a cycle; the cells are
    /// undefined then.
    ///
    /// # Errors
    /// [`crate::error::Error::Limit`]; errors of `check_cancelled`.
    pub fn finish(&self, head: I, part: Range<usize>, context: &Context<'_>) -> Result<bool> {
        let mut own = context.budget.zeroed::<I>(2 * self.used(), "the links of sublists")?;
        own.iter_mut().zip(self.links).for_each(|(own, link)| *own = I::get(link));
        let first = self.rulers.sublist(head);
        rank_cells(&self.list[part], &mut own, first, self.list.len(), (self.shift, I::wide), context)
    }
}

/// Ranks the list of sublists from sublist `head` on. Then replaces the contents of every cell by the rank of its
/// element. `links` contains for each sublist the index of the next sublist, and its number of elements. `tag` extracts
/// from a cell the index of the sublist and, in the lowest `shift` bits, the offset in it. Returns false if the list
/// does not have `length` elements; the cells are undefined then.
///
/// # Errors
/// [`crate::error::Error::Limit`]; errors of `check_cancelled`.
pub fn rank_cells<I: Index>(
    cells: &[I::Cell],
    links: &mut [I],
    head: usize,
    length: usize,
    (shift, tag): (u32, impl Fn(I) -> u64 + Sync),
    context: &Context<'_>,
) -> Result<bool> {
    if rank_links(links, I::of(head as u64), context)?.at() != length {
        return Ok(false);
    }
    // Without the indices of the next sublists, the ranks of the sublists take half as much cache.
    for sublist in 0..links.len() / 2 {
        links[sublist] = I::of(links[2 * sublist + 1].wide().wrapping_sub(1));
    }
    let (first, offset, parts) = (&*links, (1 << shift) - 1, Parts::new(cells.len(), PART));
    let finish = |_| {
        parts.each(|part| {
            (context.check_cancelled)()?;
            for cell in &cells[part] {
                let code = tag(I::get(cell));
                let rank = first[(code >> shift) as usize].wide() - (code & offset);
                I::set(cell, I::of(rank));
            }
            Ok(())
        })
    };
    context.rounds.time("rank", length as u64, || team(context.threads, &finish))?;
    Ok(true)
}

/// Visitor that overwrites each element's successor with the index of the element's sublist and the offset in it.
struct Pack<'a, I: Index> {
    list: &'a [I::Cell],
    links: Links<'a, I>,
    /// First index for the rests of sublists that are split.
    first_fresh: usize,
    /// Number of splits of sublists that are longer than 2^`shift` elements.
    fresh: &'a AtomicU64,
    shift: u32,
}

impl<I: Index> SublistVisitor<I> for Pack<'_, I> {
    /// State of the walk along a sublist: the index of the sublist, and the number of elements visited.
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

/// A list in which every element has weight 1, so that the sum of weights is a rank.
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
