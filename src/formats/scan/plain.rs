//! Scans uncompressed files, which are divided into chunks that threads take in order. Text files are mapped; files of
//! fixed-size records are read ([`crate::formats::scan::records`]).

use crate::error::{Error, Result};
use crate::formats::bytes::map::MappedFile;
use crate::formats::bytes::read::Reader;
use crate::formats::bytes::tokens::newlines;
use crate::formats::graph500::WeightsFile;
use crate::formats::metis::{self, Cursor};
use crate::formats::pass::layout;
use crate::formats::pass::share::ChunkQueue;
use crate::formats::pass::state::{ErrorPlace, WorkResult, locate, located, of_kind, refuse_empty};
use crate::formats::scan::input_cache::{CacheUse, InputCache};
use crate::formats::scan::records::{PieceBuffer, Records};
use crate::formats::{BodyLayout, Format, HEAD, Head, Packing, Part, ScanState, Sink, Stop, arrays, parquet, suspect};
use crate::process::threads::in_threads;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

/// Number of bytes that are hashed and then parsed at a time, so small that they stay in the L2 cache.
const PIECE: usize = 256 << 10;
/// Number of bytes that are examined to recognise a file of records.
const PREFIX: usize = 4096;

/// All uncompressed files of a scan.
pub(crate) struct PlainFiles<'c> {
    files: Vec<Body>,
    /// The open files, if there are few. Otherwise a file is open only while a thread reads it.
    _kept: Vec<Arc<OpenFile>>,
    /// Number of chunks of all files. `queue` assigns them to threads.
    pub chunks: u64,
    pub queue: ChunkQueue<'c>,
}

/// One uncompressed file of a scan.
struct Body {
    part: usize,
    /// Index of the file's first chunk among the chunks of all uncompressed files.
    first: u64,
    open: Mutex<Weak<OpenFile>>,
}

enum OpenFile {
    Records(Records),
    Arrays(arrays::PlainArrays),
    Units(parquet::Units),
    Lines(Lines),
}

/// A mapped text file.
struct Lines {
    part: usize,
    map: MappedFile,
    head: Head,
}

/// Maximum number of files that are kept open. The limit of a process is often 1,024 descriptors, and a file may use
/// three.
pub(crate) const KEPT: usize = 128;

impl<'c> PlainFiles<'c> {
    /// Opens the files, reads their headers, and counts the vertex lines of METIS files.
    pub fn open(shared: &ScanState<'c>, threads: usize) -> Result<PlainFiles<'c>> {
        let (mut files, mut kept, mut chunks) = (Vec::new(), Vec::new(), 0);
        let plain = of_kind(shared.parts, |part| part.packing == Packing::Plain);
        let few = plain.len() <= KEPT;
        for index in plain {
            let Some(kind) = open(shared, index)? else {
                refuse_empty(&shared.parts[index])?;
                continue;
            };
            if let OpenFile::Lines(lines) = &kind
                && matches!(lines.head.layout, BodyLayout::Metis(_))
            {
                lines.count_vertices(shared, threads)?;
            }
            let of_it = if let OpenFile::Units(units) = &kind { units.chunks() } else { shared.chunks(index) };
            let kind = Arc::new(kind);
            files.push(Body { part: index, first: chunks, open: Mutex::new(Arc::downgrade(&kind)) });
            chunks += of_it;
            kept.extend(few.then_some(kind));
        }
        Ok(PlainFiles { files, _kept: kept, chunks, queue: shared.share.begin(chunks) })
    }

    fn file(&self, number: u64) -> &Body {
        &self.files[self.files.partition_point(|file| file.first <= number) - 1]
    }

    /// Returns the open file for `file`, which it opens if necessary.
    fn opened(&self, shared: &ScanState<'_>, file: &Body) -> Result<Arc<OpenFile>> {
        let mut there = file.open.lock();
        if let Some(kind) = there.upgrade() {
            return Ok(kind);
        }
        // A file that has changed since the scan began is rejected when it is opened.
        let empty = || Error::internal("open a part again", "it is empty");
        let kind = Arc::new(open(shared, file.part)?.ok_or_else(empty)?);
        *there = Arc::downgrade(&kind);
        Ok(kind)
    }

    /// Body of a read-ahead thread: reads chunks while `cache` has memory.
    pub fn read_ahead(&self, shared: &ScanState<'_>, cache: &InputCache<'_>) {
        while !shared.stopped() {
            let Some(number) = cache.claim() else { break };
            let file = self.file(number);
            match self.opened(shared, file).as_deref() {
                Ok(OpenFile::Records(records)) => {
                    if !records.read_ahead(shared, cache, number, number - file.first) {
                        break;
                    }
                }
                // If the file can't be opened, the thread that parses it reports the error.
                Ok(OpenFile::Arrays(_) | OpenFile::Units(_) | OpenFile::Lines(_)) | Err(_) => {
                    cache.decide(number, None)
                }
            }
        }
    }

    /// Body of a parsing thread: parses chunks of this process's share until none is left.
    pub fn work(&self, shared: &ScanState<'_>, cache: CacheUse<'_, '_>, sink: &mut Sink<'_>) -> WorkResult {
        self.each(shared, cache, sink, || self.queue.take())
    }

    /// Body of a work-stealing thread: parses chunks of other processes that are behind. It does not cache them,
    /// because only the process that owns a chunk may reuse it.
    pub fn help(&self, shared: &ScanState<'_>, sink: &mut Sink<'_>) -> WorkResult {
        self.each(shared, CacheUse::Nothing, sink, || self.queue.help(|number| self.is_worth_taking(shared, number)))
    }

    fn each(
        &self,
        shared: &ScanState<'_>,
        cache: CacheUse<'_, '_>,
        sink: &mut Sink<'_>,
        next: impl Fn() -> Option<u64>,
    ) -> WorkResult {
        let mut piece = PieceBuffer::default();
        // The last file is kept open until the next one is opened, so that it is not reopened for each of its chunks.
        let mut held: Option<Arc<OpenFile>> = None;
        while !shared.stopped() {
            let Some(number) = next() else { break };
            let file = self.file(number);
            let chunk = number - file.first;
            let place: ErrorPlace = (file.part, chunk);
            let kind = self.opened(shared, file).map_err(|error| Box::new((place, error)))?;
            let done = match &*kind {
                OpenFile::Records(records) => {
                    records.chunk(shared, file.part, (number, chunk), cache, &mut piece, sink)
                }
                OpenFile::Arrays(arrays) => arrays.chunk(shared, file.part, chunk, sink),
                OpenFile::Lines(lines) => lines.chunk(shared, chunk, sink),
                // The Parquet reader reports chunks as done itself, because a row group may have several chunk
                // indices.
                OpenFile::Units(units) => {
                    units.chunk(shared, file.part, (file.first, chunk), sink)?;
                    held.replace(kind);
                    continue;
                }
            };
            held.replace(kind);
            done.and_then(|()| sink.visitor.chunk_done(number)).map_err(|error| Box::new((place, error)))?;
        }
        Ok(())
    }

    /// Returns true if this process should parse a chunk of another process. Returns false if the chunk would have to
    /// be read from disk: its owner reads it, and caches it for later passes.
    fn is_worth_taking(&self, shared: &ScanState<'_>, number: u64) -> bool {
        let file = self.file(number);
        match self.opened(shared, file).as_deref() {
            Ok(OpenFile::Records(records)) => records.is_cached(shared, number - file.first),
            Ok(OpenFile::Arrays(_) | OpenFile::Units(_) | OpenFile::Lines(_)) | Err(_) => true,
        }
    }
}

/// Opens an uncompressed file of the input; `None` if it is empty.
fn open(shared: &ScanState<'_>, index: usize) -> Result<Option<OpenFile>> {
    let part = &shared.parts[index];
    if part.records.is_some() {
        return Ok(records(shared, index)?.map(OpenFile::Records));
    }
    if part.format.is_arrays() {
        return arrays::PlainArrays::open(shared, index).map(|arrays| Some(OpenFile::Arrays(arrays)));
    }
    if part.format == Format::Parquet {
        return parquet::Units::open(shared, index).map(|units| Some(OpenFile::Units(units)));
    }
    Ok(lines(shared, index)?.map(OpenFile::Lines))
}

/// Opens a file of fixed-size records; `None` if it is empty.
fn records(shared: &ScanState<'_>, index: usize) -> Result<Option<Records>> {
    let part = &shared.parts[index];
    let reader = Reader::open(&part.path)?;
    part.unchanged(reader.length())?;
    let length = reader.length() as usize;
    let head = match shared.head(index) {
        // The file was opened before, and its header was read then.
        Some(head) => head,
        None => {
            let mut prefix = vec![0; length.min(PREFIX)];
            reader.read(0, &mut prefix)?;
            let head = match part.format {
                Format::Npy => arrays::head(part)?,
                _ => layout::head(part, &prefix)
                    .and_then(|head| head.layout.whole(length - head.body).map(|()| head))
                    .map_err(|fault| located(fault, part, 0, &[], 1))?,
            };
            let warns = shared.share.rank == 0;
            suspect::check(part, warns, &prefix, Some(length as u64), |at, into| reader.read(at, into))?;
            shared.set_head(index, head)?
        }
    };
    let weights = if shared.weights.is_wanted() { WeightsFile::open_checked(part)? } else { None };
    Ok(Records::new(reader, head, weights).filter(|_| length > 0))
}

/// Opens a text file; `None` if it is empty.
fn lines(shared: &ScanState<'_>, index: usize) -> Result<Option<Lines>> {
    let part = &shared.parts[index];
    let map = MappedFile::open(&part.path)?;
    let data = map.bytes();
    part.unchanged(data.len() as u64)?;
    if data.is_empty() {
        return Ok(None);
    }
    map.populate(0, HEAD)?;
    let head = match shared.head(index) {
        Some(head) => head,
        None => {
            let head = layout::head(part, data).map_err(|fault| located(fault, part, 0, data, 1))?;
            shared.set_head(index, head)?
        }
    };
    let head = head.clone();
    Ok(Some(Lines { part: index, map, head }))
}

impl Lines {
    /// Returns the offsets of the start and the end of a chunk in the file, then of the records that start in the
    /// chunk.
    fn bounds(&self, shared: &ScanState<'_>, chunk: u64) -> Result<[usize; 4]> {
        let data = self.map.bytes();
        let from = chunk as usize * shared.chunk;
        let to = data.len().min(from + shared.chunk);
        self.map.populate(from.saturating_sub(1), to + 4096)?;
        let cut = |at| {
            let layout = &self.head.layout;
            layout.cut(data, self.head.body, at).map_err(|fault| located(fault, &shared.parts[self.part], 0, data, 1))
        };
        Ok([from, to, cut(from)?, cut(to)?])
    }

    /// Hashes and parses one chunk of a mapped text file.
    fn chunk(&self, shared: &ScanState<'_>, chunk: u64, sink: &mut Sink<'_>) -> Result<()> {
        let (data, part) = (self.map.bytes(), &shared.parts[self.part]);
        let ahead = (chunk as usize + 2) * shared.chunk;
        self.map.will_need(ahead, ahead + shared.chunk);
        let [from, to, start, end] = self.bounds(shared, chunk)?;
        let mut hasher = ScanState::hasher(self.part, chunk);
        let vertex = shared.seen[self.part].first_vertices.get().and_then(|first| first.get(chunk as usize));
        let mut cursor = Cursor::at(vertex.copied().unwrap_or(0));
        let (mut hashed, mut at) = (from, start);
        while at < end {
            let piece = self.head.layout.cut(data, at, at + PIECE).map_err(|f| located(f, part, 0, data, 1))?.min(end);
            if hashed < piece.min(to) {
                hasher.update(&data[hashed..piece.min(to)]);
                hashed = piece.min(to);
            }
            self.head.layout.parse(&data[at..piece], &mut cursor, sink).map_err(|stop| self.place(stop, part, at))?;
            shared.note_rounded((self.part, chunk), sink.take_rounded(), |stop| self.place(stop, part, at));
            at = piece;
        }
        if let (BodyLayout::Metis(adjacency), true) = (&self.head.layout, end == data.len()) {
            adjacency.finish(&mut cursor, 0).map_err(|stop| self.place(stop.into(), part, data.len()))?;
        }
        sink.flush()?;
        hasher.update(&data[hashed..to]);
        shared.set_hash(self.part, chunk, hasher.digest());
        shared.count(self.part, sink.take_count());
        self.map.drop_range(from, to);
        shared.advance((to - from) as u64)
    }

    /// Adds the position in the file to the error of a parser whose bytes start at file offset `at`.
    fn place(&self, stop: Stop, part: &Part, at: usize) -> Error {
        let (before, data) = self.map.bytes().split_at(at);
        locate(stop, part, 0, data, 1 + newlines(before))
    }

    /// Finds the vertex of the first line in each chunk of a METIS file, in an additional pass over the file.
    fn count_vertices(&self, shared: &ScanState<'_>, threads: usize) -> Result<()> {
        let seen = &shared.seen[self.part];
        let lines: Vec<AtomicU64> = seen.hashes.iter().map(|_| AtomicU64::new(0)).collect();
        let count = |(): &mut (), chunk: usize| {
            let [from, to, start, end] = self.bounds(shared, chunk as u64)?;
            lines[chunk].store(metis::vertex_lines(&self.map.bytes()[start..end]), Relaxed);
            self.map.drop_range(from, to);
            shared.advance(0)
        };
        in_threads(threads, 0..lines.len(), || (), count, Ok)?;
        let mut first: Vec<u64> = lines.into_iter().map(AtomicU64::into_inner).collect();
        let mut vertex = 0;
        for lines in &mut first {
            vertex += std::mem::replace(lines, vertex);
        }
        // Every process counts all lines, but only rank 0 reports the number, because the processes' numbers are
        // summed.
        let reported = if shared.share.rank == 0 { vertex } else { 0 };
        seen.rows.store(reported, Relaxed);
        seen.first_vertices.get_or_init(|| first);
        Ok(())
    }
}
