//! The first pass over the input: the largest id, the degree of every vertex, loops, and an estimate of repeats.
//!
//! Counting one endpoint at a time would miss the cache on nearly every increment. Endpoints are binned by the high
//! bits of the id first; a full bin is counted at once while its part of the degree array sits in L2, under that part's
//! lock, so no increment is atomic. Two sequential sweeps replace one random access.

use super::dictionary::{Dictionary, Numbered};
use super::sample::Sample;
use crate::error::Result;
use crate::formats::{Edges, Input, Visitor, Watch};
use crate::memory::{Budget, Buffer};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

/// Endpoints gathered in a bin before they are counted: long enough to pay for a lock.
const BIN: usize = 256;
/// A bin spans at most this many ids, 1 MiB of counters.
const MAX_SHIFT: u32 = 18;
/// A bin spans at least this many.
const MIN_SHIFT: u32 = 10;
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

/// Reads the whole input once, with `threads` threads; its ids are looked up in `dictionary` if there is one.
///
/// # Errors
/// Those of the input, of the budget (4 bytes for each id up to the largest), and of a stop that `watch` reports.
pub fn ingest(
    input: &Input,
    dictionary: Option<&Dictionary>,
    threads: usize,
    budget: &Budget,
    watch: &dyn Watch,
) -> Result<Ingested> {
    let expected = input.estimate_edges()?;
    // Numbers from a dictionary have no gaps.
    let wide = input.wide() && dictionary.is_none();
    let shared = Degrees::new(budget, expected, dictionary.is_some(), wide)?;
    let _bins = budget.reserve(scratch_bytes(threads) + input.scratch_bytes(threads), "reading the input")?;
    let name = input.name();
    let mut counters: Vec<_> =
        (0..threads).map(|_| Numbered::new(dictionary, &name, Counter::new(&shared, expected))).collect();
    let scan = input.scan(&mut counters, watch)?;
    let mut total = Ingested {
        degrees: budget.zeroed(0, "degrees")?,
        edges: scan.edges,
        loops: 0,
        largest: None,
        declared: scan.declared_vertices,
        checksum: scan.checksum,
        distinct_at_most: 0,
    };
    let mut sample = Sample::new(expected);
    for Numbered { inner: mut counter, .. } in counters {
        counter.finish()?;
        total.loops += counter.loops;
        total.largest = total.largest.max(counter.largest());
        sample.merge(counter.sample);
    }
    total.distinct_at_most = sample.distinct_at_most().min(total.edges - total.loops);
    let largest = total.largest.unwrap_or(0);
    if dictionary.is_some() || !sparse(largest, total.edges, wide) {
        let mut degrees = shared.array.into_inner().unwrap_or_else(PoisonError::into_inner);
        if total.largest.is_some() {
            degrees.grow(largest as usize + 1, "degrees of all vertices")?;
            degrees.shorten(largest as usize + 1);
        }
        total.degrees = degrees.into_plain();
    }
    Ok(total)
}

/// Bytes that the pass takes beside the degrees and reading: the bins of each thread, and the samples.
pub fn scratch_bytes(threads: usize) -> u64 {
    threads as u64 * (MAX_BINS * (BIN + 1) * 4) as u64 + (threads as u64 + 2) * Sample::BYTES
}

/// Bytes of the degrees of `ids` ids, at most: they grow by whole parts.
pub fn degrees_bytes(ids: u64) -> u64 {
    4 * ids.next_multiple_of(1 << MAX_SHIFT)
}

/// At the widest, 2^32 ids over bins of 2^18.
const MAX_BINS: usize = 1 << (32 - MAX_SHIFT);

/// The degree array, one lock for the part of each bin.
struct Degrees {
    array: RwLock<Buffer<AtomicU32>>,
    parts: Vec<Mutex<()>>,
    shift: u32,
    /// Ids from here on are not counted: they would make the array sparse.
    end: u64,
}

impl Degrees {
    fn new(budget: &Budget, expected_edges: u64, numbered: bool, wide: bool) -> Result<Self> {
        // A guess at the ids from the edges keeps about 256 bins busy, whose gathered ids stay in L2; wrong guesses
        // cost speed alone.
        let shift = (expected_edges / 16 / 256).max(1).ilog2().clamp(MIN_SHIFT, MAX_SHIFT);
        // An estimate of the edges may be a little off: what is sparse is decided by the true number afterwards.
        let dense = expected_edges.saturating_mul(9).max(if wide { 1024 } else { ALWAYS_DENSE }) + 1;
        Ok(Degrees {
            array: RwLock::new(budget.zeroed(0, "degrees")?),
            parts: (0..MAX_BINS).map(|_| Mutex::new(())).collect(),
            shift,
            end: if numbered { MAX_DENSE } else { dense.min(MAX_DENSE) },
        })
    }

    /// Counts ids that all lie in one part.
    fn count(&self, part: usize, ids: &[u32]) -> Result<()> {
        let Some(&largest) = ids.iter().max() else { return Ok(()) };
        loop {
            let array = self.array.read().unwrap_or_else(PoisonError::into_inner);
            if (largest as usize) < array.len() {
                let _part = lock(&self.parts[part % MAX_BINS]);
                for &id in ids {
                    // Plain loads and stores: the part's lock keeps other threads away.
                    let degree = &array[id as usize];
                    degree.store(degree.load(Ordering::Relaxed).saturating_add(1), Ordering::Relaxed);
                }
                return Ok(());
            }
            drop(array);
            let mut array = self.array.write().unwrap_or_else(PoisonError::into_inner);
            // Room to spare is not touched and saves moving; where the limit forbids it, just enough has to do.
            let purpose = "degrees of all vertices (4 bytes for each id up to the largest)";
            let enough = (part + 1) << self.shift;
            let ample = enough.next_power_of_two().max(1 << 20);
            array.grow(ample, purpose).or_else(|_| array.grow(enough, purpose))?;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One thread's bins.
struct Counter<'a> {
    shared: &'a Degrees,
    ids: Vec<u32>,
    filled: Vec<u32>,
    loops: u64,
    edges: u64,
    max: u64,
    sample: Sample,
}

impl<'a> Counter<'a> {
    fn new(shared: &'a Degrees, expected_edges: u64) -> Self {
        let sample = Sample::new(expected_edges);
        Counter { shared, ids: Vec::new(), filled: Vec::new(), loops: 0, edges: 0, max: 0, sample }
    }

    fn largest(&self) -> Option<u64> {
        (self.edges > 0).then_some(self.max)
    }

    #[inline]
    fn push(&mut self, id: u32) -> Result<()> {
        let bin = (id >> self.shared.shift) as usize;
        if bin >= self.filled.len() {
            self.filled.resize(bin + 1, 0);
            self.ids.resize((bin + 1) * BIN, 0);
        }
        let at = self.filled[bin] as usize;
        self.ids[bin * BIN + at] = id;
        self.filled[bin] = at as u32 + 1;
        if at + 1 == BIN {
            self.filled[bin] = 0;
            self.shared.count(bin, &self.ids[bin * BIN..(bin + 1) * BIN])?;
        }
        Ok(())
    }

    #[inline]
    fn edge(&mut self, u: u64, v: u64) -> Result<()> {
        self.max = self.max.max(u).max(v);
        if u == v {
            self.loops += 1;
        } else if u.max(v) < self.shared.end {
            self.push(u as u32)?;
            self.push(v as u32)?;
            self.sample.see(u, v);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        for bin in 0..self.filled.len() {
            let ids = &self.ids[bin * BIN..][..self.filled[bin] as usize];
            self.shared.count(bin, ids)?;
        }
        Ok(())
    }
}

impl Visitor for Counter<'_> {
    fn visit(&mut self, edges: Edges<'_>) -> Result<()> {
        match edges {
            Edges::Narrow(edges) => {
                self.edges += edges.len() as u64;
                edges.iter().try_for_each(|&[u, v]| self.edge(u.into(), v.into()))
            }
            Edges::Wide(edges) => {
                self.edges += edges.len() as u64;
                edges.iter().try_for_each(|&[u, v]| self.edge(u, v))
            }
        }
    }
}
