//! Passes over plain (uncompressed) files, which are divided into chunks that threads take in order.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::error::{At, Error, Result};
use crate::formats::{Reader, Watch, contents};
use crate::list::ListFormat;
use crate::list::binary::{first_bad, widen};
use crate::list::refusals;
use crate::list::text::{self, LONGEST, NotANumber, PADDING, TextNumbers};
use crate::process::threads::in_threads;

/// Callback that receives the first of a range of consecutive elements, and the successors of these elements. Many
/// threads call it.
pub type Visit<'a> = &'a (dyn Fn(u64, &[i64]) -> Result<()> + Sync);

/// Maximum number of successors in one call of [`Visit`]; they stay in the L1 cache.
pub(super) const PIECE: usize = 2048;

/// Number of bytes of a file to read at once; they stay in the L2 cache.
const READ: usize = 256 << 10;

/// Returns the memory in bytes that a thread needs to read a file in chunks of `chunk` bytes.
pub(super) fn thread_bytes(chunk: usize) -> u64 {
    (READ.max(1 + chunk + LONGEST + PADDING) + 8 * PIECE) as u64
}

/// Calls `work` with the index of every chunk in `chunks`, and with a buffer. `threads` threads take the chunks in
/// order; each thread has its own buffer. If chunks fail, returns the error of the one with the smallest index.
pub(crate) fn each_chunk(
    chunks: Range<u64>,
    threads: usize,
    work: impl Fn(u64, &mut Vec<u8>) -> Result<()> + Sync,
) -> Result<()> {
    let numbers = chunks.start as usize..chunks.end as usize;
    in_threads(threads, numbers, Vec::new, |buffer, chunk| work(chunk as u64, buffer), |_| Ok(()))
}

/// A plain (uncompressed) file that is open for a pass.
pub(super) struct PlainFile<'a> {
    pub path: &'a Path,
    pub reader: Reader,
    /// Size in bytes of a chunk, the part of the file that a thread reads at a time.
    pub chunk: usize,
    /// Size in bytes of a byte order mark at the start of the file; text begins after it.
    mark: u64,
    pub watch: &'a dyn Watch,
}

impl<'a> PlainFile<'a> {
    /// Opens the plain file at `path`, which must still have `bytes` bytes.
    pub fn open(path: &'a Path, bytes: u64, chunk: usize, watch: &'a dyn Watch) -> Result<PlainFile<'a>> {
        let reader = Reader::open(path)?;
        if reader.length() != bytes {
            return Err(refusals::changed(path, At::File));
        }
        let mut start = [0; contents::MARK.len()];
        let is_marked = bytes >= start.len() as u64 && {
            reader.read(0, &mut start)?;
            start == contents::MARK
        };
        let mark = if is_marked { start.len() as u64 } else { 0 };
        Ok(PlainFile { path, reader, chunk, mark, watch })
    }

    fn bounds(&self, chunk: u64) -> Range<u64> {
        let from = chunk * self.chunk as u64;
        from..self.reader.length().min(from + self.chunk as u64)
    }

    fn chunks(&self) -> u64 {
        self.reader.length().div_ceil(self.chunk as u64)
    }

    /// Asks the kernel to read ahead the range `bytes` and the next two chunks, if the range is not in the page cache.
    fn will_need(&self, bytes: &Range<u64>) {
        // A chunk that is read in one call needs no hint.
        if bytes.end - bytes.start > READ as u64 && !self.reader.cached(bytes.start, bytes.end) {
            self.reader.will_need(bytes.start, bytes.end + 2 * self.chunk as u64);
        }
    }

    /// Reads the successors of `elements` from an array of `length` numbers in `format`, and passes them to `visit`.
    pub fn scan_array(
        &self,
        format: ListFormat,
        length: u64,
        elements: Range<u64>,
        threads: usize,
        visit: Visit<'_>,
    ) -> Result<()> {
        let width = format.width().unwrap_or(1);
        let of_it = (self.chunk as u64 / width).max(1);
        each_chunk(elements.start / of_it..elements.end.div_ceil(of_it), threads, |chunk, buffer| {
            let first = elements.start.max(chunk * of_it);
            let end = elements.end.min((chunk + 1) * of_it);
            self.will_need(&(first * width..end * width));
            buffer.resize(buffer.len().max(READ.min(((end - first) * width) as usize)), 0);
            let mut values = [0; PIECE];
            let mut at = first;
            while at < end {
                let now = (end - at).min(buffer.len() as u64 / width);
                let bytes = &mut buffer[..(now * width) as usize];
                self.reader.read(at * width, bytes)?;
                for piece in bytes.chunks(PIECE * width as usize) {
                    let values = &mut values[..piece.len() / width as usize];
                    if !widen(format, piece, length, values) {
                        return Err(self.out_of_range(values, at, length, |bad| (at + bad) * width));
                    }
                    visit(at, values)?;
                    at += values.len() as u64;
                }
            }
            self.watch.advance((end - first) * width)
        })
    }

    /// Returns the error for the first out-of-range successor in `values`, which are the successors of the elements
    /// from `first` on. `place` maps an index in `values` to a file offset.
    fn out_of_range(&self, values: &[i64], first: u64, length: u64, place: impl Fn(u64) -> u64) -> Error {
        match first_bad(values, length) {
            Some(bad) => {
                let at = At::Byte(place(bad as u64));
                refusals::out_of_range(self.path, at, first + bad as u64, length, values[bad])
            }
            None => refusals::changed(self.path, At::File),
        }
    }

    /// Reads a chunk of text, the byte before the chunk, and the rest of a number at the chunk's end. [`PADDING`]
    /// spaces follow.
    fn text<'b>(&self, chunk: u64, buffer: &'b mut Vec<u8>) -> Result<TextChunk<'b>> {
        let bounds = self.bounds(chunk);
        self.will_need(&bounds);
        let first = bounds.start.saturating_sub(1);
        let last = self.reader.length().min(bounds.end + LONGEST as u64);
        let before = usize::from(chunk == 0);
        let whole = before + (last - first) as usize;
        buffer.resize(buffer.len().max(whole + PADDING), 0);
        let bytes = &mut buffer[..whole + PADDING];
        bytes[0] = b' ';
        self.reader.read(first, &mut bytes[before..whole])?;
        bytes[whole..].fill(b' ');
        let marked = self.mark.saturating_sub(first) as usize;
        bytes[before..whole.min(before + marked)].fill(b' ');
        let end = 1 + (bounds.end - bounds.start) as usize;
        // A number that continues beyond what was read must not look complete.
        if last < self.reader.length() && bytes[end..whole].iter().all(|byte| *byte > b' ') {
            bytes[whole] = b'?';
        }
        Ok(TextChunk { bytes, end, start: bounds.start })
    }

    /// Counts the numbers in each chunk of text. Returns the number of numbers before each chunk, followed by their
    /// total.
    pub fn count(&self, threads: usize) -> Result<Vec<u64>> {
        let mut counts: Vec<AtomicU64> = (0..=self.chunks()).map(|_| AtomicU64::new(0)).collect();
        each_chunk(0..self.chunks(), threads, |chunk, buffer| {
            let text = self.text(chunk, buffer)?;
            counts[chunk as usize].store(text::count(&text.bytes[..text.end]), Relaxed);
            self.watch.advance(0)
        })?;
        let mut sum = 0;
        for count in &mut counts {
            let of_it = std::mem::replace(count.get_mut(), sum);
            sum += of_it;
        }
        Ok(counts.into_iter().map(AtomicU64::into_inner).collect())
    }

    /// Returns the first number of the text; `None` if it has no number. `counts` is the result of [`Self::count`].
    pub fn first_number(&self, counts: &[u64]) -> Result<Option<i64>> {
        let Some(chunk) = counts.windows(2).position(|pair| pair[1] > pair[0]) else { return Ok(None) };
        let mut buffer = Vec::new();
        let text = self.text(chunk as u64, &mut buffer)?;
        let mut value = [0];
        let filled = text.numbers().fill(&mut value).map_err(|bad| self.no_number(&text, &bad))?;
        Ok((filled == 1).then_some(value[0]))
    }

    /// Returns an error if the text contains something other than numbers.
    pub fn check_text(&self, threads: usize) -> Result<()> {
        each_chunk(0..self.chunks(), threads, |chunk, buffer| {
            let text = self.text(chunk, buffer)?;
            let (mut numbers, mut values) = (text.numbers(), [0; PIECE]);
            while numbers.fill(&mut values).map_err(|bad| self.no_number(&text, &bad))? == PIECE {}
            self.watch.advance(0)
        })
    }

    /// Reads the successors of `elements` from a text that begins with the number of elements, and passes them to
    /// `visit`. `counts` are the result of [`Self::count`].
    pub fn scan_text(&self, counts: &[u64], elements: Range<u64>, threads: usize, visit: Visit<'_>) -> Result<()> {
        let length = counts.last().map_or(0, |all| all.saturating_sub(1));
        // The number at index 0 is the length, so the successor of element i is at index i + 1.
        let chunk_of = |number: u64| counts.partition_point(|before| *before <= number) as u64 - 1;
        let wanted = elements.start + 1..elements.end + 1;
        // Chunks in which no number begins are parsed, too, because they may contain something other than blanks. Such
        // a chunk belongs to the scan of the elements before it, or to the scan that begins at element 0.
        let first = if elements.start == 0 { 0 } else { chunk_of(wanted.start) };
        let behind = chunk_of(wanted.end).max(chunk_of(wanted.end - 1) + 1);
        each_chunk(first..behind, threads, |chunk, buffer| {
            let text = self.text(chunk, buffer)?;
            let (mut numbers, mut values) = (text.numbers(), [0; PIECE]);
            let (mut at, behind) = (counts[chunk as usize], counts[chunk as usize + 1]);
            let changed = || refusals::changed(self.path, At::Byte(text.start));
            while at < behind.min(wanted.end) {
                let before = numbers.clone();
                let most = PIECE.min((behind.min(wanted.end) - at) as usize);
                let filled = numbers.fill(&mut values[..most]).map_err(|bad| self.no_number(&text, &bad))?;
                if filled == 0 {
                    return Err(changed());
                }
                let skipped = wanted.start.saturating_sub(at).min(filled as u64);
                let successors = &values[skipped as usize..filled];
                at += skipped;
                if first_bad(successors, length).is_some() {
                    let place = |bad| text.offset(before.place((skipped + bad) as usize));
                    return Err(self.out_of_range(successors, at - 1, length, place));
                }
                if !successors.is_empty() {
                    visit(at - 1, successors)?;
                }
                at += successors.len() as u64;
            }
            if at == behind && numbers.fill(&mut [0]).map_err(|bad| self.no_number(&text, &bad))? > 0 {
                return Err(changed());
            }
            // If the element ranges of two scans meet within a chunk, only the scan with the chunk's first number
            // reports the chunk to the watch.
            let is_first = counts[chunk as usize] >= wanted.start || wanted.start == 1;
            self.watch.advance(if is_first { (text.end - 1) as u64 } else { 0 })
        })
    }

    fn no_number(&self, text: &TextChunk<'_>, bad: &NotANumber) -> Error {
        refusals::no_number(self.path, text.offset(bad.at), &text.bytes[bad.at..])
    }
}

/// The bytes of a chunk of text.
struct TextChunk<'b> {
    /// One byte before the chunk, the chunk, the rest of its last number, and padding.
    bytes: &'b [u8],
    /// The index in `bytes` at which the chunk ends.
    end: usize,
    /// Byte offset of the chunk in the file.
    start: u64,
}

impl TextChunk<'_> {
    /// Returns the numbers that begin in the chunk.
    fn numbers(&self) -> TextNumbers<'_> {
        let mut numbers = TextNumbers::new(self.bytes, 1, self.end);
        if self.bytes[0] > b' ' {
            numbers.skip_rest();
        }
        numbers
    }

    /// Returns the file offset of `bytes[at]`.
    fn offset(&self, at: usize) -> u64 {
        self.start + at as u64 - 1
    }
}
