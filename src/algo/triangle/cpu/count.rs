//! Counts triangles `a < b < c` on the CPU, unit by unit. A unit is a pair of blocks: the front block contains the
//! rows of the corners `b`, and the partner block the rows of the corners `c`. Each pair of entries `a`, `b` of a row
//! `c` is a wedge. It is a triangle if there is an edge between `a` and `b`.

use crate::algo::triangle::cpu::edges::{Edges, UnitCounters};
use crate::algo::triangle::cpu::groups::{EntrySorter, Groups};
use crate::algo::triangle::cpu::hubs::{HubBits, RowBits};
use crate::algo::triangle::cpu::probe::{Isa, Marks, Prober};
use crate::algo::triangle::cpu::stop_poller::StopPoller;
use crate::algo::triangle::cpu::tally::{Corners, HubEntries, Tally, Total};
use crate::algo::triangle::cpu::tile::{Tile, position};
use crate::algo::triangle::cpu::wedges::{Tester, new_marks};
use crate::algo::triangle::units::PairCount;
use crate::graph::csr::Block;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Number of hubs (the vertices of highest degree). The bit matrix of the edges between hubs takes 17 MB and stays in a
/// shared cache. For twice as many hubs it would take 68 MB.
pub const HUBS: u32 = 1 << 14;

/// Number of row entries in a tile (a range of rows that is counted at a time), unless the graph is large. Counting
/// reads the beginnings of a tile's rows, at most 16 MB, in random order, so they should stay in a shared cache.
const TILE_ENTRIES: u64 = 1 << 21;
/// Number of tiles (ranges of rows that are counted at a time) of a large graph, unless a tile would exceed
/// [`MAX_TILE_ENTRIES`]. Each tile fetches the rows of the front blocks once, so smaller tiles fetch them more often.
const TILES: u64 = 1 << 9;
/// Maximum number of row entries in a tile. It equals the largest target size of a block in entries.
const MAX_TILE_ENTRIES: u64 = 1 << 24;

/// Lower bounds that apply if memory is scarce: two on the number of entries in a tile, and one on the number of hubs.
/// First the tiles shrink to their first bound, then the number of hubs to its bound, then the tiles to their second
/// bound.
const LEAST_TILES: [usize; 2] = [1 << 18, 1 << 15];
const LEAST_HUBS: u32 = 1 << 11;

/// Number of row entries that a thread takes at a time when wedges are tested row by row.
const PART_ENTRIES: usize = 1 << 16;

/// Largest mean number of wedges (pairs of entries of a row) per entry of a partner block for which the rows are
/// searched one after another. With so few wedges, building hub bits and groups of entries takes more time than it
/// saves.
const FEW_WEDGES: u64 = 2;

/// Settings of triangle counting on the CPU. They affect its speed and memory, not its result.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Number of threads, which come from rayon's current pool.
    pub threads: usize,
    /// Instruction set to use, if the CPU has it.
    pub isa: Isa,
    /// Number of hubs: vertices with ids below this number.
    pub hubs: u32,
    /// Number of row entries in a tile (a range of rows of a partner block, which are counted at a time).
    pub tile: usize,
}

impl Settings {
    /// Returns the fastest settings for this CPU and a graph of `entries` row entries.
    pub fn new(threads: usize, entries: u64) -> Settings {
        let tile = (entries / TILES).clamp(TILE_ENTRIES, MAX_TILE_ENTRIES).min(entries.max(1)) as usize;
        Settings { threads: threads.max(1), isa: Isa::detect(), hubs: HUBS, tile }
    }

    /// Returns the fastest settings whose scratch memory takes at most half of `free` bytes. The other half is for the
    /// rows of front blocks, which stay in memory while partner blocks are read. `max_row` is the length of the longest
    /// row. If no settings fit, returns those that need the least memory.
    pub fn within(threads: usize, entries: u64, vertices: u64, max_row: u64, free: u64) -> Settings {
        Settings::new(threads, entries)
            .within_bytes(free, |settings| Counter::scratch_bytes(settings, vertices, max_row))
    }

    /// Returns the fastest settings that are no larger than these and whose scratch memory takes at most half of `free`
    /// bytes. `bytes` computes the scratch memory of settings, in bytes.
    pub(super) fn within_bytes(self, free: u64, bytes: impl Fn(&Settings) -> u64) -> Settings {
        let mut settings = self;
        while bytes(&settings) > free / 2 {
            // Above these sizes, memory for hub bits saves more time than memory for larger tiles.
            match settings {
                Settings { tile, .. } if tile > LEAST_TILES[0] => settings.tile = (tile / 2).max(LEAST_TILES[0]),
                Settings { hubs, .. } if hubs > LEAST_HUBS => settings.hubs = (hubs / 2).max(LEAST_HUBS),
                Settings { tile, .. } if tile > LEAST_TILES[1] => settings.tile = (tile / 2).max(LEAST_TILES[1]),
                _ => break,
            }
        }
        settings
    }

    /// Returns the number of row entries that a thread sorts at a time.
    pub(super) fn sorted(&self) -> usize {
        self.tile.clamp(1, SORTED)
    }
}

/// Maximum number of front blocks that are resident at a time. Each thread stores one count per front block.
pub const MAX_FRONTS: usize = 1 << 10;

/// Maximum number of row entries that a thread sorts at a time.
const SORTED: usize = 1 << 15;

/// Counts the triangles of a graph on the CPU, one partner block after another. All threads work on the same partner
/// block.
#[derive(Debug)]
pub struct Counter {
    settings: Settings,
    prober: Prober,
    hubs: HubBits,
    groups: Groups,
    workers: Vec<CountWorker>,
    max_row: usize,
}

#[derive(Debug)]
struct CountWorker {
    bits: RowBits,
    marks: Box<Marks>,
    sorter: EntrySorter,
    /// Numbers of triangles found and of wedges tested so far, for each front block.
    counts: Vec<PairCount>,
}

impl Counter {
    /// Returns the scratch memory in bytes for counting with rows of at most `max_row` entries.
    pub fn scratch_bytes(settings: &Settings, vertices: u64, max_row: u64) -> u64 {
        let hubs = hub_limit(settings, vertices);
        let entries = settings.tile as u64 + max_row;
        let counts = (MAX_FRONTS * size_of::<PairCount>()) as u64;
        let worker = RowBits::bytes(hubs) + size_of::<Marks>() as u64 + EntrySorter::bytes(settings.sorted()) + counts;
        HubBits::bytes(hubs) + Groups::bytes(entries, settings.threads) + settings.threads as u64 * worker
    }

    /// Creates a counter for a graph whose rows have at most `max_row` entries.
    pub fn new(settings: Settings, vertices: u64, max_row: u64) -> Counter {
        let hubs = hub_limit(&settings, vertices);
        let settings = Settings { hubs, ..settings };
        let worker = || CountWorker {
            bits: RowBits::with_limit(hubs),
            marks: new_marks(),
            sorter: EntrySorter::new(settings.sorted()),
            counts: Vec::with_capacity(MAX_FRONTS),
        };
        Counter {
            prober: Prober::new(settings.isa),
            hubs: HubBits::with_limit(hubs),
            groups: Groups::new(settings.tile + max_row as usize, settings.threads),
            workers: (0..settings.threads).map(|_| worker()).collect(),
            max_row: max_row as usize,
            settings,
        }
    }

    /// Makes consecutive front blocks resident, at most [`MAX_FRONTS`]. Any number of partner blocks can then be
    /// counted with them.
    pub fn fronts<'c, 'f>(&'c mut self, fronts: Vec<Block<'f>>) -> Fronts<'c, 'f> {
        Fronts { counter: self, fronts, has_hubs: false }
    }
}

fn hub_limit(settings: &Settings, vertices: u64) -> u32 {
    u64::from(settings.hubs).min(vertices) as u32
}

/// Resident front blocks. A triangle `a < b < c` is counted with the front block that contains row `b`.
#[derive(Debug)]
pub struct Fronts<'c, 'f> {
    counter: &'c mut Counter,
    fronts: Vec<Block<'f>>,
    /// Whether the counter's bit matrix contains the hubs of these blocks.
    has_hubs: bool,
}

impl Fronts<'_, '_> {
    /// Counts the triangles that the rows in `partner` form with each front block that is `wanted`. Returns one count
    /// per front block, which is zero if the block is not wanted. If `per_vertex` is given, each triangle is added to
    /// the counters of its three corners, which are indexed by vertex id. `stop` is called every few milliseconds. If
    /// it returns true, the result is `None`, and the counters include only some of the triangles.
    pub fn partner(
        &mut self,
        partner: Tile<'_>,
        wanted: &[bool],
        per_vertex: Option<&[AtomicU64]>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Option<Vec<PairCount>> {
        let hubs = self.counter.settings.hubs;
        match per_vertex {
            Some(per_vertex) => self.run(partner, wanted, stop, |_| Corners::new(per_vertex, hubs)),
            None => self.run(partner, wanted, stop, |_| Total),
        }
    }

    /// Like [`Self::partner`], but adds each triangle to the counters of its three edges. Edges without a counter are
    /// skipped.
    pub fn partner_edges(
        &mut self,
        partner: Tile<'_>,
        wanted: &[bool],
        counters: UnitCounters<'_>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Option<Vec<PairCount>> {
        let (hubs, max_row) = (self.counter.settings.hubs, self.counter.max_row);
        self.run(partner, wanted, stop, |fronts| Edges::new(fronts, counters, hubs, max_row))
    }

    /// Fills the bit matrix of hubs from the front blocks, unless that is done already. If `places` is true, also
    /// counts the bits before each word of a row, from which the index of a hub in its row is computed.
    fn set_hubs(&mut self, places: bool) {
        let Counter { settings, hubs, .. } = &mut *self.counter;
        if !std::mem::replace(&mut self.has_hubs, true) {
            hubs.set(&self.fronts, settings.hubs);
        }
        if places {
            hubs.count_places();
        }
    }

    fn run<'s, T: Tally>(
        &'s mut self,
        partner: Tile<'_>,
        wanted: &[bool],
        stop: &(dyn Fn() -> bool + Sync),
        tally: impl Fn(&'s [Block<'s>]) -> T + Sync,
    ) -> Option<Vec<PairCount>> {
        let row_by_row = partner.wedges() <= FEW_WEDGES * partner.entries() as u64;
        if !row_by_row {
            self.set_hubs(T::PLACES);
        }
        let Counter { settings, prober, hubs, groups, workers: workers_of, .. } = &mut *self.counter;
        let (prober, hubs, fronts) = (*prober, &*hubs, self.fronts.as_slice());
        let stopped = AtomicBool::new(false);
        let mut workers: Vec<(&mut CountWorker, T, StopPoller<'_>)> = Vec::with_capacity(settings.threads);
        for worker in workers_of {
            worker.counts.clear();
            worker.counts.resize(fronts.len(), PairCount::default());
            workers.push((worker, tally(fronts), StopPoller::new(stop, &stopped)));
        }
        let (whole, partner) = (partner, partner.partner);
        // Small partner blocks are divided into small ranges of rows, so that every thread gets several.
        let parts = (whole.entries() / PART_ENTRIES).max(16 * settings.threads);

        if row_by_row {
            each(&mut workers, parts, |part, worker, tally, poller| {
                let CountWorker { marks, counts, .. } = worker;
                let mut tester = Tester { prober, fronts, partner, marks, tally, counts, poller };
                tester.test_rows(whole.part(part, parts), wanted)
            })?;
        } else if !hubs.rows().is_empty() {
            each(&mut workers, parts, |part, worker, tally, poller| {
                worker.corner(whole.part(part, parts), fronts, wanted, prober, hubs, tally, poller)
            })?;
        }

        let ids = middles(fronts, wanted, hubs.rows().end..partner.end_row());
        let tiles = if row_by_row || ids.is_empty() { 0 } else { whole.entries().div_ceil(settings.tile) };
        for tile in (0..tiles).map(|tile| whole.part(tile, tiles)) {
            groups.fill(tile, &ids);
            let groups = &*groups;
            each(&mut workers, groups.buckets(), |bucket, worker, tally, poller| {
                let CountWorker { sorter, marks, counts, .. } = worker;
                let mut tester = Tester { prober, fronts, partner, marks, tally, counts, poller };
                sorter.sorted(groups.bucket(bucket), |entries| tester.test(entries))
            })?;
        }
        let mut counts = vec![PairCount::default(); fronts.len()];
        for (worker, ..) in &workers {
            counts.iter_mut().zip(&worker.counts).for_each(|(sum, &count)| *sum += count);
        }
        Some(counts)
    }
}

/// Returns the ids in `all` whose rows are in `wanted` front blocks, as ascending ranges.
pub(super) fn middles(fronts: &[Block<'_>], wanted: &[bool], all: Range<u32>) -> Vec<Range<u32>> {
    let mut ids: Vec<Range<u32>> = Vec::new();
    for (front, _) in fronts.iter().zip(wanted).filter(|&(_, &wanted)| wanted) {
        let (start, end) = (front.first_row.max(all.start), front.end_row().min(all.end));
        match ids.last_mut() {
            _ if start >= end => {}
            Some(last) if last.end == start => last.end = end,
            _ => ids.push(start..end),
        }
    }
    ids
}

/// Distributes the items `0..items` among the workers, and calls `work` with each. Returns `None` if any worker was
/// stopped.
fn each<'p, T: Tally>(
    workers: &mut [(&mut CountWorker, T, StopPoller<'p>)],
    items: usize,
    work: impl Fn(usize, &mut CountWorker, &mut T, &mut StopPoller<'p>) -> Option<()> + Sync,
) -> Option<()> {
    let next = AtomicUsize::new(0);
    workers.par_iter_mut().with_max_len(1).try_for_each(|(worker, tally, poller)| {
        loop {
            match next.fetch_add(1, Relaxed) {
                item if item < items => work(item, worker, tally, poller)?,
                _ => return Some(()),
            }
        }
    })
}

impl CountWorker {
    /// Counts the triangles `a < b < c` of the rows `c` in `tile` whose corner `b` is a hub, and the wedges tested for
    /// them.
    #[allow(clippy::too_many_arguments)]
    fn corner<T: Tally>(
        &mut self,
        tile: Tile<'_>,
        fronts: &[Block<'_>],
        wanted: &[bool],
        prober: Prober,
        hubs: &HubBits,
        tally: &mut T,
        poller: &mut StopPoller<'_>,
    ) -> Option<()> {
        for local in tile.first..tile.end {
            let (row, start) = (tile.partner.row(local), tile.partner.entries(local).start);
            let [low, end] = [hubs.rows().start, hubs.rows().end].map(|id| position(row, id));
            if low.max(1) >= end {
                continue;
            }
            let c = tile.partner.first_row + local as u32;
            self.bits.set(&row[..end]);
            let (mut low, mut at) = (low.max(1), 0);
            while low < end {
                while fronts[at].end_row() <= row[low] {
                    at += 1;
                }
                let high = low + position(&row[low..end], fronts[at].end_row());
                if wanted[at] {
                    let entries = HubEntries { c, middles: &row[low..high], front: at, start: start + low };
                    let triangles = tally.hub_rows(prober, hubs, &self.bits, entries);
                    self.counts[at] += PairCount { triangles, probes: wedges(low, high), links: 0 };
                }
                poller.advance((high - low) * self.bits.places.len() * 4)?;
                low = high;
            }
            tally.end_hub_row(&row[..end], start);
        }
        Some(())
    }
}

/// Returns the number of wedges `a < b < c` of a row `c` whose corner `b` is one of the row's entries `low..high`.
fn wedges(low: usize, high: usize) -> u64 {
    let below = |n: u64| n * n.saturating_sub(1) / 2;
    below(high as u64) - below(low as u64)
}
