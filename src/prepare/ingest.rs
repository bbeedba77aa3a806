//! The first pass over the input: the largest id, the degree of every vertex, loops, and an estimate of repeats.
//!
//! Each thread counts in one byte an id of its own: random increments in a quarter of the room, with nothing shared.
//! A byte that overflows carries 256 into the shared 32-bit counter, which happens for hubs alone. (Gathering endpoints
//! in bins by id first, to count each bin in cache, moved as many cache lines as it saved: 12 ns an endpoint against 5.)

pub mod gpu;

use super::Accelerator;
use super::dictionary::{Dictionary, Numbered};
use super::partition::changed;
use super::sample::Sample;
use crate::error::{Error, Result};
use crate::formats::{Edges, Input, Keeping, Visitor, Watch};
use crate::memory::{Budget, Buffer, Plain, prefetch};
use std::sync::{PoisonError, RwLock, atomic::AtomicU32, atomic::Ordering};

/// Ids a dense array may span whatever the number of edges: it is small, and results stay indexed by the input's ids.
const ALWAYS_DENSE: u64 = 1 << 20;
/// One past the largest id that fits the 32 bits of a vertex.
const MAX_DENSE: u64 = u32::MAX as u64;

/// What one pass over the input tells.
#[derive(Debug)]
pub struct Ingested {
    /// Endpoints at each id, repeats included, loops not; stays at 2^32 - 1 beyond. Empty if the ids are sparse.
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

    /// Degrees of ids up to `largest`. Called once.
    ///
    /// # Errors
    /// [`Error::Limit`] where there is no memory for them, [`Error::Lost`].
    fn degrees(&mut self, largest: u32) -> Result<Buffer<u32>>;
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
}

/// Reads the whole input once, with `threads` threads and what can be by `device`, its ids by way of any `dictionary`.
///
/// # Errors
/// Those of the input, of the budget (4 bytes for each id up to the largest), and of a stop that `watch` reports.
pub fn ingest(
    input: &Input,
    keeping: Keeping<'_, '_>,
    dictionary: Option<&Dictionary>,
    threads: usize,
    budget: &Budget,
    mut device: Option<&mut dyn Accelerator>,
    watch: &dyn Watch,
) -> Result<Ingested> {
    let mut largest = None;
    loop {
        let by_device = device.as_mut().map(|device| &mut **device as &mut dyn Accelerator);
        match pass((input, keeping), dictionary, largest, threads, budget, by_device, watch)? {
            Pass::Whole(found) => return Ok(found),
            // Now it is known how many ids there are: memory for them is set aside first, and nothing is kept.
            Pass::Partial { largest: id } if largest.is_none() => {
                largest = Some(id);
                keeping.release_all();
            }
            Pass::Partial { .. } => return Err(changed(&input.name())),
            Pass::Left(why) => {
                tracing::info!("ingest on the processor: {why}");
                device = None;
            }
        }
    }
}

/// How a pass ended.
enum Pass {
    /// Everything was counted.
    Whole(Ingested),
    /// The ids are dense up to `largest`, but not all were counted: other things had taken the memory for the sum, or
    /// there are far more edges than the input's size let expect.
    Partial { largest: u32 },
    /// A device found out that it has too little memory.
    Left(Error),
}

/// One pass. With `largest` the number of ids is known before.
fn pass(
    (input, keeping): (&Input, Keeping<'_, '_>),
    dictionary: Option<&Dictionary>,
    largest: Option<u32>,
    threads: usize,
    budget: &Budget,
    device: Option<&mut dyn Accelerator>,
    watch: &dyn Watch,
) -> Result<Pass> {
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
    let scanned = input.scan_keeping(keeping, &mut counters, watch);
    drop(counters);
    let (scan, found) = match scanned.and_then(|scan| Ok((scan, counting.finish()?))) {
        Err(e @ Error::Limit { limit: "gpu_memory", .. }) => return Ok(Pass::Left(e)),
        done => done?,
    };
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
        match counting.degrees(id) {
            Err(Error::Limit { .. }) if largest.is_none() => return Ok(Pass::Partial { largest: id }),
            degrees => total.degrees = degrees?,
        }
    }
    Ok(Pass::Whole(total))
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

/// Counting by the threads that read.
struct OnProcessor<'a> {
    shared: &'a Degrees<'a>,
    expected: u64,
    counters: Vec<Counter<'a>>,
}

impl<'a> OnProcessor<'a> {
    fn new(shared: &'a Degrees<'a>, expected: u64, threads: usize) -> Result<Self> {
        let counters = (0..threads).map(|_| Counter::new(shared, expected)).collect::<Result<_>>()?;
        Ok(OnProcessor { shared, expected, counters })
    }
}

impl Counting for OnProcessor<'_> {
    fn visitors(&mut self) -> Vec<&mut dyn Visitor> {
        self.counters.iter_mut().map(|counter| counter as &mut dyn Visitor).collect()
    }

    fn finish(&mut self) -> Result<Found> {
        let mut found = Found::none(self.expected);
        for counter in &mut self.counters {
            found.loops += counter.loops;
            found.largest = found.largest.max(counter.largest());
            found.missed |= counter.missed;
            found.sample.merge(std::mem::replace(&mut counter.sample, Sample::new(self.expected)));
        }
        Ok(found)
    }

    fn degrees(&mut self, largest: u32) -> Result<Buffer<u32>> {
        self.shared.sum(&self.counters, largest)
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

/// The degrees, and which ids are counted at all.
struct Degrees<'b> {
    budget: &'b Budget,
    array: RwLock<Buffer<AtomicU32>>,
    /// Ids from here on are not counted.
    end: u64,
}

impl<'b> Degrees<'b> {
    fn new(budget: &'b Budget, end: u64, largest: Option<u32>) -> Result<Self> {
        let array = budget.zeroed(largest.map_or(0, |id| id as usize + 1), PURPOSE)?;
        Ok(Degrees { budget, array: RwLock::new(array), end })
    }

    /// Adds to the degree of one id. False if there is no memory for it.
    fn add(&self, id: u32, more: u32) -> bool {
        loop {
            let array = self.array.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(degree) = array.get(id as usize) {
                let add = |d: u32| Some(d.saturating_add(more));
                let _always = degree.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
                return true;
            }
            drop(array);
            if !self.reach(id) {
                return false;
            }
        }
    }

    /// Makes room for the degree of `id`. False if there is no memory for it.
    fn reach(&self, id: u32) -> bool {
        let mut array = self.array.write().unwrap_or_else(PoisonError::into_inner);
        array.len() > id as usize || grow(&mut array, id, PURPOSE).is_ok()
    }

    /// The sum of what all threads counted, for ids up to `largest`.
    fn sum(&self, counters: &[Counter<'_>], largest: u32) -> Result<Buffer<u32>> {
        let empty = self.budget.zeroed(0, "degrees")?;
        let mut array = std::mem::replace(&mut *self.array.write().unwrap_or_else(PoisonError::into_inner), empty);
        let len = largest as usize + 1;
        array.grow(len, PURPOSE)?;
        array.shorten(len);
        let mut array = array.into_plain();
        let chunk = len.div_ceil(counters.len().max(1));
        std::thread::scope(|scope| {
            for (i, part) in array.chunks_mut(chunk).enumerate() {
                scope.spawn(move || {
                    for bytes in counters.iter().filter_map(|counter| counter.bytes.get(i * chunk..)) {
                        for (degree, &byte) in part.iter_mut().zip(bytes) {
                            *degree = degree.saturating_add(u32::from(byte));
                        }
                    }
                });
            }
        });
        Ok(array)
    }
}

/// Makes room for `id`. Room to spare is not touched and saves moving; where the limit forbids it, just enough has to do.
fn grow<T: Plain>(array: &mut Buffer<T>, id: u32, purpose: &str) -> Result<()> {
    let enough = (id as usize + 1).next_multiple_of(1 << 16);
    let ample = enough.next_power_of_two().max(1 << 20);
    array.grow(ample, purpose).or_else(|_| array.grow(enough, purpose))
}

/// One thread's counters.
struct Counter<'a> {
    shared: &'a Degrees<'a>,
    bytes: Buffer<u8>,
    /// False once there was no memory for them: the shared degrees are counted in then, slower.
    grows: bool,
    /// Whether any edge could not be counted. The degrees of this pass are of no use then, and no more are counted.
    missed: bool,
    loops: u64,
    edges: u64,
    max: u64,
    sample: Sample,
}

impl<'a> Counter<'a> {
    fn new(shared: &'a Degrees<'a>, expected_edges: u64) -> Result<Self> {
        let bytes = shared.budget.zeroed(0, "counting degrees")?;
        let sample = Sample::new(expected_edges);
        Ok(Counter { shared, bytes, grows: true, missed: false, loops: 0, edges: 0, max: 0, sample })
    }

    fn largest(&self) -> Option<u64> {
        (self.edges > 0).then_some(self.max)
    }

    #[inline]
    fn count(&mut self, id: u32) {
        match self.bytes.get_mut(id as usize) {
            Some(byte) => {
                *byte = byte.wrapping_add(1);
                if *byte == 0 {
                    self.missed |= !self.shared.add(id, 256);
                }
            }
            None => self.count_beyond(id),
        }
    }

    /// The sum of all threads comes first: where there is memory for it alone, they count in it.
    #[cold]
    fn count_beyond(&mut self, id: u32) {
        let reached = self.shared.reach(id);
        self.grows = self.grows && reached && grow(&mut self.bytes, id, "counting degrees").is_ok();
        if self.grows {
            self.count(id);
        } else {
            self.missed |= !self.shared.add(id, 1);
        }
    }

    #[inline]
    fn edge(&mut self, u: u64, v: u64) {
        self.max = self.max.max(u).max(v);
        if u == v {
            self.loops += 1;
        } else if u.max(v) >= self.shared.end {
            self.missed = true;
        } else if !self.missed {
            self.count(u as u32);
            self.count(v as u32);
            self.sample.see(u, v);
        }
    }

    /// The increments are random: the counters of the next edges are on their way while these are counted.
    fn edges<T: Copy + Into<u64>>(&mut self, edges: &[[T; 2]]) {
        const AHEAD: usize = 32;
        self.edges += edges.len() as u64;
        for (i, &[u, v]) in edges.iter().enumerate() {
            if let Some(&[u, v]) = edges.get(i + AHEAD) {
                let (u, v): (u64, u64) = (u.into(), v.into());
                prefetch(&self.bytes, u as usize);
                prefetch(&self.bytes, v as usize);
            }
            self.edge(u.into(), v.into());
        }
    }
}

impl Visitor for Counter<'_> {
    fn visit(&mut self, edges: Edges<'_>) -> Result<()> {
        match edges {
            Edges::Narrow(edges) => self.edges(edges),
            Edges::Wide(edges) => self.edges(edges),
        }
        Ok(())
    }
}
