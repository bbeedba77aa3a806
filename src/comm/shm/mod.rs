//! Shared memory of the ranks of one machine, and communication through it.

mod counters;
mod memory;
mod ring_links;
mod rings;
mod segment;
mod store_policy;
mod sums;

pub use counters::SharedCounters;
pub use memory::SharedMemory;
pub(super) use ring_links::RingLinks;
pub(super) use rings::{RingSize, Rings};
pub(super) use sums::SharedSums;
