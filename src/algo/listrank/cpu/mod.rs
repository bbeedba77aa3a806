//! In-place list ranking on CPUs, for lists that fit in memory.
//!
//! | engine | work | method |
//! |---|---|---|
//! | [`serial`] | n | one thread follows the list |
//! | [`wyllie`] | n log n | pointer jumping (Wyllie 1979) |
//! | [`ruling_set`] | n | sublists walked concurrently (Helman and JáJá 1999) |
//!
//! All engines have the same contract. Before a call, `list[i]` is the successor of element `i`, or
//! [`Index::END`](super::index::Index::END) if it has none. Successors are in range, exactly one is `END`, no two are
//! equal, and `head` is the element that is no element's successor. So the input is a list from `head`, and possibly
//! separate cycles. If there are no cycles, after the call `list[i]` is the rank of element `i`: the number of elements
//! after it. If there are cycles, the engine returns false, and the contents of `list` are undefined. [`off_path`] then
//! finds an element on a cycle in a fresh copy of the list. For an empty list `head` is ignored.

mod active_sublists;
mod cycle;
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

/// Resources that the caller of a ranking engine provides.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Number of threads.
    pub threads: usize,
    /// Memory budget of the ranking.
    pub budget: &'a Budget,
    /// Cancellation check that all threads call from time to time. An error ends the ranking.
    pub check_cancelled: &'a (dyn Fn() -> Result<()> + Sync),
    /// Collects the rounds of the ranking and their durations, for the report.
    pub rounds: &'a Rounds,
}
