//! Prepares a graph: from an edge list to blocks of rows on disk.
//!
//! ```text
//! ingest     input → degree of every id                     one pass
//! relabel    degrees → order of vertices, in place
//! partition  input → oriented edges in bins of rows          one pass
//! sort       bins → sorted rows without repeats → blocks     in cache, bin by bin
//! transpose  blocks → blocks of the upper half of rows        if a task needs it
//! merge      out-rows and in-rows → rows of all neighbours    if a task ignores the direction of a directed graph
//! ```
//!
//! Sparse 64-bit ids take one more pass first (`dictionary`). Preparation takes 4 bytes of memory for each id, and the
//! memory that the bins are given; edges that don't fit are spilled. No step depends on job files, stages, devices or
//! ranks. An [`Accelerator`] is a device that does steps in place of the CPU.

use crate::comm::Comm;
use crate::error::Result;
use crate::formats::{Scan, Seen, Watch};
use crate::gpu::DeviceSlice;
use crate::graph::layout::Bins;
use crate::memory::Budget;

pub mod blocks;
pub mod dictionary;
pub mod gpu;
pub mod ingest;
pub mod input_ids;
pub mod memory_plan;
pub mod merge;
pub mod order;
pub mod partition;
pub mod prepared;
pub mod relabel;
mod sample;
pub mod sort;
pub mod transpose;

/// Combines what each rank saw in its share of the input into the totals of the whole input. Collective.
///
/// # Errors
/// Bad input if a header declares other numbers than the totals.
pub fn joined(mut seen: Seen, comm: &Comm) -> Result<Scan> {
    comm.all_sum(seen.sums());
    comm.all_max(seen.most());
    seen.finish()
}

/// A device that does steps of preparation in place of the CPU, with the same results. If its memory is too small, a
/// method logs that and returns `None`; the CPU then does the step.
pub trait Accelerator {
    /// Starts counting the degrees of all ids below `end`. If `exact` is false, the device may count only the first
    /// ids, as many as it has memory for.
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

    /// Starts placing edges in their bins. Ids are looked up in `map`; `device_map` is a copy of it in the device's
    /// memory, if there is one.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    fn placing<'s>(
        &'s mut self,
        route: &'s partition::route::Route<'_, '_>,
        map: &'s [u32],
        device_map: Option<DeviceSlice<u32>>,
        source: &'s str,
    ) -> Result<Option<Box<dyn partition::Placing + 's>>>;

    /// Starts sorting `bins` of a graph of `rows` rows with up to `threads` threads. The largest bin has `most` lines;
    /// `weighted` says whether edges have weights.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    fn sorting<'s>(
        &'s mut self,
        bins: &Bins,
        rows: u64,
        threads: usize,
        most: u64,
        weighted: bool,
    ) -> Result<Option<Box<dyn sort::Sorting + 's>>>;

    /// Builds the wanted blocks of the upper half of rows. `watch` advances by entries.
    ///
    /// # Errors
    /// Errors of [`transpose::Transpose::build`], and [`crate::Error::Lost`].
    fn transposing(
        &mut self,
        transpose: &transpose::Transpose<'_>,
        watch: &dyn Watch,
    ) -> Result<Option<transpose::Transposed>>;
}
