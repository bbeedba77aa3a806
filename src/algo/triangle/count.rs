//! The unit of work: all wedges of a partner block whose middle is a row of the front block.

use super::groups::{Groups, Order, WINDOW_ROWS};
use super::hubs::{HubBits, RowBits};
use super::probe::{Isa, Marks, Prober};
use super::tally::{Corners, Tally, Total};
use super::wedges::{Tester, Tile, new_marks};
use crate::graph::csr::Block;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Vertices in the hub corner. Its bits take 17 MB, which stays in a shared cache; twice as many take 68.
pub const HUBS: u32 = 1 << 14;

/// Entries of the partner in a tile. Rows of the front are marked once a tile, which speaks for large ones; a tile's
/// rows (8 MB) and heads (at most 16 MB) are read in any order, so they should stay in a shared cache.
const TILE_ENTRIES: usize = 1 << 21;

/// Entries of the partner that a thread takes at a time in the hub corner.
const PART_ENTRIES: usize = 1 << 16;

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
    groups: Groups,
    workers: Vec<Worker>,
}

#[derive(Debug)]
struct Worker {
    bits: RowBits,
    marks: Box<Marks>,
}

impl Counter {
    /// Bytes that a counter allocates for blocks of at most `max_rows` rows, of at most `max_row` entries each.
    pub fn scratch_bytes(settings: &Settings, vertices: u64, max_row: u64, max_rows: u64) -> u64 {
        let hubs = hub_limit(settings, vertices);
        let entries = settings.tile as u64 + max_row;
        let worker = RowBits::bytes(hubs) + size_of::<Marks>() as u64;
        HubBits::bytes(hubs) + Groups::bytes(entries, max_rows, settings.threads) + settings.threads as u64 * worker
    }

    /// A counter for blocks of at most `max_rows` rows, of at most `max_row` entries each.
    pub fn new(settings: Settings, vertices: u64, max_row: u64, max_rows: u64) -> Counter {
        let hubs = hub_limit(&settings, vertices);
        let settings = Settings { hubs, ..settings };
        let worker = || Worker { bits: RowBits::with_limit(hubs), marks: new_marks() };
        Counter {
            prober: Prober::new(settings.isa),
            hubs: HubBits::with_limit(hubs),
            groups: Groups::new(settings.tile + max_row as usize, max_rows as usize, settings.threads),
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
    /// Counts the unit of this front and `partner`, as far as the partner's `rows` go, counted from its first. `None` if
    /// `stop` said so, which it is asked every few milliseconds.
    pub fn pair(
        &mut self,
        partner: Block<'_>,
        rows: Range<usize>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Option<PairCount> {
        self.run(partner, rows, stop, || Total)
    }

    /// The same, and adds each triangle to the counters of its three corners, which are indexed by id. After a `None`
    /// they hold some part of the unit.
    pub fn pair_per_vertex(
        &mut self,
        partner: Block<'_>,
        rows: Range<usize>,
        per_vertex: &[AtomicU64],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Option<PairCount> {
        let hubs = self.counter.settings.hubs;
        self.run(partner, rows, stop, || Corners::new(per_vertex, hubs))
    }

    fn run<T: Tally>(
        &mut self,
        partner: Block<'_>,
        rows: Range<usize>,
        stop: &(dyn Fn() -> bool + Sync),
        tally: impl Fn() -> T + Sync,
    ) -> Option<PairCount> {
        let Counter { settings, prober, hubs, groups, workers: workers_of } = &mut *self.counter;
        let (prober, hubs, front) = (*prober, &*hubs, self.front);
        let mut workers: Vec<(&mut Worker, T, Pace<'_>)> = Vec::with_capacity(settings.threads);
        let stopped = AtomicBool::new(false);
        workers
            .extend(workers_of.iter_mut().map(|worker| (worker, tally(), Pace { work: 0, stop, stopped: &stopped })));
        let entries = (partner.offsets[rows.end] - partner.offsets[rows.start]) as usize;
        let unit = Tile { front, partner, first: rows.start, end: rows.end };

        // Small units get small parts, so that every thread has several.
        let parts = (entries / PART_ENTRIES).max(16 * settings.threads);
        let next = AtomicUsize::new(0);
        let probes = AtomicU64::new(0);
        let mut triangles = each(&mut workers, |worker, tally, pace| {
            let mut closed = 0;
            loop {
                let part = next.fetch_add(1, Relaxed);
                if part >= parts {
                    return Some(closed);
                }
                let count = worker.corner(unit.part(part, parts), prober, hubs, tally, pace)?;
                closed += count.triangles;
                probes.fetch_add(count.probes, Relaxed);
            }
        })?;

        let tiles = entries.div_ceil(settings.tile).max(1);
        for tile in (0..tiles).map(|tile| unit.part(tile, tiles)) {
            let mut start = hubs.rows().end.max(front.first_row);
            while start < front.end_row() {
                let window = start..front.end_row().min(start.saturating_add(WINDOW_ROWS as u32));
                start = window.end;
                let order = tile.group(window.clone(), groups);
                let (groups, next) = (&*groups, AtomicUsize::new(0));
                triangles += match order {
                    Order::Empty => 0,
                    Order::Middle => each(&mut workers, |worker, tally, pace| {
                        tile.by_middle(window.clone(), groups, &next, worker.tester(prober, tally, pace))
                    })?,
                    Order::Row => each(&mut workers, |worker, tally, pace| {
                        tile.by_row(window.clone(), &next, worker.tester(prober, tally, pace))
                    })?,
                };
            }
        }
        Some(PairCount { triangles, probes: probes.into_inner() })
    }
}

/// Has every worker do `work`, and adds up what they found. `None` if any was stopped.
fn each<'p, T: Tally>(
    workers: &mut [(&mut Worker, T, Pace<'p>)],
    work: impl Fn(&mut Worker, &mut T, &mut Pace<'p>) -> Option<u64> + Sync,
) -> Option<u64> {
    let found = workers.par_iter_mut().with_max_len(1).map(|(worker, tally, pace)| work(worker, tally, pace));
    found.try_reduce(|| 0, |x, y| Some(x + y))
}

impl Worker {
    fn tester<'a, 'p, T>(&'a mut self, prober: Prober, tally: &'a mut T, pace: &'a mut Pace<'p>) -> Tester<'a, 'p, T> {
        Tester { prober, marks: &mut self.marks, tally, pace }
    }

    /// Counts the wedges of the tile whose middle is a hub, and how many wedges it has in all.
    fn corner<T: Tally>(
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
