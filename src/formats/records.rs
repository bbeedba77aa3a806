//! The chunks of a plain file of fixed records: read piece by piece, or taken from memory where they are kept.

use super::kept::{self, Keeping, Kept};
use super::layout::{Head, Layout};
use super::metis::Cursor;
use super::read::Reader;
use super::scan::{Shared, locate};
use super::sink::{Sink, Stop};
use super::{Part, Visitor};
use crate::error::Result;
use crate::memory::bytes_of_mut;

/// Bytes that are read and hashed, then parsed, before they leave the L2 cache: whole records of every kind.
const PIECE: usize = 48 * 5461;

/// Bytes that a thread takes.
pub(super) const BYTES: u64 = PIECE as u64 + 64;

/// One thread's piece, made when it is needed.
#[derive(Default)]
pub(super) struct Piece(Vec<u64>);

impl Piece {
    fn bytes(&mut self) -> &mut [u8] {
        self.0.resize(BYTES as usize / 8, 0);
        bytes_of_mut(&mut self.0)
    }
}

/// A file of fixed records.
pub(super) struct Records {
    reader: Reader,
    layout: Layout,
    record: usize,
    /// The first byte of the first record.
    body: usize,
    length: usize,
}

impl Records {
    /// The records of a file that `reader` reads; nothing if its records are not of fixed length.
    pub fn new(reader: Reader, head: &Head) -> Option<Records> {
        let (layout, length) = (head.layout.clone(), reader.length() as usize);
        Some(Records { record: layout.record()?, body: head.body, reader, layout, length })
    }

    /// Chunks of `bytes` bytes.
    pub fn chunks(&self, bytes: usize) -> u64 {
        self.length.div_ceil(bytes) as u64
    }

    fn bounds(&self, shared: &Shared<'_>, chunk: u64) -> (usize, usize) {
        let from = chunk as usize * shared.chunk;
        (from, self.length.min(from + shared.chunk))
    }

    /// Whether a chunk is in the page cache.
    pub fn is_cached(&self, shared: &Shared<'_>, chunk: u64) -> bool {
        let (from, to) = self.bounds(shared, chunk);
        self.reader.cached(from as u64, to as u64)
    }

    /// Reads a chunk ahead into memory of `kept` if it has to come from the disk. False when there is no memory left.
    pub fn read_ahead(&self, shared: &Shared<'_>, kept: &Kept<'_>, number: u64, chunk: u64) -> bool {
        let (from, to) = self.bounds(shared, chunk);
        if !kept::fits(shared.chunk, self.body, self.record, self.length as u64)
            || self.reader.cached(from as u64, to as u64)
        {
            kept.decide(number, None);
            return true;
        }
        let Some(mut slab) = kept.slab() else {
            kept.decide(number, None);
            return false;
        };
        // What goes wrong here goes wrong again for who parses the chunk, and is an error then.
        match self.reader.read_past_cache(from as u64, kept::bytes_mut(&mut slab), to - from) {
            Ok(()) => kept.decide(number, Some(slab)),
            Err(_) => {
                kept.unused(slab);
                kept.decide(number, None);
            }
        }
        true
    }

    /// Hashes and parses one chunk, number `number` of all.
    #[allow(clippy::too_many_arguments)]
    pub fn chunk<V: Visitor>(
        &self,
        shared: &Shared<'_>,
        part: usize,
        (number, chunk): (u64, u64),
        keeping: Keeping<'_, '_>,
        piece: &mut Piece,
        sink: &mut Sink<'_, V>,
    ) -> Result<()> {
        let (from, to) = self.bounds(shared, chunk);
        let whole = Whole { records: self, shared, part, chunk, from, to };
        if let Some(slab) = keeping.take(number) {
            let bytes = &kept::bytes(&slab)[..to - from];
            whole.parse(sink, |at, until, parse| parse(&bytes[at - from..until - from]))?;
            keeping.parsed(number, slab);
        } else {
            // What is read at once anyway need not be asked for.
            if to - from > PIECE && !self.reader.cached(from as u64, to as u64) {
                self.reader.will_need(from as u64, (to + 2 * shared.chunk) as u64);
            }
            let piece = piece.bytes();
            whole.parse(sink, |at, until, parse| {
                let bytes = &mut piece[..until - at];
                self.reader.read(at as u64, bytes)?;
                parse(bytes)
            })?;
        }
        shared.count(part, sink.take_count());
        shared.advance((to - from) as u64)
    }
}

/// One chunk.
struct Whole<'a> {
    records: &'a Records,
    shared: &'a Shared<'a>,
    part: usize,
    chunk: u64,
    from: usize,
    to: usize,
}

impl Whole<'_> {
    /// Goes over its bytes, and those behind it that its last record needs; `with` hands over bytes `at .. until`.
    fn parse<V: Visitor>(
        &self,
        sink: &mut Sink<'_, V>,
        mut with: impl FnMut(usize, usize, &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let Whole { records, from, to, .. } = *self;
        let cut = |at: usize| {
            let behind = at.saturating_sub(records.body).next_multiple_of(records.record);
            (records.body + behind).min(records.length)
        };
        let (start, end) = (cut(from), cut(to));
        // A small chunk may lie within one record.
        let last = if start < end { end } else { to };
        let part: &Part = &self.shared.parts[self.part];
        let mut hasher = Shared::hasher(self.part, self.chunk);
        let (mut at, mut cursor) = (from, Cursor::default());
        while at < last {
            // What is before the first record of the chunk by itself: its last bytes, or a header.
            let until = if at < start { start.min(last) } else { last }.min(at + PIECE);
            with(at, until, &mut |bytes| {
                hasher.update(&bytes[..until.min(to).saturating_sub(at)]);
                let first = at.max(start).min(until);
                if start == end || first == until {
                    return Ok(());
                }
                let parsed = records.layout.parse(&bytes[first - at..], &mut cursor, sink);
                parsed.map_err(|stop: Stop| locate(stop, part, first as u64, &[], 1))
            })?;
            at = until;
        }
        sink.flush()?;
        self.shared.set_hash(self.part, self.chunk, hasher.digest());
        Ok(())
    }
}
