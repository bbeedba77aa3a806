//! Units on a GPU. `kernels/triangle.cu` has the method; here is what lies where, and what waits for what.
//!
//! A front parcel stays in device memory while partner parcels stream past, the next one copied while this one is counted.
//! For each pair of parcels the heads are grouped by front row, then the rows with many heads and those with few are
//! counted by a kernel each (`pair`). Counts come back by pairs of stored blocks, so units do not depend on the parcels.

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
use std::sync::mpsc::{Receiver, Sender, channel};
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
        let mut open = Open::default();
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

        let pieces: Vec<_> = places(parcel, front.resident).collect();
        let steps = steps(&pieces, &inside);
        std::thread::scope(|scope| {
            let (empty, to_fill) = channel();
            let (filled, to_count) = channel();
            slots.iter().try_for_each(|&slot| empty.send(slot)).map_err(|_| unheard())?;
            let (loader, partners) = (Loader { graph, uploader, to_fill, filled }, &outside);
            let steps = &steps;
            scope.spawn(move || loader.run(steps, partners, &go_on));
            // Dropped at the first error, it ends the loader.
            let to_count = to_count;

            // Partners in the front are counted as soon as they are there: all their heads are before rows that are, too.
            let mut arriving = pieces.iter();
            let mut arrive = |counting: &Counting<'_>, partner: Option<&Parcel>| -> Result<bool> {
                let Some(first) = arriving.as_slice().first() else { return Ok(false) };
                if partner.is_some_and(|partner| partner.pieces.last().is_some_and(|last| first.0.block > last.block)) {
                    return Ok(false);
                }
                let Loaded { copied, pieces, .. } = to_count.recv().map_err(|_| unheard())??;
                counting.queue.after(&copied)?;
                for (piece, place) in arriving.by_ref().take(pieces) {
                    counting.shift(graph, piece, place.starts, place.entry)?;
                    if partner.is_some_and(|partner| partner.pieces.contains(piece)) {
                        counting.count_heads(work, &front, piece, place.targets)?;
                    }
                }
                Ok(true)
            };
            for partner in &inside {
                while arrive(&counting, Some(partner))? {}
                for piece in partner.pieces.iter().filter(|piece| !parcel.pieces.contains(piece)) {
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
            while arrive(&counting, None)? {}
            for partner in partners {
                let Loaded { copied, slot, .. } = to_count.recv().map_err(|_| unheard())??;
                counting.queue.after(&copied)?;
                let resident = in_slot(slot, partner);
                for (piece, place) in places(partner, resident) {
                    counting.shift(graph, piece, place.starts, place.entry)?;
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

/// Pieces that are copied at once: enough to keep all threads busy, an eighth of all if that is more, and none beyond a
/// partner within the front, which is counted while the next is copied.
fn steps<'s, 'p>(places: &'s [(&'p Piece, Place)], inside: &[Parcel]) -> Vec<&'s [(&'p Piece, Place)]> {
    let bytes = |(_, place): &(&Piece, Place)| place.starts.bytes() + place.targets.bytes();
    let enough = (places.iter().map(bytes).sum::<u64>() / 8).max(32 << 20);
    let ends = |block| inside.iter().any(|parcel| parcel.pieces.last().is_some_and(|last| last.block == block));
    let mut sum = 0;
    let together = |before: &(&Piece, Place), _: &(&Piece, Place)| {
        sum += bytes(before);
        let open = sum < enough && !ends(before.0.block);
        sum = if open { sum } else { 0 };
        open
    };
    places.chunk_by(together).collect()
}

/// Where a partner parcel lies in a slot.
fn in_slot(slot: Span<u32>, partner: &Parcel) -> Resident {
    let after = span_bytes::<u32>(partner.rows + 1) / 4;
    Resident { starts: slot.part(0..partner.rows + 1), targets: slot.part(after..after + partner.entries) }
}

/// The entry of a front of whole blocks at which rows of one of them begin.
fn front_entry(front: &Parcel, piece: &Piece) -> u64 {
    let before = front.pieces.iter().take_while(|p| p.block < piece.block).map(|p| p.entries.len() as u64);
    before.sum::<u64>() + piece.entries.start as u64
}

/// Pieces on their way: what counts them waits until they are `copied`.
struct Loaded {
    copied: Event,
    /// How many pieces these are.
    pieces: usize,
    /// Where they lie, if they are no part of the front.
    slot: Span<u32>,
}

/// Copies a front and its partners while others are counted.
struct Loader<'l> {
    graph: &'l Catalogue,
    uploader: &'l mut Uploader,
    to_fill: Receiver<Span<u32>>,
    filled: Sender<Result<Loaded>>,
}

impl Loader<'_> {
    fn run(mut self, front: &[&[(&Piece, Place)]], partners: &[Parcel], go_on: &(dyn Fn() -> Result<()> + Sync)) {
        let nowhere = Span::default();
        if !front.iter().all(|step| self.load(step.iter().map(|(piece, place)| (*piece, place)), nowhere, go_on)) {
            return;
        }
        for partner in partners {
            let Ok(slot) = self.to_fill.recv() else { return };
            let places: Vec<_> = places(partner, in_slot(slot, partner)).collect();
            if !self.load(places.iter().map(|(piece, place)| (*piece, place)), slot, go_on) {
                return;
            }
        }
    }

    /// False if nobody waits for more.
    fn load<'i>(
        &mut self,
        places: impl Iterator<Item = (&'i Piece, &'i Place)>,
        slot: Span<u32>,
        go_on: &(dyn Fn() -> Result<()> + Sync),
    ) -> bool {
        let started = Instant::now();
        let parts: Vec<_> = places.flat_map(|(piece, place)| place.parts(self.graph, piece)).collect();
        let copied = self.uploader.upload(&parts, go_on);
        tracing::debug!(blocks = parts.len() / 2, seconds = seconds(started), "copied");
        let failed = copied.is_err();
        let loaded = copied.map(|copied| Loaded { copied, pieces: parts.len() / 2, slot });
        self.filled.send(loaded).is_ok() && !failed
    }
}

/// Units that were not told yet.
#[derive(Default)]
struct Open {
    /// Of a block in several parcels, counts are complete with the last.
    partial: HashMap<u64, PairCount>,
    complete: Vec<(u64, PairCount)>,
}

/// Units under way while a front parcel is in hand.
struct Units<'u, 'w> {
    work: &'u Work<'w>,
    parcel: &'u Parcel,
    open: &'u mut Open,
    found: Found<'u>,
}

impl Units<'_, '_> {
    /// Adds up triangles and probes of every pair of blocks, front after front, and tells the units that are complete.
    fn tell(&mut self, partner: &Parcel, numbers: &[u64], counting: &Counting<'_>) -> Result<()> {
        let Open { partial, complete } = &mut *self.open;
        let mut numbers = numbers.chunks_exact(2);
        for front in &self.parcel.pieces {
            for partner in &partner.pieces {
                let Some(&[triangles, probes]) = numbers.next() else { continue };
                if !self.work.wants(front.block, partner.block) {
                    continue;
                }
                let number = unit(front.block, partner.block);
                let count = partial.entry(number).or_default();
                count.triangles += triangles;
                count.probes += probes;
                if front.ends_block && partner.ends_block {
                    complete.extend(partial.remove_entry(&number));
                }
            }
        }
        if counting.per_vertex.is_some() {
            // Counts at vertices do not tell units apart: they are taken when none is half done.
            if !partial.is_empty() {
                return Ok(());
            }
            counting.add_corners()?;
        }
        (self.found)(&std::mem::take(complete))
    }
}
