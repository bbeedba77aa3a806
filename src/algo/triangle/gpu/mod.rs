//! Units on a GPU. `kernels/triangle.cu` has the method; here is what lies where, and what waits for what.
//!
//! A front parcel stays in device memory while partner parcels stream past, the next one copied while this one is counted.
//! For each pair of parcels the heads are grouped by front row, then the rows with many heads and those with few are
//! counted by a kernel each ([`pair`]). Counts come back by pairs of stored blocks, so units do not depend on the parcels.

mod pair;
mod shares;

use super::count::PairCount;
use super::driver::{Backend, Found, Work, unit};
use super::parcels::{Parcel, Piece, parcels};
use crate::error::{Error, Result};
use crate::gpu::{Event, Source, Span, Uploader, Workspace, span_bytes};
use crate::graph::catalogue::Catalogue;
use crate::memory::at_least;
use pair::{Counting, Front, Kernels, LONGEST_HEAD, Resident};
use shares::Shares;
use std::collections::HashMap;
use std::sync::MutexGuard;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

/// Partner parcels in device memory at once: one is counted, one copied.
const SLOTS: usize = 2;

/// Asked now and then: the signal that ends the counting.
type Stop<'a> = &'a (dyn Fn() -> Option<&'static str> + Sync);

/// Counts with a GPU.
pub struct Gpu<'a> {
    gpu: MutexGuard<'a, Workspace>,
    kernels: Kernels,
    per_vertex: Option<(&'a [AtomicU64], Span<u64>)>,
    stop: Stop<'a>,
}

impl<'a> Gpu<'a> {
    /// Fewest bytes of GPU memory that counting needs: room for single rows of a graph whose longest row has `row`
    /// entries, and for the counts of `vertices` vertices if these are asked for.
    pub fn least_bytes(row: u64, vertices: u64, per_vertex: bool) -> u64 {
        let corners = if per_vertex { span_bytes::<u64>(vertices) } else { 0 };
        corners + Shares::least_bytes(row)
    }

    /// For the blocks of `graph`, which has `vertices` vertices. Counts of vertices are added to `per_vertex`, if they
    /// are asked for; `stop` names the signal that ends the counting.
    ///
    /// # Errors
    /// [`Error::Limit`] where GPU memory does not do, [`Error::Usage`] for rows that are too long for it, [`Error::Lost`].
    pub fn new(
        graph: &Catalogue,
        vertices: u64,
        mut gpu: MutexGuard<'a, Workspace>,
        per_vertex: Option<&'a [AtomicU64]>,
        stop: Stop<'a>,
    ) -> Result<Self> {
        let row = graph.layout.longest_row();
        if row > LONGEST_HEAD {
            return Err(Error::Usage(format!(
                "a vertex may have {row} neighbours of larger degree, the GPU takes {LONGEST_HEAD}: set run.device = \"cpu\""
            )));
        }
        let kernels = Kernels::load(&gpu, per_vertex.is_some())?;
        gpu.arena.reset(0);
        gpu.arena.holds(Self::least_bytes(row, vertices, per_vertex.is_some()), "counting triangles of this graph")?;
        gpu.stop_flag.set(false);
        let per_vertex = match per_vertex {
            Some(counts) => {
                let span = gpu.arena.take(vertices).ok_or_else(|| too_small(&gpu))?;
                gpu.queue.fill(span, 0)?;
                Some((counts, span))
            }
            None => None,
        };
        Ok(Gpu { gpu, kernels, per_vertex, stop })
    }

    fn shares(&self) -> Shares {
        Shares::of(self.gpu.arena.free().saturating_sub(64 << 10))
    }
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
        let shares = self.shares();
        let all = parcels(graph, first..graph.len(), |parcel| shares.fits_front(parcel));
        all.iter().flatten().next().map_or(1, |parcel| parcel.pieces.len())
    }

    fn count(&mut self, work: &Work<'_>, found: Found<'_>) -> Result<()> {
        let shares = self.shares();
        let fronts = parcels(work.graph, work.fronts.clone(), |parcel| shares.fits_front(parcel));
        let fronts = fronts.ok_or_else(|| too_small(&self.gpu))?;
        // Of a block in several parcels, counts are complete with the last.
        let mut open = HashMap::new();
        for front in &fronts {
            let mark = self.gpu.arena.mark();
            let done = self.count_front(work, front, shares, &mut open, found);
            // Nothing may still run on memory that is given out anew.
            let finished = self.gpu.uploader.finish().and(self.gpu.queue.finish());
            self.gpu.arena.reset(mark);
            done.and(finished)?;
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
        open: &mut HashMap<u64, PairCount>,
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
        let inside = cut(within.clone(), &|p| shares.fits_resident(parcel, p))?;
        let outside = cut(within.end..graph.len(), &|p| shares.fits_partner(parcel, p))?;
        let front = Front::place(&mut self.gpu, graph, parcel, inside.iter().chain(&outside));
        let front = front.ok_or_else(|| too_small(&self.gpu))?;
        let slots = (0..if outside.is_empty() { 0 } else { SLOTS }).map(|_| self.gpu.arena.take(shares.slot / 4));
        let slots = slots.collect::<Option<Vec<_>>>().ok_or_else(|| too_small(&self.gpu))?;
        let blocks: Vec<u32> = parcel.pieces.iter().map(|piece| piece.first_row(graph)).collect();
        self.gpu.queue.write(&blocks, front.blocks)?;
        self.gpu.queue.fill(front.ends, 0)?;

        let Gpu { gpu, kernels, per_vertex, .. } = self;
        let Workspace { queue, uploader, stop_flag, .. } = &mut **gpu;
        let mut counting = Counting { queue, stop_flag, kernels, per_vertex: *per_vertex, stop };
        let mut units = Units { work, parcel, open, found };
        let go_on = move || stop().map_or(Ok(()), |reason| Err(Error::Stopped(reason)));

        let started = Instant::now();
        // While some pieces are copied, the heads of those before are counted for the first partner.
        let pieces: Vec<_> = places(parcel, front.resident).collect();
        for some in steps(&pieces) {
            let parts: Vec<_> = some.iter().flat_map(|(piece, place)| place.parts(graph, piece)).collect();
            let copied = uploader.upload(&parts, &go_on)?;
            counting.queue.after(&copied)?;
            for (piece, place) in some {
                counting.shift(graph, piece, place.starts, place.entry)?;
                if inside.first().is_some_and(|first| first.pieces.contains(piece)) {
                    counting.count_heads(work, &front, piece, place.targets)?;
                }
            }
        }
        tracing::debug!(blocks = blocks.len(), parcel.rows, parcel.entries, seconds = seconds(started), "front copied");
        for (i, partner) in inside.iter().enumerate() {
            let row = u64::from(partner.first_row(graph) - front.first_row);
            let starts = front.resident.starts.part(row..u64::MAX);
            let resident = Resident { starts, targets: front.resident.targets };
            let counted = i == 0 && partner.is_whole();
            if i == 0 && !counted {
                counting.queue.fill(front.ends, 0)?;
            }
            for piece in partner.pieces.iter().filter(|_| !counted) {
                let entry = front_entry(parcel, piece);
                let targets = front.resident.targets.part(entry..entry + piece.entries.len() as u64);
                counting.count_heads(work, &front, piece, targets)?;
            }
            units.tell(partner, &counting.pair(work, &front, partner, resident)?)?;
        }
        std::thread::scope(|scope| {
            let (empty, to_fill) = sync_channel(SLOTS);
            let (filled, to_count) = sync_channel(SLOTS);
            slots.iter().try_for_each(|&slot| empty.send(slot)).map_err(|_| unheard())?;
            let (partners, loader) = (&outside, Loader { graph, uploader, to_fill, filled });
            scope.spawn(move || loader.run(partners, &go_on));
            // Dropped at the first error, it ends the loader.
            let to_count = to_count;
            for partner in partners {
                let Loaded { slot, resident, copied } = to_count.recv().map_err(|_| unheard())??;
                counting.queue.after(&copied)?;
                for (piece, place) in places(partner, resident) {
                    counting.shift(graph, piece, place.starts, place.entry)?;
                    counting.count_heads(work, &front, piece, place.targets)?;
                }
                units.tell(partner, &counting.pair(work, &front, partner, resident)?)?;
                // Nobody listens any more once the last is on its way.
                let _ = empty.send(slot);
            }
            Ok(())
        })
    }
}

fn seconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64()
}

/// The error of a thread whose other end is gone; that one has the cause.
fn unheard() -> Error {
    Error::Lost("copying to the GPU ended early".into())
}

/// Where a piece of a parcel lies in device memory.
struct Place {
    starts: Span<u32>,
    targets: Span<u32>,
    /// Its first entry in the parcel.
    entry: u64,
}

impl Place {
    /// What is copied there.
    fn parts<'g>(&self, graph: &'g Catalogue, piece: &Piece) -> [(Source<'g>, Span<u8>); 2] {
        let (path, offsets, targets) = graph.block(piece.block).place();
        let part = |start: u64, first: usize, to: Span<u32>| {
            (Source::File { path, start: start + 4 * first as u64, bytes: to.bytes() }, to.as_bytes())
        };
        [part(offsets, piece.rows.start, self.starts), part(targets, piece.entries.start, self.targets)]
    }
}

/// The pieces of a parcel behind one another. The end of a piece's last row is the start of the next one's first.
fn places(parcel: &Parcel, to: Resident) -> impl Iterator<Item = (&Piece, Place)> {
    let (mut row, mut entry, last) = (0, 0, parcel.pieces.len() - 1);
    parcel.pieces.iter().enumerate().map(move |(i, piece)| {
        let (rows, entries) = (piece.rows.len() as u64, piece.entries.len() as u64);
        let starts = to.starts.part(row..row + rows + u64::from(i == last));
        let place = Place { starts, targets: to.targets.part(entry..entry + entries), entry };
        row += rows;
        entry += entries;
        (piece, place)
    })
}

/// Pieces that are copied at once: enough to keep all threads busy, and an eighth of all if that is more.
fn steps<'s, 'p>(places: &'s [(&'p Piece, Place)]) -> impl Iterator<Item = &'s [(&'p Piece, Place)]> {
    let bytes =
        |places: &[(&Piece, Place)]| -> u64 { places.iter().map(|(_, p)| p.starts.bytes() + p.targets.bytes()).sum() };
    let enough = (bytes(places) / 8).max(32 << 20);
    let mut left = places;
    std::iter::from_fn(move || {
        let upto = (1..=left.len()).find(|&n| n == left.len() || bytes(&left[..n]) >= enough)?;
        let (some, rest) = left.split_at(upto);
        left = rest;
        Some(some)
    })
}

/// The entry of a front of whole blocks at which rows of one of them begin.
fn front_entry(front: &Parcel, piece: &Piece) -> u64 {
    let before = front.pieces.iter().take_while(|p| p.block < piece.block).map(|p| p.entries.len() as u64);
    before.sum::<u64>() + piece.entries.start as u64
}

/// A partner parcel on its way: counting waits until it is `copied`.
struct Loaded {
    slot: Span<u32>,
    resident: Resident,
    copied: Event,
}

/// Copies partner parcels while others are counted.
struct Loader<'l> {
    graph: &'l Catalogue,
    uploader: &'l mut Uploader,
    to_fill: Receiver<Span<u32>>,
    filled: SyncSender<Result<Loaded>>,
}

impl Loader<'_> {
    fn run(self, partners: &[Parcel], go_on: &(dyn Fn() -> Result<()> + Sync)) {
        for partner in partners {
            let Ok(slot) = self.to_fill.recv() else { return };
            let after = span_bytes::<u32>(partner.rows + 1) / 4;
            let (starts, targets) = (slot.part(0..partner.rows + 1), slot.part(after..after + partner.entries));
            let resident = Resident { starts, targets };
            let started = Instant::now();
            let parts: Vec<_> =
                places(partner, resident).flat_map(|(piece, place)| place.parts(self.graph, piece)).collect();
            let copied = self.uploader.upload(&parts, go_on);
            tracing::debug!(partner.rows, partner.entries, seconds = seconds(started), "partner copied");
            let failed = copied.is_err();
            if self.filled.send(copied.map(|copied| Loaded { slot, resident, copied })).is_err() || failed {
                return;
            }
        }
    }
}

/// Units under way while a front parcel is in hand.
struct Units<'u, 'w> {
    work: &'u Work<'w>,
    parcel: &'u Parcel,
    open: &'u mut HashMap<u64, PairCount>,
    found: Found<'u>,
}

impl Units<'_, '_> {
    /// Adds up triangles and probes of every pair of blocks, front after front, and tells the units that are complete.
    fn tell(&mut self, partner: &Parcel, numbers: &[u64]) -> Result<()> {
        let mut complete = Vec::new();
        let mut numbers = numbers.chunks_exact(2);
        for front in &self.parcel.pieces {
            for partner in &partner.pieces {
                let Some(&[triangles, probes]) = numbers.next() else { continue };
                if !self.work.wants(front.block, partner.block) {
                    continue;
                }
                let number = unit(front.block, partner.block);
                let count = self.open.entry(number).or_default();
                count.triangles += triangles;
                count.probes += probes;
                if front.ends_block && partner.ends_block {
                    complete.extend(self.open.remove_entry(&number));
                }
            }
        }
        (self.found)(&complete)
    }
}
