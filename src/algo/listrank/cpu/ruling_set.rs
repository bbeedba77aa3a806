//! The engine for lists in memory: sublists walked side by side, many by each thread.
//!
//! Of 2^26 elements at random on two cores it takes 0.35 to 0.6 s, where [`serial`](super::serial) takes 12. That is 5 % of it for the last
//! pass if the ranks of first elements fit the second-level cache (blocks of 512 elements; 20 % with 256 and links in pairs), and less than 1 %
//! for the sublists' own ranks. What did not pay: 16 or 24 sublists in flight rather than 48 (a fifth slower), prefetching into the first-level
//! cache (as fast as into the second).

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Ranked;
use super::flight::{Visit, fly};
use super::links::{Links, Steps, links_bytes, rank_links, walk_twice};
use super::rulers::Rulers;
use crate::algo::listrank::index::Index;
use crate::algo::listrank::team::{Parts, team};
use crate::error::Result;
use crate::memory::{Budget, Buffer, prefetch};

/// Binary logarithm of the elements in a block with one ruler.
const SHIFT: u32 = 9;
/// Elements that a thread finishes at a time.
const PART: usize = 1 << 16;

/// Returns the bytes of memory that [`ruling_set`] takes for a list of `n` elements of `word` bytes each, beside the list.
pub fn bytes(n: u64, word: u64) -> u64 {
    let sublists = n.div_ceil(1 << SHIFT) + 1 + (n >> SHIFT);
    2 * word * sublists + links_bytes(sublists, word)
}

/// Ranks a list in time that falls with threads and with the cache misses that a thread has under way, rather than one miss an element. The
/// contract is that of [the module](super).
///
/// # Source
/// D. R. Helman and J. JáJá, "Designing practical efficient algorithms for symmetric multiprocessors", ALENEX 1999. Sublists are walked by
/// whoever is free, and the walk leaves sublist and offset in place of the successor, as on GPUs: Z. Wei and J. JáJá, "Optimization of
/// linked list prefix computations on multithreaded GPUs using CUDA", IPDPS 2010.
///
/// # Errors
/// [`crate::error::Error::Limit`] if the sublists ([`bytes`]) do not fit the budget, and those of `go_on`.
pub fn ruling_set<I: Index>(
    list: &mut [I],
    head: u64,
    threads: usize,
    budget: &Budget,
    go_on: &(dyn Fn() -> Result<()> + Sync),
) -> Result<Ranked> {
    rank_spaced(list, head, SHIFT.min(I::BITS - 1), threads, budget, go_on)
}

/// Ranks as [`ruling_set`] does, with one ruler in each 2^`shift` elements.
pub(super) fn rank_spaced<I: Index>(
    list: &mut [I],
    head: u64,
    shift: u32,
    threads: usize,
    budget: &Budget,
    go_on: &(dyn Fn() -> Result<()> + Sync),
) -> Result<Ranked> {
    let (n, head) = (list.len(), I::of(head));
    if n == 0 {
        return Ok(Ranked::Path);
    }
    let rulers = Rulers::new(n, shift);
    let sublists = rulers.blocks() + 1 + (n >> shift);
    let reached = if (sublists as u64) <= 1 << (I::BITS - shift) {
        let links = budget.zeroed::<I>(2 * sublists, "the links of sublists")?;
        pack(list, head, (rulers, shift), links, threads, budget, go_on)?
    } else {
        // Sublist and offset do not fit a cell.
        walk_twice(&Cells::<I>(I::shared(list)), n, shift, head, threads, budget, go_on)?
    };
    Ok(if reached.at() == n { Ranked::Path } else { Ranked::Cycle })
}

/// Ranks by one walk, which replaces successors by sublists and offsets, and one pass, which replaces these by ranks. Returns the length of
/// the path.
fn pack<I: Index>(
    list: &mut [I],
    head: I,
    (rulers, shift): (Rulers, u32),
    mut links: Buffer<I>,
    threads: usize,
    budget: &Budget,
    go_on: &(dyn Fn() -> Result<()> + Sync),
) -> Result<I> {
    let fresh = AtomicUsize::new(rulers.blocks() + 1);
    let visit = Pack::<I> { list: I::shared(list), links: Links(I::shared(&mut links)), fresh, shift };
    fly(rulers, head, &visit, threads, go_on)?;
    let used = visit.fresh.load(Ordering::Relaxed);
    let reached = rank_links(&mut links[..2 * used], I::of(rulers.sublist(head) as u64), threads, budget, go_on)?;
    if reached.at() == list.len() {
        // Side by side the ranks of first elements take half the cache.
        for sublist in 0..used {
            links[sublist] = I::of(links[2 * sublist + 1].wide().wrapping_sub(1));
        }
        unpack(list, &links[..used], shift, threads, go_on)?;
    }
    Ok(reached)
}

/// Replaces sublist and offset by the rank in all cells.
fn unpack<I: Index>(
    list: &mut [I],
    first: &[I],
    shift: u32,
    threads: usize,
    go_on: &(dyn Fn() -> Result<()> + Sync),
) -> Result<()> {
    let (cells, offset) = (I::shared(list), (1 << shift) - 1);
    let parts = Parts::new(cells.len(), PART);
    team(threads, &|_| {
        loop {
            let part = parts.take();
            if part.is_empty() {
                return Ok(());
            }
            go_on()?;
            for cell in &cells[part] {
                let code = I::get(cell).wide();
                let rank = first[(code >> shift) as usize].wide() - (code & offset);
                I::set(cell, I::of(rank));
            }
        }
    })
}

/// The walk that leaves sublist and offset in every cell.
struct Pack<'a, I: Index> {
    list: &'a [I::Cell],
    links: Links<'a, I>,
    /// The next number for a sublist that goes on for longer than an offset can say.
    fresh: AtomicUsize,
    shift: u32,
}

impl<I: Index> Visit<I> for Pack<'_, I> {
    /// The sublist and its elements so far.
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
            let fresh = self.fresh.fetch_add(1, Ordering::Relaxed);
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

/// A list whose elements weigh 1 each, and whose cells get ranks.
struct Cells<'a, I: Index>(&'a [I::Cell]);

impl<I: Index> Steps<I> for Cells<'_, I> {
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
