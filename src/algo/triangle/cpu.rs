//! Units on the processor.

use super::count::{Counter, PairCount, Settings};
use super::driver::{Backend, Found, Part, Work};
use crate::error::{Error, Result};
use crate::graph::catalogue::Catalogue;
use crate::graph::csr::Block;
use crate::memory::{Budget, Reservation};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ops::Range;
use std::sync::atomic::AtomicU64;

/// Turns that each of several ranks should have with a front.
const TURNS: usize = 16;
/// Fewest entries of an item, unless a whole partner has less: a tile or so, for rows of the front are marked once for each.
const LEAST_ITEM: usize = 1 << 20;

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

/// Rows of a partner: one of `parts` of about as many entries.
struct Item {
    partner: usize,
    part: usize,
    parts: usize,
}

/// What passes a front. With several ranks each should get many turns: where there are few blocks, partners pass in parts.
fn items(work: &Work<'_>, front: usize) -> Vec<Item> {
    let parts = |partner: usize| {
        let most = work.graph.block(partner).block().targets.len().div_ceil(LEAST_ITEM);
        let turns = TURNS * (work.ranks() - 1).min(1) * work.ranks();
        turns.div_ceil(work.graph.len()).min(most).max(1)
    };
    let partners = (front..work.graph.len()).filter(|&partner| work.wants(front, partner));
    let items = |partner| {
        let parts = parts(partner);
        (0..parts).map(move |part| Item { partner, part, parts })
    };
    partners.flat_map(items).collect()
}

impl Item {
    /// Its rows, counted from the first of the block.
    fn rows(&self, block: Block<'_>) -> Range<usize> {
        let cut = |part: usize| match part {
            0 => 0,
            part if part == self.parts => block.rows(),
            part => {
                let entry = (block.targets.len() as u64 * part as u64 / self.parts as u64) as u32;
                block.offsets.partition_point(|&offset| offset < entry)
            }
        };
        cut(self.part)..cut(self.part + 1)
    }
}

impl Backend for Cpu<'_> {
    fn fronts(&self, _: &Catalogue, _: usize) -> usize {
        1
    }

    fn count(&mut self, work: &Work<'_>, found: Found<'_>) -> Result<()> {
        let Cpu { counter, pool, per_vertex, stop, .. } = self;
        let stopping = || stop().is_some();
        for at in work.fronts.clone() {
            let items = items(work, at);
            let front_block = work.graph.block(at).block();
            let mut front = pool.install(|| counter.front(front_block));
            while let Some(item) = items.get(work.next(front_block.first_row, 0)?) {
                let block = work.graph.block(item.partner);
                let rows = item.rows(block.block());
                let pairs = (front_block.rows() * rows.len()) as u64;
                let count: Option<PairCount> = pool.install(|| match per_vertex {
                    Some(counts) => front.pair_per_vertex(block.block(), rows, counts, &stopping),
                    None => front.pair(block.block(), rows, &stopping),
                });
                // Its pages make room for the next.
                if item.partner != at {
                    block.release();
                }
                match (count, stop()) {
                    (Some(count), _) => found(&[Part { front: at, partner: item.partner, pairs, count }])?,
                    (None, reason) => return Err(Error::Stopped(reason.unwrap_or("a signal"))),
                }
            }
            work.graph.block(at).release();
        }
        Ok(())
    }
}
