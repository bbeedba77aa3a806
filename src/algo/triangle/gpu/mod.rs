//! Units on a GPU. `kernels/triangle.cu` has the method; here is what lies where, and what waits for what.
//!
//! A front parcel stays in device memory while partner parcels stream past, the next one copied while this one is counted.
//! For each pair of parcels the heads are grouped by front row, then the rows with many heads and those with few are
//! counted by a kernel each (`pair`). Counts come back by pairs of stored blocks, so units do not depend on the parcels.

mod homes;
mod loader;
mod pair;
mod relay;
mod shares;

use super::count::PairCount;
use super::driver::{Backend, Found, Gathering, Part, Work};
use super::parcels::{Parcel, Piece, parcels};
use crate::error::{Error, Result};
use crate::gpu::{Beside, DeviceSlice, Event, Workspace, slice_bytes};
use crate::graph::catalogue::Catalogue;
use crate::graph::layout::Layout;
use crate::graph::placement::{BlockSize, Placement};
use crate::memory::at_least;
use loader::{Arrived, Loaded, Loader, in_slot, places, steps};
use pair::{Counting, Front, Kernels, LONGEST_HEAD, Resident, add_corners};
use relay::Relay;
use shares::Shares;
use std::sync::MutexGuard;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Partner parcels in device memory at once: one is counted, one copied.
const SLOTS: usize = 2;

/// Turns that each of several ranks should have with the partners of a front: more share the work better, and mark the rows of the
/// front more often. (At scale 29 four ranks take 1.16 s with 4 turns, 1.24 with 8, 1.5 with 16, 2.4 with 32.)
const TURNS: u64 = 4;

/// The first partner within a front has this part of its entries, or so many if that is more; the next ones have as many as
/// all before them together.
const EARLY: u64 = 32;
const LEAST_EARLY: u64 = 8 << 20;

/// A partner that the GPU's cache holds is read from there by all rows of the front but the first. That is worth it where it saves
/// so many reads from memory for each row of the front that is marked for one more partner. (At scale 29: 0.31 ps a read, 17 ns a row.)
const WORTH: u64 = 55_000;
/// One more partner costs as much as marking so many rows (1 ms).
const PARTNER: u64 = 60_000;

/// Asked now and then: the signal that ends the counting.
type Stop<'a> = &'a (dyn Fn() -> Option<&'static str> + Sync);

/// Counts with a GPU.
pub struct Gpu<'a> {
    gpu: MutexGuard<'a, Workspace>,
    kernels: Kernels,
    per_vertex: Option<(&'a [AtomicU64], DeviceSlice<u64>)>,
    /// Where blocks are in the memory of this GPU, or of another rank's.
    homes: Option<Placement>,
    /// How ranks bring fronts from the host together.
    relay: Option<Relay<'a>>,
    stop: Stop<'a>,
    /// Bytes that the caches of all ranks' GPUs hold.
    cache: u64,
    begun: Instant,
    /// How long the GPU did not wait for what it was to count.
    busy: Duration,
    /// Between what marks the ends of that.
    clock: [Event; 2],
}

impl Drop for Gpu<'_> {
    fn drop(&mut self) {
        let busy = self.busy.as_secs_f64() / self.begun.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
        tracing::debug!(busy = (1000.0 * busy).round() / 1000.0, "a GPU's counting");
    }
}

impl<'a> Gpu<'a> {
    /// Fewest bytes of GPU memory that counting needs: room for single rows of a graph whose longest row has `row`
    /// entries, and for the counts of `vertices` vertices if these are asked for.
    pub fn least_bytes(row: u64, vertices: u64, per_vertex: bool) -> u64 {
        let corners = if per_vertex { slice_bytes::<u64>(vertices) } else { 0 };
        corners + Shares::least_bytes(row)
    }

    /// Whether a graph of this layout, its blocks of `sizes` at most, can be counted where `bytes` bytes are left beside them.
    /// (Blocks of a graph that is not here are not cut.)
    pub fn counts(layout: &Layout, sizes: &[BlockSize], bytes: u64, per_vertex: bool) -> bool {
        let row = layout.longest_row();
        let small = sizes.iter().all(|size| size.entries < 1 << 31 && size.rows < 1 << 31);
        let longest = row.max(uncut(sizes.iter().copied()));
        row <= LONGEST_HEAD && small && Self::least_bytes(longest, layout.rows(), per_vertex) <= bytes
    }

    /// For the blocks of `graph`, which has `vertices` vertices. Counts of vertices are added to `per_vertex`, if they
    /// are asked for; `stop` names the signal that ends the counting. The GPUs of all ranks have `cache` bytes of cache, at least.
    /// [`Self::meet`] comes next.
    ///
    /// # Errors
    /// [`Error::Limit`] where GPU memory does not do, [`Error::Usage`] for rows that are too long for it, [`Error::Lost`].
    pub fn new(
        graph: &Catalogue,
        vertices: u64,
        mut gpu: MutexGuard<'a, Workspace>,
        cache: u64,
        per_vertex: Option<&'a [AtomicU64]>,
        stop: Stop<'a>,
    ) -> Result<Self> {
        let begun = Instant::now();
        let row = graph.layout.longest_row();
        if row > LONGEST_HEAD {
            return Err(Error::Usage(format!(
                "a vertex may have {row} neighbours of larger degree, the GPU takes {LONGEST_HEAD}: set run.device = \"cpu\""
            )));
        }
        let kernels = Kernels::load(&gpu, per_vertex.is_some())?;
        gpu.arena.reset(0);
        let least = Self::least_bytes(row, vertices, per_vertex.is_some());
        gpu.arena.holds(least, "counting triangles of this graph")?;
        gpu.stop_flag.set(false);
        let clock = [gpu.queue.record_timed()?, gpu.queue.record_timed()?];
        let (per_vertex, homes) =
            (per_vertex.map(|counts| (counts, DeviceSlice::default())), graph.placement().cloned());
        Ok(Gpu { gpu, kernels, per_vertex, homes, relay: None, stop, cache, begun, busy: Duration::ZERO, clock })
    }

    /// To be called before anything is counted, once all ranks have theirs: `beside` are these, if their GPUs reach each other, for
    /// the blocks of `graph`, which has `vertices` vertices. Collective.
    ///
    /// # Errors
    /// [`Error::Limit`], [`Error::Lost`], those of reading blocks.
    pub fn meet(&mut self, graph: &Catalogue, vertices: u64, beside: Option<Beside<'a>>) -> Result<()> {
        if let Some(beside) = beside.filter(|_| self.homes.is_none()) {
            let blocks = (0..graph.len()).map(|b| graph.size(b));
            let longest = graph.layout.longest_row().max(if graph.is_local() { 0 } else { uncut(blocks) });
            let least = Self::least_bytes(longest, vertices, self.per_vertex.is_some()) + (64 << 10);
            self.homes = homes::bring(&mut self.gpu, graph, least, beside)?;
            self.relay = if self.homes.is_none() { Relay::open(beside) } else { None };
        }
        if let Some((_, span)) = &mut self.per_vertex {
            *span = self.gpu.arena.take(vertices).ok_or_else(|| too_small(&self.gpu))?;
            self.gpu.queue.fill(*span, 0)?;
        }
        Ok(())
    }

    fn shares(&self, graph: &Catalogue, first: usize) -> Shares {
        Shares::of(self.gpu.arena.free().saturating_sub(64 << 10), graph, first)
    }
}

/// The most entries of blocks that are not cut, as rows: they take room for offsets, heads' ends and sums of these, too.
fn uncut(sizes: impl Iterator<Item = BlockSize>) -> u64 {
    sizes.map(|size| size.entries + 3 * size.rows).max().unwrap_or(0)
}

/// What is wrong where the arena lacks room that it was planned to have.
fn too_small(gpu: &Workspace) -> Error {
    Error::Limit {
        limit: "gpu_memory",
        given: crate::config::size::show(gpu.arena.bytes()),
        needed: at_least(2 * gpu.arena.bytes()),
        purpose: "counting triangles of this graph".into(),
    }
}

impl Backend for Gpu<'_> {
    fn fronts(&self, graph: &Catalogue, first: usize) -> usize {
        let shares = self.shares(graph, first);
        let all = parcels(graph, first..graph.len(), |parcel| shares.fits_front(parcel));
        all.iter().flatten().next().map_or(1, |parcel| parcel.pieces.len())
    }

    fn count(&mut self, work: &Work<'_>, found: Found<'_>) -> Result<()> {
        let shares = self.shares(work.graph, work.fronts.start);
        let fronts = parcels(work.graph, work.fronts.clone(), |parcel| shares.fits_front(parcel));
        let fronts = fronts.ok_or_else(|| too_small(&self.gpu))?;
        let mut open = Open::default();
        for front in &fronts {
            let mark = self.gpu.arena.mark();
            let done = self.count_front(work, front, shares, &mut open, found);
            // Nothing may still run on memory that is given out anew.
            let finished = self.gpu.uploader.finish().and(self.gpu.queue.finish());
            self.gpu.arena.reset(mark);
            done.and(finished)?;
        }
        // With several ranks the rest of a unit may be another's.
        if !open.parts.is_empty() {
            add_corners(&self.gpu.queue, self.per_vertex)?;
            found(&open.parts)?;
        }
        Ok(())
    }
}

impl Gpu<'_> {
    fn count_front(
        &mut self,
        work: &Work<'_>,
        parcel: &Parcel,
        shares: Shares,
        open: &mut Open,
        found: Found<'_>,
    ) -> Result<()> {
        let (graph, stop) = (work.graph, self.stop);
        // Partners that are in the front need no copy of their own.
        let within = if parcel.is_whole() { work.fronts.clone() } else { work.fronts.start..work.fronts.start };
        let cut = |blocks, fits: &dyn Fn(&Parcel) -> bool| {
            let all = parcels(graph, blocks, fits).ok_or_else(|| too_small(&self.gpu))?;
            let wanted = all.into_iter().filter(|p| work.wants_any(p.pieces.iter().map(|piece| piece.block)));
            Ok::<_, Error>(wanted.collect::<Vec<_>>())
        };
        // Each rank should get many turns.
        let most = match work.ranks() {
            1 => u64::MAX,
            ranks => (graph.edges() / (TURNS * ranks as u64)).max(graph.layout.longest_row()),
        };
        // With counts at vertices, a stop saves what is counted only where no unit is left half counted. And blocks that are
        // not here are not cut.
        let uncut = self.per_vertex.is_some() || !graph.is_local();
        let whole = |p: &Parcel| uncut && p.pieces.len() == 1 && p.is_whole();
        let short = |p: &Parcel| p.entries <= most || whole(p);
        // The first partners within a front that comes from the host are small: they are counted while the rest of it comes.
        let before = |p: &Parcel| p.pieces.first().map_or(0, |first| front_entry(parcel, first));
        let least = (parcel.entries / EARLY).max(LEAST_EARLY);
        let early = |p: &Parcel| self.homes.is_some() || p.pieces.len() == 1 || p.entries <= before(p).max(least);
        let cache = self.cache / 4;
        // Rows that may have heads.
        let marked = |p: &Parcel| u64::from(p.first_row(graph)) + p.rows - u64::from(parcel.first_row(graph));
        let worth = |p: &Parcel| cache / 2 * (p.entries / p.rows.max(1)) > WORTH * (marked(p) + PARTNER);
        let cached = |p: &Parcel| p.entries <= cache || p.pieces.len() == 1 || !worth(p);
        let fits = |p: &Parcel| short(p) && early(p) && cached(p) && shares.fits_resident(parcel, p);
        let inside = cut(within.clone(), &fits)?;
        let outside = cut(within.end..graph.len(), &|p| short(p) && shares.fits_partner(parcel, p))?;
        let front = Front::place(&mut self.gpu, graph, parcel, inside.iter().chain(&outside));
        let front = front.ok_or_else(|| too_small(&self.gpu))?;
        let slots = (0..if outside.is_empty() { 0 } else { SLOTS }).map(|_| self.gpu.arena.take(shares.slot / 4));
        let slots = slots.collect::<Option<Vec<_>>>().ok_or_else(|| too_small(&self.gpu))?;
        let go_on = move || work.go_on().and(stop().map_or(Ok(()), |reason| Err(Error::Stopped(reason))));
        // Nothing of the front before is overwritten while others copy it.
        self.relay.as_ref().map_or(Ok(()), |relay| relay.begin(&go_on))?;
        let blocks: Vec<u32> = parcel.pieces.iter().map(|piece| piece.first_row(graph)).collect();
        self.gpu.queue.write(&blocks, front.blocks)?;
        self.gpu.queue.fill(front.ends, 0)?;

        let Gpu { gpu, kernels, per_vertex, homes, relay, busy, clock, .. } = self;
        let homes = homes.as_ref();
        let Workspace { arena, queue, uploader, stop_flag, .. } = &mut **gpu;
        let relay = relay.as_mut().map(|relay| (relay, arena.words()));
        let mut counting = Counting { queue, stop_flag, kernels, per_vertex: *per_vertex, stop, busy, clock };
        let mut units = Units { work, parcel, open, found };
        let first_row = parcel.first_row(graph);

        let pieces: Vec<_> = places(parcel, front.resident).collect();
        let steps = steps(&pieces, &inside);
        std::thread::scope(|scope| {
            let (empty, to_fill) = channel();
            let (filled, to_count) = channel();
            slots.iter().try_for_each(|&slot| empty.send(slot)).map_err(|_| unheard())?;
            let loader = Loader { work, homes, first_row, relay, uploader, to_fill, filled };
            let (steps, partners) = (&steps, &outside);
            scope.spawn(move || loader.run(steps, partners, &go_on));
            // Dropped at the first error, it ends the loader.
            let to_count = to_count;

            // Partners in the front are counted as soon as they are there: all their heads are before rows that are, too.
            let mut arriving = pieces.iter();
            let mut arrive = |counting: &mut Counting<'_>, partner: Option<&Parcel>| -> Result<bool> {
                let Some(first) = arriving.as_slice().first() else { return Ok(false) };
                if partner.is_some_and(|partner| partner.pieces.last().is_some_and(|last| first.0.block > last.block)) {
                    return Ok(false);
                }
                let Loaded { copied, parcel: Arrived::Front(pieces) } = to_count.recv().map_err(|_| unheard())?? else {
                    return Err(unheard());
                };
                counting.arrived(&copied)?;
                for (piece, place) in arriving.by_ref().take(pieces) {
                    counting.shift(piece, place.starts, place.entry)?;
                }
                Ok(true)
            };
            while let Some(partner) = inside.get(work.next(first_row, 0, 1)?) {
                while arrive(&mut counting, Some(partner))? {}
                for piece in &partner.pieces {
                    let entry = front_entry(parcel, piece);
                    let targets = front.resident.targets.part(entry..entry + piece.entries.len() as u64);
                    counting.count_heads(work, &front, piece, targets)?;
                }
                let row = u64::from(partner.first_row(graph) - front.first_row);
                let starts = front.resident.starts.part(row..u64::MAX);
                let resident = Resident { starts, targets: front.resident.targets };
                let numbers = counting.pair(work, &front, partner, resident)?;
                units.tell(partner, &numbers, &counting)?;
            }
            while arrive(&mut counting, None)? {}
            while let Ok(loaded) = to_count.recv() {
                let Loaded { copied, parcel: Arrived::Partner(partner, slot) } = loaded? else { return Err(unheard()) };
                let partner = &outside[partner];
                counting.arrived(&copied)?;
                let resident = in_slot(slot, partner);
                for (piece, place) in places(partner, resident) {
                    counting.shift(piece, place.starts, place.entry)?;
                    counting.count_heads(work, &front, piece, place.targets)?;
                }
                let numbers = counting.pair(work, &front, partner, resident)?;
                units.tell(partner, &numbers, &counting)?;
                // Nobody listens any more once the last is on its way.
                let _ = empty.send(slot);
            }
            Ok(())
        })
    }
}

/// The error of a thread whose other end is gone; that one has the cause.
fn unheard() -> Error {
    Error::Lost("copying to the GPU ended early".into())
}

/// The entry of a front of whole blocks at which rows of one of them begin.
fn front_entry(front: &Parcel, piece: &Piece) -> u64 {
    let before = front.pieces.iter().take_while(|p| p.block < piece.block).map(|p| p.entries.len() as u64);
    before.sum::<u64>() + piece.entries.start as u64
}

/// Parts that were not told yet: counts at vertices do not tell units apart, so they wait until no unit is half done.
#[derive(Default)]
struct Open {
    gathering: Gathering,
    parts: Vec<Part>,
}

/// Units under way while a front parcel is in hand.
struct Units<'u, 'w> {
    work: &'u Work<'w>,
    parcel: &'u Parcel,
    open: &'u mut Open,
    found: Found<'u>,
}

impl Units<'_, '_> {
    /// Tells triangles and probes of every pair of pieces, front after front.
    fn tell(&mut self, partner: &Parcel, numbers: &[u64], counting: &Counting<'_>) -> Result<()> {
        let Open { gathering, parts } = &mut *self.open;
        let mut numbers = numbers.chunks_exact(2);
        for front in &self.parcel.pieces {
            for partner in &partner.pieces {
                let Some(&[triangles, probes]) = numbers.next() else { continue };
                if !self.work.wants(front.block, partner.block) {
                    continue;
                }
                let pairs = (front.rows.len() * partner.rows.len()) as u64;
                let count = PairCount { triangles, probes };
                let part = Part { front: front.block, partner: partner.block, pairs, count };
                if counting.per_vertex.is_some() {
                    gathering.add(self.work.graph, &part);
                }
                parts.push(part);
            }
        }
        if !gathering.is_empty() {
            return Ok(());
        }
        add_corners(counting.queue, counting.per_vertex)?;
        (self.found)(&std::mem::take(parts))
    }
}
