//! Makes one pass over all parts of an input with many threads.
//!
//! Plain files come first: threads take their chunks in order ([`crate::formats::scan::plain`]). Meanwhile each packed
//! file is unpacked by a separate thread, which feeds the others through a bounded channel. If there are as many packed
//! files as threads, every thread instead unpacks and parses one file after the other. If there are several errors, the
//! first in the input is reported.

pub mod input_cache;
pub mod layout;
pub mod map;
pub mod packed;
pub mod plain;
pub mod read;
pub mod records;
pub mod share;
pub mod sink;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use xxhash_rust::xxh3::Xxh3;

use crate::error::{At, Error, Result};
use crate::formats::lines::newlines;
use crate::formats::scan::input_cache::CacheUse;
use crate::formats::scan::layout::{Head, Layout};
use crate::formats::scan::packed::Packed;
use crate::formats::scan::plain::PlainFiles;
use crate::formats::scan::share::{Seen, Share};
use crate::formats::scan::sink::{Counted, Fault, Sink, Stop, UnfitWeights};
use crate::formats::weights::Unread;
use crate::formats::{Format, Input, Packing, Part, Visitor, Watch, WeightType, Weights, weights};

/// The result of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scan {
    /// Number of edges in the input, including self-loops and repeats.
    pub edges: u64,
    /// The largest number of vertices that a header declares. All ids of that file are below it, which the scan has
    /// checked.
    pub declared_vertices: Option<u64>,
    /// xxh3 over the stored bytes in chunks of 8 MiB. The hash of each chunk is salted with its part and position, and
    /// the hashes are combined in order. It does not depend on the number of threads. For a generator it is a hash of
    /// the parameters.
    pub checksum: u64,
    /// The same checksum over weights that are in separate files, if the caller wants weights; otherwise 0.
    pub weights_checksum: u64,
    /// The type of the weights; `None` if no edge has one, or if weights are skipped. A scan that finds the type gives
    /// u32 if all weights are integers below 2^32. A scan that reads weights gives the type in which they are read.
    pub weights: Option<WeightType>,
    /// Which files contain only one direction of each edge.
    pub halves: Halves,
}

/// Which files of an undirected input contain only one direction of each edge: symmetric Matrix Market files, and METIS
/// files that list each edge once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halves {
    /// No file.
    None,
    /// Some files, but not all.
    Some,
    /// All files.
    All,
}

/// Maximum number of vertices that a header may declare.
const MOST_VERTICES: u64 = 1 << 63;

/// The state that all threads of a scan share.
pub(crate) struct ScanState<'a> {
    pub parts: &'a [Part],
    /// Size of a chunk in bytes.
    pub chunk: usize,
    /// The share of the input that this rank reads.
    pub share: Share<'a>,
    pub ordered: bool,
    pub weights: Weights,
    watch: &'a dyn Watch,
    stop: AtomicBool,
    failure: Mutex<Option<(ErrorPlace, Error)>>,
    /// A hash for every chunk of every part, in the order of the parts.
    hashes: Vec<AtomicU64>,
    first_hash: Vec<usize>,
    /// Hashes of weights that are in separate files and wanted. A plain file has one hash per chunk. A packed file has
    /// one in all: the sum over its blocks, because they are parsed in any order.
    weights_hashes: Vec<AtomicU64>,
    first_weights_hash: Vec<usize>,
    /// By part: the header once it is read, and the number of edges so far.
    heads: Vec<OnceLock<Head>>,
    entries: Vec<AtomicU64>,
    /// By part: the number of vertex lines, for METIS files.
    pub rows: Vec<AtomicU64>,
    /// By part: the number of edges that have a weight.
    weighted: Vec<AtomicU64>,
    /// The narrowest type for all weights so far, encoded by [`share::word_of`].
    found: AtomicU64,
    /// By part: the sum of [`Counted::balance`].
    balances: Vec<AtomicU64>,
    noted: Mutex<UnfitWeights<Option<(ErrorPlace, Error)>>>,
    threads: usize,
}

/// Part and chunk of an error; errors are ordered by them.
pub(crate) type ErrorPlace = (usize, u64);

impl<'a> ScanState<'a> {
    fn new(
        input: &Input,
        parts: &'a [Part],
        (share, threads): (Share<'a>, usize),
        ordered: bool,
        watch: &'a dyn Watch,
    ) -> Self {
        let chunk = input.chunk();
        let (mut first_hash, mut first_weights_hash) = (vec![0], vec![0]);
        for part in parts {
            let chunks = part.bytes().div_ceil(chunk as u64) as usize;
            first_hash.push(first_hash[first_hash.len() - 1] + chunks);
            let has_weights = input.weights().is_wanted() && part.weights_path().is_some();
            let of_weights = if part.packing() == Packing::Plain { chunks } else { 1 };
            let before = first_weights_hash[first_weights_hash.len() - 1];
            first_weights_hash.push(before + if has_weights { of_weights } else { 0 });
        }
        let zeros = |n: usize| (0..n).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        ScanState {
            parts,
            chunk,
            share,
            ordered,
            weights: input.weights(),
            watch,
            stop: AtomicBool::new(false),
            failure: Mutex::new(None),
            hashes: zeros(first_hash[parts.len()]),
            first_hash,
            weights_hashes: zeros(first_weights_hash[parts.len()]),
            first_weights_hash,
            heads: parts.iter().map(|_| OnceLock::new()).collect(),
            entries: zeros(parts.len()),
            rows: zeros(parts.len()),
            weighted: zeros(parts.len()),
            found: AtomicU64::new(0),
            balances: zeros(parts.len()),
            noted: Mutex::default(),
            threads,
        }
    }

    /// Adds the hash of the weights of a chunk, or of a block of a packed file. If a weights file did not exist when
    /// the scan began, its hash is ignored, because other threads may not have read it.
    pub fn add_weights_hash(&self, part: usize, chunk: u64, hash: u64) {
        let places = &self.weights_hashes[self.first_weights_hash[part]..self.first_weights_hash[part + 1]];
        let place =
            if self.parts[part].packing() == Packing::Plain { places.get(chunk as usize) } else { places.first() };
        if let Some(place) = place {
            place.fetch_add(hash, Relaxed);
        }
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Records `error` if it comes first in the input, and stops all threads.
    pub fn fail(&self, place: ErrorPlace, error: Error) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.as_ref().is_none_or(|(first, _)| place < *first) {
            *failure = Some((place, error));
        }
        self.stop.store(true, Relaxed);
    }

    pub fn advance(&self, bytes: u64) -> Result<()> {
        self.watch.advance(bytes)
    }

    pub fn count(&self, part: usize, counted: Counted) {
        self.entries[part].fetch_add(counted.edges, Relaxed);
        self.balances[part].fetch_add(counted.balance, Relaxed);
        if counted.weighted > 0 {
            self.weighted[part].fetch_add(counted.weighted, Relaxed);
            self.found.fetch_max(share::word_of(counted.weights), Relaxed);
        }
    }

    /// Keeps the noted weights that come first in the input; `error` adds their place.
    pub fn note(&self, place: ErrorPlace, noted: Option<UnfitWeights<Option<Stop>>>, error: impl Fn(Stop) -> Error) {
        let Some(new) = noted else { return };
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let UnfitWeights { wide, rounded } = &mut *noted;
        for (first, new) in [(wide, new.wide), (rounded, new.rounded)] {
            if let Some(stop) = new.filter(|_| first.as_ref().is_none_or(|(before, _)| place < *before)) {
                *first = Some((place, error(stop)));
            }
        }
    }

    /// Sets the header of a part. The thread that reads the header calls this once.
    ///
    /// # Errors
    /// [`Error::Usage`] if weights are read and the part has none; bad input if the header declares more than
    /// [`MOST_VERTICES`] vertices.
    pub fn set_head(&self, part: usize, head: Head) -> Result<&Head> {
        if self.weights.is_read() && !head.weighted {
            let part = &self.parts[part];
            return Err(weights::missing(&part.path().display().to_string(), Unread::of(part).as_ref()));
        }
        if let Some(vertices) = head.vertices.filter(|vertices| *vertices > MOST_VERTICES) {
            let path = self.parts[part].path();
            let remedy = "correct the number of vertices in the header";
            return Err(Error::input(
                path,
                At::File,
                "a header of at most 2^63 vertices",
                vertices.to_string(),
                remedy,
            ));
        }
        Ok(self.heads[part].get_or_init(|| head))
    }

    /// Returns the header of a part, if it was read.
    pub fn head(&self, part: usize) -> Option<&Head> {
        self.heads[part].get()
    }

    /// Returns the layout of a part, if its header was read.
    pub fn layout(&self, part: usize) -> Option<&Layout> {
        self.head(part).map(|head| &head.layout)
    }

    /// Returns a hasher for a chunk of a part, salted with both.
    pub fn hasher(part: usize, chunk: u64) -> Xxh3 {
        Xxh3::with_seed(chunk.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (part as u64).rotate_left(40))
    }

    pub fn set_hash(&self, part: usize, chunk: u64, hash: u64) {
        self.hashes[self.first_hash[part] + chunk as usize].store(hash, Relaxed);
    }

    /// Returns the first error, or else the counts.
    fn finish(self) -> Result<Seen> {
        if let Some((_, error)) = self.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let of_weights = self.weights_hashes.len();
        // The two halves of a balance are summed separately, so that sums over shares do not overflow.
        let low = self.balances.iter().map(|balance| balance.load(Relaxed) & u64::from(u32::MAX));
        let high = self.balances.iter().map(|balance| balance.load(Relaxed) >> 32);
        let sums = [&self.entries, &self.rows, &self.weighted].into_iter().flatten();
        let hashes = [&self.hashes, &self.weights_hashes].into_iter().flatten();
        let load = |number: &AtomicU64| number.load(Relaxed);
        let sums = sums.map(load).chain(low).chain(high).chain(hashes.map(load)).collect();
        let heads = self.heads.into_iter().map(OnceLock::into_inner);
        let parts = self.parts.iter().cloned().zip(heads).collect();
        let noted = self.noted.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Seen::files((parts, self.threads), sums, of_weights, (self.weights, self.found.into_inner()), noted))
    }
}

/// Makes the pass. `visitors` must not be empty.
pub(crate) fn files<V: Visitor>(
    input: &Input,
    parts: &[Part],
    share: Share<'_>,
    ordered: bool,
    cache: CacheUse<'_, '_>,
    visitors: &mut [V],
    watch: &dyn Watch,
) -> Result<Seen> {
    let shared = ScanState::new(input, parts, (share, visitors.len()), ordered, watch);
    let plain = PlainFiles::open(&shared, visitors.len())?;
    let packed = Packed::new(&shared, plain.chunks(), visitors.len());
    std::thread::scope(|scope| {
        if let CacheUse::For(cache) = cache {
            for _ in 0..cache.begin(plain.share()) {
                let (shared, plain) = (&shared, &plain);
                scope.spawn(move || plain.read_ahead(shared, cache));
            }
        }
        let (feed, blocks) = crossbeam::channel::bounded(packed::QUEUE);
        for _ in 0..packed.feeders() {
            let feed = feed.clone();
            let packed = &packed;
            scope.spawn(move || packed.feed(&feed));
        }
        drop(feed);
        for visitor in visitors {
            let blocks = blocks.clone();
            let (shared, plain, packed) = (&shared, &plain, &packed);
            scope.spawn(move || {
                let mut sink = Sink::new(visitor, shared.weights);
                let done = plain
                    .work(shared, cache, &mut sink)
                    .and_then(|()| packed.work(blocks, &mut sink))
                    .and_then(|()| packed.work_alone(&mut sink))
                    .and_then(|()| plain.help(shared, &mut sink));
                if let Err(failure) = done {
                    shared.fail(failure.0, failure.1);
                }
                if shared.stopped() {
                    sink.visitor.stopped();
                }
            });
        }
        drop(blocks);
    });
    shared.finish()
}

/// Converts the error of a parser into one for the user. `base` is the offset of the parsed bytes in the file. Line
/// numbers count from the start of `before`, whose first line has the number `line`.
pub(crate) fn locate(stop: Stop, part: &Part, base: u64, before: &[u8], line: u64) -> Error {
    match stop {
        Stop::Error(error) => error,
        Stop::Fault(fault) => located(*fault, part, base, before, line),
    }
}

/// Like [`locate`], for a fault; `fault.at` counts from the first byte of `before`.
pub(crate) fn located(fault: Fault, part: &Part, base: u64, before: &[u8], line: u64) -> Error {
    let at = match part.format().record().is_some() || part.format().is_arrays() {
        true => At::Byte(base + fault.at as u64),
        false => At::Line(line + newlines(&before[..fault.at.min(before.len())])),
    };
    fault.at(part.path(), at)
}

/// Refuses an empty file if its format has a header.
pub(crate) fn refuse_empty(part: &Part) -> Result<()> {
    if matches!(part.format(), Format::Mtx | Format::Metis | Format::Gr) {
        let what = if part.packing() == Packing::Plain { "an empty file" } else { "nothing in the packed file" };
        let remedy = "fetch or make the file again, or name its format";
        return Err(Error::input(part.path(), At::File, format!("a header of {}", part.format()), what, remedy));
    }
    Ok(())
}

/// A counter that hands out consecutive numbers to threads.
pub(crate) struct Next(AtomicU64);

impl Next {
    pub fn new(first: u64) -> Self {
        Next(AtomicU64::new(first))
    }

    pub fn take(&self) -> u64 {
        self.0.fetch_add(1, Relaxed)
    }
}

/// The result of a thread: an error comes with its place.
pub(crate) type Worked = Result<(), Box<(ErrorPlace, Error)>>;

/// Returns the indices of the parts for which `want` is true.
pub(crate) fn of_kind(parts: &[Part], want: impl Fn(&Part) -> bool) -> Vec<usize> {
    parts.iter().enumerate().filter(|(_, part)| want(part)).map(|(index, _)| index).collect()
}
