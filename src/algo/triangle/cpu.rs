//! Units on the processor.

use super::count::{Counter, PairCount, Settings};
use super::driver::{Backend, Found};
use crate::error::{Error, Result};
use crate::graph::catalogue::Catalogue;
use crate::graph::csr::Block;
use crate::memory::{Budget, Reservation};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::AtomicU64;

/// Counts with all threads on one unit after another.
pub struct Cpu<'a> {
    counter: Counter,
    pool: ThreadPool,
    per_vertex: Option<&'a [AtomicU64]>,
    stop: &'a (dyn Fn() -> Option<&'static str> + Sync),
    _scratch: Reservation,
}

impl<'a> Cpu<'a> {
    /// For the blocks of `graph`, which has `vertices` vertices. Counts of vertices are added to `per_vertex`, if they
    /// are asked for; `stop` names the signal that ends the counting.
    ///
    /// # Errors
    /// [`Error::Limit`] where the scratch memory does not fit, [`Error::Io`] where no threads are to be had.
    pub fn new(
        graph: &Catalogue,
        vertices: u64,
        threads: usize,
        budget: &Budget,
        per_vertex: Option<&'a [AtomicU64]>,
        stop: &'a (dyn Fn() -> Option<&'static str> + Sync),
    ) -> Result<Self> {
        let settings = Settings::new(threads);
        let most = graph.extremes();
        let bytes = Counter::scratch_bytes(&settings, vertices, most.row, most.rows);
        let scratch = budget.reserve(bytes, "counting triangles")?;
        let counter = Counter::new(settings, vertices, most.row, most.rows);
        let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("count {i}")).build();
        let pool = pool.map_err(|e| Error::internal("start threads to count with", e))?;
        Ok(Cpu { counter, pool, per_vertex, stop, _scratch: scratch })
    }
}

impl Backend for Cpu<'_> {
    fn count(&mut self, front: Block<'_>, partners: &[(u64, Block<'_>)], found: Found<'_>) -> Result<()> {
        let Cpu { counter, pool, per_vertex, stop, .. } = self;
        let stopping = || stop().is_some();
        let mut front = pool.install(|| counter.front(front));
        for &(unit, partner) in partners {
            let count: Option<PairCount> = pool.install(|| match per_vertex {
                Some(counts) => front.pair_per_vertex(partner, counts, &stopping),
                None => front.pair(partner, &stopping),
            });
            match (count, stop()) {
                (Some(count), _) => found(unit, count)?,
                (None, reason) => return Err(Error::Stopped(reason.unwrap_or("a signal"))),
            }
        }
        Ok(())
    }
}
