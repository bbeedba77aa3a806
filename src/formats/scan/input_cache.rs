//! Caches chunks of an input that were read from disk, from one pass to the next.
//!
//! Some threads read chunks ahead, bypassing the page cache, into the memory of this cache, and other threads parse
//! them there. While threads wait for the disk, they make the kernel allocate memory for the next chunks, which takes
//! as long as reading. In the last pass, the memory of a chunk is free for other use as soon as the chunk has been
//! parsed.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::ops::Range;

use crate::error::Result;
use crate::formats::bytes::read::ALIGNED;
use crate::memory::{Budget, Buffer, Reservation, addresses_left, discard, populate};

/// Number of reads in flight at a time; more reads make both hard disks and SSDs slower.
pub(crate) const READERS: usize = 4;
/// Maximum number of slabs (memory for one chunk each) that the kernel allocates before they are needed.
const AHEAD: usize = 96;
/// Minimum number of chunks worth caching; a smaller input is reread in almost no time.
const LEAST: usize = 8;
const PURPOSE: &str = "keeping what is read of the input";

/// Memory for one chunk of the input, in 32-bit words.
pub type Slab<'m> = &'m mut [u32];

/// A cache of input chunks in memory. The memory of a chunk is reserved from the budget before its first use.
#[derive(Debug)]
pub struct InputCache<'m> {
    /// Number of 32-bit words in a slab.
    words: usize,
    inner: Mutex<CacheState<'m>>,
    changed: Condvar,
}

#[derive(Debug)]
struct CacheState<'m> {
    /// Slabs (memory for one chunk each) that are not reserved and have no physical memory.
    fresh: Vec<Slab<'m>>,
    /// Empty slabs (memory for one chunk each) that are reserved and already have physical memory.
    touched: Vec<Slab<'m>>,
    /// Maximum number of slabs (memory for one chunk each) that may be reserved.
    allowed: usize,
    chunks: Vec<CachedChunk<'m>>,
    reservation: Reservation,
    /// Number of empty slabs (memory for one chunk each) that waiting threads allocate before they are needed.
    ahead: usize,
    /// Number of threads that read ahead. They take the chunks `next..end`.
    readers: usize,
    next: usize,
    end: usize,
}

#[derive(Debug)]
enum CachedChunk<'m> {
    /// No thread has taken the chunk yet.
    Unread,
    /// A thread is reading the chunk into memory.
    Loading,
    /// The chunk is not cached. The thread that parses it also reads it.
    Skipped,
    Cached(Slab<'m>),
}

/// How a pass uses the cache.
#[derive(Clone, Copy)]
pub enum CacheUse<'k, 'm> {
    /// The pass does not use the cache.
    Nothing,
    /// The pass uses the cached chunks, and caches more chunks from disk while there is memory.
    For(&'k InputCache<'m>),
    /// This is the last pass. It uses the cached chunks. After parsing a chunk, it passes the chunk's memory to the
    /// function in the second field.
    Last(&'k InputCache<'m>, &'k (dyn Fn(Slab<'m>) + Sync)),
}

/// Returns the number of slabs (memory for one chunk each) for an input of `chunks` chunks, including slabs that are
/// allocated before they are needed.
pub(crate) fn slabs(chunks: usize) -> usize {
    if chunks < LEAST { 0 } else { chunks + (chunks / 4).min(AHEAD) }
}

/// Reserves address space for caching `chunks` chunks of `chunk` bytes, as far as the limit of `budget` allows.
pub(crate) fn addresses(chunk: usize, chunks: usize, budget: &Budget) -> Result<Buffer<u32>> {
    // The cache uses at most a quarter of the address space that `ulimit -v` leaves: it only saves time, and
    // everything else needs addresses, too.
    let bytes = addresses_left().map_or(budget.limit(), |left| budget.limit().min(left / 4));
    let most = (bytes / chunk as u64) as usize;
    budget.addresses(slabs(chunks).min(most) * (chunk / 4), PURPOSE)
}

impl<'m> InputCache<'m> {
    /// Creates a cache in `memory` for chunks of `chunk` bytes.
    pub(crate) fn new(memory: &'m mut Buffer<u32>, chunk: usize, budget: &Budget) -> Result<Self> {
        let words = (chunk / 4).max(1);
        let fresh: Vec<Slab<'m>> = memory.chunks_exact_mut(words).rev().collect();
        let reservation = budget.reserve(0, PURPOSE)?;
        let (chunks, touched, ahead) = (Vec::new(), Vec::new(), (fresh.len() / 5).min(AHEAD));
        let inner = CacheState { fresh, touched, allowed: 0, chunks, reservation, ahead, readers: 0, next: 0, end: 0 };
        Ok(InputCache { words, inner: Mutex::new(inner), changed: Condvar::new() })
    }

    /// Allows the cache to use `bytes` bytes of memory in total, or none if that is too little to be useful.
    pub fn allow(&self, bytes: u64) {
        let slabs = (bytes / self.slab_bytes()) as usize;
        self.inner.lock().allowed = if slabs < LEAST { 0 } else { slabs };
    }

    /// Returns the size in bytes of a slab, the memory for one chunk.
    pub fn slab_bytes(&self) -> u64 {
        4 * self.words as u64
    }

    /// Returns the reserved memory in bytes, for chunks and for empty slabs.
    pub fn bytes(&self) -> u64 {
        self.inner.lock().reservation.bytes()
    }

    /// Returns the number of chunks that are cached.
    pub fn chunks(&self) -> usize {
        self.inner.lock().chunks.iter().filter(|chunk| matches!(chunk, CachedChunk::Cached(_))).count()
    }

    /// Returns the number of empty slabs (memory for one chunk each) that already have physical memory.
    pub fn spare(&self) -> usize {
        self.inner.lock().touched.len()
    }

    /// Removes and returns the empty slabs that already have physical memory. They stay reserved until they are
    /// released.
    pub fn take_spare(&self) -> Vec<Slab<'m>> {
        std::mem::take(&mut self.inner.lock().touched)
    }

    /// Releases the memory of a slab (memory for one chunk), and its reservation in the budget.
    pub fn release(&self, slab: Slab<'m>) {
        discard(vec![&mut *slab]);
        let mut inner = self.inner.lock();
        inner.reservation.shrink(4 * self.words as u64);
        inner.fresh.push(slab);
    }

    /// Releases the memory of an empty slab, or else of the last cached chunk. Returns false if there is neither.
    pub fn release_one(&self) -> bool {
        let slab = {
            let mut inner = self.inner.lock();
            let last = |chunks: &mut Vec<CachedChunk<'m>>| {
                chunks.iter_mut().rev().find(|chunk| matches!(chunk, CachedChunk::Cached(_)))?.take()
            };
            inner.touched.pop().or_else(|| last(&mut inner.chunks))
        };
        slab.map(|slab| self.release(slab)).is_some()
    }

    /// Releases slabs until `bytes` bytes are free in `budget` or no slab is left.
    pub fn make_room(&self, budget: &Budget, bytes: u64) {
        while budget.free() < bytes && self.release_one() {}
    }

    /// Releases all slabs, and stops caching.
    pub fn release_all(&self) {
        self.inner.lock().allowed = 0;
        while self.release_one() {}
    }

    /// Begins a pass over the chunks `chunks`. Returns the number of threads that should read ahead.
    pub(crate) fn begin(&self, chunks: Range<u64>) -> usize {
        let mut inner = self.inner.lock();
        inner.chunks.resize_with(chunks.end as usize, || CachedChunk::Unread);
        inner
            .chunks
            .iter_mut()
            .filter(|chunk| matches!(chunk, CachedChunk::Skipped))
            .for_each(|chunk| *chunk = CachedChunk::Unread);
        (inner.next, inner.end) = (chunks.start as usize, chunks.end as usize);
        inner.readers = if inner.has_room(self.words) { READERS } else { 0 };
        inner.readers
    }

    /// Returns a guard that must be dropped when a read-ahead thread ends or fails to start. Dropping it records that
    /// one thread fewer reads ahead, and wakes all threads that wait for a chunk.
    pub(crate) fn reader(&self) -> impl Drop {
        struct Reading<'k, 'm>(&'k InputCache<'m>);
        impl Drop for Reading<'_, '_> {
            fn drop(&mut self) {
                self.0.inner.lock().readers -= 1;
                self.0.changed.notify_all();
            }
        }
        Reading(self)
    }

    /// Takes the next chunk to read ahead; `None` if no chunk is left, or no memory for one.
    pub(crate) fn claim(&self) -> Option<u64> {
        let mut inner = self.inner.lock();
        while matches!(inner.chunks.get(inner.next)?, CachedChunk::Cached(_)) {
            inner.next += 1;
        }
        if inner.next >= inner.end || !inner.has_room(self.words) {
            return None;
        }
        let number = inner.next;
        inner.chunks[number] = CachedChunk::Loading;
        inner.next += 1;
        Some(number as u64)
    }

    /// Returns memory for a chunk; `None` if the cache may not use more memory.
    pub(crate) fn slab(&self) -> Option<Slab<'m>> {
        let mut inner = self.inner.lock();
        inner.touched.pop().or_else(|| inner.touch(self.words))
    }

    /// Records that chunk `number` of the input is in `slab`. If `slab` is `None`, the chunk is not cached, and the
    /// thread that parses it must read it.
    pub(crate) fn decide(&self, number: u64, slab: Option<Slab<'m>>) {
        self.inner.lock().chunks[number as usize] = slab.map_or(CachedChunk::Skipped, CachedChunk::Cached);
        self.changed.notify_all();
    }

    /// Returns true if the cache may use more memory, or has empty slabs.
    pub(crate) fn has_room(&self) -> bool {
        self.inner.lock().has_room(self.words)
    }

    /// Makes the kernel allocate empty slabs until `ends` returns true or the cache may not use more memory. The bins
    /// of edges later take over these slabs.
    pub(crate) fn allocate_ahead(&self, ends: impl Fn() -> bool) {
        while !ends() {
            let Some(slab) = self.inner.lock().touch(self.words) else { break };
            populate(slab);
            self.unused(slab);
        }
    }

    /// Puts a slab from [`Self::slab`] back into the cache, because no chunk was read into it.
    pub(crate) fn unused(&self, slab: Slab<'m>) {
        self.inner.lock().touched.push(slab);
    }

    fn take(&self, number: u64) -> Option<Slab<'m>> {
        let mut inner = self.inner.lock();
        loop {
            let chunk = inner.chunks.get_mut(number as usize)?;
            if !matches!(chunk, CachedChunk::Unread | CachedChunk::Loading) {
                return chunk.take();
            }
            if inner.readers == 0 {
                return None;
            }
            let ahead = if inner.touched.len() < inner.ahead { inner.touch(self.words) } else { None };
            match ahead {
                Some(slab) => {
                    MutexGuard::unlocked(&mut inner, || populate(slab));
                    inner.touched.push(slab);
                }
                None => self.changed.wait(&mut inner),
            }
        }
    }
}

impl<'m> CachedChunk<'m> {
    /// Removes a cached chunk from the cache and returns its memory; `None` if the chunk is not cached.
    fn take(&mut self) -> Option<Slab<'m>> {
        match std::mem::replace(self, CachedChunk::Skipped) {
            CachedChunk::Cached(slab) => Some(slab),
            _ => None,
        }
    }
}

impl<'m> CacheState<'m> {
    fn has_room(&self, words: usize) -> bool {
        let held = (self.reservation.bytes() / (4 * words as u64)) as usize;
        !self.touched.is_empty() || (held < self.allowed && !self.fresh.is_empty())
    }

    /// Reserves another slab; the kernel allocates its pages when they are first written.
    fn touch(&mut self, words: usize) -> Option<Slab<'m>> {
        let held = (self.reservation.bytes() / (4 * words as u64)) as usize;
        if held >= self.allowed || self.fresh.is_empty() {
            return None;
        }
        if self.reservation.grow(4 * words as u64, PURPOSE).is_err() {
            // Other buffers use the rest of the budget.
            self.allowed = 0;
            return None;
        }
        self.fresh.pop()
    }
}

impl<'m> CacheUse<'_, 'm> {
    /// Releases all slabs, and stops caching.
    pub fn release_all(&self) {
        if let CacheUse::For(kept) | CacheUse::Last(kept, _) = self {
            kept.release_all();
        }
    }

    /// Waits for chunk `number`, and returns its memory; `None` if it is not cached.
    pub(crate) fn take(&self, number: u64) -> Option<Slab<'m>> {
        match self {
            CacheUse::Nothing => None,
            CacheUse::For(kept) | CacheUse::Last(kept, _) => kept.take(number),
        }
    }

    /// Records that chunk `number` has been parsed. The memory of the chunk stays in the cache. In the last pass, it is
    /// passed to the function in [`CacheUse::Last`] instead.
    pub(crate) fn parsed(&self, number: u64, slab: Slab<'m>) {
        match self {
            CacheUse::Nothing => {}
            CacheUse::For(kept) => kept.decide(number, Some(slab)),
            CacheUse::Last(_, take) => take(slab),
        }
    }
}

/// Returns true if chunks of `chunk` bytes of a file can be read into slabs (memory for one chunk each). The file has
/// `length` bytes: a header of `body` bytes, and records of `record` bytes each. Files of less than half a chunk would
/// leave most of a slab empty.
pub(crate) fn fits(chunk: usize, body: usize, record: usize, length: u64) -> bool {
    length >= chunk as u64 / 2
        && chunk.is_multiple_of(ALIGNED)
        && chunk.is_multiple_of(record)
        && body.is_multiple_of(record)
        && body < chunk
}
