//! Prepares a graph: from an edge list to blocks of rows on disk.
//!
//! ```text
//! ingest     input → degree of every id                     one pass
//! relabel    degrees → order of vertices, in place
//! partition  input → oriented edges in bins of rows          one pass
//! sort       bins → sorted rows without repeats → blocks     in cache, bin by bin
//! transpose  blocks → blocks of the upper half of rows        if a task needs it
//! merge      out-rows and in-rows → rows of all neighbours    if a task does not take the direction of a graph that keeps it
//! ```
//!
//! Sparse 64-bit ids take one more pass first (`dictionary`). Preparation takes 4 bytes of memory for each id and what the bins are given;
//! edges that don't fit are spilled. No step knows of job files, stages, devices or ranks; an [`Accelerator`] is a device that does units
//! in place of the CPU.

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

/// Reduces what each rank saw of its share of the input to the totals of all. Collective.
///
/// # Errors
/// Bad input where a header declares something else.
pub fn joined(mut seen: Seen, comm: &Comm) -> Result<Scan> {
    comm.all_sum(seen.sums());
    comm.all_max(seen.most());
    seen.finish()
}

/// A device that does units of preparation in place of the CPU, with the same results. Its methods return `None`, and log why, if its
/// memory is too small; the CPU then does the stage.
pub trait Accelerator {
    /// Starts counting degrees of ids below `end`, or if it need not be `exact`, of as many as the device has memory for.
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

    /// Starts placing edges into their bins. Ids are looked up in `map`, of which `device_map` is the copy in the device's memory, if there
    /// is one.
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

    /// Starts sorting `bins` of a graph of `rows` rows, whose edges have weights or have none, with up to `threads` threads; the largest bin
    /// has `most` lines.
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

    /// Makes the wanted blocks of the upper half of rows. `watch` advances by entries.
    ///
    /// # Errors
    /// Those of [`transpose::Transpose::build`], [`crate::Error::Lost`].
    fn transposing(
        &mut self,
        transpose: &transpose::Transpose<'_>,
        watch: &dyn Watch,
    ) -> Result<Option<transpose::Transposed>>;
}
