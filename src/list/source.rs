//! A list to read: a file, a generator, or a list in memory.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use xxhash_rust::xxh3::Xxh3;

use crate::error::{At, Error, Result};
use crate::formats::input::{files, identity};
use crate::formats::{Packing, Unwatched, Watch};
use crate::list::binary::first_bad;
use crate::list::contents;
use crate::list::packed::{self, PackedFile};
use crate::list::plain::{self, PIECE, PlainFile, Visit, each_chunk};
use crate::list::{Generated, ListFormat, MAX_NARROW, MemoryList, refusals};

/// Size in bytes of a chunk, the part of a file that a thread reads at a time.
const CHUNK: usize = 512 << 10;

/// A list to read: a file, a generator, or a list in memory.
#[derive(Debug, Clone)]
pub struct ListSource {
    origin: Origin,
    chunk: usize,
}

#[derive(Debug, Clone)]
enum Origin {
    File(ListFile),
    Generated(Generated),
    Memory(MemoryList),
}

#[derive(Debug, Clone)]
struct ListFile {
    path: PathBuf,
    format: ListFormat,
    packing: Packing,
    bytes: u64,
    index: Arc<OnceLock<LengthIndex>>,
}

/// Result of the pass over a file that finds the length of its list.
#[derive(Debug, Clone)]
struct LengthIndex {
    length: u64,
    /// For plain text, the number of numbers before each chunk, followed by their total. Empty for other files.
    counts: Vec<u64>,
}

impl ListSource {
    /// Opens the file at `path`, in `format` or else in the format that its extension implies. Nothing is read from it
    /// yet.
    ///
    /// # Errors
    /// Bad input if the file is missing, is a folder, a pattern or a pipe, or if its extension implies no format.
    pub fn open(path: &Path, format: Option<ListFormat>) -> Result<ListSource> {
        let refused = |found: &str| {
            Error::input(
                path,
                At::File,
                "one file, because a list can't be read from several",
                found,
                "name the file with the list",
            )
        };
        if files::is_pattern(path) {
            return Err(refused("a pattern"));
        }
        let meta = path.metadata().map_err(|e| Error::unreadable(path, &e))?;
        if meta.is_dir() {
            return Err(refused("a folder"));
        }
        if !meta.is_file() {
            let remedy = "write it to a file first, because it is read twice";
            return Err(Error::input(path, At::File, "a file with a list", "a pipe or a device", remedy));
        }
        let format = ListFormat::of(path, format)?;
        let (packing, bytes) = (Packing::of(path), meta.len());
        let file = ListFile { path: path.to_owned(), format, packing, bytes, index: Arc::default() };
        Ok(ListSource { origin: Origin::File(file), chunk: CHUNK })
    }

    /// Returns a source that generates the successors of `list`.
    pub fn generated(list: Generated) -> ListSource {
        ListSource { origin: Origin::Generated(list), chunk: CHUNK }
    }

    /// Returns a source that reads a list in memory.
    pub fn in_memory(list: MemoryList) -> ListSource {
        ListSource { origin: Origin::Memory(list), chunk: CHUNK }
    }

    /// Sets the size of a chunk in bytes, for tests. It must be called before the list is read.
    #[cfg(feature = "testing")]
    pub fn with_chunk(mut self, bytes: usize) -> ListSource {
        self.chunk = bytes.max(1);
        self
    }

    /// Returns the path, the parameters of the generator, or the length of the list in memory, as text for messages.
    pub fn name(&self) -> String {
        match &self.origin {
            Origin::File(file) => file.path.display().to_string(),
            Origin::Generated(list) => list.to_string(),
            Origin::Memory(list) => list.to_string(),
        }
    }

    fn file(&self) -> Option<&ListFile> {
        if let Origin::File(file) = &self.origin { Some(file) } else { None }
    }

    /// Returns the path of the list's file; `None` for other lists.
    pub fn path(&self) -> Option<&Path> {
        self.file().map(|file| file.path.as_path())
    }

    /// Returns the format of the list's file; `None` for other lists.
    pub fn format(&self) -> Option<ListFormat> {
        self.file().map(|file| file.format)
    }

    /// Returns true for a packed (compressed) file, which one thread reads from its start.
    pub fn is_packed(&self) -> bool {
        self.file().is_some_and(|file| file.packing != Packing::Plain)
    }

    /// Returns true if the successors of any elements can be read without a pass over the elements before them.
    pub fn is_random_access(&self) -> bool {
        self.format() != Some(ListFormat::List) && !self.is_packed()
    }

    /// Returns the size of the file in bytes. For other lists, returns 4 bytes per element, or 8 if elements do not fit
    /// 32 bits. A scan of the whole list reports this many bytes in total to [`Watch::advance`].
    pub fn bytes(&self) -> u64 {
        match &self.origin {
            Origin::File(file) => file.bytes,
            Origin::Generated(Generated { length, .. }) => length.saturating_mul(width(*length)),
            Origin::Memory(list) => list.length().saturating_mul(width(list.length())),
        }
    }

    /// Returns a hash that changes when the list changes. It covers the size, times, inode and sampled contents of a
    /// file, the parameters of a generator, or the successors in memory.
    ///
    /// # Errors
    /// Bad input if the file is gone or can't be read.
    pub fn identity(&self) -> Result<u64> {
        match &self.origin {
            Origin::Generated(list) => Ok(list.identity()),
            Origin::Memory(list) => Ok(list.identity()),
            Origin::File(file) => {
                let mut hasher = Xxh3::new();
                identity::add_file(&mut hasher, &file.path, file.format.name())?;
                Ok(hasher.digest())
            }
        }
    }

    /// Returns an upper bound, in bytes, on the memory for finding the length and for a scan with `threads` threads.
    pub fn scratch_bytes(&self, threads: usize) -> u64 {
        match &self.origin {
            Origin::Generated(_) | Origin::Memory(_) => threads as u64 * 8 * PIECE as u64,
            Origin::File(file) if file.packing != Packing::Plain => packed::bytes(file.packing, &file.path),
            Origin::File(file) => {
                let counts = if file.format == ListFormat::List { 8 * (file.bytes / self.chunk as u64 + 2) } else { 0 };
                threads as u64 * plain::thread_bytes(self.chunk) + counts
            }
        }
    }

    /// Returns the number of elements. For text and packed files, the first call reads the file with `threads` threads.
    ///
    /// # Errors
    /// Bad input if the file can't be read, is damaged, ends with an incomplete number, or is text with fewer or more
    /// numbers than it declares.
    pub fn length(&self, threads: usize) -> Result<u64> {
        self.length_watched(threads, &Unwatched)
    }

    /// Like [`Self::length`], but `watch` can cancel the pass over the file. Reports no progress to `watch`.
    ///
    /// # Errors
    /// The errors of [`Self::length`], and any error that the watch returns.
    pub fn length_watched(&self, threads: usize, watch: &dyn Watch) -> Result<u64> {
        match &self.origin {
            Origin::Generated(list) => Ok(list.length),
            Origin::Memory(list) => Ok(list.length()),
            Origin::File(file) => Ok(file.index(self.chunk, threads, watch)?.length),
        }
    }

    /// Passes the successors of `elements` to `visit`, up to 2,048 at a time and in any order. Elements beyond the end
    /// of the list are ignored. Each successor is -1 or an element. If the file is packed, the calling thread unpacks
    /// it from the start, and passes the successors in order.
    ///
    /// # Errors
    /// The errors of [`Self::length`]; bad input if text is not a number or a number is out of range; and any error
    /// that `visit` or `watch` returns.
    pub fn scan(&self, elements: Range<u64>, threads: usize, watch: &dyn Watch, visit: Visit<'_>) -> Result<()> {
        let length = self.length_watched(threads, watch)?;
        let elements = elements.start..elements.end.min(length);
        if elements.start >= elements.end {
            return Ok(());
        }
        match &self.origin {
            Origin::Generated(list) => {
                let fill = |first: u64, out: &mut [i64]| list.fill(first, out);
                generate((list.length, &fill), elements, self.chunk, threads, watch, visit)
            }
            Origin::Memory(list) => {
                let fill = |first: u64, out: &mut [i64]| list.fill(first, out);
                generate((list.length(), &fill), elements, self.chunk, threads, watch, visit)
            }
            Origin::File(file) => {
                let scanned = file.scan(length, elements, (self.chunk, threads), watch, visit);
                scanned.map_err(|error| file.explained(error))
            }
        }
    }
}

impl ListFile {
    fn scan(
        &self,
        length: u64,
        elements: Range<u64>,
        (chunk, threads): (usize, usize),
        watch: &dyn Watch,
        visit: Visit<'_>,
    ) -> Result<()> {
        if self.packing != Packing::Plain {
            return self.scan_packed(length, elements, watch, visit);
        }
        let open = PlainFile::open(&self.path, self.bytes, chunk, watch)?;
        match self.format {
            ListFormat::List => open.scan_text(&self.index(chunk, threads, watch)?.counts, elements, threads, visit),
            format => open.scan_array(format, length, elements, threads, visit),
        }
    }

    /// Returns a more helpful error than `error` if the file contains something other than its format implies;
    /// otherwise returns `error`.
    fn explained(&self, error: Error) -> Error {
        match error {
            Error::Input { .. } => {
                contents::wrong_format_error(&self.path, self.format, self.packing, self.bytes).unwrap_or(error)
            }
            error => error,
        }
    }

    fn index(&self, chunk: usize, threads: usize, watch: &dyn Watch) -> Result<&LengthIndex> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        if self.format == ListFormat::I32
            && let Some(error) = contents::of_64_bits(&self.path, self.packing, self.bytes)
        {
            return Err(error);
        }
        let silent = Silent(watch);
        let index = match (self.packing, self.format.width()) {
            (Packing::Plain, Some(width)) => {
                self.whole(self.bytes, width).map(|length| LengthIndex { length, counts: Vec::new() })
            }
            (Packing::Plain, None) => self.index_text(chunk, threads, &silent),
            _ => self.index_packed(&silent),
        };
        let index = index.map_err(|error| self.explained(error))?;
        Ok(self.index.get_or_init(|| index))
    }

    /// Returns the number of elements in an array of `bytes` bytes, if an element has `width` bytes.
    fn whole(&self, bytes: u64, width: u64) -> Result<u64> {
        if !bytes.is_multiple_of(width) {
            return Err(refusals::not_whole(&self.path, bytes, self.format));
        }
        let length = bytes / width;
        if self.format == ListFormat::I32 && length > MAX_NARROW {
            return Err(refusals::too_long(&self.path, length));
        }
        Ok(length)
    }

    fn index_text(&self, chunk: usize, threads: usize, watch: &dyn Watch) -> Result<LengthIndex> {
        let open = PlainFile::open(&self.path, self.bytes, chunk, watch)?;
        let counts = open.count(threads)?;
        let length = self.declared_length(open.first_number(&counts)?, counts.last().copied().unwrap_or(0));
        // A list without elements is never scanned, so its text is checked here. If the length is wrong and the text
        // contains something other than numbers, the error about the text is more useful.
        if !matches!(length, Ok(1..)) {
            open.check_text(threads)?;
        }
        Ok(LengthIndex { length: length?, counts })
    }

    /// Returns `first`, the length that a text of `all` numbers declares in its first number. Returns an error unless
    /// exactly as many other numbers follow.
    fn declared_length(&self, first: Option<i64>, all: u64) -> Result<u64> {
        let Some(first) = first else { return Err(refusals::no_length(&self.path, self.bytes)) };
        let others = all - 1;
        let Ok(length) = u64::try_from(first) else { return Err(refusals::negative_length(&self.path, first)) };
        if length == others { Ok(length) } else { Err(refusals::other_length(&self.path, length, others)) }
    }

    fn index_packed(&self, watch: &dyn Watch) -> Result<LengthIndex> {
        let (mut all, mut first) = (0, None);
        PackedFile::open(&self.path, self.packing, watch)?.numbers(self.format, |values| {
            first = first.or_else(|| values.first().copied());
            all += values.len() as u64;
            Ok(true)
        })?;
        let length = match self.format.width() {
            Some(width) => self.whole(all * width, width)?,
            None => self.declared_length(first, all)?,
        };
        Ok(LengthIndex { length, counts: Vec::new() })
    }

    fn scan_packed(&self, length: u64, elements: Range<u64>, watch: &dyn Watch, visit: Visit<'_>) -> Result<()> {
        // The successor of element i is at index i of an array, and at index i + 1 of a text.
        let before = u64::from(self.format == ListFormat::List);
        let wanted = elements.start + before..elements.end + before;
        let mut at = 0;
        PackedFile::open(&self.path, self.packing, watch)?.numbers(self.format, |values| {
            let here = at..at + values.len() as u64;
            at = here.end;
            let (from, to) = (wanted.start.max(here.start), wanted.end.min(here.end));
            if from < to {
                let successors = &values[(from - here.start) as usize..(to - here.start) as usize];
                if let Some(bad) = first_bad(successors, length) {
                    let element = from - before + bad as u64;
                    return Err(refusals::out_of_range(&self.path, At::File, element, length, successors[bad]));
                }
                visit(from - before, successors)?;
            }
            // A scan of the last elements continues to the end of the file, where a checksum may be stored.
            Ok(wanted.end == length + before || here.end < wanted.end)
        })?;
        if at < wanted.end { Err(refusals::changed(&self.path, At::File)) } else { Ok(()) }
    }
}

/// Callback that fills a slice with the successors of consecutive elements, from the given element on.
type Fill<'a> = &'a (dyn Fn(u64, &mut [i64]) + Sync);

/// Passes the successors of `elements` to `visit`. Several threads call `fill` to compute them, range by range and in
/// any order. The list has `length` elements.
fn generate(
    (length, fill): (u64, Fill<'_>),
    elements: Range<u64>,
    chunk: usize,
    threads: usize,
    watch: &dyn Watch,
    visit: Visit<'_>,
) -> Result<()> {
    let of_it = (chunk as u64 / 8).max(1);
    each_chunk(elements.start / of_it..elements.end.div_ceil(of_it), threads, |chunk, _| {
        let (first, end) = (elements.start.max(chunk * of_it), elements.end.min((chunk + 1).saturating_mul(of_it)));
        let mut successors = [0; PIECE];
        let mut at = first;
        while at < end {
            let piece = &mut successors[..(end - at).min(PIECE as u64) as usize];
            fill(at, piece);
            visit(at, piece)?;
            at += piece.len() as u64;
        }
        watch.advance((end - first) * width(length))
    })
}

/// Returns the size in bytes of an array element that could store any element of a list of `length` elements: 4, or 8
/// for long lists.
fn width(length: u64) -> u64 {
    if length <= MAX_NARROW { 4 } else { 8 }
}

/// Wraps a [`Watch`] that can cancel a pass, and reports no progress to it. It is used for the pass that finds the
/// length.
struct Silent<'a>(&'a dyn Watch);

impl Watch for Silent<'_> {
    fn advance(&self, _bytes: u64) -> Result<()> {
        self.0.advance(0)
    }
}

impl fmt::Display for ListSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}
