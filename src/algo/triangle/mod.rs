//! Exact triangle counting by pairs of blocks.
//!
//! Vertices are numbered by descending degree and row `v` holds the neighbours smaller than `v`, so a triangle
//! `a < b < c` is a *wedge* of row `c` (two of its entries, `a` before `b`) that row `b` closes. The unit of work is a
//! pair of blocks: the *front* block holds the rows `b`, the *partner* block the rows `c`, and a unit tests every
//! wedge of the partner whose `b` is a row of the front. Its count depends on the graph alone.
//!
//! Two methods share a unit, divided at the id `b` = [`count::HUBS`]:
//! * [`hubs`]: wedges whose both ends are hubs, 512 at a time, by words of a bit matrix of the hub corner;
//! * [`wedges`]: the others grouped by `b` ([`groups`]), so that row `b` is marked once and the heads of all rows `c`
//!   stream past.
//!
//! [`probe`] has the inner loops, for the processor at hand; [`tally`] says what is summed.

pub mod count;
pub mod cpu;
pub mod driver;
pub mod groups;
pub mod hubs;
pub mod probe;
pub mod tally;
#[cfg(test)]
mod tests;
pub mod wedges;

pub use count::{Counter, PairCount, Settings};
pub use probe::Isa;
