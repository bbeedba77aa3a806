//! Units on a GPU. `kernels/triangle.cu` has the method; here is what lies where, and what waits for what.
//!
//! A front parcel stays in device memory while partner parcels stream past, the next one copied while this one is counted.
//! For each pair of parcels the heads are grouped by front row, then the rows with many heads and those with few are
//! counted by a kernel each. Counts come back by pairs of stored blocks, so units do not depend on the parcels.
#![allow(unsafe_code)] // kernel launches

use super::count::PairCount;
use super::driver::{Backend, Found, Work, unit};
use super::parcels::{Parcel, Piece, parcels};
use crate::error::{Error, Result};
use crate::gpu::{Arena, Device, Event, Grid, Kernel, Program, Queue, Span, StopFlag, Uploader, sources, span_bytes};
use crate::graph::catalogue::Catalogue;
use crate::memory::{Budget, bytes_of};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

// As in the kernels.
const LONGEST_HEAD: u64 = (1 << 22) - 1;
const CHUNK: u64 = 4096;
const FEW_HEADS: u64 = 64;
const LONGEST_HASHED: u64 = 512;
const MARK_BYTES: u32 = 4 * ((1 << 18) / 32 + 512);
const TABLE_BYTES: u32 = 8 * 4 * 2 * LONGEST_HASHED as u32;
const THREADS: u32 = 256;
const SCAN_TILE: u64 = 4096;

/// Partner blocks counted at once: their counts lie in shared memory, and six blocks of threads should fit there.
const MOST_PARTNERS: usize = 64;
/// Indices in kernels have 32 bits and take steps beyond the end.
const MOST: u64 = 1 << 31;
/// Partner parcels in device memory at once: one is counted, one copied.
const SLOTS: usize = 2;

/// Counts with a GPU.
pub struct Gpu<'a> {
    // Before the arena, so that nothing is queued any more when its memory goes.
    queue: Queue,
    uploader: Uploader,
    stop_flag: StopFlag,
    arena: Arena,
    kernels: Kernels,
    per_vertex: Option<(&'a [AtomicU64], Span<u64>)>,
    stop: &'a (dyn Fn() -> Option<&'static str> + Sync),
}

struct Kernels {
    shift_starts: Kernel,
    count_heads: Kernel,
    scan_sums: Kernel,
    scan_tiles: Kernel,
    scan_values: Kernel,
    scatter_heads: Kernel,
    list_tasks: Kernel,
    count_many: Kernel,
    count_few: Kernel,
    /// Blocks that fill the GPU with short work.
    wide: u32,
}

/// The kernels' `Rows`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Rows {
    starts: u64,
    targets: u64,
    first: u32,
    count: u32,
}

/// The kernels' `Pair`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Pair {
    front: Rows,
    partner: Rows,
    ends: u64,
    heads: u64,
    front_blocks: u64,
    front_block_count: u32,
    partner_block_count: u32,
    counts: u64,
    corners: u64,
    tasks: u64,
    queue: u64,
    stop: u64,
}

/// A parcel in device memory.
#[derive(Clone, Copy)]
struct Resident {
    starts: Span<u32>,
    targets: Span<u32>,
}

/// A front parcel in device memory, and room for what counting it needs.
struct Front<'p> {
    parcel: &'p Parcel,
    resident: Resident,
    first_row: u32,
    ends: Span<u32>,
    sums: Span<u32>,
    blocks: Span<u32>,
    heads: Span<u64>,
    tasks: Span<u64>,
    counts: Span<u64>,
    words: Span<u32>,
}

/// How the arena is shared out while a front parcel is in hand.
#[derive(Clone, Copy)]
struct Shares {
    /// Bytes for the front and what goes with its rows.
    front: u64,
    /// Bytes of each slot for a partner parcel.
    slot: u64,
    /// Bytes for heads.
    heads: u64,
    /// Bytes for tasks and counts.
    rest: u64,
}

impl Shares {
    /// Half for the front: the partners pass once for each front. Heads take 8 bytes where entries take 4, twice.
    fn of(bytes: u64) -> Shares {
        let other = bytes / 2;
        let rest = other / 8;
        let slot = (other - rest) / 4;
        Shares { front: bytes - other, slot, heads: other - rest - 2 * slot, rest }
    }

    fn fits_front(self, parcel: &Parcel) -> bool {
        front_bytes(parcel) <= self.front && parcel.entries < MOST && parcel.rows < MOST
    }

    fn fits_partner(self, front: &Parcel, parcel: &Parcel) -> bool {
        self.fits_resident(front, parcel)
            && span_bytes::<u32>(parcel.rows + 1) + span_bytes::<u32>(parcel.entries) <= self.slot
    }

    /// The same for one that is in device memory as part of the front.
    fn fits_resident(self, front: &Parcel, parcel: &Parcel) -> bool {
        let counts = span_bytes::<u64>(2 * (front.pieces.len() * parcel.pieces.len()) as u64);
        span_bytes::<u64>(parcel.entries) <= self.heads
            && span_bytes::<u64>(most_tasks(front, parcel)) + counts <= self.rest
            && parcel.pieces.len() <= MOST_PARTNERS
            && parcel.entries < MOST
            && parcel.rows < MOST
    }
}

fn front_bytes(parcel: &Parcel) -> u64 {
    let rows = span_bytes::<u32>(parcel.rows + 1) + span_bytes::<u32>(parcel.rows);
    let sums = span_bytes::<u32>(parcel.rows / SCAN_TILE + 1);
    rows + span_bytes::<u32>(parcel.entries)
        + sums
        + span_bytes::<u32>(parcel.pieces.len() as u64)
        + span_bytes::<u32>(4)
}

/// Rows with many heads have at least [`FEW_HEADS`]; those too long for a hash table may have any number.
fn most_tasks(front: &Parcel, partner: &Parcel) -> u64 {
    let long = (front.entries / LONGEST_HASHED).min(partner.entries);
    partner.entries / FEW_HEADS + partner.entries / CHUNK + long + 1
}

impl<'a> Gpu<'a> {
    /// Fewest bytes of GPU memory that counting needs: room for single rows of a graph whose longest row has `row`
    /// entries, and for the counts of `vertices` vertices if these are asked for.
    pub fn least_bytes(row: u64, vertices: u64, per_vertex: bool) -> u64 {
        let corners = if per_vertex { span_bytes::<u64>(vertices) } else { 0 };
        // The slots take the least: 7/64 of the arena each.
        corners + ((4 * row + (64 << 10)) * 10).next_multiple_of(1 << 20)
    }

    /// For the blocks of `graph`, which has `vertices` vertices. Counts of vertices are added to `per_vertex`, if they
    /// are asked for; `stop` names the signal that ends the counting.
    ///
    /// # Errors
    /// [`Error::Limit`] where GPU memory or pinned memory does not do, [`Error::Lost`], and those of compiling kernels.
    pub fn new(
        graph: &Catalogue,
        vertices: u64,
        device: &Device,
        threads: usize,
        budget: &Budget,
        per_vertex: Option<&'a [AtomicU64]>,
        stop: &'a (dyn Fn() -> Option<&'static str> + Sync),
    ) -> Result<Self> {
        let row = graph.extremes().row;
        if row > LONGEST_HEAD {
            return Err(Error::Usage(format!(
                "a vertex has {row} neighbours of larger degree, the GPU takes {LONGEST_HEAD}: set run.device = \"cpu\""
            )));
        }
        let kernels = Kernels::load(device, per_vertex.is_some())?;
        let mut arena = device.arena(Self::least_bytes(row, vertices, per_vertex.is_some()))?;
        let queue = device.queue()?;
        let per_vertex = match per_vertex {
            Some(counts) => {
                let span = arena.take(vertices).ok_or_else(|| too_small(&arena))?;
                queue.fill(span, 0)?;
                Some((counts, span))
            }
            None => None,
        };
        let uploader = Uploader::new(device, threads, budget)?;
        let stop_flag = StopFlag::new(device, budget)?;
        Ok(Gpu { queue, uploader, stop_flag, arena, kernels, per_vertex, stop })
    }

    fn shares(&self) -> Shares {
        Shares::of(self.arena.free().saturating_sub(64 << 10))
    }
}

fn too_small(arena: &Arena) -> Error {
    Error::Limit {
        limit: "gpu_memory",
        given: crate::config::size::show(arena.bytes()),
        needed: crate::memory::at_least(2 * arena.bytes()),
        purpose: "counting triangles of this graph".into(),
    }
}

impl Kernels {
    fn load(device: &Device, corners: bool) -> Result<Kernels> {
        let (sums, program) = (Program::load(device, &sources::SCAN)?, Program::load(device, &sources::TRIANGLE)?);
        let kernel = |name| program.kernel(name, 0);
        let scan = |name| sums.kernel(name, 0);
        let (many, few) =
            if corners { ("count_many_corners", "count_few_corners") } else { ("count_many", "count_few") };
        Ok(Kernels {
            shift_starts: kernel("shift_starts")?,
            count_heads: kernel("count_heads")?,
            scan_sums: scan("scan_sums")?,
            scan_tiles: scan("scan_tiles")?,
            scan_values: scan("scan_values")?,
            scatter_heads: kernel("scatter_heads")?,
            list_tasks: kernel("list_tasks")?,
            count_many: kernel(many)?,
            count_few: kernel(few)?,
            wide: 8 * device.multiprocessors(),
        })
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
        let fronts = fronts.ok_or_else(|| too_small(&self.arena))?;
        // Of a block in several parcels, counts are complete with the last.
        let mut open = HashMap::new();
        for front in &fronts {
            let mark = self.arena.mark();
            let done = self.count_front(work, front, shares, &mut open, found);
            // Nothing may still run on memory that is given out anew.
            let finished = self.queue.finish();
            self.arena.reset(mark);
            done.and(finished)?;
        }
        Ok(())
    }
}

/// What to count, while a front parcel is in hand.
struct Turn<'t, 'w> {
    work: &'t Work<'w>,
    front: Front<'t>,
    open: &'t mut HashMap<u64, PairCount>,
    found: Found<'t>,
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
        let graph = work.graph;
        // Partners that are in the front need no copy of their own.
        let within = if parcel.is_whole() { work.fronts.clone() } else { work.fronts.start..work.fronts.start };
        let cut = |blocks, fits: &dyn Fn(&Parcel) -> bool| {
            let all = parcels(graph, blocks, fits).ok_or_else(|| too_small(&self.arena))?;
            let wanted = all.into_iter().filter(|p| work.wants_any(p.pieces.iter().map(|piece| piece.block)));
            Ok::<_, Error>(wanted.collect::<Vec<_>>())
        };
        let inside = cut(within.clone(), &|p| shares.fits_resident(parcel, p))?;
        let outside = cut(within.end..graph.len(), &|p| shares.fits_partner(parcel, p))?;
        let front = self.place_front(graph, parcel, inside.iter().chain(&outside))?;
        let slots = (0..if outside.is_empty() { 0 } else { SLOTS }).map(|_| self.take::<u32>(shares.slot / 4));
        let slots = slots.collect::<Result<Vec<_>>>()?;
        let stop = self.stop;
        let go_on = move || stop().map_or(Ok(()), |reason| Err(Error::Stopped(reason)));
        self.uploader.upload(&parts(graph, parcel, front.resident), &go_on)?;
        self.shift(graph, parcel, front.resident)?;

        let Gpu { queue, uploader, stop_flag, kernels, per_vertex, .. } = self;
        let mut counting = Counting { queue, stop_flag, kernels, per_vertex: *per_vertex, stop };
        let mut turn = Turn { work, front, open, found };
        for partner in &inside {
            let row = u64::from(partner.first_row(graph) - turn.front.first_row);
            let Resident { starts, targets } = turn.front.resident;
            let resident = Resident { starts: starts.part(row..u64::MAX), targets };
            counting.pair(&mut turn, partner, resident)?;
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
                let (slot, resident): (Span<u32>, Resident) = to_count.recv().map_err(|_| unheard())??;
                counting.shift(graph, partner, resident)?;
                counting.pair(&mut turn, partner, resident)?;
                // Nobody listens any more once the last is on its way.
                let _ = empty.send(slot);
            }
            Ok(())
        })
    }

    fn take<T>(&mut self, len: u64) -> Result<Span<T>> {
        self.arena.take(len).ok_or_else(|| too_small(&self.arena))
    }

    /// Gives the front its place, and room for any of `partners`.
    fn place_front<'p>(
        &mut self,
        graph: &Catalogue,
        parcel: &'p Parcel,
        partners: impl Iterator<Item = &'p Parcel>,
    ) -> Result<Front<'p>> {
        let (mut heads, mut tasks, mut counts) = (0, 0, 0);
        for partner in partners {
            heads = heads.max(partner.entries);
            tasks = tasks.max(most_tasks(parcel, partner));
            counts = counts.max(2 * (parcel.pieces.len() * partner.pieces.len()) as u64);
        }
        let blocks: Vec<u32> = parcel.pieces.iter().map(|piece| first_row(graph, piece)).collect();
        let front = Front {
            parcel,
            resident: Resident { starts: self.take(parcel.rows + 1)?, targets: self.take(parcel.entries)? },
            first_row: parcel.first_row(graph),
            ends: self.take(parcel.rows)?,
            sums: self.take(parcel.rows / SCAN_TILE + 1)?,
            blocks: self.take(blocks.len() as u64)?,
            words: self.take(4)?,
            heads: self.take(heads)?,
            tasks: self.take(tasks)?,
            counts: self.take(counts)?,
        };
        self.queue.write(&blocks, front.blocks)?;
        Ok(front)
    }

    fn shift(&mut self, graph: &Catalogue, parcel: &Parcel, resident: Resident) -> Result<()> {
        let Gpu { queue, stop_flag, kernels, per_vertex, stop, .. } = self;
        Counting { queue, stop_flag, kernels, per_vertex: *per_vertex, stop: *stop }.shift(graph, parcel, resident)
    }
}

/// The error of a thread whose other end is gone; that one has the cause.
fn unheard() -> Error {
    Error::Lost("copying to the GPU ended early".into())
}

fn first_row(graph: &Catalogue, piece: &Piece) -> u32 {
    graph.block(piece.block).block().first_row + piece.rows.start as u32
}

/// Where each piece of a parcel goes: starts of rows behind one another, and targets.
fn parts<'g>(graph: &'g Catalogue, parcel: &Parcel, to: Resident) -> Vec<(&'g [u8], Span<u8>)> {
    let (mut row, mut entry) = (0, 0);
    let mut parts = Vec::new();
    for (i, piece) in parcel.pieces.iter().enumerate() {
        let block = graph.block(piece.block).block();
        // The end of a piece's last row is the start of the next piece's first.
        let last = usize::from(i + 1 == parcel.pieces.len());
        let starts = &block.offsets[piece.rows.start..piece.rows.end + last];
        let targets = &block.targets[piece.entries.clone()];
        parts.push((bytes_of(starts), to.starts.part(row..u64::MAX).as_bytes()));
        parts.push((bytes_of(targets), to.targets.part(entry..u64::MAX).as_bytes()));
        row += piece.rows.len() as u64;
        entry += piece.entries.len() as u64;
    }
    parts
}

/// Copies partner parcels while others are counted.
struct Loader<'l> {
    graph: &'l Catalogue,
    uploader: &'l mut Uploader,
    to_fill: Receiver<Span<u32>>,
    filled: SyncSender<Result<(Span<u32>, Resident)>>,
}

impl Loader<'_> {
    fn run(self, partners: &[Parcel], go_on: &(dyn Fn() -> Result<()> + Sync)) {
        for partner in partners {
            let Ok(slot) = self.to_fill.recv() else { return };
            let after = span_bytes::<u32>(partner.rows + 1) / 4;
            let resident =
                Resident { starts: slot.part(0..partner.rows + 1), targets: slot.part(after..after + partner.entries) };
            let copied = self.uploader.upload(&parts(self.graph, partner, resident), go_on);
            // Their pages make room for the next.
            partner.pieces.iter().for_each(|piece| self.graph.block(piece.block).release());
            let failed = copied.is_err();
            if self.filled.send(copied.map(|()| (slot, resident))).is_err() || failed {
                return;
            }
        }
    }
}

/// What a pair of parcels is counted with.
struct Counting<'c> {
    queue: &'c Queue,
    stop_flag: &'c mut StopFlag,
    kernels: &'c Kernels,
    per_vertex: Option<(&'c [AtomicU64], Span<u64>)>,
    stop: &'c (dyn Fn() -> Option<&'static str> + Sync),
}

impl Counting<'_> {
    fn wide(&self, items: u64) -> Grid {
        let blocks = items.div_ceil(u64::from(THREADS)).min(u64::from(self.kernels.wide));
        Grid { blocks: blocks as u32, threads: THREADS, shared: 0 }
    }

    /// Row starts count from the start of their block; makes them count from the start of the parcel.
    fn shift(&self, graph: &Catalogue, parcel: &Parcel, resident: Resident) -> Result<()> {
        let (mut row, mut entry) = (0, 0u32);
        for (i, piece) in parcel.pieces.iter().enumerate() {
            let rows = piece.rows.len() as u64 + u64::from(i + 1 == parcel.pieces.len());
            let base = entry.wrapping_sub(graph.block(piece.block).block().offsets[piece.rows.start]);
            let starts = resident.starts.part(row..row + rows);
            if base != 0 {
                let arguments = (starts.address(), starts.len() as u32, base);
                // SAFETY: as the kernel declares them; the span is the parcel's.
                unsafe { self.queue.launch(&self.kernels.shift_starts, self.wide(rows), arguments)? };
            }
            row += piece.rows.len() as u64;
            entry += piece.entries.len() as u32;
        }
        Ok(())
    }

    /// Counts one partner parcel against the front.
    fn pair(&mut self, turn: &mut Turn<'_, '_>, partner: &Parcel, resident: Resident) -> Result<()> {
        let Turn { work, front, .. } = &*turn;
        self.group_heads(work, front, partner, resident)?;
        let blocks = (front.parcel.pieces.len(), partner.pieces.len());
        let counts = front.counts.part(0..2 * (blocks.0 * blocks.1) as u64);
        let rows = |resident: Resident, first, count| Rows {
            starts: resident.starts.address(),
            targets: resident.targets.address(),
            first,
            count,
        };
        let pair = Pair {
            front: rows(front.resident, front.first_row, front.parcel.rows as u32),
            partner: rows(resident, partner.first_row(work.graph), partner.rows as u32),
            ends: front.ends.address(),
            heads: front.heads.address(),
            front_blocks: front.blocks.address(),
            front_block_count: blocks.0 as u32,
            partner_block_count: blocks.1 as u32,
            counts: counts.address(),
            corners: self.per_vertex.map_or(0, |(_, span)| span.address()),
            tasks: front.tasks.address(),
            queue: front.words.address(),
            stop: self.stop_flag.address(),
        };
        self.queue.fill(counts, 0)?;
        self.queue.fill(front.words, 0)?;
        let Kernels { list_tasks, count_many, count_few, .. } = self.kernels;
        let tally = 16 * blocks.1 as u32;
        let (many, few) = (MARK_BYTES + tally, TABLE_BYTES + tally);
        let grid = |kernel: &Kernel, shared| -> Result<Grid> {
            Ok(Grid { blocks: kernel.blocks_at_once(THREADS, shared)?, threads: THREADS, shared })
        };
        // SAFETY: arguments as the kernels declare them; all spans stay until the queue is finished.
        unsafe {
            self.queue.launch(list_tasks, self.wide(front.parcel.rows), (pair, front.tasks.address()))?;
            self.queue.launch(count_many, grid(count_many, many)?, (pair,))?;
            self.queue.launch(count_few, grid(count_few, few)?, (pair,))?;
        }
        self.wait(&self.queue.record()?)?;
        let mut numbers = vec![0u64; counts.len() as usize];
        self.queue.read(counts, &mut numbers)?;
        self.add_corners()?;
        tell(turn, partner, &numbers)
    }

    /// Groups the heads of the partner's rows by the rows of the front, as far as their units are wanted.
    fn group_heads(&self, work: &Work<'_>, front: &Front<'_>, partner: &Parcel, resident: Resident) -> Result<()> {
        let Kernels { count_heads, scan_sums, scan_tiles, scan_values, scatter_heads, .. } = self.kernels;
        self.queue.fill(front.ends, 0)?;
        let windows = |piece: &Piece| windows(work, front.parcel, piece.block);
        let mut entry = 0;
        for piece in &partner.pieces {
            let base = if resident.targets.address() == front.resident.targets.address() {
                front_entry(front.parcel, piece)
            } else {
                entry
            };
            let entries = piece.entries.len() as u64;
            let targets = resident.targets.part(base..base + entries);
            for Range { start: low, end: high } in windows(piece) {
                let counts = front.ends.part(u64::from(low - front.first_row)..u64::MAX);
                let arguments = (targets.address(), entries as u32, low, high, counts.address());
                // SAFETY: arguments as the kernel declares them; rows low .. high are the front's.
                unsafe { self.queue.launch(count_heads, self.wide(entries), arguments)? };
            }
            entry += entries;
        }
        let (rows, tiles) = (front.parcel.rows as u32, front.parcel.rows.div_ceil(SCAN_TILE) as u32);
        let grid = |blocks, threads| Grid { blocks, threads, shared: 0 };
        let (ends, sums) = (front.ends.address(), front.sums.address());
        // SAFETY: arguments as the kernels declare them; there is a sum for every tile.
        unsafe {
            self.queue.launch(scan_sums, grid(tiles, THREADS), (ends, rows, sums))?;
            self.queue.launch(scan_tiles, grid(1, 1024), (sums, tiles))?;
            self.queue.launch(scan_values, grid(tiles, THREADS), (ends, rows, sums))?;
        }
        let mut row = 0;
        for (i, piece) in partner.pieces.iter().enumerate() {
            let rows = piece.rows.len() as u64;
            let starts = resident.starts.part(row..row + rows + 1);
            for Range { start: low, end: high } in windows(piece) {
                let cursors = front.ends.part(u64::from(low - front.first_row)..u64::MAX).address();
                let (starts, targets, heads) = (starts.address(), resident.targets.address(), front.heads.address());
                let arguments = (starts, rows as u32, targets, low, high, i as u32, cursors, heads);
                // SAFETY: arguments as the kernel declares them; there is room for a head for every entry.
                unsafe { self.queue.launch(scatter_heads, self.wide(rows), arguments)? };
            }
            row += rows;
        }
        Ok(())
    }

    /// Waits for `event` and tells the kernels if they are to stop.
    fn wait(&mut self, event: &Event) -> Result<()> {
        while !event.is_done()? {
            if (self.stop)().is_some() {
                self.stop_flag.set();
            }
            std::thread::sleep(Duration::from_micros(20));
        }
        (self.stop)().map_or(Ok(()), |reason| Err(Error::Stopped(reason)))
    }

    /// Moves what was counted at each vertex to the host.
    fn add_corners(&self) -> Result<()> {
        let Some((counts, span)) = self.per_vertex else { return Ok(()) };
        let mut some = vec![0; counts.len().min(1 << 20)];
        for (i, counts) in counts.chunks(some.len().max(1)).enumerate() {
            let some = &mut some[..counts.len()];
            self.queue.read(span.part((i << 20) as u64..u64::MAX), some)?;
            counts.iter().zip(some).for_each(|(count, more)| {
                count.fetch_add(*more, Relaxed);
            });
        }
        self.queue.fill(span, 0)
    }
}

/// The entry of a front of whole blocks at which rows of one of them begin.
fn front_entry(front: &Parcel, piece: &Piece) -> u64 {
    let before = front.pieces.iter().take_while(|p| p.block < piece.block).map(|p| p.entries.len() as u64);
    before.sum::<u64>() + piece.entries.start as u64
}

/// Ranges of the front's rows whose units with block `partner` are wanted.
fn windows(work: &Work<'_>, front: &Parcel, partner: usize) -> Vec<Range<u32>> {
    let mut windows: Vec<Range<u32>> = Vec::new();
    for piece in front.pieces.iter().filter(|piece| work.wants(piece.block, partner)) {
        let low = first_row(work.graph, piece);
        let high = low + piece.rows.len() as u32;
        match windows.last_mut() {
            Some(window) if window.end == low => window.end = high,
            _ => windows.push(low..high),
        }
    }
    windows
}

/// Tells the counts of units that are complete.
fn tell(turn: &mut Turn<'_, '_>, partner: &Parcel, numbers: &[u64]) -> Result<()> {
    let mut complete = Vec::new();
    let mut numbers = numbers.chunks_exact(2);
    for front in &turn.front.parcel.pieces {
        for partner in &partner.pieces {
            let Some(&[triangles, probes]) = numbers.next() else { continue };
            if !turn.work.wants(front.block, partner.block) {
                continue;
            }
            let number = unit(front.block, partner.block);
            let count = turn.open.entry(number).or_default();
            count.triangles += triangles;
            count.probes += probes;
            if front.ends_block && partner.ends_block {
                complete.extend(turn.open.remove_entry(&number));
            }
        }
    }
    (turn.found)(&complete)
}
