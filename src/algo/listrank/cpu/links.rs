//! Ranks a list whose elements have weights, by walking its sublists twice.
//!
//! The first walk adds up the weights of each sublist. The second walk writes to each element the sum of the weights
//! from this element to the end of the list. Between the walks one link per sublist is stored, and nothing per element.
//! So weights and lengths of sublists are not limited by the number of bits in an element.

use super::Context;
use super::active_sublists::{SublistVisitor, walk_sublists};
use super::rulers::Rulers;
use crate::algo::listrank::index::Index;
use crate::error::Result;
use crate::memory::prefetch;

/// Maximum number of links that one thread follows by itself. Starting several threads would take as long.
const FEW: usize = 1 << 12;
/// Base-2 logarithm of the number of links per ruler. A ruler is a link at which a sublist begins.
const SHIFT: u32 = 6;

/// Access to the elements of a list with weights.
pub trait WeightedList<I: Index>: Sync {
    /// Prefetches the memory of an element.
    fn expect(&self, element: usize);

    /// Returns the successor and the weight of an element.
    fn step(&self, element: usize) -> (I, I);

    /// Writes to an element the sum of its weight and of the weights of all elements after it.
    fn put(&self, element: usize, sum: I);
}

/// Links in memory that threads share. A link consists of the index of the next link (or [`Index::END`]) and a weight.
pub struct Links<'a, I: Index>(pub &'a [I::Cell]);

impl<I: Index> Links<'_, I> {
    /// Replaces the link at index `link`.
    #[inline(always)]
    pub fn write(&self, link: usize, next: I, weight: I) {
        I::set(&self.0[2 * link], next);
        I::set(&self.0[2 * link + 1], weight);
    }
}

impl<I: Index> WeightedList<I> for Links<'_, I> {
    #[inline(always)]
    fn expect(&self, element: usize) {
        prefetch(self.0, 2 * element);
    }

    #[inline(always)]
    fn step(&self, element: usize) -> (I, I) {
        (I::get(&self.0[2 * element]), I::get(&self.0[2 * element + 1]))
    }

    #[inline(always)]
    fn put(&self, element: usize, sum: I) {
        I::set(&self.0[2 * element + 1], sum);
    }
}

/// Returns the memory in bytes that [`rank_links`] takes for `links` links, in addition to the links themselves. An
/// index or a weight has `word` bytes.
pub fn links_bytes(links: u64, word: u64) -> u64 {
    let (mut sum, mut links) = (0, links);
    while links > FEW as u64 {
        links = links.div_ceil(1 << SHIFT) + 1;
        sum += 2 * word * links;
    }
    sum
}

/// Replaces the weight of every link on the list from `head` by the sum of this weight and the weights of all links
/// after it. Returns the sum at `head`. The weights of links that the list does not reach are undefined afterwards.
///
/// # Errors
/// [`crate::error::Error::Limit`] if [`links_bytes`] do not fit the budget; errors of `check_cancelled`.
pub fn rank_links<I: Index>(links: &mut [I], head: I, context: &Context<'_>) -> Result<I> {
    let len = links.len() / 2;
    let links = Links(I::shared(links));
    if len <= FEW {
        return context.rounds.time("follow links", len as u64, || Ok(follow(&links, head)));
    }
    walk_twice(&links, len, SHIFT, head, ["add up links", "rank links"], context)
}

/// Follows the links from `head` twice, with one thread: first to add up all weights, then to write to each link the
/// sum from this link to the end.
fn follow<I: Index>(links: &Links<'_, I>, head: I) -> I {
    let (mut sum, mut link) = (0, head);
    while link != I::END {
        let (next, weight) = links.step(link.at());
        (sum, link) = (sum + weight.wide(), next);
    }
    let (total, mut link) = (sum, head);
    while link != I::END {
        let (next, weight) = links.step(link.at());
        links.put(link.at(), I::of(sum));
        (sum, link) = (sum - weight.wide(), next);
    }
    I::of(total)
}

/// Writes to every element on the list from `head` the sum of its weight and of the weights of all elements after it.
/// Divides the list into sublists, with one ruler in each 2^`shift` of the `len` elements, and walks all sublists
/// twice. Returns the sum at `head`. `names` are the names of the two walks in the report.
///
/// # Errors
/// Errors of [`rank_links`].
pub fn walk_twice<I: Index, S: WeightedList<I>>(
    steps: &S,
    len: usize,
    shift: u32,
    head: I,
    names: [&'static str; 2],
    context: &Context<'_>,
) -> Result<I> {
    let Context { threads, budget, check_cancelled, rounds } = *context;
    let rulers = Rulers::new(len, shift);
    let mut sublists = budget.zeroed::<I>(2 * (rulers.blocks() + 1), "the links of sublists")?;
    let measure = Measure { steps, sublists: Links(I::shared(&mut sublists)) };
    rounds.time(names[0], len as u64, || walk_sublists(rulers, head, &measure, threads, None, check_cancelled))?;
    let total = rank_links(&mut sublists, I::of(rulers.sublist(head) as u64), context)?;
    let write = Write { steps, sublists: Links(I::shared(&mut sublists)) };
    rounds.time(names[1], len as u64, || walk_sublists(rulers, head, &write, threads, None, check_cancelled))?;
    Ok(total)
}

/// Visitor of the first walk. It adds up the weights of each sublist, and writes a link from each sublist to the next.
struct Measure<'a, I: Index, S> {
    steps: &'a S,
    sublists: Links<'a, I>,
}

impl<I: Index, S: WeightedList<I>> SublistVisitor<I> for Measure<'_, I, S> {
    /// State of the walk along a sublist: the index of the sublist, and the sum of the weights of the elements visited.
    type State = (usize, u64);

    fn begin(&self, sublist: usize) -> Self::State {
        (sublist, 0)
    }

    #[inline(always)]
    fn expect(&self, element: usize) {
        self.steps.expect(element);
    }

    #[inline(always)]
    fn visit(&self, element: usize, state: &mut Self::State) -> I {
        let (next, weight) = self.steps.step(element);
        state.1 = state.1.wrapping_add(weight.wide());
        next
    }

    fn end(&self, (sublist, weight): Self::State, next: I) {
        self.sublists.write(sublist, next, I::of(weight));
    }
}

/// Visitor of the second walk. It writes to each element the sum of the weights from this element to the end of the
/// list.
struct Write<'a, I: Index, S> {
    steps: &'a S,
    sublists: Links<'a, I>,
}

impl<I: Index, S: WeightedList<I>> SublistVisitor<I> for Write<'_, I, S> {
    /// State of the walk along a sublist: the sum that is written to the next element.
    type State = u64;

    fn begin(&self, sublist: usize) -> u64 {
        self.sublists.step(sublist).1.wide()
    }

    #[inline(always)]
    fn expect(&self, element: usize) {
        self.steps.expect(element);
    }

    #[inline(always)]
    fn visit(&self, element: usize, sum: &mut u64) -> I {
        let (next, weight) = self.steps.step(element);
        self.steps.put(element, I::of(*sum));
        // Sums are undefined for elements that the list does not reach, so this subtraction may wrap.
        *sum = sum.wrapping_sub(weight.wide());
        next
    }

    fn end(&self, _: u64, _: I) {}
}
