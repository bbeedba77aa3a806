//! Units on the processor.

use super::count::{Counter, MAX_FRONTS, Settings};
use super::driver::{Backend, Found, Work, unit};
use crate::error::{Error, Result};
use crate::graph::catalogue::Catalogue;
use crate::memory::{Budget, Reservation};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::AtomicU64;

/// Counts with all threads the units of one partner after another.
pub struct Cpu<'a> {
    counter: Counter,
    pool: ThreadPool,
    per_vertex: Option<&'a [AtomicU64]>,
    stop: &'a (dyn Fn() -> Option<&'static str> + Sync),
    /// Bytes of fronts that may stay in memory: what is left of the budget, though mapped pages do not count.
    resident: u64,
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
        let settings = Settings::new(threads, graph.edges());
        let most = graph.extremes();
        let bytes = Counter::scratch_bytes(&settings, vertices, most.row);
        let scratch = budget.reserve(bytes, "counting triangles")?;
        let counter = Counter::new(settings, vertices, most.row);
        let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("count {i}")).build();
        let pool = pool.map_err(|e| Error::internal("start threads to count with", e))?;
        Ok(Cpu { counter, pool, per_vertex, stop, resident: budget.free(), _scratch: scratch })
    }
}

impl Backend for Cpu<'_> {
    fn fronts(&self, graph: &Catalogue, first: usize) -> usize {
        let bytes = (first..graph.len()).scan(0, |sum, block| {
            *sum += graph.block(block).bytes();
            Some(*sum)
        });
        bytes.take(MAX_FRONTS).take_while(|&bytes| bytes <= self.resident).count()
    }

    fn count(&mut self, work: &Work<'_>, found: Found<'_>) -> Result<()> {
        let Cpu { counter, pool, per_vertex, stop, .. } = self;
        let stopping = || stop().is_some();
        let blocks = work.fronts.clone().map(|front| work.graph.block(front).block());
        let mut fronts = pool.install(|| counter.fronts(blocks.collect()));
        for partner in work.fronts.start..work.graph.len() {
            let wanted: Vec<bool> = work.fronts.clone().map(|front| work.wants(front, partner)).collect();
            if !wanted.contains(&true) {
                continue;
            }
            let block = work.graph.block(partner);
            let counts = pool.install(|| match per_vertex {
                Some(per_vertex) => fronts.partner_per_vertex(block.block(), &wanted, per_vertex, &stopping),
                None => fronts.partner(block.block(), &wanted, &stopping),
            });
            // Its pages make room for the next.
            if !work.fronts.contains(&partner) {
                block.release();
            }
            let Some(counts) = counts else { return Err(Error::Stopped(stop().unwrap_or("a signal"))) };
            let counts = work.fronts.clone().zip(counts).zip(&wanted).filter(|&(_, &wanted)| wanted);
            let counts: Vec<_> = counts.map(|((front, count), _)| (unit(front, partner), count)).collect();
            found(&counts)?;
        }
        work.fronts.clone().for_each(|front| work.graph.block(front).release());
        Ok(())
    }
}
