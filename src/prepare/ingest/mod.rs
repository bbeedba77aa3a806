//! The first pass over the input. It finds the largest id, the degree of every vertex and the loops, and estimates the
//! number of distinct edges.

mod cpu;
pub mod gpu;

use super::dictionary::{Dictionary, NumberingVisitor};
use super::gpu::PrepareGpu;
use super::partition::changed;
use super::sample::EdgeSample;
use crate::comm::{Comm, WorkStealing};
use crate::error::{Error, Result};
use crate::formats::{CacheUse, Input, Scan, Share, ShareResult, Visitor, Watch, WeightType};
use crate::memory::{Budget, Buffer};
use cpu::{CpuCounters, SharedDegrees};
use gpu::GpuCounters;
use std::ops::Range;

/// Number of ids that an array indexed by id may span, even if there are few edges. Such an array is small, and results
/// stay indexed by the input's ids.
const ALWAYS_DENSE: u64 = 1 << 20;
/// Like `ALWAYS_DENSE`, but for an input that declares its number of vertices. It is larger because each declared
/// vertex gets a row in the results.
const DECLARED_DENSE: u64 = 1 << 26;
/// One more than the largest id that fits the 32 bits of a vertex.
const MAX_DENSE: u64 = u32::MAX as u64;

/// Results of one pass over the input.
#[derive(Debug)]
pub struct Ingested {
    /// Degree of each id: the number of edge ends there, repeats included, loops excluded, at most 2^32 - 1. The array
    /// is empty if the ids are sparse. Each rank has the degrees of its share of the ids ([`Comm::share`]); the other
    /// elements have no meaning.
    pub degrees: Buffer<u32>,
    /// Number of edges in the input, loops and repeats included.
    pub edges: u64,
    /// Number of loops in the input.
    pub loops: u64,
    /// Smallest id that has a loop.
    pub first_loop: Option<u64>,
    /// Largest id, loops included; `None` if there is no edge.
    pub largest: Option<u64>,
    /// Number of vertices that the input's header declares, if it does.
    pub declared: Option<u64>,
    /// Checksum of the input's bytes.
    pub checksum: u64,
    /// Checksum of the weights' bytes, if weights are wanted and are in a separate file.
    pub weights_checksum: u64,
    /// Type of the weights, if weights are wanted and the input has some.
    pub weights: Option<WeightType>,
    /// Upper bound of the number of edges without loops and repeats: the estimate plus six standard deviations.
    pub distinct_at_most: u64,
}

/// Returns the maximum number of elements that an array indexed by id may have for an input of `edges` edges. `wide`
/// says whether ids may have 64 bits; `declared` says whether the input declares its number of vertices.
pub fn most_dense(edges: u64, wide: bool, declared: bool) -> u64 {
    let free = match (declared, wide) {
        (true, _) => DECLARED_DENSE,
        (false, false) => ALWAYS_DENSE,
        (false, true) => 0,
    };
    edges.saturating_mul(8).max(free).min(MAX_DENSE - 1) + 1
}

/// Returns true if ids up to `largest` are too sparse for arrays indexed by id, in an input of `edges` edges.
pub fn sparse(largest: u64, edges: u64, wide: bool, declared: bool) -> bool {
    largest >= most_dense(edges, wide, declared)
}

/// Counters of degrees while the input is read, on the CPU or on a GPU.
pub trait DegreeCounting {
    /// Returns one visitor for each thread that reads the input.
    fn visitors(&mut self) -> Vec<&mut dyn Visitor>;

    /// Returns the results of counting, without the degrees. All edges must have been seen.
    ///
    /// # Errors
    /// [`Error::Lost`].
    fn finish(&mut self) -> Result<Counted>;

    /// Returns an array for the degrees of ids up to `largest`. It already has the degrees, unless they are on a GPU
    /// and [`Self::fetch`] copies them. This is called once.
    ///
    /// # Errors
    /// [`Error::Limit`] if there is no memory for the degrees; [`Error::Lost`].
    fn degrees(&mut self, largest: u32) -> Result<Buffer<u32>>;

    /// Copies the degrees that this rank counted from its GPU to `degrees`. Does nothing if they are not on a GPU.
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
    /// must have counted. Collective.
    ///
    /// # Errors
    /// [`Error::Lost`].
    fn sum(&mut self, degrees: &mut [u32], share: Range<usize>) -> Result<()> {
        let _ = (degrees, share);
        Err(Error::internal("sum degrees", "ranks that do not reach each other"))
    }
}

/// Results of counting degrees, without the degrees.
pub struct Counted {
    /// Number of loops in the input.
    pub loops: u64,
    /// Smallest id that has a loop; [`u64::MAX`] if there is none.
    pub first_loop: u64,
    /// Largest id, loops included; `None` if there is no edge.
    pub largest: Option<u64>,
    /// True if any edge could not be counted. The degrees of this pass are then useless.
    pub missed: bool,
    sample: EdgeSample,
}

impl Counted {
    fn none(expected: u64) -> Counted {
        Counted { loops: 0, first_loop: u64::MAX, largest: None, missed: false, sample: EdgeSample::new(expected) }
    }

    /// Adds the results of another thread to these.
    fn merge(&mut self, other: Counted) {
        self.loops += other.loops;
        self.first_loop = self.first_loop.min(other.first_loop);
        self.largest = self.largest.max(other.largest);
        self.missed |= other.missed;
        self.sample.merge(other.sample);
    }

    /// Combines the results of all ranks; afterwards each rank has the totals. Collective.
    fn join(&mut self, comm: &Comm) {
        let mut most = [self.largest.is_some().into(), self.largest.unwrap_or(0), self.missed.into()];
        comm.all_max(&mut most);
        (self.largest, self.missed) = ((most[0] > 0).then_some(most[1]), most[2] > 0);
        comm.all_sum(std::slice::from_mut(&mut self.loops));
        comm.all_min(std::slice::from_mut(&mut self.first_loop));
        self.sample.join(comm);
    }
}

/// Outcome of a pass over the input; it is the same on all ranks.
enum PassOutcome {
    /// All edges were counted, and these are the results.
    Whole(Ingested),
    /// The ids are dense up to `largest`, but the degrees are incomplete. Either no memory was left to sum the threads'
    /// counts, or the input has far more edges than its size suggested.
    Partial { largest: u32 },
    /// A device has too little memory, so the CPU must do the pass.
    DeviceTooSmall(Error),
}

/// The first pass over the input, with the resources that it needs.
pub struct Ingest<'a, 'm> {
    /// Input that has the edges. Each rank reads its share.
    pub input: &'a Input,
    /// How chunks of the input are cached in memory for later passes.
    pub cache: CacheUse<'a, 'm>,
    /// Dictionary of sparse ids, if ids are sparse.
    pub dictionary: Option<&'a Dictionary>,
    /// Number of threads that read and count.
    pub threads: usize,
    /// Budget of host memory.
    pub budget: &'a Budget,
    /// Ranks that prepare the graph together.
    pub comm: &'a Comm,
    /// Work stealing between ranks, if there is any: a rank that has read its share reads chunks of other ranks'
    /// shares.
    pub stealing: Option<&'a WorkStealing>,
    /// Function that connects the GPUs of all ranks. Each rank calls it after all ranks have read their shares, so that
    /// no rank waits earlier until others have opened their GPUs.
    pub connect_gpus: &'a dyn Fn(),
}

impl Ingest<'_, '_> {
    /// Reads the whole input and counts degrees, on `gpu` if its memory is large enough. Reads the input twice if the
    /// first pass could not count all ids. Collective.
    ///
    /// # Errors
    /// Errors of the input and of the budget (4 bytes for each id up to the largest), and a stop that `watch` reports.
    pub fn run(&self, mut gpu: Option<&mut PrepareGpu<'_>>, watch: &dyn Watch) -> Result<Ingested> {
        let mut largest = None;
        loop {
            match self.pass(largest, gpu.as_deref_mut(), watch)? {
                PassOutcome::Whole(found) => return Ok(found),
                // The number of ids is known now. The next pass reserves memory for them first, and does not cache the
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

    /// Reads the input once. `largest` is the largest id, if it is known already.
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
            // A list of vertices may end with vertices that have no edge.
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
                // A rank may change its degrees only when no other rank reads them any more.
                comm.barrier();
            } else {
                counting.fetch(&mut total.degrees)?;
                comm.reduce_scatter(&mut total.degrees);
            }
        }
        Ok(PassOutcome::Whole(total))
    }
}

/// Combines the findings of each rank in its share of the input into the totals of the whole input. Collective.
///
/// # Errors
/// An error of the input if a header declares other numbers than the totals.
pub fn joined(mut seen: ShareResult, comm: &Comm) -> Result<Scan> {
    comm.all_sum(seen.sums());
    comm.all_max(seen.most());
    seen.finish()
}

/// Returns the first id that is not counted. An array of degrees up to this id would be sparse. The limit allows for an
/// error in the estimated number of edges; the exact number decides later whether ids are sparse.
fn end_of_ids(expected: u64, numbered: bool, wide: bool, largest: Option<u32>) -> u64 {
    let dense = expected.saturating_mul(9).max(if wide { 1024 } else { ALWAYS_DENSE }) + 1;
    match largest {
        Some(largest) => u64::from(largest) + 1,
        None if numbered => MAX_DENSE,
        None => dense.min(MAX_DENSE),
    }
}

/// Returns the bytes of the samples of distinct edges of `input`: one sample for each thread, and two to join them.
pub fn samples_bytes(threads: usize, input: &Input) -> u64 {
    (threads as u64 + 2) * EdgeSample::bytes(input.most_edges())
}

/// Returns the bytes of all threads' own counters for `ids` ids. If memory is short, threads have fewer counters.
pub fn counters_bytes(ids: u64, threads: usize) -> u64 {
    threads as u64 * ids.next_multiple_of(GRANULE)
}

/// Returns the bytes of the degrees of `ids` ids.
pub fn degrees_bytes(ids: u64) -> u64 {
    4 * ids.next_multiple_of(GRANULE)
}

/// Number of ids by which arrays of degrees grow.
const GRANULE: u64 = 1 << 16;

const PURPOSE: &str = "degrees of all vertices (4 bytes for each id up to the largest)";
