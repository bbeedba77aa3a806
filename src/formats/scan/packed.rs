//! Scans compressed files, which are decompressed into blocks that end at the end of a record.
//!
//! One thread decompresses a file. Any free parser takes its blocks from a short queue, so memory use does not grow
//! with the file. If there are as many files as threads, every thread decompresses and parses its own file. The lists
//! of METIS files are parsed in sequence, because the vertex of a line is known only from the lines before it.

use parking_lot::Mutex;
use std::io::{BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crossbeam::channel::{Receiver, Sender};
use xxhash_rust::xxh3::Xxh3;

use crate::error::{At, Error, Result};
use crate::formats::bytes::tokens::newlines;
use crate::formats::graph500::{self, WeightsFile};
use crate::formats::metis::Cursor;
use crate::formats::packing::{self, Decoder};
use crate::formats::pass::layout;
use crate::formats::pass::state::{WorkResult, locate, located, of_kind, refuse_empty};
use crate::formats::pass::stored::{StoredBytes, unpacked};
use crate::formats::{BodyLayout, Format, HEAD, Packing, Part, ScanState, Sink, Weights, arrays, contents, suspect};

/// Maximum number of blocks that wait between a decompressing thread and the parsers.
pub(crate) const QUEUE: usize = 4;
/// Uncompressed size of a block in bytes, unless chunks are smaller.
const BLOCK: usize = 1 << 20;

/// Returns an upper bound on the memory in bytes for decompressing one file.
pub(crate) fn bytes(part: &Part, threads: usize, weights: Weights) -> u64 {
    if part.packing == Packing::Plain {
        return 0;
    }
    let unpacking = packing::memory(part.packing, &part.path);
    if part.format.is_arrays() {
        let times = if weights.is_wanted() { 3 } else { 2 };
        return times * (unpacking + StoredBytes::BYTES) + arrays::MEMORY;
    }
    // A block, and the bytes carried over to the next block, may each contain a line of maximum length. Vectors grow
    // by doubling.
    let block = 2 * (BLOCK + HEAD) as u64;
    unpacking + StoredBytes::BYTES + block * (QUEUE + threads + 2) as u64
}

/// The compressed files of a scan that are in this process's share.
pub(crate) struct Packed<'a> {
    shared: &'a ScanState<'a>,
    /// Indices of the compressed files whose blocks all threads parse.
    spread: Vec<usize>,
    /// Indices of the compressed files that one thread decompresses and parses alone.
    alone: Vec<usize>,
    pub feeders: usize,
    next_spread: AtomicUsize,
    next_alone: Mutex<usize>,
    /// Index of the next block, in the order of the input.
    number: AtomicU64,
}

/// A block of decompressed bytes, which ends at the end of a record.
pub(crate) struct PackedBlock {
    part: usize,
    data: Vec<u8>,
    /// 1-based line number of the block's first line. `offset` is the block's offset in the decompressed bytes.
    line: u64,
    offset: u64,
    /// Number of compressed bytes from which the block was decompressed.
    stored: u64,
    number: u64,
    /// The separate weights file of the block's edges, if there is one and the pass needs weights.
    weights: Option<Arc<WeightsFile>>,
}

impl<'a> Packed<'a> {
    pub fn new(shared: &'a ScanState<'a>, first_number: u64, threads: usize) -> Self {
        let packed = of_kind(shared.parts, |part| part.packing != Packing::Plain);
        let packed: Vec<_> =
            packed.into_iter().enumerate().filter(|&(nth, _)| shared.share.has(nth)).map(|(_, part)| part).collect();
        let (alone, spread): (Vec<_>, Vec<_>) = packed.iter().partition(|index| {
            let format = shared.parts[**index].format;
            format == Format::Metis || format.is_arrays() || (packed.len() >= threads && !shared.ordered)
        });
        let feeders = if shared.ordered { spread.len().min(1) } else { spread.len() };
        let (next_spread, next_alone) = (AtomicUsize::new(0), Mutex::new(0));
        Packed { shared, spread, alone, feeders, next_spread, next_alone, number: AtomicU64::new(first_number) }
    }

    /// Body of a decompressing thread: decompresses one file after the other and sends its blocks to the parsers.
    pub fn feed(&self, blocks: &Sender<PackedBlock>) {
        while let Some(&part) = self.spread.get(self.next_spread.fetch_add(1, Relaxed)) {
            let mut sent = 0;
            let done = Unpacker::open(self.shared, part).and_then(|mut unpacked| {
                while let Some(mut block) = unpacked.next()? {
                    block.number = self.number.fetch_add(1, Relaxed);
                    sent += 1;
                    if self.shared.stopped() || blocks.send(block).is_err() {
                        break;
                    }
                }
                Ok(())
            });
            if let Err(error) = done {
                return self.shared.fail((part, sent), error);
            }
        }
    }

    /// Body of a parsing thread: parses blocks until all decompressing threads are done.
    pub fn work(&self, blocks: Receiver<PackedBlock>, sink: &mut Sink<'_>) -> WorkResult {
        for block in blocks {
            if self.shared.stopped() {
                break;
            }
            let place = (block.part, block.number);
            self.block(&block, &mut Cursor::default(), sink).map_err(|error| Box::new((place, error)))?;
        }
        Ok(())
    }

    /// Body of a thread that decompresses and parses whole files.
    pub fn work_alone(&self, sink: &mut Sink<'_>) -> WorkResult {
        loop {
            let mut next = self.next_alone.lock();
            let Some(&part) = self.alone.get(*next) else { return Ok(()) };
            *next += 1;
            // To preserve the order of the input, the lock is held until the file has been parsed.
            let _turn = self.shared.ordered.then_some(next);
            self.part(part, sink).map_err(|error| Box::new(((part, 0), error)))?;
        }
    }

    fn part(&self, part: usize, sink: &mut Sink<'_>) -> Result<()> {
        if self.shared.parts[part].format.is_arrays() {
            return arrays::read(self.shared, part, &self.number, sink);
        }
        let mut unpacked = Unpacker::open(self.shared, part)?;
        let mut cursor = Cursor::default();
        while let Some(mut block) = unpacked.next()? {
            if self.shared.stopped() {
                return Ok(());
            }
            block.number = self.number.fetch_add(1, Relaxed);
            self.block(&block, &mut cursor, sink)?;
            unpacked.spare = block.data;
        }
        if let Some(BodyLayout::Metis(adjacency)) = unpacked.layout {
            let line = unpacked.line;
            let at_end = |fault| located(fault, &self.shared.parts[part], 0, &[], line);
            adjacency.finish(&mut cursor, 0).map_err(at_end)?;
            self.shared.seen[part].rows.store(cursor.vertex, Relaxed);
        }
        Ok(())
    }

    fn block(&self, block: &PackedBlock, cursor: &mut Cursor, sink: &mut Sink<'_>) -> Result<()> {
        let Some(layout) = self.shared.layout(block.part) else { return Ok(()) };
        let parsed = match &block.weights {
            Some(weights) => {
                let mut hasher = Xxh3::with_seed(block.offset);
                let edge = block.offset / graph500::EDGE as u64;
                let parsed = weights.parse(&block.data, edge, sink, |weights| hasher.update(weights));
                self.shared.add_weights_hash(block.part, 0, hasher.digest());
                parsed
            }
            None => layout.parse(&block.data, cursor, sink),
        };
        let place = |stop| locate(stop, &self.shared.parts[block.part], block.offset, &block.data, block.line);
        parsed.map_err(place)?;
        self.shared.note_rounded((block.part, block.number), sink.take_rounded(), place);
        sink.flush()?;
        self.shared.count(block.part, sink.take_count());
        sink.visitor.chunk_done(block.number)?;
        self.shared.advance(block.stored)
    }
}

/// Reader of the blocks of one compressed file.
struct Unpacker<'a> {
    shared: &'a ScanState<'a>,
    index: usize,
    part: &'a Part,
    decoder: Decoder<BufReader<StoredBytes<'a>>>,
    layout: Option<&'a BodyLayout>,
    weights: Option<Arc<WeightsFile>>,
    /// Decompressed bytes after the end of the last block; the next block begins with them.
    carry: Vec<u8>,
    /// An empty buffer for the bytes of the next block.
    spare: Vec<u8>,
    line: u64,
    offset: u64,
    stored: u64,
    done: bool,
}

impl<'a> Unpacker<'a> {
    /// Opens a compressed file and reads its header.
    fn open(shared: &'a ScanState<'a>, index: usize) -> Result<Self> {
        let part = &shared.parts[index];
        let mut blocks = Unpacker {
            shared,
            index,
            part,
            decoder: unpacked(shared, index)?,
            layout: None,
            weights: None,
            carry: Vec::new(),
            spare: Vec::new(),
            line: 1,
            offset: 0,
            stored: 0,
            done: false,
        };
        let mut prefix = Vec::new();
        let whole = blocks.fill(&mut prefix, HEAD)?;
        if prefix.is_empty() {
            refuse_empty(part)?;
        }
        let head = layout::head(part, &prefix).map_err(|f| located(f, part, 0, &prefix, 1))?;
        if head.body == prefix.len() && !whole {
            let found = format!("one of more than {} bytes", HEAD);
            return Err(Error::input(&part.path, At::Line(1), "a shorter header", found, "shorten the comments"));
        }
        suspect::check(part, true, &prefix[..prefix.len() / 16 * 16], None, |_, _| Ok(()))?;
        blocks.line += newlines(&prefix[..head.body]);
        blocks.offset = head.body as u64;
        blocks.carry.extend_from_slice(&prefix[head.body..]);
        if part.format == Format::Graph500 && shared.weights.is_wanted() {
            blocks.weights = WeightsFile::open(part)?.map(Arc::new);
        }
        blocks.layout = Some(&shared.set_head(index, head)?.layout);
        Ok(blocks)
    }

    /// Returns the next block of the file; `None` after the last one.
    fn next(&mut self) -> Result<Option<PackedBlock>> {
        let (Some(layout), false) = (self.layout, self.done) else { return Ok(None) };
        let step = self.shared.chunk.min(BLOCK);
        let mut data = std::mem::take(&mut self.spare);
        data.clear();
        data.append(&mut self.carry);
        let mut goal = step.max(data.len());
        loop {
            self.done = self.fill(&mut data, goal)?;
            let cut =
                if self.done { layout.whole(data.len()).map(|()| Some(data.len())) } else { layout.cut_stream(&data) };
            if let Some(cut) = cut.map_err(|fault| located(fault, self.part, self.offset, &data, self.line))? {
                self.carry.extend_from_slice(&data[cut..]);
                data.truncate(cut);
                break;
            }
            goal = data.len() + step;
        }
        let stored = self.decoder.stored().get_ref().offset;
        let block = PackedBlock {
            part: self.index,
            line: self.line,
            offset: self.offset,
            stored: stored - self.stored,
            number: 0,
            data,
            weights: self.weights.clone(),
        };
        self.stored = stored;
        self.offset += block.data.len() as u64;
        if let (Some(weights), true) = (&self.weights, self.done) {
            weights.check(self.offset / graph500::EDGE as u64)?;
        }
        if layout.record().is_none() {
            self.line += newlines(&block.data);
        }
        Ok(Some(block))
    }

    /// Decompresses until `data` contains `goal` bytes. Returns true at the end of the file.
    fn fill(&mut self, data: &mut Vec<u8>, goal: usize) -> Result<bool> {
        let mut filled = data.len();
        data.resize(goal.max(filled), 0);
        while filled < data.len() {
            match self.decoder.read(&mut data[filled..]) {
                Ok(0) => {
                    data.truncate(filled);
                    return Ok(true);
                }
                Ok(n) => filled += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => {
                    let stored = self.decoder.stored();
                    let at = stored.get_ref().offset - stored.buffer().len() as u64;
                    return Err(contents::not_unpacked(self.part.packing, &self.part.path, at, &e));
                }
            }
        }
        Ok(false)
    }
}
