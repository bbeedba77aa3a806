//! The second pass over the input. It maps the ids of every edge to vertices, orients the edge, and puts it into the
//! bin of its row.
//!
//! Threads gather the edges of each bin in lines (groups of 64 edges), and store only whole lines (`scatter`, `gpu`).
//! Bins grow by chunks (groups of lines) from a shared pool. When the pool is exhausted, a full chunk is written to a
//! spill file and its memory is reused. So one pass over the input is enough at any memory limit, and edges that fit
//! stay in memory. (The alternative is to read the input again for every part of the rows that fits memory. That needs
//! no spill file, but each pass repeats two random look-ups per edge. From the second repetition on, writing 6 bytes
//! per edge once is cheaper.)

pub mod device_lines;
pub mod gpu;
pub mod gpu_plan;
mod kernel_structs;
mod line;
mod pool;
pub mod route;
pub mod scatter;
pub mod staged_rows;

use crate::error::{Error, Result};
use crate::formats::Visitor;
use crate::graph::{Bins, Direction};
use crate::memory::{bytes_of, bytes_of_mut, discard, move_pages};
use crate::store::scratch::ScratchFile;
use device_lines::{DeviceLines, LineRun};
use line::{EdgeLine, NONE};
pub use line::{LINE, WEIGHTED_WORDS, WORDS, edge_bytes, line_words};
use parking_lot::Mutex;
use pool::Pool;
use staged_rows::StagedRows;
use std::path::Path;

/// The bins that all threads fill.
#[derive(Debug)]
pub struct Partition<'a> {
    bins: &'a Bins,
    /// For each bin, whether this rank fills it. The blocks of the other bins are stored already, or built by other
    /// ranks.
    wanted: &'a [bool],
    parts: Vec<Mutex<BinLines<'a>>>,
    pool: Mutex<Pool<'a>>,
    /// Number of 32-bit words of a line (group of 64 edges).
    words: usize,
    /// Number of 32-bit words of a chunk, the unit by which bins grow.
    chunk: usize,
    spill: ScratchFile,
    /// Whether the memory plan includes memory for sorted rows that do not fit the chunks of their bins.
    rows_have_memory: bool,
    /// Memory for edges that stay on GPUs, if any.
    device_lines: Option<&'a DeviceLines>,
}

/// The edges of one bin, in lines (groups of 64 edges).
#[derive(Debug, Default)]
struct BinLines<'a> {
    /// Chunks of memory with edges of the bin. All are full, except the last, which is being filled.
    chunks: Vec<&'a mut [u32]>,
    /// Number of 32-bit words used in the bin's last chunk.
    last: usize,
    /// Byte offsets of the bin's spilled chunks in the spill file.
    spilled: Vec<u64>,
    /// The bin's edges in GPU memory, as runs of lines (groups of 64 edges).
    runs: Vec<LineRun>,
}

impl<'a> Partition<'a> {
    /// Makes empty bins. They grow by chunks of `lines` lines (groups of 64 edges) from `memory`; when `memory` is
    /// exhausted, full chunks are written to the spill file at the path `spill`. Lines that are made on a GPU are
    /// stored in `device_lines` first, if given. `weighted` says whether edges have weights.
    ///
    /// `memory` must be large enough for one chunk for every wanted bin.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DiskFull`] for the spill file.
    pub fn new(
        bins: &'a Bins,
        wanted: &'a [bool],
        weighted: bool,
        memory: &'a mut [u32],
        lines: usize,
        spill: &Path,
        device_lines: Option<&'a DeviceLines>,
    ) -> Result<Self> {
        let words = line_words(weighted);
        let chunk = lines * words;
        let waiting = wanted.iter().filter(|&&wanted| wanted).count();
        let blocks = bins.block_of.last().map_or(0, |last| last + 1);
        let pool = Pool::new(memory, chunk, blocks, waiting);
        let parts = bins.spans.iter().map(|_| Mutex::default()).collect();
        let (pool, spill) = (Mutex::new(pool), ScratchFile::create(spill, "spill.write")?);
        Ok(Partition { bins, wanted, parts, pool, words, chunk, spill, rows_have_memory: false, device_lines })
    }

    /// Announces that [`Self::adopt`] will add up to `words` 32-bit words of memory while the bins are filled.
    pub fn expect(&self, words: usize) {
        self.pool.lock().expect(words);
    }

    /// Adds `memory` to the memory of the bins. Returns `memory` unused if the bins have enough memory already, or if
    /// `memory` is smaller than a chunk.
    pub fn adopt<'m: 'a>(&self, memory: &'m mut [u32]) -> Option<&'m mut [u32]> {
        self.pool.lock().adopt(memory)
    }

    /// From now on, sorted rows that do not fit the chunks of their bins are stored in other memory, never in the spill
    /// file. The memory plan must include this other memory.
    pub fn keep_rows_in_memory(&mut self) {
        self.rows_have_memory = true;
    }

    /// Returns the number of bytes written to the spill file.
    pub fn spilled(&self) -> u64 {
        self.spill.bytes()
    }

    /// Returns the number of lines (groups of 64 edges) in each bin so far.
    pub fn lines(&self) -> Vec<u64> {
        (0..self.parts.len()).map(|bin| self.parts[bin].lock().lines(self) as u64).collect()
    }

    /// Adds a run of lines (groups of 64 edges) in GPU memory to bin `bin`.
    fn add_run(&self, bin: usize, run: LineRun) {
        self.parts[bin].lock().runs.push(run);
    }

    /// Removes all edges from bin `b`, and returns a reader of these edges.
    pub fn part(&self, b: usize) -> BinReader<'_, 'a> {
        let part = std::mem::take(&mut *self.parts[b].lock());
        BinReader { partition: self, part, block: self.bins.block_of[b] }
    }

    /// Releases the memory pages of the bins of block `block`, and drops `rows`, the block's staged rows. All edges in
    /// these bins must have been read. All pages are released in one call, so that whole huge pages are freed.
    pub fn release(&self, block: usize, rows: Vec<StagedRows<'a>>) {
        let mut chunks = self.pool.lock().take_read(block);
        chunks.extend(rows.into_iter().flat_map(StagedRows::into_chunks));
        discard(chunks);
    }

    /// Remaps the memory pages of the bins of block `block` to the start of `place`, in at most `most` moves. Releases
    /// the other pages of the bins. All edges in these bins must have been read. Returns the number of moves.
    pub fn move_memory(&self, block: usize, place: &mut [u32], most: usize) -> usize {
        let read = self.pool.lock().take_read(block);
        move_pages(read, place, most)
    }

    /// Appends a line (group of 64 edges) to bin `bin`, with its weights if edges have weights.
    fn append(&self, bin: usize, line: &EdgeLine, weights: &[u32]) -> Result<()> {
        let part = &mut *self.parts[bin].lock();
        let room = self.room(part, bin)?;
        line.write(weights, &mut room[..self.words]);
        part.last += self.words;
        Ok(())
    }

    /// Appends lines (groups of 64 edges) to bin `bin`. `words` consists of whole lines.
    fn append_lines(&self, bin: usize, mut words: &[u32]) -> Result<()> {
        let part = &mut *self.parts[bin].lock();
        while !words.is_empty() {
            let room = self.room(part, bin)?;
            let (now, later) = words.split_at(words.len().min(room.len()));
            room[..now.len()].copy_from_slice(now);
            part.last += now.len();
            words = later;
        }
        Ok(())
    }

    /// Returns the free space at the end of the last chunk of `bin`. If the chunk is full, adds an empty chunk first.
    /// If the pool has no empty chunk, writes the full chunk to the spill file and reuses it.
    #[inline]
    fn room<'p>(&self, part: &'p mut BinLines<'a>, bin: usize) -> Result<&'p mut [u32]> {
        if part.chunks.is_empty() || part.last == self.chunk {
            self.next_chunk(part, self.bins.block_of[bin])?;
        }
        let BinLines { chunks, last, .. } = part;
        let chunk =
            chunks.last_mut().ok_or_else(|| Error::internal("find room for a bin", "fewer chunks than bins"))?;
        Ok(&mut chunk[*last..])
    }

    fn next_chunk(&self, part: &mut BinLines<'a>, block: usize) -> Result<()> {
        let fresh = {
            let mut pool = self.pool.lock();
            if part.chunks.is_empty() {
                pool.waiting = pool.waiting.saturating_sub(1);
            }
            if pool.left > pool.waiting { pool.take(block) } else { None }
        };
        match fresh {
            Some(chunk) => part.chunks.push(chunk),
            None => {
                let full = part.chunks.last().map(|full| self.spill.append(&[bytes_of(full)]));
                part.spilled.extend(full.transpose()?);
            }
        }
        part.last = 0;
        Ok(())
    }
}

impl BinLines<'_> {
    fn lines(&self, partition: &Partition<'_>) -> usize {
        let full = self.chunks.len().saturating_sub(1) + self.spilled.len();
        (full * partition.chunk + self.last) / partition.words
            + self.runs.iter().map(|run| run.lines as usize).sum::<usize>()
    }
}

/// Reader of the edges of one bin. When it is dropped, the bin's chunks become available for reuse or release.
#[derive(Debug)]
pub struct BinReader<'p, 'a> {
    partition: &'p Partition<'a>,
    part: BinLines<'a>,
    block: usize,
}

impl<'a> BinReader<'_, 'a> {
    /// Whether some of the bin's edges are in host memory rather than on a GPU.
    pub fn has_lines_here(&self) -> bool {
        !self.part.chunks.is_empty()
    }

    /// Copies the bin's sorted rows (lengths, targets and, if any, weights) to the bin's own chunks, and to free chunks
    /// of earlier bins of the block. If no edge of the bin was spilled, at most 4 bytes per row do not fit there.
    ///
    /// # Errors
    /// Errors of the spill file.
    pub fn stage(mut self, rows: [&[u32]; 3]) -> Result<StagedRows<'a>> {
        let wanted = rows.iter().map(|words| words.len()).sum::<usize>().div_ceil(self.partition.chunk);
        let mut chunks = std::mem::take(&mut self.part.chunks);
        {
            let left = &mut self.partition.pool.lock().read[self.block];
            match wanted.checked_sub(chunks.len()) {
                // Use the last chunks, because they were used most recently.
                Some(more) => chunks.extend(left.drain(left.len().saturating_sub(more)..)),
                None => left.extend(chunks.drain(wanted..)),
            }
        }
        let own = if self.partition.rows_have_memory { usize::MAX } else { rows[0].len() };
        StagedRows::new(chunks, rows, own, &self.partition.spill)
    }

    /// Returns the number of lines (groups of 64 edges) in the bin.
    pub fn lines(&self) -> usize {
        self.part.lines(self.partition)
    }

    /// Returns the direction of the graph's edges.
    pub fn direction(&self) -> Direction {
        self.partition.bins.direction()
    }

    /// Returns the bin's runs of lines (groups of 64 edges) in GPU memory, and the memory that contains them.
    pub fn device_runs(&self) -> (&[LineRun], Option<&DeviceLines>) {
        (&self.part.runs, self.partition.device_lines)
    }

    /// Calls `each` for all edges of the bin, in no particular order, with two arguments: the index of the edge's row
    /// in the bin, and the end of the edge with the smaller id. `scratch` is a buffer for chunks that are read back
    /// from disk.
    ///
    /// # Errors
    /// Errors of the spill file.
    pub fn for_each(&self, scratch: &mut Vec<u32>, mut each: impl FnMut(u16, u32)) -> Result<()> {
        self.for_each_chunk(scratch, |words| {
            // Skip weights, if any.
            for line in words.chunks_exact(self.partition.words) {
                let (lows, places) = line[..WORDS].split_at(LINE);
                let (below, above) = lows.split_at(LINE / 2);
                let below = below.iter().zip(places).map(|(&low, &word)| (word as u16, low));
                let above = above.iter().zip(places).map(|(&low, &word)| ((word >> 16) as u16, low));
                below.chain(above).filter(|&(_, low)| low != NONE).for_each(|(place, low)| each(place, low));
            }
            Ok(())
        })
    }

    /// Calls `each` for all edges of the bin like [`Self::for_each`], with the weight as third argument. Edges must
    /// have weights.
    ///
    /// # Errors
    /// Errors of the spill file; [`Error::Internal`] if edges have no weights.
    pub fn for_each_weighted(&self, scratch: &mut Vec<u32>, mut each: impl FnMut(u16, u32, u32)) -> Result<()> {
        if self.partition.words != WEIGHTED_WORDS {
            return Err(Error::internal("sort edges by weight", "bins without weights"));
        }
        self.for_each_chunk(scratch, |words| {
            for line in words.chunks_exact(WEIGHTED_WORDS) {
                let (edges, weights) = line.split_at(WORDS);
                let (lows, places) = edges.split_at(LINE);
                for half in [0, 1] {
                    let edges = half * LINE / 2..(half + 1) * LINE / 2;
                    let edges = lows[edges.clone()].iter().zip(&weights[edges]).zip(places);
                    for ((&low, &weight), &place) in edges.filter(|((low, _), _)| **low != NONE) {
                        each((place >> (16 * half)) as u16, low, weight);
                    }
                }
            }
            Ok(())
        })
    }

    /// Calls `chunk` with all lines (groups of 64 edges) of the bin, many at a time. `scratch` is a buffer for lines
    /// that are read back from disk or from a GPU.
    ///
    /// # Errors
    /// Errors of `chunk` and of the spill file, and [`Error::Lost`].
    pub fn for_each_chunk(&self, scratch: &mut Vec<u32>, mut chunk: impl FnMut(&[u32]) -> Result<()>) -> Result<()> {
        let most = self.partition.chunk / self.partition.words;
        if let Some(device_lines) = self.partition.device_lines {
            self.part.runs.iter().try_for_each(|&run| device_lines.read(run, most, scratch, &mut chunk))?;
        }
        self.for_each_chunk_here(scratch, chunk)
    }

    /// Calls `chunk` with those lines (groups of 64 edges) of the bin that are not on a GPU, many at a time. `scratch`
    /// is a buffer for lines that are read back from disk.
    ///
    /// # Errors
    /// Errors of [`Self::for_each_chunk`].
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
            self.partition.spill.read(offset, bytes_of_mut(scratch))?;
            chunk(scratch)?;
        }
        Ok(())
    }
}

impl Drop for BinReader<'_, '_> {
    fn drop(&mut self) {
        self.partition.pool.lock().read[self.block].append(&mut self.part.chunks);
    }
}

/// A way of placing edges in bins while the input is read: on the CPU or on a GPU.
pub trait EdgePlacing {
    /// Returns one visitor for each thread that reads the input.
    fn visitors(&mut self) -> Vec<&mut dyn Visitor>;

    /// Stores the partly filled lines. All edges must have been visited. Returns the number of self-loops.
    ///
    /// # Errors
    /// Errors of the spill file, an input that has changed, and [`Error::Lost`].
    fn finish(self: Box<Self>) -> Result<u64>;
}

/// Returns the error for an input that differs from what the first pass read.
pub fn changed(source: &str) -> Error {
    Error::input(
        source,
        crate::error::At::File,
        "the same content as in the first pass",
        "other edges",
        "don't write to the input while a job reads it; run the job again",
    )
}
