//! Counts triangles on the CPU, in units. A unit is a pair of blocks; its wedges (paths of two edges) are tested for
//! the edge that closes them.
//!
//! | file | contents |
//! |---|---|
//! | `count` | the count of a unit: all wedges of a pair of blocks |
//! | `tile` | parts of a partner block, and their entries |
//! | `wedges`, `groups` | wedges grouped by their middle vertex, so that its row is marked once |
//! | `probe` | the inner loops, for three kinds of CPU |
//! | `hubs` | the edges between hubs as a matrix of bits |
//! | `tally` | the sums: a total, or counts per vertex |
//! | `pace` | asks from time to time whether to stop |

pub mod count;
pub mod groups;
pub mod hubs;
mod pace;
pub mod probe;
pub mod tally;
pub mod tile;
pub mod wedges;

use crate::algo::triangle::cpu::count::{Counter, MAX_FRONTS, Settings};
use crate::algo::triangle::cpu::tile::Tile;
use crate::algo::triangle::units::{Backend, FoundParts, Part, Stop, Work};
use crate::error::{Error, Result};
use crate::graph::catalogue::Catalogue;
use crate::memory::{Budget, Reservation};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::AtomicU64;

/// Number of work items that each of several ranks should get while the partners stream past a group of fronts.
const TURNS: usize = 16;
/// Minimum number of entries in a part of a partner. The rows of fronts are marked once for each part.
const LEAST_ITEM: usize = 1 << 20;

/// The backend that counts triangles on the CPU. All threads count the units of one partner after another.
pub struct Cpu<'a> {
    counter: Counter,
    pool: ThreadPool,
    per_vertex: Option<&'a [AtomicU64]>,
    stop: Stop<'a>,
    /// Maximum bytes of resident fronts: the free bytes of the budget, although mapped pages do not count against it.
    resident: u64,
    least_item: usize,
    _scratch: Reservation,
}

impl<'a> Cpu<'a> {
    /// Prepares to count the blocks of `graph`, which has `vertices` vertices. Counts per vertex are added to
    /// `per_vertex`, if given. `stop` returns the signal that ends the counting.
    ///
    /// # Errors
    /// [`Error::Limit`] if the scratch memory does not fit; [`Error::Internal`] if no threads can be started.
    pub fn new(
        graph: &Catalogue,
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
        let counter = Counter::new(settings, vertices, most.row);
        let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("count {i}")).build();
        let pool = pool.map_err(|e| Error::internal("start threads to count with", e))?;
        Ok(Cpu { counter, pool, per_vertex, stop, resident: budget.free(), least_item: LEAST_ITEM, _scratch: scratch })
    }

    /// Changes the minimum size of parts of partners to `entries` entries.
    #[cfg(test)]
    pub(crate) fn with_least_item(self, entries: usize) -> Self {
        Cpu { least_item: entries, ..self }
    }

    /// Returns the maximum bytes of resident fronts for writing, because ranks that count together need the same value.
    pub fn resident(&mut self) -> &mut u64 {
        &mut self.resident
    }
}

/// Returns the partners that pass the fronts, and the number of parts with about the same number of entries into which
/// each partner is divided. With several ranks, each rank should get many turns. So partners are divided if there are
/// few blocks.
fn items(work: &Work<'_>, least: usize) -> (Vec<usize>, usize) {
    let turns = if work.turns.ranks() == 1 { 1 } else { TURNS * work.turns.ranks() };
    let partners = work.fronts.start..work.graph.len();
    let at_least = turns.div_ceil(partners.len().max(1));
    let partners: Vec<_> = partners.filter(|&partner| work.wants_any(std::iter::once(partner))).collect();
    // All partners have the same number of parts, so that ranks know where a partner ends.
    let entries = partners.iter().map(|&partner| work.graph.block(partner).targets.len()).max();
    (partners, at_least.min(entries.unwrap_or(0).div_ceil(least).max(1)))
}

impl Backend for Cpu<'_> {
    fn fronts(&self, graph: &Catalogue, first: usize) -> usize {
        let bytes = (first..graph.len()).scan(0, |sum, block| {
            *sum += graph.bytes_of(block);
            Some(*sum)
        });
        bytes.take(MAX_FRONTS).take_while(|&bytes| bytes <= self.resident).count()
    }

    fn count(&mut self, work: &Work<'_>, found: FoundParts<'_>) -> Result<()> {
        let Cpu { counter, pool, per_vertex, stop, least_item, .. } = self;
        let stopping = || stop().is_some();
        let rows = |block: usize| work.graph.block(block);
        let mut fronts = pool.install(|| counter.fronts(work.fronts.clone().map(rows).collect()));
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
            let counts = pool.install(|| fronts.partner(tile, &wanted, *per_vertex, &stopping));
            // Release the pages of the partner to make room for the next.
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
