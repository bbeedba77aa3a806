//! The chunks of an uncompressed file of fixed-size records. A thread reads a chunk in pieces that fit in the L2
//! cache, or takes the chunk from the input cache.

use crate::error::Result;
use crate::formats::bytes::read::Reader;
use crate::formats::graph500::WeightsFile;
use crate::formats::metis::Cursor;
use crate::formats::pass::state::locate;
use crate::formats::scan::input_cache::{self, CacheUse, InputCache};
use crate::formats::{BodyLayout, Head, ScanState, Sink, Stop};
use crate::memory::{bytes_of, bytes_of_mut};

/// Number of bytes that are read, hashed and parsed at a time, so small that they stay in the L2 cache. It is a
/// multiple of every record size.
const PIECE: usize = 48 * 5461;

/// Size in bytes of a thread's buffer for records.
pub(crate) const BYTES: u64 = PIECE as u64 + 64;

/// The buffer into which one thread reads the pieces of its chunks, allocated on first use.
#[derive(Default)]
pub(crate) struct PieceBuffer(Vec<u64>);

impl PieceBuffer {
    fn bytes(&mut self) -> &mut [u8] {
        self.0.resize(BYTES as usize / 8, 0);
        bytes_of_mut(&mut self.0)
    }
}

/// An open file of fixed-size records.
pub(crate) struct Records {
    reader: Reader,
    layout: BodyLayout,
    record: usize,
    /// Offset of the first record in the file.
    body: usize,
    length: usize,
    /// The separate weights file, if there is one and the pass needs weights.
    weights: Option<WeightsFile>,
}

impl Records {
    /// Creates a `Records` for the file that `reader` reads; `None` if its records have no fixed size.
    pub fn new(reader: Reader, head: &Head, weights: Option<WeightsFile>) -> Option<Records> {
        let (layout, length) = (head.layout.clone(), reader.length() as usize);
        Some(Records { record: layout.record()?, body: head.body, reader, layout, length, weights })
    }

    fn bounds(&self, shared: &ScanState<'_>, chunk: u64) -> (usize, usize) {
        let from = chunk as usize * shared.chunk;
        (from, self.length.min(from + shared.chunk))
    }

    /// Returns true if a chunk is in the page cache.
    pub fn is_cached(&self, shared: &ScanState<'_>, chunk: u64) -> bool {
        let (from, to) = self.bounds(shared, chunk);
        self.reader.cached(from as u64, to as u64)
    }

    /// Reads a chunk ahead into memory of `cache` if it is not in the page cache. Returns false if no memory is left.
    pub fn read_ahead(&self, shared: &ScanState<'_>, cache: &InputCache<'_>, number: u64, chunk: u64) -> bool {
        let (from, to) = self.bounds(shared, chunk);
        if !input_cache::fits(shared.chunk, self.body, self.record, self.length as u64)
            || self.reader.cached(from as u64, to as u64)
        {
            cache.decide(number, None);
            return true;
        }
        let Some(slab) = cache.slab() else {
            cache.decide(number, None);
            return false;
        };
        // If this read fails, the thread that parses the chunk reads it again, fails, too, and reports the error.
        match self.reader.read_past_cache(from as u64, bytes_of_mut(slab), to - from) {
            Ok(()) => cache.decide(number, Some(slab)),
            Err(_) => {
                cache.unused(slab);
                cache.decide(number, None);
            }
        }
        true
    }

    /// Hashes and parses chunk `chunk` of the file, which has the index `number` among all chunks of the scan.
    #[allow(clippy::too_many_arguments)]
    pub fn chunk(
        &self,
        shared: &ScanState<'_>,
        part: usize,
        (number, chunk): (u64, u64),
        cache: CacheUse<'_, '_>,
        piece: &mut PieceBuffer,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        let (from, to) = self.bounds(shared, chunk);
        let place = (part, chunk);
        if let Some(slab) = cache.take(number) {
            let bytes = &bytes_of(slab)[..to - from];
            self.parse(shared, place, (from, to), sink, |at, until, parse| parse(&bytes[at - from..until - from]))?;
            cache.parsed(number, slab);
        } else {
            // A chunk that is read with a single call needs no hint.
            if to - from > PIECE && !self.reader.cached(from as u64, to as u64) {
                let until = (to + 2 * shared.chunk) as u64;
                self.reader.will_need(from as u64, until);
                if let Some(weights) = &self.weights {
                    let edge = |at: u64| at.saturating_sub(self.body as u64) / self.record as u64;
                    weights.will_need(edge(from as u64)..edge(until));
                }
            }
            let piece = piece.bytes();
            self.parse(shared, place, (from, to), sink, |at, until, parse| {
                let bytes = &mut piece[..until - at];
                self.reader.read(at as u64, bytes)?;
                parse(bytes)
            })?;
        }
        shared.count(part, sink.take_count());
        shared.advance((to - from) as u64)
    }

    /// Hashes the bytes of the chunk, and parses the records that start in it; the last record may extend beyond the
    /// chunk. `with(at, until, parse)` passes the bytes `at..until` of the file to `parse`.
    fn parse(
        &self,
        shared: &ScanState<'_>,
        (part, chunk): (usize, u64),
        (from, to): (usize, usize),
        sink: &mut Sink<'_>,
        mut with: impl FnMut(usize, usize, &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let cut = |at: usize| {
            let behind = at.saturating_sub(self.body).next_multiple_of(self.record);
            (self.body + behind).min(self.length)
        };
        let (start, end) = (cut(from), cut(to));
        // A small chunk may lie within one record.
        let last = if start < end { end } else { to };
        let mut hasher = ScanState::hasher(part, chunk);
        let mut of_weights = self.weights.is_some().then(|| ScanState::hasher(part, chunk));
        let (mut at, mut cursor) = (from, Cursor::default());
        while at < last {
            // The bytes before the chunk's first record form a separate piece: a header, or the end of a record that
            // the previous chunk parses.
            let until = if at < start { start.min(last) } else { last }.min(at + PIECE);
            with(at, until, &mut |bytes| {
                hasher.update(&bytes[..until.min(to).saturating_sub(at)]);
                let first = at.max(start).min(until);
                if start == end || first == until {
                    return Ok(());
                }
                let bytes = &bytes[first - at..];
                let parsed = match &self.weights {
                    Some(weights) => {
                        let edge = ((first - self.body) / self.record) as u64;
                        let of_weights = &mut of_weights;
                        weights.parse(bytes, edge, sink, |weights| {
                            of_weights.iter_mut().for_each(|hasher| hasher.update(weights));
                        })
                    }
                    None => self.layout.parse(bytes, &mut cursor, sink),
                };
                parsed.map_err(|stop: Stop| locate(stop, &shared.parts[part], first as u64, &[], 1))
            })?;
            at = until;
        }
        sink.flush()?;
        shared.set_hash(part, chunk, hasher.digest());
        if let Some(hasher) = of_weights {
            shared.add_weights_hash(part, chunk, hasher.digest());
        }
        Ok(())
    }
}
