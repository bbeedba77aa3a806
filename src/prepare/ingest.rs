//! The first pass over the input: the largest id, the degree of every vertex, loops, and an estimate of repeats.

mod cpu;
pub mod gpu;

use super::dictionary::{Dictionary, Numbered};
use super::partition::changed;
use super::sample::Sample;
use super::{Accelerator, joined};
use crate::comm::{Comm, WorkStealing};
use crate::error::{Error, Result};
use crate::formats::{Input, Keeping, Share, Visitor, Watch};
use crate::memory::{Budget, Buffer};
use cpu::{Degrees, OnProcessor};
use std::ops::Range;

/// Ids a dense array may span whatever the number of edges: it is small, and results stay indexed by the input's ids.
const ALWAYS_DENSE: u64 = 1 << 20;
/// One past the largest id that fits the 32 bits of a vertex.
const MAX_DENSE: u64 = u32::MAX as u64;

/// What one pass over the input tells.
#[derive(Debug)]
pub struct Ingested {
    /// Endpoints at each id, repeats included, loops not; stays at 2^32 - 1 beyond. Empty if the ids are sparse. Of many
    /// ranks, each knows those of its share of the ids ([`Comm::share`]); the others have no meaning.
    pub degrees: Buffer<u32>,
    /// Edges in the input, loops and repeats included.
    pub edges: u64,
    /// Loops among them.
    pub loops: u64,
    /// The largest id, loops included; `None` without edges.
    pub largest: Option<u64>,
    /// The number of vertices that the input's header declares.
    pub declared: Option<u64>,
    /// Checksum of the input's bytes.
    pub checksum: u64,
    /// About how many edges remain without loops and repeats, and surely (to six sigma) no more than this.
    pub distinct_at_most: u64,
}

/// Whether ids up to `largest` over `edges` edges are too sparse for arrays indexed by id.
pub fn sparse(largest: u64, edges: u64, wide: bool) -> bool {
    let free = if wide { 0 } else { ALWAYS_DENSE };
    largest >= MAX_DENSE || (largest > edges.saturating_mul(8) && largest > free)
}

/// Counts degrees while the input is read.
pub trait Counting {
    /// One for each thread.
    fn visitors(&mut self) -> Vec<&mut dyn Visitor>;

    /// What was found, once everything was seen.
    ///
    /// # Errors
    /// [`Error::Lost`].
    fn finish(&mut self) -> Result<Found>;

    /// Room for degrees of ids up to `largest`, which [`Self::fetch`] fills, if they are not there. Called once.
    ///
    /// # Errors
    /// [`Error::Limit`] where there is no memory for them, [`Error::Lost`].
    fn degrees(&mut self, largest: u32) -> Result<Buffer<u32>>;

    /// Puts the degrees of what this rank saw where they belong.
    ///
    /// # Errors
    /// [`Error::Lost`].
    fn fetch(&mut self, degrees: &mut [u32]) -> Result<()> {
        let _there_already = degrees;
        Ok(())
    }

    /// Whether [`Self::sum`] of the first `ids` ids can be had.
    ///
    /// # Errors
    /// [`Error::Lost`].
    fn reaches_others(&mut self, ids: usize) -> Result<bool> {
        let _ = ids;
        Ok(false)
    }

    /// Puts the sums of all ranks' degrees into this rank's share of the ids, for all ranks together, once all have counted.
    ///
    /// # Errors
    /// [`Error::Lost`].
    fn sum(&mut self, degrees: &mut [u32], share: Range<usize>) -> Result<()> {
        let _ = (degrees, share);
        Err(Error::internal("sum degrees", "ranks that do not reach each other"))
    }
}

/// What counting found beside degrees.
pub struct Found {
    /// Edges that are loops.
    pub loops: u64,
    /// The largest id, loops included; `None` without edges.
    pub largest: Option<u64>,
    /// Whether any edge could not be counted. The degrees of this pass are of no use then.
    pub missed: bool,
    sample: Sample,
}

impl Found {
    fn none(expected: u64) -> Found {
        Found { loops: 0, largest: None, missed: false, sample: Sample::new(expected) }
    }

    /// Makes it what all ranks found.
    fn join(&mut self, comm: &Comm) {
        let mut most = [self.largest.is_some().into(), self.largest.unwrap_or(0), self.missed.into()];
        comm.all_max(&mut most);
        (self.largest, self.missed) = ((most[0] > 0).then_some(most[1]), most[2] > 0);
        comm.all_sum(std::slice::from_mut(&mut self.loops));
        self.sample.join(comm);
    }
}

/// How a pass ended, for all ranks alike.
enum Pass {
    /// Everything was counted.
    Whole(Ingested),
    /// The ids are dense up to `largest`, but not all were counted: other things had taken the memory for the sum, or
    /// there are far more edges than the input's size let expect.
    Partial { largest: u32 },
    /// A device found out that it has too little memory.
    Left(Error),
}

/// What ingest works with.
pub struct Ingest<'a, 'm> {
    /// The edges: of several ranks, each reads its share.
    pub input: &'a Input,
    /// What becomes of what was read.
    pub keeping: Keeping<'a, 'm>,
    /// Where ids are looked up, if they are sparse.
    pub dictionary: Option<&'a Dictionary>,
    /// Threads.
    pub threads: usize,
    /// Host memory.
    pub budget: &'a Budget,
    /// The ranks.
    pub comm: &'a Comm,
    /// By what ranks that are done help those that are behind, if they do.
    pub stealing: Option<&'a WorkStealing>,
    /// Called by all of them together when each has read its share. (No rank waits before that until others have opened their GPUs.)
    pub meet: &'a dyn Fn(),
}

impl Ingest<'_, '_> {
    /// Reads the whole input once. What can be done by `device` is.
    ///
    /// # Errors
    /// Those of the input, of the budget (4 bytes for each id up to the largest), and of a stop that `watch` reports.
    pub fn run(&self, mut device: Option<&mut dyn Accelerator>, watch: &dyn Watch) -> Result<Ingested> {
        let mut largest = None;
        loop {
            let by_device = device.as_mut().map(|device| &mut **device as &mut dyn Accelerator);
            match self.pass(largest, by_device, watch)? {
                Pass::Whole(found) => return Ok(found),
                // Now it is known how many ids there are: memory for them is set aside first, and nothing is kept.
                Pass::Partial { largest: id } if largest.is_none() => {
                    largest = Some(id);
                    self.keeping.release_all();
                }
                Pass::Partial { .. } => return Err(changed(&self.input.name())),
                Pass::Left(why) => {
                    tracing::info!("ingest on the processor: {why}");
                    device = None;
                }
            }
        }
    }

    /// One pass. With `largest` the number of ids is known before.
    fn pass(&self, largest: Option<u32>, device: Option<&mut dyn Accelerator>, watch: &dyn Watch) -> Result<Pass> {
        let Ingest { input, keeping, dictionary, threads, budget, comm, stealing, meet } = *self;
        let expected = input.estimate_edges()?;
        // Numbers from a dictionary have no gaps.
        let wide = input.wide() && dictionary.is_none();
        let _reading = budget.reserve(input.scratch_bytes(threads) + scratch_bytes(0, threads), "reading the input")?;
        let end = end_of_ids(expected, dictionary.is_some(), wide, largest);
        let by_device = match device {
            Some(device) => device.counting(end, largest.is_some(), expected, budget)?,
            None => None,
        };
        let shared = Degrees::new(budget, end, largest.filter(|_| by_device.is_none()))?;
        let mut counting = match by_device {
            Some(counting) => counting,
            None => Box::new(OnProcessor::new(&shared, expected, threads)?),
        };
        let name = input.name();
        let counters = counting.visitors().into_iter();
        let mut counters: Vec<_> = counters.map(|counter| Numbered::new(dictionary, &name, counter)).collect();
        let share = Share { rank: comm.rank(), ranks: comm.ranks(), helping: stealing };
        let scanned = input.scan_share(share, keeping, &mut counters, watch);
        drop(counters);
        let (seen, mut found) = match scanned.and_then(|seen| Ok((seen, counting.finish()?))) {
            Err(e @ Error::Limit { limit: "gpu_memory", .. }) => {
                comm.all_max(&mut [1]);
                return Ok(Pass::Left(e));
            }
            done => done?,
        };
        let mut left = [0];
        comm.all_max(&mut left);
        if left != [0] {
            return Ok(Pass::Left(Error::Usage("another rank's GPU has too little memory".into())));
        }
        meet();
        found.join(comm);
        let scan = joined(seen, comm)?;
        let mut total = Ingested {
            degrees: budget.zeroed(0, "degrees")?,
            edges: scan.edges,
            loops: found.loops,
            largest: found.largest,
            declared: scan.declared_vertices,
            checksum: scan.checksum,
            distinct_at_most: found.sample.distinct_at_most().min(scan.edges - found.loops),
        };
        let Some(id) = total.largest else { return Ok(Pass::Whole(total)) };
        if dictionary.is_some() || !sparse(id, total.edges, wide) {
            let id = id as u32;
            if found.missed {
                return Ok(Pass::Partial { largest: id });
            }
            let degrees = counting.degrees(id);
            let mut short = [u64::from(largest.is_none() && matches!(degrees, Err(Error::Limit { .. })))];
            comm.all_max(&mut short);
            if short != [0] {
                return Ok(Pass::Partial { largest: id });
            }
            total.degrees = degrees?;
            let mut reach = [u64::from(counting.reaches_others(total.degrees.len())?)];
            comm.all_min(&mut reach);
            if reach == [1] {
                let share = comm.share(total.degrees.len());
                counting.sum(&mut total.degrees, share)?;
                // Nobody reads another's any more.
                comm.barrier();
            } else {
                counting.fetch(&mut total.degrees)?;
                comm.reduce_scatter(&mut total.degrees);
            }
        }
        Ok(Pass::Whole(total))
    }
}

/// Ids from here on are not counted: they would make the array sparse. An estimate of the edges may be a little off:
/// what is sparse is decided by the true number afterwards.
fn end_of_ids(expected: u64, numbered: bool, wide: bool, largest: Option<u32>) -> u64 {
    let dense = expected.saturating_mul(9).max(if wide { 1024 } else { ALWAYS_DENSE }) + 1;
    match largest {
        Some(largest) => u64::from(largest) + 1,
        None if numbered => MAX_DENSE,
        None => dense.min(MAX_DENSE),
    }
}

/// Bytes that the pass takes for `ids` ids beside the degrees and reading: the counters of each thread, as far as they
/// are given memory, and the samples.
pub fn scratch_bytes(ids: u64, threads: usize) -> u64 {
    threads as u64 * whole_pages(ids) + (threads as u64 + 2) * Sample::BYTES
}

/// Bytes of the degrees of `ids` ids.
pub fn degrees_bytes(ids: u64) -> u64 {
    whole_pages(4 * ids)
}

/// The last huge page counts as a whole.
fn whole_pages(bytes: u64) -> u64 {
    bytes.next_multiple_of(2 << 20)
}

const PURPOSE: &str = "degrees of all vertices (4 bytes for each id up to the largest)";
