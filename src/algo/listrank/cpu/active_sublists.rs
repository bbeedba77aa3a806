//! Walks many sublists at the same time, so that each thread has many cache misses in flight. A sublist begins at a
//! ruler (a selected element) and ends before the next ruler.

use std::ops::Range;
use std::sync::atomic::AtomicU64;

use super::rulers::Rulers;
use crate::algo::listrank::index::Index;
use crate::algo::team::{Parts, team};
use crate::error::Result;

/// Number of sublists that a thread walks at the same time. Each move to the next element of a sublist causes a cache
/// miss, and the misses overlap.
const IN_FLIGHT: usize = 48;
/// Number of sublists that a thread takes at a time from the counter that threads share.
const PART: usize = 64;
/// Number of rounds of the walk between two calls of `check_cancelled`. In a round, each sublist that a thread is
/// walking advances by one element.
const ROUNDS: u32 = 1 << 12;

/// Visitor that receives the elements of each sublist in order, from the first to the last.
pub trait SublistVisitor<I: Index>: Sync {
    /// State that the visitor keeps while a sublist is walked.
    type State: Copy + Default;

    /// Returns the state of a sublist before its first element is visited.
    fn begin(&self, sublist: usize) -> Self::State;

    /// Prefetches the memory of an element that will be visited soon.
    fn expect(&self, element: usize);

    /// Visits an element, updates `state`, and returns the element's successor.
    fn visit(&self, element: usize, state: &mut Self::State) -> I;

    /// Receives the state after the last element of a sublist. `next` is the index of the sublist that follows in the
    /// list, or [`Index::END`] at the end of the list.
    fn end(&self, state: Self::State, next: I);
}

/// Visits the elements of all sublists with `threads` threads. `rulers` selects one element in each block of the list.
/// A sublist begins at each ruler and has the index of the ruler's block. If `head` is not a ruler, another sublist
/// begins there, whose index is the number of blocks. Each sublist ends before the next ruler, so the walk ends on any
/// input. Elements on cycles without rulers are not visited. If several processes walk a list together, `taken` is
/// their shared counter of started sublists, otherwise `None`.
///
/// # Errors
/// Errors of `check_cancelled`.
pub fn walk_sublists<I: Index, V: SublistVisitor<I>>(
    rulers: Rulers,
    head: I,
    visit: &V,
    threads: usize,
    taken: Option<&AtomicU64>,
    check_cancelled: &(dyn Fn() -> Result<()> + Sync),
) -> Result<()> {
    let own = !rulers.contains(head.at());
    let sublists = rulers.blocks() + usize::from(own);
    let parts = taken.map_or_else(|| Parts::new(sublists, PART), |taken| Parts::shared(taken, sublists, PART));
    team(threads, &|_| ActiveSublists::new(rulers, head, &parts, visit).run(check_cancelled))
}

/// The sublists that one thread is walking.
struct ActiveSublists<'a, I: Index, V: SublistVisitor<I>> {
    rulers: Rulers,
    head: I,
    parts: &'a Parts<'a>,
    /// Range of sublist indices that this thread has taken but not started.
    taken: Range<usize>,
    visit: &'a V,
    at: [usize; IN_FLIGHT],
    states: [V::State; IN_FLIGHT],
    live: usize,
}

impl<'a, I: Index, V: SublistVisitor<I>> ActiveSublists<'a, I, V> {
    fn new(rulers: Rulers, head: I, parts: &'a Parts<'a>, visit: &'a V) -> Self {
        let states = [V::State::default(); IN_FLIGHT];
        ActiveSublists { rulers, head, parts, taken: 0..0, visit, at: [0; IN_FLIGHT], states, live: 0 }
    }

    /// Takes a sublist that no thread has taken. Returns the index and the first element of the sublist, or `None` if
    /// no sublist is left.
    fn start(&mut self) -> Option<(usize, usize)> {
        loop {
            if self.taken.is_empty() {
                self.taken = self.parts.take();
            }
            let sublist = self.taken.next()?;
            if sublist == self.rulers.blocks() {
                return Some((sublist, self.head.at()));
            }
            if let Some(first) = self.rulers.of_block(sublist) {
                return Some((sublist, first));
            }
        }
    }

    /// Starts the next sublist, and stores it at index `slot` of the sublists that this thread walks. Returns false if
    /// none is left.
    fn begin(&mut self, slot: usize) -> bool {
        let Some((sublist, first)) = self.start() else { return false };
        self.visit.expect(first);
        (self.at[slot], self.states[slot]) = (first, self.visit.begin(sublist));
        true
    }

    fn run(&mut self, check_cancelled: &(dyn Fn() -> Result<()> + Sync)) -> Result<()> {
        while self.live < IN_FLIGHT && self.begin(self.live) {
            self.live += 1;
        }
        let mut rounds = 0_u32;
        while self.live > 0 {
            if rounds.is_multiple_of(ROUNDS) {
                check_cancelled()?;
            }
            rounds = rounds.wrapping_add(1);
            self.round();
        }
        Ok(())
    }

    /// Advances each sublist that this thread walks by one element.
    #[inline(always)]
    fn round(&mut self) {
        let mut slot = 0;
        while slot < self.live {
            let next = self.visit.visit(self.at[slot], &mut self.states[slot]);
            if next != I::END && !self.rulers.contains(next.at()) {
                self.visit.expect(next.at());
                self.at[slot] = next.at();
                slot += 1;
                continue;
            }
            let behind = if next == I::END { next } else { I::of(self.rulers.block(next.at()) as u64) };
            self.visit.end(self.states[slot], behind);
            if self.begin(slot) {
                slot += 1;
            } else {
                self.live -= 1;
                (self.at[slot], self.states[slot]) = (self.at[self.live], self.states[self.live]);
            }
        }
    }
}
