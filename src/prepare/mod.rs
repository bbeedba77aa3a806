//! From an edge list to blocks of rows on disk.
//!
//! ```text
//! ingest     input → degree of every id                     one pass
//! relabel    degrees → order of vertices, in place
//! partition  input → oriented edges in bins of rows          one pass
//! sort       bins → sorted rows without repeats → blocks     in cache, bin by bin
//! ```
//!
//! Sparse 64-bit ids take one more pass first (`dictionary`). Memory is 4 bytes for each id and what the bins are
//! given; edges that don't fit are spilled. No step knows of job files, stages, devices or ranks; a device that does
//! units in place of the processor is an [`Accelerator`].

use crate::comm::Comm;
use crate::error::Result;
use crate::formats::{Scan, Seen};
use crate::gpu::DeviceSlice;
use crate::graph::layout::Bins;
use crate::memory::Budget;

pub mod blocks;
pub mod dictionary;
pub mod gpu;
pub mod ingest;
pub mod order;
pub mod partition;
pub mod relabel;
mod sample;
pub mod shares;
pub mod sort;

/// What all ranks saw, of which each saw its share.
///
/// # Errors
/// Bad input where a header says otherwise.
pub fn joined(mut seen: Seen, comm: &Comm) -> Result<Scan> {
    comm.all_sum(seen.sums());
    comm.all_max(seen.most());
    seen.finish()
}

/// A device that does units of preparation in place of the processor, with the same results. What it has no memory for,
/// it leaves to the processor, and says so in the log: `None`.
pub trait Accelerator {
    /// Counts degrees of ids below `end`, or if it need not be `exact`, of as many as it has memory for.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    fn counting<'s>(
        &'s mut self,
        end: u64,
        exact: bool,
        expected_edges: u64,
        budget: &Budget,
    ) -> Result<Option<Box<dyn ingest::Counting + 's>>>;

    /// Puts edges on the way to their bins, their ids looked up in `map`, which may be in the device's memory already.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    fn placing<'s>(
        &'s mut self,
        route: &'s partition::route::Route<'_, '_>,
        map: &'s [u32],
        there: Option<DeviceSlice<u32>>,
        source: &'s str,
    ) -> Result<Option<Box<dyn partition::Placing + 's>>>;

    /// Sorts `bins` of a graph of `rows` rows with up to `threads` threads; the largest has `most` lines.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    fn sorting<'s>(
        &'s mut self,
        bins: &Bins,
        rows: u64,
        threads: usize,
        most: u64,
    ) -> Result<Option<Box<dyn sort::Sorting + 's>>>;
}
