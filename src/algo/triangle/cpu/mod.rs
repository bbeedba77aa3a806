//! Counts triangles on the CPU, unit by unit. A unit is a pair of blocks of rows: a front block, which stays in memory,
//! and a partner block, which is read meanwhile. For each wedge (path of two edges) of the unit, the CPU tests whether
//! an edge closes it into a triangle.
//!
//! | file | contents |
//! |---|---|
//! | `count` | counts a unit: all wedges of a pair of blocks |
//! | `tile` | ranges of rows of a partner block, and their entries |
//! | `wedges`, `groups` | wedges `a < b < c` grouped by `b`, so that row `b` is marked once |
//! | `probe` | the inner loops, for three instruction sets |
//! | `hubs` | the edges between hubs (the vertices of highest degree) as a bit matrix |
//! | `tally` | adds up triangles, in total or per vertex |
//! | `edges` | adds up triangles per edge |
//! | `links` | counts the directed edges between the neighbours of each vertex |
//! | `stop_poller` | checks from time to time whether to stop |

pub mod count;
pub mod edges;
pub mod groups;
pub mod hubs;
pub mod links;
pub mod probe;
mod stop_poller;
pub mod tally;
pub mod tile;
pub mod wedges;

use crate::algo::triangle::PairCount;
use crate::algo::triangle::cpu::count::{Counter, MAX_FRONTS, Settings};
use crate::algo::triangle::cpu::edges::{EdgeCounters, UnitCounters};
use crate::algo::triangle::cpu::links::LinkCounter;
use crate::algo::triangle::cpu::tile::Tile;
use crate::algo::triangle::units::{Backend, Part, ReportParts, Stop, Work};
use crate::error::{Error, Result};
use crate::graph::block_store::BlockStore;
use crate::memory::{Budget, Reservation};
use crate::process::threads::pool;
use rayon::ThreadPool;
use std::sync::atomic::AtomicU64;

/// Target number of work items per rank for each group of resident front blocks, if there are several ranks.
const ITEMS_PER_RANK: usize = 16;
/// Minimum number of row entries in a work item (a range of rows of a partner block). A larger minimum saves time,
/// because the rows of the front blocks are marked once per work item.
const LEAST_ITEM: usize = 1 << 20;

/// Counts triangles on CPUs. All threads work on one partner block after another.
pub struct Cpu<'a> {
    method: Method<'a>,
    pool: ThreadPool,
    stop: Stop<'a>,
    /// Maximum size of the resident front blocks in bytes. It is the free part of the memory budget: the blocks are
    /// mapped files, which do not count against the budget but should fit in memory.
    resident: u64,
    least_item: usize,
    _scratch: Reservation,
}

/// The quantity that is counted, with its counters.
enum Method<'a> {
    /// Triangles in total and, if counters are given, per vertex.
    Triangles(Counter, Option<&'a [AtomicU64]>),
    /// Triangles per edge.
    Edges(Counter, &'a EdgeCounters<'a>),
    /// Links per vertex of a directed graph: the directed edges between its neighbours.
    Links(LinkCounter, &'a [AtomicU64]),
}

/// Function that counts a tile (a range of rows of a partner block) with all wanted front blocks. Its arguments are the
/// index of the partner block, the tile, and for each front block whether it is wanted. It returns one count per front
/// block, or `None` if the count was cancelled.
type CountTile<'a> = Box<dyn FnMut(usize, Tile<'_>, &[bool]) -> Option<Vec<PairCount>> + Send + 'a>;

impl<'a> Cpu<'a> {
    /// Prepares to count the triangles of `graph`, which has `vertices` vertices. If `per_vertex` is given, triangles
    /// are also counted per vertex and added to it. `stop` is polled during counting: it must return the cause if
    /// counting must stop, or `None` to continue.
    ///
    /// # Errors
    /// [`Error::Limit`] if the scratch memory does not fit; [`Error::Addresses`] if no threads can be started.
    pub fn new(
        graph: &BlockStore,
        vertices: u64,
        threads: usize,
        budget: &Budget,
        per_vertex: Option<&'a [AtomicU64]>,
        stop: Stop<'a>,
    ) -> Result<Self> {
        let most = graph.extremes();
        let settings = Settings::within(threads, graph.edges(), vertices, most.row, budget.free());
        let bytes = Counter::scratch_bytes(&settings, vertices, most.row);
        let scratch = budget.reserve(bytes, "counting triangles")?;
        let method = Method::Triangles(Counter::new(settings, vertices, most.row), per_vertex);
        Self::with_method(method, scratch, threads, budget, stop)
    }

    /// Prepares to count the links of each vertex of a directed graph (the directed edges between its neighbours). They
    /// are added to `links`, indexed by vertex.
    ///
    /// # Errors
    /// Errors of [`Cpu::new`].
    pub fn of_links(
        graph: &BlockStore,
        threads: usize,
        budget: &Budget,
        links: &'a [AtomicU64],
        stop: Stop<'a>,
    ) -> Result<Self> {
        let most = graph.extremes();
        let settings = LinkCounter::settings(threads, graph.edges(), most.row, budget.free());
        let scratch = budget.reserve(LinkCounter::scratch_bytes(&settings, most.row), "counting links")?;
        Self::with_method(Method::Links(LinkCounter::new(settings, most.row), links), scratch, threads, budget, stop)
    }

    /// Prepares to count the triangles of each edge of `graph`, which has `vertices` vertices. They are added to
    /// `counters`.
    ///
    /// # Errors
    /// Errors of [`Cpu::new`].
    pub fn of_edges(
        graph: &BlockStore,
        vertices: u64,
        threads: usize,
        budget: &Budget,
        counters: &'a EdgeCounters<'a>,
        stop: Stop<'a>,
    ) -> Result<Self> {
        let most = graph.extremes();
        let (settings, bytes) = Cpu::edge_settings(threads, graph.edges(), vertices, most.row, budget.free());
        let scratch = budget.reserve(bytes, "counting triangles of edges")?;
        let method = Method::Edges(Counter::new(settings, vertices, most.row), counters);
        Self::with_method(method, scratch, threads, budget, stop)
    }

    /// Returns the settings for counting per edge with `free` bytes of memory, and the scratch memory in bytes that
    /// they take.
    pub fn edge_settings(threads: usize, entries: u64, vertices: u64, max_row: u64, free: u64) -> (Settings, u64) {
        let bytes = |settings: &Settings| {
            Counter::scratch_bytes(settings, vertices, max_row)
                + edges::scratch_bytes(settings, entries, vertices, max_row)
        };
        let settings = Settings::new(threads, entries).within_bytes(free, bytes);
        (settings, bytes(&settings))
    }

    fn with_method(
        method: Method<'a>,
        scratch: Reservation,
        threads: usize,
        budget: &Budget,
        stop: Stop<'a>,
    ) -> Result<Self> {
        let pool = pool("count", threads)?;
        Ok(Cpu { method, pool, stop, resident: budget.free(), least_item: LEAST_ITEM, _scratch: scratch })
    }

    /// Sets the minimum number of row entries in a work item.
    #[cfg(test)]
    pub(crate) fn with_least_item(self, entries: usize) -> Self {
        Cpu { least_item: entries, ..self }
    }

    /// Returns a mutable reference to the maximum size in bytes of the resident front blocks. Ranks that count together
    /// must set the same value.
    pub fn resident(&mut self) -> &mut u64 {
        &mut self.resident
    }
}

/// Returns the partner blocks that must be counted with the resident front blocks, and the number of parts into which
/// each is divided. A part is a work item: a range of rows. All parts of a block have about the same number of entries.
/// If there are few partner blocks, they are divided so that each rank gets many items.
fn items(work: &Work<'_>, least: usize) -> (Vec<usize>, usize) {
    let wanted_items = if work.work_source.ranks() == 1 { 1 } else { ITEMS_PER_RANK * work.work_source.ranks() };
    let partners = work.fronts.start..work.graph.len();
    let at_least = wanted_items.div_ceil(partners.len().max(1));
    let partners: Vec<_> = partners.filter(|&partner| work.wants_any(std::iter::once(partner))).collect();
    // All partner blocks have the same number of parts, so every rank can compute the block of a work item.
    let entries = partners.iter().map(|&partner| work.graph.block(partner).targets.len()).max();
    (partners, at_least.min(entries.unwrap_or(0).div_ceil(least).max(1)))
}

impl Backend for Cpu<'_> {
    fn fronts(&self, graph: &BlockStore, first: usize) -> usize {
        let bytes = (first..graph.len()).scan(0, |sum, block| {
            *sum += graph.bytes_of(block);
            Some(*sum)
        });
        bytes.take(MAX_FRONTS).take_while(|&bytes| bytes <= self.resident).count()
    }

    fn count(&mut self, work: &Work<'_>, found: ReportParts<'_>) -> Result<()> {
        let Cpu { method, pool, stop, least_item, .. } = self;
        let stopping = || stop().is_some();
        let rows = |block: usize| work.graph.block(block);
        let blocks: Vec<_> = work.fronts.clone().map(rows).collect();
        let mut count: CountTile<'_> = match method {
            Method::Triangles(counter, per_vertex) => {
                let mut fronts = pool.install(|| counter.fronts(blocks));
                Box::new(move |_, tile, wanted| fronts.partner(tile, wanted, *per_vertex, &stopping))
            }
            Method::Edges(counter, counters) => {
                let mut fronts = pool.install(|| counter.fronts(blocks));
                let of_fronts: Vec<_> = work.fronts.clone().map(|front| counters.of(front)).collect();
                Box::new(move |partner, tile, wanted| {
                    let counters = UnitCounters { fronts: &of_fronts, partner: counters.of(partner) };
                    fronts.partner_edges(tile, wanted, counters, &stopping)
                })
            }
            Method::Links(counter, links) => {
                Box::new(move |_, tile, wanted| counter.partner((work.graph, &blocks), tile, wanted, links, &stopping))
            }
        };
        let (partners, parts) = items(work, *least_item);
        let first_row = rows(work.fronts.start).first_row;
        loop {
            let item = work.next(first_row, 0, parts)?;
            let Some(&partner) = partners.get(item / parts) else { break };
            let part = item % parts;
            let wanted: Vec<bool> = work.fronts.clone().map(|front| work.wants(front, partner)).collect();
            let tile = Tile::whole(rows(partner)).part(part, parts);
            if tile.first == tile.end {
                continue;
            }
            let counts = pool.install(|| count(partner, tile, &wanted));
            // Release the pages of this partner block to make room for the next.
            if !work.fronts.contains(&partner) {
                work.graph.release(partner);
            }
            let Some(counts) = counts else { return Err(Error::Stopped(stop().unwrap_or("a signal"))) };
            let counts = work.fronts.clone().zip(counts).zip(&wanted).filter(|&(_, &wanted)| wanted);
            let part = |((front, count), _)| {
                let pairs = (rows(front).rows() * (tile.end - tile.first)) as u64;
                Part { front, partner, pairs, count }
            };
            found(&counts.map(part).collect::<Vec<_>>())?;
        }
        work.fronts.clone().for_each(|front| work.graph.release(front));
        Ok(())
    }
}
