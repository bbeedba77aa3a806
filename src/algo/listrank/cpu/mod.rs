//! List ranking on CPUs, for lists that fit memory, in place.
//!
//! | engine | work | method |
//! |---|---|---|
//! | [`serial`] | n | one thread follows the list |
//! | [`wyllie`] | n log n | pointer jumping (Wyllie 1979) |
//! | [`ruling_set`] | n | sublists walked side by side (Helman and JáJá 1999) |
//!
//! All have one contract. On entry `list[i]` is the successor of element `i`, or [`Index::END`](super::index::Index::END): successors are in
//! range, exactly one is `END`, no two are equal, and `head` is the element that is nobody's successor. So the list is a path from `head`
//! and perhaps cycles beside it. On return `list[i]` is the rank of element `i`, its number of successors, if all elements lie on the path.
//! An empty list has no head, and any number does for it.

mod cycle;
mod flight;
mod links;
mod rulers;
pub mod ruling_set;
pub mod serial;
pub mod wyllie;

#[cfg(test)]
pub(super) mod tests;

pub use cycle::off_path;
pub use links::{Links, links_bytes, rank_links};
pub use rulers::Rulers;

use crate::algo::listrank::rounds::Rounds;
use crate::error::Result;
use crate::memory::Budget;

/// The means of a ranking, which the caller lends.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// Number of threads.
    pub threads: usize,
    /// Memory.
    pub budget: &'a Budget,
    /// Asked between pieces of work by all threads; an error ends the ranking.
    pub go_on: &'a (dyn Fn() -> Result<()> + Sync),
    /// Told each round.
    pub rounds: &'a Rounds,
}

/// Outcome of ranking a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranked {
    /// The list is one path, and holds the ranks now.
    Path,
    /// Some elements lie on cycles. The list's cells are of no use any more; [`off_path`] names such an element of a fresh copy.
    Cycle,
}
