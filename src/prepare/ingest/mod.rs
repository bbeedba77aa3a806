//! The first pass over the input. It finds the largest id, the degree of every vertex and the self-loops, and estimates
//! the number of distinct edges.

mod cpu;
pub mod gpu;

use super::dictionary::{Dictionary, NumberingVisitor};
use super::gpu::PrepareGpu;
use super::partition::changed;
use super::sample::EdgeSample;
use crate::comm::{Comm, WorkStealing};
use crate::error::{Error, Result};
use crate::formats::{CacheUse, Halves, Input, Scan, Share, ShareResult, Visitor, Watch, WeightType};
use crate::memory::{Budget, Buffer};
use cpu::{CpuCounters, SharedDegrees};
use gpu::GpuCounters;
use std::ops::Range;

/// Length up to which an array indexed by id is always allowed, even if there are few edges. Such an array is small,
/// and results stay indexed by the input's ids.
const ALWAYS_DENSE: u64 = 1 << 20;
/// Length up to which an array indexed by id is always allowed if the input declares its number of vertices. This
/// length is larger than `ALWAYS_DENSE`, because each declared vertex gets a row in the results.
const DECLARED_DENSE: u64 = 1 << 26;
/// Exclusive upper bound on the ids of vertices, which have 32 bits.
const MAX_DENSE: u64 = u32::MAX as u64;

/// Results of one pass over the input.
#[derive(Debug)]
pub struct Ingested {
    /// Degree of each id: the number of its edges in the input, including duplicates and excluding self-loops, at most
    /// 2^32 - 1. The array is empty if the ids are sparse. It contains the degrees for this rank's share of the ids
    /// ([`Comm::share`]); the contents of the other elements are unspecified.
    pub degrees: Buffer<u32>,
    /// Number of edges in the input, including self-loops and duplicates.
    pub edges: u64,
    /// Number of self-loops in the input.
    pub loops: u64,
    /// Smallest id that has a self-loop; `None` if there is none.
    pub first_loop: Option<u64>,
    /// Largest id, including ids with only self-loops; `None` if there is no edge.
    pub largest: Option<u64>,
    /// Number of vertices that the input's header declares, if any.
    pub declared: Option<u64>,
    /// How many files list only one direction of each edge.
    pub halves: Halves,
    /// Checksum of the input's bytes.
    pub checksum: u64,
    /// Checksum of the file of weights, if weights are wanted and are in a separate file.
    pub weights_checksum: u64,
    /// Type of the weights, if weights are wanted and the input has some.
    pub weights: Option<WeightType>,
    /// Upper bound on the number of edges without self-loops and duplicates: the estimate plus six standard deviations.
    pub distinct_at_most: u64,
}

/// Returns the maximum length of an array indexed by id, for an input of `edges` edges. If the ids need a longer array,
/// they are treated as sparse. `wide` says whether ids may have 64 bits; `declared` says whether the input declares its
/// number of vertices.
pub fn most_dense(edges: u64, wide: bool, declared: bool) -> u64 {
    let free = match (declared, wide) {
        (true, _) => DECLARED_DENSE,
        (false, false) => ALWAYS_DENSE,
        (false, true) => 0,
    };
    edges.saturating_mul(8).max(free).min(MAX_DENSE - 1) + 1
}

/// Returns true if ids up to `largest` are too sparse for arrays indexed by id, in an input of `edges` edges. The other
/// parameters are those of [`most_dense`].
pub fn sparse(largest: u64, edges: u64, wide: bool, declared: bool) -> bool {
    largest >= most_dense(edges, wide, declared)
}

/// Degree counters, on the CPU or on a GPU, that are updated while the input is read.
pub trait DegreeCounting {
    /// Returns one visitor for each thread that reads the input.
    fn visitors(&mut self) -> Vec<&mut dyn Visitor>;

    /// Returns the results of counting, except the degrees. All edges must have been visited.
    ///
    /// # Errors
    /// [`Error::Lost`].
    fn finish(&mut self) -> Result<Counted>;

    /// Returns an array for the degrees of ids up to `largest`. It already contains the degrees, unless these are on a
    /// GPU; [`Self::fetch`] then copies them. Must be called only once.
    ///
    /// # Errors
    /// [`Error::Limit`] if there is no memory for the degrees; [`Error::Lost`].
    fn degrees(&mut self, largest: u32) -> Result<Buffer<u32>>;

    /// Copies the degrees counted by this rank's GPU to `degrees`. Does nothing on the CPU.
    ///
    /// # Errors
    /// [`Error::Lost`].
    fn fetch(&mut self, degrees: &mut [u32]) -> Result<()> {
        let _there_already = degrees;
        Ok(())
    }

    /// Returns true if [`Self::sum`] can sum the degrees of the first `ids` ids over all ranks.
    ///
    /// # Errors
    /// [`Error::Lost`].
    fn reaches_others(&mut self, ids: usize) -> Result<bool> {
        let _ = ids;
        Ok(false)
    }

    /// Sums the degrees over all ranks, and writes the sums for this rank's share of the ids to `degrees`. All ranks
    /// must have finished counting. Collective.
    ///
    /// # Errors
    /// [`Error::Lost`].
    fn sum(&mut self, degrees: &mut [u32], share: Range<usize>) -> Result<()> {
        let _ = (degrees, share);
        Err(Error::internal("sum degrees", "ranks that do not reach each other"))
    }
}

/// Results of counting degrees, except the degrees themselves.
pub struct Counted {
    /// Number of self-loops in the input.
    pub loops: u64,
    /// Smallest id that has a self-loop; [`u64::MAX`] if there is none.
    pub first_loop: u64,
    /// Largest id, including ids with only self-loops; `None` if there is no edge.
    pub largest: Option<u64>,
    /// Whether an edge could not be counted. The degrees of this pass are then unusable.
    pub missed: bool,
    sample: EdgeSample,
}

impl Counted {
    fn none(expected: u64) -> Counted {
        Counted { loops: 0, first_loop: u64::MAX, largest: None, missed: false, sample: EdgeSample::new(expected) }
    }

    /// Merges the results of another thread into the results of this one.
    fn merge(&mut self, other: Counted) {
        self.loops += other.loops;
        self.first_loop = self.first_loop.min(other.first_loop);
        self.largest = self.largest.max(other.largest);
        self.missed |= other.missed;
        self.sample.merge(other.sample);
    }

    /// Combines the results of all ranks into totals, which are then the same on every rank. Collective.
    fn join(&mut self, comm: &Comm) {
        let mut most = [self.largest.is_some().into(), self.largest.unwrap_or(0), self.missed.into()];
        comm.all_max(&mut most);
        (self.largest, self.missed) = ((most[0] > 0).then_some(most[1]), most[2] > 0);
        comm.all_sum(std::slice::from_mut(&mut self.loops));
        comm.all_min(std::slice::from_mut(&mut self.first_loop));
        self.sample.join(comm);
    }
}

/// Outcome of a pass over the input; the variant is the same on all ranks.
enum PassOutcome {
    /// Complete results: all edges were counted.
    Whole(Ingested),
    /// Incomplete degrees of dense ids up to `largest`. Either no memory was left to sum the threads' counts, or the
    /// input has far more edges than its size suggested.
    Partial { largest: u32 },
    /// No results: a device has too little memory, so the pass must be repeated on the CPU.
    DeviceTooSmall(Error),
}

/// The first pass over the input, with the resources that it needs.
pub struct Ingest<'a, 'm> {
    /// Input that contains the edges. Each rank reads its share.
    pub input: &'a Input,
    /// Cache in which chunks of the input stay in memory for later passes.
    pub cache: CacheUse<'a, 'm>,
    /// Dictionary of sparse ids, if ids are sparse.
    pub dictionary: Option<&'a Dictionary>,
    /// Number of threads that read and count.
    pub threads: usize,
    /// Budget of host memory.
    pub budget: &'a Budget,
    /// Ranks that prepare the graph together.
    pub comm: &'a Comm,
    /// Work stealing between ranks, if enabled: a rank that has read its share reads chunks of other ranks' shares.
    pub stealing: Option<&'a WorkStealing>,
    /// Function that connects the GPUs of all ranks. It is called only after all ranks have read their shares.
    /// Otherwise ranks would wait until others have opened their GPUs, instead of reading.
    pub connect_gpus: &'a dyn Fn(),
}

impl Ingest<'_, '_> {
    /// Reads the whole input and counts degrees, on `gpu` if its memory is large enough. Reads the input twice if the
    /// first pass could not count all ids. Collective.
    ///
    /// # Errors
    /// Errors of the input and of the budget (4 bytes for each id up to the largest id), and cancellation reported by
    /// `watch`.
    pub fn run(&self, mut gpu: Option<&mut PrepareGpu<'_>>, watch: &dyn Watch) -> Result<Ingested> {
        let mut largest = None;
        loop {
            match self.pass(largest, gpu.as_deref_mut(), watch)? {
                PassOutcome::Whole(found) => return Ok(found),
                // Now the number of ids is known. The next pass first reserves memory for them, and does not cache the
                // input.
                PassOutcome::Partial { largest: id } if largest.is_none() => {
                    largest = Some(id);
                    self.cache.release_all();
                }
                PassOutcome::Partial { .. } => return Err(changed(&self.input.name())),
                PassOutcome::DeviceTooSmall(why) => {
                    tracing::info!("ingest on the CPU: {why}");
                    gpu = None;
                }
            }
        }
    }

    /// Reads the input once. `largest` is the largest id, or `None` if it is unknown.
    fn pass(&self, largest: Option<u32>, gpu: Option<&mut PrepareGpu<'_>>, watch: &dyn Watch) -> Result<PassOutcome> {
        let Ingest { input, cache, dictionary, threads, budget, comm, stealing, connect_gpus } = *self;
        let expected = input.estimate_edges()?;
        // Ids from a dictionary have no gaps.
        let wide = input.wide() && dictionary.is_none();
        let _reading =
            budget.reserve(input.scratch_bytes(threads) + samples_bytes(threads, input), "reading the input")?;
        let end = end_of_ids(expected, dictionary.is_some(), wide, largest);
        let counters = match gpu {
            Some(gpu) => GpuCounters::start(gpu, end, largest.is_some(), input, budget)?,
            None => None,
        };
        let shared = SharedDegrees::new(budget, end, largest.filter(|_| counters.is_none()))?;
        let mut counting: Box<dyn DegreeCounting + '_> = match counters {
            Some(counters) => Box::new(counters),
            None => Box::new(CpuCounters::new(&shared, expected, threads)?),
        };
        let name = input.name();
        let counters = counting.visitors().into_iter();
        let mut counters: Vec<_> =
            counters.map(|counter| NumberingVisitor::new(dictionary, None, &name, counter)).collect();
        let share = Share { rank: comm.rank(), ranks: comm.ranks(), helping: stealing };
        let scanned = input.scan_share(share, cache, &mut counters, watch);
        drop(counters);
        let (seen, mut found) = match scanned.and_then(|seen| Ok((seen, counting.finish()?))) {
            Err(e @ Error::Limit { limit: "gpu_memory", .. }) => {
                comm.all_max(&mut [1]);
                return Ok(PassOutcome::DeviceTooSmall(e));
            }
            done => done?,
        };
        let mut left = [0];
        comm.all_max(&mut left);
        if left != [0] {
            return Ok(PassOutcome::DeviceTooSmall(Error::Usage("another rank's GPU has too little memory".into())));
        }
        connect_gpus();
        found.join(comm);
        if let Some(dictionary) = dictionary {
            // The last ids may come from a list of vertices and have no edge.
            found.largest = (dictionary.ids().len() as u64).checked_sub(1);
        }
        let scan = joined(seen, comm)?;
        let mut total = Ingested {
            degrees: budget.zeroed(0, "degrees")?,
            edges: scan.edges,
            loops: found.loops,
            first_loop: (found.loops > 0).then_some(found.first_loop),
            largest: found.largest,
            declared: scan.declared_vertices,
            halves: scan.halves,
            checksum: scan.checksum,
            weights_checksum: scan.weights_checksum,
            weights: scan.weights,
            distinct_at_most: found.sample.distinct_at_most().min(scan.edges - found.loops),
        };
        let Some(id) = total.largest else { return Ok(PassOutcome::Whole(total)) };
        if dictionary.is_some() || !sparse(id, total.edges, wide, total.declared.is_some()) {
            let id = id as u32;
            if found.missed {
                return Ok(PassOutcome::Partial { largest: id });
            }
            let degrees = counting.degrees(id);
            if comm.any(largest.is_none() && matches!(degrees, Err(Error::Limit { .. }))) {
                return Ok(PassOutcome::Partial { largest: id });
            }
            total.degrees = degrees?;
            if comm.all(counting.reaches_others(total.degrees.len())?) {
                let share = comm.share(total.degrees.len());
                counting.sum(&mut total.degrees, share)?;
                // Wait until no other rank reads this rank's degrees, because they may change afterwards.
                comm.barrier();
            } else {
                counting.fetch(&mut total.degrees)?;
                comm.reduce_scatter(&mut total.degrees);
            }
        }
        Ok(PassOutcome::Whole(total))
    }
}

/// Combines the results of all ranks' shares into the totals of the whole input. Collective.
///
/// # Errors
/// An error of the input if its header declares numbers that differ from the totals.
pub fn joined(mut seen: ShareResult, comm: &Comm) -> Result<Scan> {
    comm.all_sum(seen.sums());
    comm.all_max(seen.most());
    seen.finish()
}

/// Returns the exclusive upper bound on the ids whose degrees are counted. With larger ids, an array of degrees would
/// be sparse. `expected` is only an estimate of the number of edges, so the bound is generous. Whether ids are sparse
/// is decided later, from the exact number of edges.
fn end_of_ids(expected: u64, numbered: bool, wide: bool, largest: Option<u32>) -> u64 {
    let dense = expected.saturating_mul(9).max(if wide { 1024 } else { ALWAYS_DENSE }) + 1;
    match largest {
        Some(largest) => u64::from(largest) + 1,
        None if numbered => MAX_DENSE,
        None => dense.min(MAX_DENSE),
    }
}

/// Returns the size in bytes of all samples of the distinct edges of `input`: one sample for each thread, and two for
/// merging them.
pub fn samples_bytes(threads: usize, input: &Input) -> u64 {
    (threads as u64 + 2) * EdgeSample::bytes(input.most_edges())
}

/// Returns the size in bytes of the per-thread counters of all threads for `ids` ids. If memory is short, threads use
/// fewer counters.
pub fn counters_bytes(ids: u64, threads: usize) -> u64 {
    threads as u64 * ids.next_multiple_of(GRANULE)
}

/// Returns the size in bytes of the degrees of `ids` ids.
pub fn degrees_bytes(ids: u64) -> u64 {
    4 * ids.next_multiple_of(GRANULE)
}

/// Granularity, in ids, with which arrays of degrees grow.
const GRANULE: u64 = 1 << 16;

const PURPOSE: &str = "degrees of all vertices (4 bytes for each id up to the largest)";
