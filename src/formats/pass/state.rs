//! The state that all threads of a scan share.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread::Scope;

use xxhash_rust::xxh3::Xxh3;

use crate::error::{At, Error, Result};
use crate::formats::bytes::tokens::newlines;
use crate::formats::sink::EdgeCounts;
use crate::formats::weights::missing;
use crate::formats::{
    BodyLayout, Fault, FindNames, Format, Head, Packing, Part, Share, Stop, Watch, WeightType, Weights, text,
};
use crate::process::threads::spawn;

/// Size in bytes of a chunk of an uncompressed file, and of a chunk of the checksum of any file.
pub(crate) const CHUNK: usize = 8 << 20;

/// Maximum number of vertices that a header may declare.
pub(crate) const MOST_VERTICES: u64 = 1 << 63;

/// The state that all threads of a scan share.
pub(crate) struct ScanState<'a> {
    pub parts: &'a [Part],
    /// Size of a chunk in bytes.
    pub chunk: usize,
    /// The share of the input that this process reads.
    pub share: Share<'a>,
    pub ordered: bool,
    pub weights: Weights,
    watch: &'a dyn Watch,
    stop: AtomicBool,
    failure: Mutex<Option<(ErrorPlace, Error)>>,
    /// The state of each file of the input.
    pub seen: Vec<PartState>,
    /// The narrowest type that can represent all weights so far, encoded by [`word_of`].
    pub found: AtomicU64,
    /// The error for the first integer weight so far that f32 can't represent exactly, and its position.
    pub rounded: Mutex<Option<(ErrorPlace, Error)>>,
    pub threads: usize,
    /// Dictionary of string ids; `None` until it has been built.
    pub numbering: Option<Arc<dyn FindNames>>,
}

/// The state of one file in a scan.
#[derive(Default)]
pub(crate) struct PartState {
    /// The header, after it has been read.
    pub head: OnceLock<Head>,
    /// The hash of each chunk of the file's bytes.
    pub hashes: Vec<AtomicU64>,
    /// Hashes of a separate weights file, if the pass needs weights. An uncompressed file has one hash per chunk. A
    /// compressed file has a single hash, the sum over its blocks, because blocks are parsed in any order.
    pub weights_hashes: Vec<AtomicU64>,
    /// The vertex of the first line in each chunk, for uncompressed METIS files.
    pub first_vertices: OnceLock<Vec<u64>>,
    /// Number of edges of the file that have been parsed.
    pub entries: AtomicU64,
    /// Number of vertex lines that have been counted, for METIS files.
    pub rows: AtomicU64,
    /// Number of edges of the file that have a weight.
    pub weighted: AtomicU64,
    /// Sum of [`EdgeCounts::balance`] over all parsed edges.
    pub balance: AtomicU64,
}

/// Position of an error: file index and chunk index. If several errors occur, the one with the lowest position is
/// reported.
pub(crate) type ErrorPlace = (usize, u64);

impl<'a> ScanState<'a> {
    /// Creates the state of a pass over `parts` with `threads` threads and chunks of `chunk` bytes.
    pub fn new(
        parts: &'a [Part],
        (chunk, weights): (usize, Weights),
        (share, threads): (Share<'a>, usize),
        ordered: bool,
        watch: &'a dyn Watch,
    ) -> Self {
        let zeros = |n: usize| (0..n).map(|_| AtomicU64::new(0)).collect();
        let unseen = |part: &Part| {
            let chunks = part.bytes.div_ceil(chunk as u64) as usize;
            let has_weights = weights.is_wanted() && part.weights_path().is_some();
            let of_weights = if part.packing == Packing::Plain { chunks } else { 1 };
            let weights_hashes = zeros(if has_weights { of_weights } else { 0 });
            PartState { hashes: zeros(chunks), weights_hashes, ..PartState::default() }
        };
        ScanState {
            parts,
            chunk,
            share,
            ordered,
            weights,
            watch,
            stop: AtomicBool::new(false),
            failure: Mutex::new(None),
            seen: parts.iter().map(unseen).collect(),
            found: AtomicU64::new(0),
            rounded: Mutex::default(),
            threads,
            numbering: None,
        }
    }

    /// Adds the hash of the weights of a chunk, or of a block of a compressed file. The hash is ignored if the weights
    /// file did not exist when the scan began, because other threads may not have read it.
    pub fn add_weights_hash(&self, part: usize, chunk: u64, hash: u64) {
        let places = &self.seen[part].weights_hashes;
        let place =
            if self.parts[part].packing == Packing::Plain { places.get(chunk as usize) } else { places.first() };
        if let Some(place) = place {
            place.fetch_add(hash, Relaxed);
        }
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Records `error` if its position is before that of any earlier error, and stops all threads.
    pub fn fail(&self, place: ErrorPlace, error: Error) {
        let mut failure = self.failure.lock();
        if failure.as_ref().is_none_or(|(first, _)| place < *first) {
            *failure = Some((place, error));
        }
        self.stop.store(true, Relaxed);
    }

    /// Starts a thread of the pass. If the thread can't be started, the pass fails, and the result is false.
    pub fn spawn<'scope>(&self, scope: &'scope Scope<'scope, '_>, work: impl FnOnce() + Send + 'scope) -> bool {
        spawn(scope, work).map_err(|error| self.fail((0, 0), error)).is_ok()
    }

    /// Returns the error with the lowest position, if any.
    pub fn check(&self) -> Result<()> {
        self.failure.lock().take().map_or(Ok(()), |(_, error)| Err(error))
    }

    pub fn advance(&self, bytes: u64) -> Result<()> {
        self.watch.advance(bytes)
    }

    pub fn count(&self, part: usize, counted: EdgeCounts) {
        let seen = &self.seen[part];
        seen.entries.fetch_add(counted.edges, Relaxed);
        seen.balance.fetch_add(counted.balance, Relaxed);
        if counted.weighted > 0 {
            seen.weighted.fetch_add(counted.weighted, Relaxed);
            self.found.fetch_max(word_of(counted.weights), Relaxed);
        }
    }

    /// Records the error `rounded` for an integer weight that f32 can't represent exactly, unless an error at an
    /// earlier position is already recorded. `error` is called to convert `rounded` to an error for the user.
    pub fn note_rounded(&self, place: ErrorPlace, rounded: Option<Stop>, error: impl Fn(Stop) -> Error) {
        let Some(stop) = rounded else { return };
        let mut first = self.rounded.lock();
        if first.as_ref().is_none_or(|(before, _)| place < *before) {
            *first = Some((place, error(stop)));
        }
    }

    /// Stores the header of a file. The thread that reads the header calls this once.
    ///
    /// # Errors
    /// [`Error::Usage`] if the pass reads weights and the file has none; bad input if the header declares more than
    /// [`MOST_VERTICES`] vertices.
    pub fn set_head(&self, part: usize, head: Head) -> Result<&Head> {
        if self.weights.is_read() && !head.weighted {
            let part = &self.parts[part];
            return Err(missing(&part.path.display().to_string(), text::unread(part).as_ref()));
        }
        if let Some(vertices) = head.vertices.filter(|vertices| *vertices > MOST_VERTICES) {
            let path = &self.parts[part].path;
            let remedy = "correct the number of vertices in the header";
            let (expected, found) = ("a header of at most 2^63 vertices", vertices.to_string());
            return Err(Error::input(path, At::File, expected, found, remedy));
        }
        let path = self.parts[part].path.display();
        if let Some(remark) = head.remark.as_ref().filter(|_| self.share.rank == 0)
            && !self.parts[part].warned.swap(true, Relaxed)
        {
            tracing::info!("{path}: {remark}");
        }
        Ok(self.seen[part].head.get_or_init(|| head))
    }

    /// Returns the header of a file, if it has been read.
    pub fn head(&self, part: usize) -> Option<&Head> {
        self.seen[part].head.get()
    }

    /// Returns the layout of a file, if its header has been read.
    pub fn layout(&self, part: usize) -> Option<&BodyLayout> {
        self.head(part).map(|head| &head.layout)
    }

    /// Returns a hasher for a chunk of a file, salted with the file index and the chunk index.
    pub fn hasher(part: usize, chunk: u64) -> Xxh3 {
        Xxh3::with_seed(chunk.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (part as u64).rotate_left(40))
    }

    pub fn set_hash(&self, part: usize, chunk: u64, hash: u64) {
        self.seen[part].hashes[chunk as usize].store(hash, Relaxed);
    }

    /// Returns the number of chunks of a file.
    pub fn chunks(&self, part: usize) -> u64 {
        self.seen[part].hashes.len() as u64
    }
}

/// Encodes a weight type as a number. A type that can represent more weights has a larger number; 0 stands for no
/// weights.
pub(crate) fn word_of(weights: Option<WeightType>) -> u64 {
    weights.map_or(0, |kind| 1 + kind as u64)
}

/// Converts the error of a parser to an error for the user. `base` is the file offset of the parsed bytes. Lines are
/// counted from the start of `before`, whose first line has the line number `line`.
pub(crate) fn locate(stop: Stop, part: &Part, base: u64, before: &[u8], line: u64) -> Error {
    match stop {
        Stop::Error(error) => error,
        Stop::Fault(fault) => located(*fault, part, base, before, line),
    }
}

/// Converts a parse error to an error for the user, like [`locate`]; `fault.at` is the offset from the first byte of
/// `before`.
pub(crate) fn located(fault: Fault, part: &Part, base: u64, before: &[u8], line: u64) -> Error {
    let at = match part.format.record().is_some() || part.format.is_arrays() {
        true => At::Byte(base + fault.at as u64),
        false => At::Line(line + newlines(&before[..fault.at.min(before.len())])),
    };
    fault.at(&part.path, at)
}

/// Returns an error for an empty file whose format has a header.
pub(crate) fn refuse_empty(part: &Part) -> Result<()> {
    if matches!(part.format, Format::Mtx | Format::Metis | Format::Gr) {
        let what = if part.packing == Packing::Plain { "an empty file" } else { "nothing in the packed file" };
        let remedy = "fetch or make the file again, or name its format";
        return Err(Error::input(&part.path, At::File, format!("a header of {}", part.format), what, remedy));
    }
    Ok(())
}

/// Result of a thread's work; an error comes with its position.
pub(crate) type WorkResult = Result<(), Box<(ErrorPlace, Error)>>;

/// Returns the indices of the files for which `want` returns true.
pub(crate) fn of_kind(parts: &[Part], want: impl Fn(&Part) -> bool) -> Vec<usize> {
    parts.iter().enumerate().filter(|(_, part)| want(part)).map(|(index, _)| index).collect()
}
