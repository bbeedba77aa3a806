//! The second pass over the input: every edge, renumbered and oriented, into the bin of its row.
//!
//! Each thread gathers the edges of a bin in a short line of its own and hands over full lines, so that the bins'
//! memory is written sequentially. Bins grow by chunks from one pool. When the pool is used up, a full chunk is written
//! to a spill file and its memory used again: one pass over the input does at any limit, and what fits stays in memory.
//! (Reading the input again for every memory-full of rows needs no spill, but repeats two random look-ups an edge for
//! each: from the second repetition on, writing 6 bytes an edge once is cheaper.)

pub mod gpu;
mod pool;
pub mod route;
pub mod shelf;
mod spill;
pub mod stowed;

use crate::error::{Error, Result};
use crate::formats::{Edges, Visitor};
use crate::graph::layout::Bins;
use crate::memory::prefetch;
use pool::Pool;
use route::Route;
use shelf::{Run, Shelf};
use spill::Spill;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// Edges in a line, handed over under one lock.
pub const LINE: usize = 64;
/// Words of a line: the smaller neighbours of its edges, then the places of their rows in the bin. Word `k` of these
/// has the place of edge `k` below and that of edge `k` + 32 above.
pub const WORDS: usize = LINE + LINE / 2;
/// Bytes that an edge takes in its bin.
pub const EDGE_BYTES: u64 = (WORDS * 4 / LINE) as u64;
/// The smaller neighbour of no edge: what fills up a thread's last line.
const NONE: u32 = u32::MAX;

/// The bins while they are filled, by all threads.
#[derive(Debug)]
pub struct Partition<'a> {
    bins: &'a Bins,
    /// Bins that this rank fills; the others' blocks are stored already, or are built by another.
    wanted: &'a [bool],
    parts: Vec<Mutex<Part<'a>>>,
    pool: Mutex<Pool<'a>>,
    /// Words of a chunk.
    chunk: usize,
    spill: Spill,
    /// Lines that stay on GPUs.
    shelf: Option<&'a Shelf>,
}

/// What one bin holds.
#[derive(Debug, Default)]
struct Part<'a> {
    /// Full chunks in memory, then the one being filled.
    chunks: Vec<&'a mut [u32]>,
    /// Words used of the last chunk.
    last: usize,
    /// Byte offsets of full chunks in the spill file.
    spilled: Vec<u64>,
    /// Lines on the shelf.
    shelved: Vec<Run>,
}

impl<'a> Partition<'a> {
    /// Bins that take their chunks of `lines` lines from `memory`, then from the disk at `spill`. What is made of lines on a GPU
    /// goes to the `shelf` first, if there is one.
    ///
    /// `memory` must hold a chunk for every wanted bin.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DiskFull`] for the spill file.
    pub fn new(
        bins: &'a Bins,
        wanted: &'a [bool],
        memory: &'a mut [u32],
        lines: usize,
        spill: &Path,
        shelf: Option<&'a Shelf>,
    ) -> Result<Self> {
        let chunk = lines * WORDS;
        let waiting = wanted.iter().filter(|&&wanted| wanted).count();
        let blocks = bins.block_of.last().map_or(0, |last| last + 1);
        let pool = Pool::new(memory, chunk, blocks, waiting);
        let parts = bins.spans.iter().map(|_| Mutex::default()).collect();
        Ok(Partition { bins, wanted, parts, pool: Mutex::new(pool), chunk, spill: Spill::create(spill)?, shelf })
    }

    /// More memory of up to `words` words will be handed over by [`Self::adopt`] while the bins are filled.
    pub fn expect(&self, words: usize) {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).expect(words);
    }

    /// Takes memory for bins, or hands it back: there is enough, or it holds no chunk.
    pub fn adopt<'m: 'a>(&self, memory: &'m mut [u32]) -> Option<&'m mut [u32]> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).adopt(memory)
    }

    /// Bytes written to the spill file.
    pub fn spilled(&self) -> u64 {
        self.spill.written.load(Ordering::Relaxed)
    }

    /// The lines of each bin so far.
    pub fn lines(&self) -> Vec<u64> {
        let part =
            |part: &Mutex<Part<'_>>| part.lock().unwrap_or_else(PoisonError::into_inner).lines(self.chunk) as u64;
        self.parts.iter().map(part).collect()
    }

    /// Where lines are that stayed on GPUs, if any may have.
    pub fn shelf(&self) -> Option<&'a Shelf> {
        self.shelf
    }

    /// Notes lines of a bin that lie on the shelf.
    fn shelve(&self, bin: usize, run: Run) {
        self.parts[bin].lock().unwrap_or_else(PoisonError::into_inner).shelved.push(run);
    }

    /// Takes the edges of bin `b`, to be read.
    pub fn part(&self, b: usize) -> PartReader<'_, 'a> {
        let part = std::mem::take(&mut *self.parts[b].lock().unwrap_or_else(PoisonError::into_inner));
        PartReader { partition: self, part, block: self.bins.block_of[b] }
    }

    fn append(&self, bin: usize, line: &Line) -> Result<()> {
        let part = &mut *self.parts[bin].lock().unwrap_or_else(PoisonError::into_inner);
        if part.chunks.is_empty() || part.last == self.chunk {
            self.next_chunk(part, self.bins.block_of[bin])?;
        }
        if let Some(chunk) = part.chunks.last_mut() {
            line.write(&mut chunk[part.last..part.last + WORDS]);
            part.last += WORDS;
        }
        Ok(())
    }

    /// Appends whole lines, laid out as in a chunk, to a bin.
    fn append_lines(&self, bin: usize, mut words: &[u32]) -> Result<()> {
        let part = &mut *self.parts[bin].lock().unwrap_or_else(PoisonError::into_inner);
        while !words.is_empty() {
            if part.chunks.is_empty() || part.last == self.chunk {
                self.next_chunk(part, self.bins.block_of[bin])?;
            }
            let Some(chunk) = part.chunks.last_mut() else { break };
            let (now, later) = words.split_at(words.len().min(self.chunk - part.last));
            chunk[part.last..part.last + now.len()].copy_from_slice(now);
            part.last += now.len();
            words = later;
        }
        Ok(())
    }

    /// An empty chunk at the end of `part`: a fresh one, or its own full one once that is on disk.
    fn next_chunk(&self, part: &mut Part<'a>, block: usize) -> Result<()> {
        let fresh = {
            let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
            if part.chunks.is_empty() {
                pool.waiting = pool.waiting.saturating_sub(1);
            }
            if pool.left > pool.waiting { pool.take(block) } else { None }
        };
        match (fresh, part.chunks.last()) {
            (Some(chunk), _) => part.chunks.push(chunk),
            (None, Some(full)) => part.spilled.push(self.spill.write(full)?),
            (None, None) => return Err(Error::internal("find room for a bin", "fewer chunks than bins")),
        }
        part.last = 0;
        Ok(())
    }
}

impl Part<'_> {
    /// Lines that it has, in chunks of `chunk` words.
    fn lines(&self, chunk: usize) -> usize {
        let full = self.chunks.len().saturating_sub(1) + self.spilled.len();
        (full * chunk + self.last) / WORDS + self.shelved.iter().map(|run| run.lines as usize).sum::<usize>()
    }
}

/// The edges of one bin; its chunks can go back to the system after it is dropped.
#[derive(Debug)]
pub struct PartReader<'p, 'a> {
    partition: &'p Partition<'a>,
    part: Part<'a>,
    block: usize,
}

impl PartReader<'_, '_> {
    /// Lines that it has.
    pub fn lines(&self) -> usize {
        self.part.lines(self.partition.chunk)
    }

    /// Those that are on the shelf, and the shelf.
    pub fn shelved(&self) -> (&[Run], Option<&Shelf>) {
        (&self.part.shelved, self.partition.shelf)
    }

    /// Hands all edges to `each`, in no particular order: the place of the row in the bin, and the smaller neighbour.
    /// `scratch` holds one chunk that is read back from disk.
    ///
    /// # Errors
    /// Those of the spill file.
    pub fn for_each(&self, scratch: &mut Vec<u32>, mut each: impl FnMut(u16, u32)) -> Result<()> {
        self.for_each_chunk(scratch, |words| {
            for line in words.chunks_exact(WORDS) {
                let (lows, places) = line.split_at(LINE);
                let (below, above) = lows.split_at(LINE / 2);
                let below = below.iter().zip(places).map(|(&low, &word)| (word as u16, low));
                let above = above.iter().zip(places).map(|(&low, &word)| ((word >> 16) as u16, low));
                below.chain(above).filter(|&(_, low)| low != NONE).for_each(|(place, low)| each(place, low));
            }
            Ok(())
        })
    }

    /// Hands over all lines, many at a time. `scratch` holds one chunk that is read back from disk or from the shelf.
    ///
    /// # Errors
    /// What `chunk` returned, those of the spill file, [`Error::Lost`].
    pub fn for_each_chunk(&self, scratch: &mut Vec<u32>, mut chunk: impl FnMut(&[u32]) -> Result<()>) -> Result<()> {
        let most = self.partition.chunk / WORDS;
        if let Some(shelf) = self.partition.shelf {
            self.part.shelved.iter().try_for_each(|&run| shelf.read(run, most, scratch, &mut chunk))?;
        }
        self.for_each_chunk_here(scratch, chunk)
    }

    /// The same without those on the shelf.
    ///
    /// # Errors
    /// As [`Self::for_each_chunk`].
    pub fn for_each_chunk_here(
        &self,
        scratch: &mut Vec<u32>,
        mut chunk: impl FnMut(&[u32]) -> Result<()>,
    ) -> Result<()> {
        if let Some((last, full)) = self.part.chunks.split_last() {
            full.iter().try_for_each(|words| chunk(words))?;
            chunk(&last[..self.part.last])?;
        }
        for &offset in &self.part.spilled {
            scratch.resize(self.partition.chunk, 0);
            self.partition.spill.read(offset, scratch)?;
            chunk(scratch)?;
        }
        Ok(())
    }
}

impl Drop for PartReader<'_, '_> {
    fn drop(&mut self) {
        self.partition.pool.lock().unwrap_or_else(PoisonError::into_inner).read[self.block]
            .append(&mut self.part.chunks);
    }
}

/// Puts edges into bins while the input is read.
pub trait Placing {
    /// One for each thread.
    fn visitors(&mut self) -> Vec<&mut dyn Visitor>;

    /// Hands over what is not in the bins yet, once everything was seen; the number of loops.
    ///
    /// # Errors
    /// Those of the spill file, an input that has changed, [`Error::Lost`].
    fn finish(self: Box<Self>) -> Result<u64>;
}

impl Placing for Vec<Scatter<'_, '_, '_>> {
    fn visitors(&mut self) -> Vec<&mut dyn Visitor> {
        self.iter_mut().map(|scatter| scatter as &mut dyn Visitor).collect()
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        self.into_iter().map(Scatter::finish).sum()
    }
}

/// A line while it is gathered.
#[derive(Debug, Clone)]
struct Line {
    lows: [u32; LINE],
    places: [u16; LINE],
}

/// One thread's lines.
pub struct Scatter<'p, 'r, 'a> {
    route: &'p Route<'r, 'a>,
    lane: usize,
    map: &'p [u32],
    source: &'p str,
    /// First row of each bin.
    starts: Vec<u32>,
    lines: Vec<Line>,
    filled: Vec<u32>,
    loops: u64,
}

impl<'p, 'r, 'a> Scatter<'p, 'r, 'a> {
    fn new(route: &'p Route<'r, 'a>, lane: usize, map: &'p [u32], source: &'p str) -> Self {
        let spans = &route.bins().spans;
        let starts = spans.iter().map(|span| span.rows.start as u32).collect();
        let lines = vec![Line { lows: [NONE; LINE], places: [0; LINE] }; spans.len()];
        Scatter { route, lane, map, source, starts, lines, filled: vec![0; spans.len()], loops: 0 }
    }

    /// Bytes that one takes over `bins` bins.
    pub fn bytes(bins: usize) -> u64 {
        (bins * (size_of::<Line>() + 8)) as u64
    }

    /// Hands over what is left in the lines; returns the number of loops met.
    ///
    /// # Errors
    /// Those of the spill file.
    pub fn finish(mut self) -> Result<u64> {
        for (bin, &filled) in self.filled.iter().enumerate().filter(|&(_, &filled)| filled > 0) {
            let line = &mut self.lines[bin];
            line.lows[filled as usize..].fill(NONE);
            self.route.line(self.lane, bin, line)?;
        }
        Ok(self.loops)
    }

    #[inline]
    fn push(&mut self, a: u32, b: u32) -> Result<()> {
        let (row, low) = (a.max(b), a.min(b));
        let bin = self.route.bins().of(row);
        if !self.route.wants(bin) {
            return Ok(());
        }
        let (line, at) = (&mut self.lines[bin], self.filled[bin] as usize % LINE);
        line.lows[at] = low;
        line.places[at] = (row - self.starts[bin]) as u16;
        self.filled[bin] = (at as u32 + 1) % LINE as u32;
        if at + 1 == LINE {
            self.route.line(self.lane, bin, line)?;
        }
        Ok(())
    }

    #[inline]
    fn edge(&mut self, u: u64, v: u64) -> Result<()> {
        if u == v {
            self.loops += 1;
            return Ok(());
        }
        match (self.map.get(u as usize), self.map.get(v as usize)) {
            (Some(&a), Some(&b)) if a.max(b) != super::relabel::ISOLATED => self.push(a, b),
            _ => Err(changed(self.source)),
        }
    }
}

/// An input that is not what it was in the first pass.
pub fn changed(source: &str) -> Error {
    Error::input(
        source,
        crate::error::At::File,
        "the same content as in the first pass",
        "other edges",
        "don't write to the input while a job reads it; run the job again",
    )
}

impl Scatter<'_, '_, '_> {
    /// The look-ups are random: those of the next edges are under way while these are placed.
    fn edges<T: Copy + Into<u64>>(&mut self, edges: &[[T; 2]]) -> Result<()> {
        const AHEAD: usize = 32;
        for (i, &[u, v]) in edges.iter().enumerate() {
            if let Some(&[u, v]) = edges.get(i + AHEAD) {
                let (u, v): (u64, u64) = (u.into(), v.into());
                prefetch(self.map, u as usize);
                prefetch(self.map, v as usize);
            }
            self.edge(u.into(), v.into())?;
        }
        Ok(())
    }
}

impl Visitor for Scatter<'_, '_, '_> {
    fn visit(&mut self, edges: Edges<'_>) -> Result<()> {
        match edges {
            Edges::Narrow(edges) => self.edges(edges),
            Edges::Wide(edges) => self.edges(edges),
        }
    }
}
