//! The engine for lists in memory: sublists walked side by side, many by each thread.
//!
//! Of 2^26 elements at random on two cores it takes 0.35 to 0.6 s, where [`serial`](super::serial) takes 12. That is 5 % of it for the last
//! pass if the ranks of first elements fit the second-level cache (blocks of 512 elements; 20 % with 256 and links in pairs), and less than 1 %
//! for the sublists' own ranks. What did not pay: 16 or 24 sublists in flight rather than 48 (a fifth slower), prefetching into the first-level
//! cache (as fast as into the second).

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::flight::{Visit, fly};
use super::links::{Links, Steps, links_bytes, rank_links, walk_twice};
use super::rulers::Rulers;
use super::{Means, Ranked};
use crate::algo::listrank::index::Index;
use crate::algo::team::{Parts, team};
use crate::error::Result;
use crate::memory::prefetch;

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
pub fn ruling_set<I: Index>(list: &mut [I], head: u64, means: &Means<'_>) -> Result<Ranked> {
    rank_spaced(list, head, SHIFT.min(I::BITS - 1), means)
}

/// Ranks as [`ruling_set`] does, with one ruler in each 2^`shift` elements.
pub(super) fn rank_spaced<I: Index>(list: &mut [I], head: u64, shift: u32, means: &Means<'_>) -> Result<Ranked> {
    let (n, head) = (list.len(), I::of(head));
    if n == 0 {
        return Ok(Ranked::Path);
    }
    let rulers = Rulers::new(n, shift);
    let reached = if packs::<I>(n, shift) {
        let mut links = means.budget.zeroed::<I>(2 * sublists(n, shift), "the links of sublists")?;
        let (list, taken, fresh) = (I::shared(list), AtomicU64::new(0), AtomicU64::new(0));
        let walk = Walk::new(WalkMemory { list, links: I::shared(&mut links), taken: &taken, fresh: &fresh }, shift);
        means.rounds.time("walk", n as u64, || walk.run(head, means))?;
        let used = walk.used();
        let reached = rank_sublists(&mut links[..2 * used], rulers.sublist(head), means)?;
        if reached.at() == n {
            means.rounds.time("rank", n as u64, || unpack::<I>(list, &links, shift, means))?;
        }
        reached
    } else {
        // Sublist and offset do not fit a cell.
        walk_twice(&Cells::<I>(I::shared(list)), n, shift, head, ["walk", "rank"], means)?
    };
    Ok(if reached.at() == n { Ranked::Path } else { Ranked::Cycle })
}

/// Returns the most sublists of `n` elements, with one ruler in each 2^`shift`: those that grow long go on as others.
fn sublists(n: usize, shift: u32) -> usize {
    n.div_ceil(1 << shift) + 1 + (n >> shift)
}

/// Returns true if the number of a sublist and the offset in it fit a cell.
fn packs<I: Index>(n: usize, shift: u32) -> bool {
    sublists(n, shift) as u64 <= 1 << (I::BITS - shift)
}

/// The memory of a walk, which several ranks may share. All but the list is zero at first.
pub struct WalkMemory<'a, I: Index> {
    /// The successors, each of them another; sublist and offset after the walk.
    pub list: &'a [I::Cell],
    /// Links of sublists, as pairs.
    pub links: &'a [I::Cell],
    /// Sublists that were begun.
    pub taken: &'a AtomicU64,
    /// Sublists that went on as others.
    pub fresh: &'a AtomicU64,
}

/// The walk over all elements, which leaves sublist and offset in place of successors, and links sublists.
pub struct Walk<'a, I: Index> {
    memory: WalkMemory<'a, I>,
    rulers: Rulers,
    shift: u32,
}

impl<'a, I: Index> Walk<'a, I> {
    fn new(memory: WalkMemory<'a, I>, shift: u32) -> Walk<'a, I> {
        let rulers = Rulers::new(memory.list.len(), shift);
        Walk { memory, rulers, shift }
    }

    /// Returns the length of [`WalkMemory::links`] for `n` elements; `None` where indices of this width do not do.
    pub fn links(n: usize) -> Option<usize> {
        packs::<I>(n, SHIFT).then(|| 2 * sublists(n, SHIFT))
    }

    /// Prepares the walk of ranks that share `memory`, of one element at least.
    pub fn of_ranks(memory: WalkMemory<'a, I>) -> Walk<'a, I> {
        Walk::new(memory, SHIFT)
    }

    /// Walks what other ranks do not. All is done once all ranks have returned.
    ///
    /// # Errors
    /// Those of `go_on`.
    pub fn run(&self, head: I, means: &Means<'_>) -> Result<()> {
        let WalkMemory { list, links, taken, fresh } = self.memory;
        let first_fresh = self.rulers.blocks() + 1;
        let visit = Pack::<I> { list, links: Links(links), first_fresh, fresh, shift: self.shift };
        fly(self.rulers, head, &visit, means.threads, Some(taken), means.go_on)
    }

    /// Returns the number of sublists after the walk.
    fn used(&self) -> usize {
        self.rulers.blocks() + 1 + self.memory.fresh.load(Ordering::Relaxed) as usize
    }

    /// Ranks the elements of `part` after the walk of all ranks, by sublists in memory of its own. Returns false if the list has a cycle:
    /// cells mean nothing then.
    ///
    /// # Errors
    /// [`crate::error::Error::Limit`], those of `go_on`.
    pub fn finish(&self, head: I, part: Range<usize>, means: &Means<'_>) -> Result<bool> {
        let WalkMemory { list, links, .. } = self.memory;
        let mut own = means.budget.zeroed::<I>(2 * self.used(), "the links of sublists")?;
        own.iter_mut().zip(links).for_each(|(own, link)| *own = I::get(link));
        let reached = rank_sublists(&mut own, self.rulers.sublist(head), means)?;
        let is_path = reached.at() == list.len();
        if is_path {
            let unpacked = || unpack::<I>(&list[part], &own, self.shift, means);
            means.rounds.time("rank", list.len() as u64, unpacked)?;
        }
        Ok(is_path)
    }
}

/// Ranks sublists by their links, and puts the ranks of their first elements side by side, before all else. Returns the length of the path.
fn rank_sublists<I: Index>(links: &mut [I], head: usize, means: &Means<'_>) -> Result<I> {
    let reached = rank_links(links, I::of(head as u64), means)?;
    // So they take half the cache.
    for sublist in 0..links.len() / 2 {
        links[sublist] = I::of(links[2 * sublist + 1].wide().wrapping_sub(1));
    }
    Ok(reached)
}

/// Replaces sublist and offset by the rank in all cells.
fn unpack<I: Index>(cells: &[I::Cell], first: &[I], shift: u32, means: &Means<'_>) -> Result<()> {
    let offset = (1 << shift) - 1;
    let parts = Parts::new(cells.len(), PART);
    let finish = |_| {
        parts.each(|part| {
            (means.go_on)()?;
            for cell in &cells[part] {
                let code = I::get(cell).wide();
                let rank = first[(code >> shift) as usize].wide() - (code & offset);
                I::set(cell, I::of(rank));
            }
            Ok(())
        })
    };
    team(means.threads, &finish)
}

/// The walk that leaves sublist and offset in every cell.
struct Pack<'a, I: Index> {
    list: &'a [I::Cell],
    links: Links<'a, I>,
    /// The first number of sublists that went on for longer than an offset can say, and how many there are.
    first_fresh: usize,
    fresh: &'a AtomicU64,
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
