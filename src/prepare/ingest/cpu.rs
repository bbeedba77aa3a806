//! Counts degrees on the CPU, in the threads that read the input.
//!
//! Each thread counts in its own array with one byte for each id. So random increments touch a quarter of the memory of
//! 32-bit counters, and need no synchronization. A byte that overflows carries 256 to a shared 32-bit counter, which
//! happens only for hubs. (A tested alternative is to sort edge ends into bins by id, and to count each bin in cache.
//! It moved as many cache lines as it saved, and took 12 ns per edge end; this method takes 5 ns.)

use super::{Counted, DegreeCounting, GRANULE, PURPOSE};
use crate::error::Result;
use crate::formats::{Edges, Visitor};
use crate::memory::{Budget, Buffer, Plain, prefetch};
use crate::process::threads::on_threads;
use parking_lot::RwLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Degree counters of all threads on the CPU.
pub(super) struct CpuCounters<'a> {
    shared: &'a SharedDegrees<'a>,
    expected: u64,
    counters: Vec<ThreadCounter<'a>>,
}

impl<'a> CpuCounters<'a> {
    pub(super) fn new(shared: &'a SharedDegrees<'a>, expected: u64, threads: usize) -> Result<Self> {
        let counters = (0..threads).map(|_| ThreadCounter::new(shared, expected)).collect::<Result<_>>()?;
        Ok(CpuCounters { shared, expected, counters })
    }
}

impl DegreeCounting for CpuCounters<'_> {
    fn visitors(&mut self) -> Vec<&mut dyn Visitor> {
        self.counters.iter_mut().map(|counter| counter as &mut dyn Visitor).collect()
    }

    fn finish(&mut self) -> Result<Counted> {
        let mut all = Counted::none(self.expected);
        for ThreadCounter { edges, max, found, .. } in &mut self.counters {
            found.largest = (*edges > 0).then_some(*max);
            all.merge(std::mem::replace(found, Counted::none(self.expected)));
        }
        Ok(all)
    }

    fn degrees(&mut self, largest: u32) -> Result<Buffer<u32>> {
        self.shared.sum(&self.counters, largest)
    }
}

/// Degree counters that all threads share, and the range of ids that are counted.
pub(super) struct SharedDegrees<'b> {
    budget: &'b Budget,
    array: RwLock<Buffer<AtomicU32>>,
    /// Exclusive upper bound on the ids that are counted.
    end: u64,
}

impl<'b> SharedDegrees<'b> {
    pub(super) fn new(budget: &'b Budget, end: u64, largest: Option<u32>) -> Result<Self> {
        let array = budget.zeroed(largest.map_or(0, |id| id as usize + 1), PURPOSE)?;
        Ok(SharedDegrees { budget, array: RwLock::new(array), end })
    }

    /// Adds `more` to the shared degree of `id`. Returns false if there is no memory for this counter.
    fn add(&self, id: u32, more: u32) -> bool {
        loop {
            let array = self.array.read();
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

    /// Grows the shared array, if necessary, so that it has an element for `id`. Returns false if there is no memory
    /// for that.
    fn reach(&self, id: u32) -> bool {
        let mut array = self.array.write();
        array.len() > id as usize || grow(&mut array, id, PURPOSE).is_ok()
    }

    /// Returns the degrees of ids up to `largest`, summed over all threads.
    fn sum(&self, counters: &[ThreadCounter<'_>], largest: u32) -> Result<Buffer<u32>> {
        let empty = self.budget.zeroed(0, "degrees")?;
        let mut array = std::mem::replace(&mut *self.array.write(), empty);
        let len = largest as usize + 1;
        array.grow(len, PURPOSE)?;
        array.shorten(len);
        let mut array = array.into_plain();
        let chunk = len.div_ceil(counters.len().max(1));
        on_threads(array.chunks_mut(chunk).enumerate(), |(i, part)| {
            for bytes in counters.iter().filter_map(|counter| counter.bytes.get(i * chunk..)) {
                for (degree, &byte) in part.iter_mut().zip(bytes) {
                    *degree = degree.saturating_add(u32::from(byte));
                }
            }
            Ok(())
        })?;
        Ok(array)
    }
}

/// Grows the array so that it has an element for `id`. Adds spare capacity if the memory limit allows it, so that the
/// array is rarely moved. Unused capacity costs no memory.
fn grow<T: Plain>(array: &mut Buffer<T>, id: u32, purpose: &str) -> Result<()> {
    let enough = (id as usize + 1).next_multiple_of(GRANULE as usize);
    let ample = enough.next_power_of_two().max(1 << 20);
    array.grow(ample, purpose).or_else(|_| array.grow(enough, purpose))
}

/// Degree counters of one thread, one byte for each id.
struct ThreadCounter<'a> {
    shared: &'a SharedDegrees<'a>,
    bytes: Buffer<u8>,
    /// Whether `bytes` may still grow. After memory has run out, the thread counts in the shared degrees, which is
    /// slower.
    grows: bool,
    edges: u64,
    /// Largest id so far. It is copied to `found` at the end.
    max: u64,
    /// Results of the thread. After the first edge that could not be counted, later edges are not counted either.
    found: Counted,
}

impl<'a> ThreadCounter<'a> {
    fn new(shared: &'a SharedDegrees<'a>, expected_edges: u64) -> Result<Self> {
        let bytes = shared.budget.zeroed(0, "counting degrees")?;
        Ok(ThreadCounter { shared, bytes, grows: true, edges: 0, max: 0, found: Counted::none(expected_edges) })
    }

    #[inline]
    fn count(&mut self, id: u32) {
        match self.bytes.get_mut(id as usize) {
            Some(byte) => {
                *byte = byte.wrapping_add(1);
                if *byte == 0 {
                    self.found.missed |= !self.shared.add(id, 256);
                }
            }
            None => self.count_beyond(id),
        }
    }

    /// Counts an id for which the thread has no counter yet. Grows the shared degrees first: if memory suffices only
    /// for these, all threads can count there.
    #[cold]
    fn count_beyond(&mut self, id: u32) {
        let reached = self.shared.reach(id);
        self.grows = self.grows && reached && grow(&mut self.bytes, id, "counting degrees").is_ok();
        if self.grows {
            self.count(id);
        } else {
            self.found.missed |= !self.shared.add(id, 1);
        }
    }

    #[inline]
    fn edge(&mut self, u: u64, v: u64) {
        self.max = self.max.max(u).max(v);
        if u == v {
            self.found.loops += 1;
            self.found.first_loop = self.found.first_loop.min(u);
        } else if u.max(v) >= self.shared.end {
            self.found.missed = true;
        } else if !self.found.missed {
            self.count(u as u32);
            self.count(v as u32);
            self.found.sample.insert(u, v);
        }
    }

    /// Counts edges. It prefetches the counters of later edges, because their addresses are random.
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

impl Visitor for ThreadCounter<'_> {
    fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
        match edges {
            Edges::Narrow(edges) => self.edges(edges),
            Edges::Wide(edges) => self.edges(edges),
        }
        Ok(())
    }
}
