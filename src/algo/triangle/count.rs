//! The unit of work: all wedges of a partner block whose middle is a row of the front block.

use super::hubs::{HubBits, RowBits};
use super::probe::{Isa, Prober};
use super::tally::{Corners, Tally, Total};
use super::wedges::{Scratch, Tile};
use crate::graph::csr::Block;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Vertices in the hub corner. Its bits take 17 MB, which stays in a shared cache; twice as many take 68.
pub const HUBS: u32 = 1 << 14;

/// Entries of the partner in a tile: its rows (4 MB) and their grouped heads (8 MB) stay in a shared cache.
const TILE_ENTRIES: usize = 1 << 20;

/// How triangles are counted. None of it changes a count.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Threads to use. They come from rayon's current pool.
    pub threads: usize,
    /// Instructions to use, if the processor has them.
    pub isa: Isa,
    /// Ids below this are in the hub corner.
    pub hubs: u32,
    /// Entries of the partner in a tile.
    pub tile: usize,
}

impl Settings {
    /// The fastest for this processor.
    pub fn new(threads: usize) -> Settings {
        Settings { threads: threads.max(1), isa: Isa::detect(), hubs: HUBS, tile: TILE_ENTRIES }
    }
}

/// What a unit found. Depends on the graph alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PairCount {
    /// Triangles whose two larger corners are rows of the front and of the partner.
    pub triangles: u64,
    /// Wedges tested: entries of the partner before each entry that is a row of the front.
    ///
    /// A block has fewer than 2³² entries and a row fewer than 2³², so neither sum overflows.
    pub probes: u64,
}

/// Counts units, one after another, with all its threads on each.
#[derive(Debug)]
pub struct Counter {
    settings: Settings,
    prober: Prober,
    hubs: HubBits,
    workers: Vec<Worker>,
}

#[derive(Debug)]
struct Worker {
    bits: RowBits,
    scratch: Scratch,
}

impl Counter {
    /// Bytes that a counter allocates for blocks of at most `max_rows` rows, of at most `max_row` entries each.
    pub fn scratch_bytes(settings: &Settings, vertices: u64, max_row: u64, max_rows: u64) -> u64 {
        let hubs = hub_limit(settings, vertices);
        let entries = settings.tile as u64 + max_row;
        HubBits::bytes(hubs) + settings.threads as u64 * (RowBits::bytes(hubs) + Scratch::bytes(entries, max_rows))
    }

    /// A counter for blocks of at most `max_rows` rows, of at most `max_row` entries each.
    pub fn new(settings: Settings, vertices: u64, max_row: u64, max_rows: u64) -> Counter {
        let hubs = hub_limit(&settings, vertices);
        let settings = Settings { hubs, ..settings };
        let worker = || Worker {
            bits: RowBits::with_limit(hubs),
            scratch: Scratch::new(settings.tile + max_row as usize, max_rows as usize),
        };
        Counter {
            prober: Prober::new(settings.isa),
            hubs: HubBits::with_limit(hubs),
            workers: (0..settings.threads).map(|_| worker()).collect(),
            settings,
        }
    }

    /// Takes `front` in hand, for any number of partners.
    pub fn front<'c, 'f>(&'c mut self, front: Block<'f>) -> Front<'c, 'f> {
        self.hubs.set(front, self.settings.hubs);
        Front { counter: self, front }
    }
}

fn hub_limit(settings: &Settings, vertices: u64) -> u32 {
    u64::from(settings.hubs).min(vertices) as u32
}

/// A front block in hand: the middles of the wedges to come.
#[derive(Debug)]
pub struct Front<'c, 'f> {
    counter: &'c mut Counter,
    front: Block<'f>,
}

impl Front<'_, '_> {
    /// Counts the unit of this front and `partner`. `None` if `stop` said so, which it is asked every few milliseconds.
    pub fn pair(&mut self, partner: Block<'_>, stop: &(dyn Fn() -> bool + Sync)) -> Option<PairCount> {
        self.run(partner, stop, || Total)
    }

    /// The same, and adds each triangle to the counters of its three corners, which are indexed by id. After a `None`
    /// they hold some part of the unit.
    pub fn pair_per_vertex(
        &mut self,
        partner: Block<'_>,
        per_vertex: &[AtomicU64],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Option<PairCount> {
        let hubs = self.counter.settings.hubs;
        self.run(partner, stop, || Corners::new(per_vertex, hubs))
    }

    fn run<T: Tally>(
        &mut self,
        partner: Block<'_>,
        stop: &(dyn Fn() -> bool + Sync),
        tally: impl Fn() -> T + Sync,
    ) -> Option<PairCount> {
        let Counter { settings, prober, hubs, workers } = &mut *self.counter;
        let (prober, hubs, front) = (*prober, &*hubs, self.front);
        // Small units get small tiles, so that every thread has several.
        let entries = (partner.targets.len() / (16 * workers.len())).clamp(1, settings.tile);
        let (next, triangles, probes) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let stopped = AtomicBool::new(false);
        let (next, triangles, probes, stopped) = (&next, &triangles, &probes, &stopped);
        rayon::scope(|scope| {
            for worker in workers {
                let mut tally = tally();
                scope.spawn(move |_| {
                    let mut pace = Pace { work: 0, stop, stopped };
                    let mut sum = PairCount::default();
                    while let Some(tile) = next_tile(next, front, partner, entries) {
                        let Some(count) = worker.tile(tile, prober, hubs, &mut tally, &mut pace) else { break };
                        sum.triangles += count.triangles;
                        sum.probes += count.probes;
                    }
                    triangles.fetch_add(sum.triangles, Relaxed);
                    probes.fetch_add(sum.probes, Relaxed);
                });
            }
        });
        let count = PairCount { triangles: triangles.load(Relaxed), probes: probes.load(Relaxed) };
        (!stopped.load(Relaxed)).then_some(count)
    }
}

/// The next rows of `partner` with about `entries` entries in all: at most that many and one row.
fn next_tile<'a>(next: &AtomicUsize, front: Block<'a>, partner: Block<'a>, entries: usize) -> Option<Tile<'a>> {
    loop {
        let start = next.fetch_add(1, Relaxed).checked_mul(entries)?;
        if start >= partner.targets.len() {
            return None;
        }
        // A tile has the rows that start in its range of entries.
        let row_from = |entry: usize| partner.offsets.partition_point(|&offset| (offset as usize) < entry);
        let (first, end) = (row_from(start), row_from(start + entries).min(partner.rows()));
        if first < end {
            return Some(Tile { front, partner, first, end });
        }
    }
}

impl Worker {
    fn tile<T: Tally>(
        &mut self,
        tile: Tile<'_>,
        prober: Prober,
        hubs: &HubBits,
        tally: &mut T,
        pace: &mut Pace<'_>,
    ) -> Option<PairCount> {
        let mut count = PairCount::default();
        let (middles, corner) = (tile.front.first_row..tile.front.end_row(), hubs.rows());
        for local in tile.first..tile.end {
            let row = tile.partner.row(local);
            if row.len() < 2 {
                continue;
            }
            let [low, hub, high] = [middles.start, corner.end, middles.end].map(|id| position(row, id));
            count.probes += wedges(low, high);
            if !corner.is_empty() && low.max(1) < hub {
                self.bits.set(&row[..hub]);
                let c = tile.partner.first_row + local as u32;
                count.triangles += tally.hub_rows(prober, hubs, &self.bits, &row[low.max(1)..hub], c);
                pace.advance((hub - low) * self.bits.places.len() * 4)?;
            }
        }
        count.triangles += tile.count(corner.end, prober, &mut self.scratch, tally, pace)?;
        Some(count)
    }
}

/// Where `id` is or would be in `row`.
#[inline]
fn position(row: &[u32], id: u32) -> usize {
    match (row.first(), row.last()) {
        (Some(&first), _) if first >= id => 0,
        (_, Some(&last)) if last < id => row.len(),
        _ => row.partition_point(|&entry| entry < id),
    }
}

/// Wedges of a row whose middles are its entries `low .. high`.
fn wedges(low: usize, high: usize) -> u64 {
    let below = |n: u64| n * n.saturating_sub(1) / 2;
    below(high as u64) - below(low as u64)
}

/// Asks whether to stop, now and then: after some millions of steps, which take a few milliseconds.
pub struct Pace<'a> {
    work: usize,
    stop: &'a (dyn Fn() -> bool + Sync),
    stopped: &'a AtomicBool,
}

impl Pace<'_> {
    const STEPS: usize = 1 << 23;

    /// Counts `steps` steps. `None` if the work is to stop.
    #[inline]
    pub fn advance(&mut self, steps: usize) -> Option<()> {
        self.work += steps;
        if self.work >= Self::STEPS { self.ask() } else { Some(()) }
    }

    #[cold]
    fn ask(&mut self) -> Option<()> {
        self.work = 0;
        if (self.stop)() {
            self.stopped.store(true, Relaxed);
        }
        (!self.stopped.load(Relaxed)).then_some(())
    }
}
