//! Caches chunks of an input that came from the disk, from one pass to the next.
//!
//! Some threads read chunks ahead, past the page cache, into the memory of this cache, from where other threads parse them. Meanwhile the
//! threads that wait for the disk have the system allocate memory for the chunks to come, which takes as long as reading. In the last pass
//! a chunk's memory is free for other use as soon as the chunk is parsed.

use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::Result;
use crate::formats::Input;
use crate::formats::scan::read::ALIGNED;
use crate::memory::{Budget, Buffer, Reservation, addresses_left, bytes_of, bytes_of_mut, discard, populate};

/// Reads in flight at a time; more make disks of either kind slower.
pub(crate) const READERS: usize = 4;
/// Most slabs that are touched before they are needed.
const AHEAD: usize = 96;
/// Fewest chunks to cache; smaller inputs are read twice in no time.
const LEAST: usize = 8;
const PURPOSE: &str = "keeping what is read of the input";

/// The memory of one chunk.
pub type Slab<'m> = &'m mut [u32];

/// Chunks of an input in memory. The memory of each is reserved from the budget when it is first touched.
#[derive(Debug)]
pub struct InputCache<'m> {
    /// Words of a slab.
    words: usize,
    inner: Mutex<Inner<'m>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Inner<'m> {
    /// Slabs that are neither touched nor reserved.
    fresh: Vec<Slab<'m>>,
    /// Slabs that are touched and empty.
    touched: Vec<Slab<'m>>,
    /// Number of slabs that may be reserved.
    allowed: usize,
    chunks: Vec<Chunk<'m>>,
    reservation: Reservation,
    /// Number of slabs to be touched before they are needed.
    ahead: usize,
    /// Number of threads that read ahead, the next chunk that they take, and the end of their chunks.
    readers: usize,
    next: usize,
    end: usize,
}

#[derive(Debug)]
enum Chunk<'m> {
    /// No thread has taken it yet.
    Unread,
    /// A thread is reading it into memory.
    Coming,
    /// It is left to the thread that parses it.
    Passed,
    Here(Slab<'m>),
}

/// How a pass uses the cache.
#[derive(Clone, Copy)]
pub enum CacheUse<'k, 'm> {
    /// The pass does not use it.
    Nothing,
    /// The pass caches chunks that come from the disk, as far as there is memory, and uses those cached before.
    For(&'k InputCache<'m>),
    /// The pass is the last one: the memory of each chunk is handed to the function.
    Last(&'k InputCache<'m>, &'k (dyn Fn(Slab<'m>) + Sync)),
}

/// Returns the slabs for an input of `chunks` chunks, with those touched ahead.
fn slabs(chunks: usize) -> usize {
    if chunks < LEAST { 0 } else { chunks + (chunks / 4).min(AHEAD) }
}

/// Reserves addresses for the chunks of `input` that may be cached within the limit.
///
/// # Errors
/// [`crate::Error::Addresses`] if the system gives no more.
pub fn addresses(input: &Input, budget: &Budget) -> Result<Buffer<u32>> {
    // It takes only a part of what `ulimit -v` leaves: caching saves time, and all else needs addresses, too.
    let bytes = addresses_left().map_or(budget.limit(), |left| budget.limit().min(left / 4));
    let most = (bytes / input.chunk() as u64) as usize;
    budget.addresses(slabs(input.chunks_to_keep()).min(most) * (input.chunk() / 4), PURPOSE)
}

impl<'m> InputCache<'m> {
    /// Makes a cache that is empty until [`Self::allow`] allows memory.
    ///
    /// # Errors
    /// None in practice.
    pub fn new(memory: &'m mut Buffer<u32>, input: &Input, budget: &Budget) -> Result<Self> {
        let words = (input.chunk() / 4).max(1);
        let fresh: Vec<Slab<'m>> = memory.chunks_exact_mut(words).rev().collect();
        let reservation = budget.reserve(0, PURPOSE)?;
        let (chunks, touched, ahead) = (Vec::new(), Vec::new(), (fresh.len() / 5).min(AHEAD));
        let inner = Inner { fresh, touched, allowed: 0, chunks, reservation, ahead, readers: 0, next: 0, end: 0 };
        Ok(InputCache { words, inner: Mutex::new(inner), changed: Condvar::new() })
    }

    /// Returns the most bytes that one of `ranks` ranks may cache of an input, with memory touched ahead.
    pub fn most_bytes(input: &Input, ranks: usize) -> u64 {
        (slabs(input.chunks_to_keep().div_ceil(ranks)) * input.chunk()) as u64
    }

    fn lock(&self) -> MutexGuard<'_, Inner<'m>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allows `bytes` in all to be touched, or none if that is too few.
    pub fn allow(&self, bytes: u64) {
        let slabs = (bytes / self.slab_bytes()) as usize;
        self.lock().allowed = if slabs < LEAST { 0 } else { slabs };
    }

    /// Returns the bytes of a slab.
    pub fn slab_bytes(&self) -> u64 {
        4 * self.words as u64
    }

    /// Returns the bytes reserved, for chunks and for memory touched ahead.
    pub fn bytes(&self) -> u64 {
        self.lock().reservation.bytes()
    }

    /// Returns the number of chunks that are cached.
    pub fn chunks(&self) -> usize {
        self.lock().chunks.iter().filter(|chunk| matches!(chunk, Chunk::Here(_))).count()
    }

    /// Returns the number of slabs that are touched and empty.
    pub fn spare(&self) -> usize {
        self.lock().touched.len()
    }

    /// Takes the slabs that are touched and empty; they stay reserved until they are released.
    pub fn take_spare(&self) -> Vec<Slab<'m>> {
        std::mem::take(&mut self.lock().touched)
    }

    /// Gives a slab back to the system and the budget.
    pub fn release(&self, slab: Slab<'m>) {
        discard(vec![&mut *slab]);
        let mut inner = self.lock();
        inner.reservation.shrink(4 * self.words as u64);
        inner.fresh.push(slab);
    }

    /// Gives back an empty slab, or else the last chunk. Returns false if there is none.
    pub fn release_one(&self) -> bool {
        let slab = {
            let mut inner = self.lock();
            let last = |chunks: &mut Vec<Chunk<'m>>| {
                chunks.iter_mut().rev().find(|chunk| matches!(chunk, Chunk::Here(_)))?.take()
            };
            inner.touched.pop().or_else(|| last(&mut inner.chunks))
        };
        slab.map(|slab| self.release(slab)).is_some()
    }

    /// Gives back slabs until `bytes` are free in `budget`, or there are none.
    pub fn make_room(&self, budget: &Budget, bytes: u64) {
        while budget.free() < bytes && self.release_one() {}
    }

    /// Gives all slabs back, and caches nothing from then on.
    pub fn release_all(&self) {
        self.lock().allowed = 0;
        while self.release_one() {}
    }

    /// Begins a pass over these chunks. Returns the number of threads that should read ahead.
    pub(crate) fn begin(&self, chunks: Range<u64>) -> usize {
        let mut inner = self.lock();
        inner.chunks.resize_with(chunks.end as usize, || Chunk::Unread);
        inner.chunks.iter_mut().filter(|chunk| matches!(chunk, Chunk::Passed)).for_each(|chunk| *chunk = Chunk::Unread);
        (inner.next, inner.end) = (chunks.start as usize, chunks.end as usize);
        inner.readers = if inner.room(self.words) { READERS } else { 0 };
        inner.readers
    }

    /// Returns a guard that a thread which reads ahead drops at its end.
    pub(crate) fn reader(&self) -> impl Drop {
        struct Reading<'k, 'm>(&'k InputCache<'m>);
        impl Drop for Reading<'_, '_> {
            fn drop(&mut self) {
                self.0.lock().readers -= 1;
                self.0.changed.notify_all();
            }
        }
        Reading(self)
    }

    /// Takes the next chunk that no thread has taken; `None` if there is no memory for it.
    pub(crate) fn claim(&self) -> Option<u64> {
        let mut inner = self.lock();
        while matches!(inner.chunks.get(inner.next)?, Chunk::Here(_)) {
            inner.next += 1;
        }
        if inner.next >= inner.end || !inner.room(self.words) {
            return None;
        }
        let number = inner.next;
        inner.chunks[number] = Chunk::Coming;
        inner.next += 1;
        Some(number as u64)
    }

    /// Returns memory for a chunk.
    pub(crate) fn slab(&self) -> Option<Slab<'m>> {
        let mut inner = self.lock();
        inner.touched.pop().or_else(|| inner.touch(self.words))
    }

    /// Records the outcome for a taken chunk: it is in memory, or left to the thread that parses it.
    pub(crate) fn decide(&self, number: u64, slab: Option<Slab<'m>>) {
        self.lock().chunks[number as usize] = slab.map_or(Chunk::Passed, Chunk::Here);
        self.changed.notify_all();
    }

    /// Takes back memory that was not used.
    pub(crate) fn unused(&self, slab: Slab<'m>) {
        self.lock().touched.push(slab);
    }

    /// Waits for chunk `number` and returns its memory; `None` if it must be read.
    fn take(&self, number: u64) -> Option<Slab<'m>> {
        let mut inner = self.lock();
        loop {
            let chunk = inner.chunks.get_mut(number as usize)?;
            if !matches!(chunk, Chunk::Unread | Chunk::Coming) {
                return chunk.take();
            }
            if inner.readers == 0 {
                return None;
            }
            let ahead = if inner.touched.len() < inner.ahead { inner.touch(self.words) } else { None };
            inner = match ahead {
                Some(slab) => {
                    drop(inner);
                    populate(slab);
                    let mut inner = self.lock();
                    inner.touched.push(slab);
                    inner
                }
                None => self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

impl<'m> Chunk<'m> {
    /// Returns its memory, if it is cached.
    fn take(&mut self) -> Option<Slab<'m>> {
        match std::mem::replace(self, Chunk::Passed) {
            Chunk::Here(slab) => Some(slab),
            _ => None,
        }
    }
}

impl<'m> Inner<'m> {
    fn room(&self, words: usize) -> bool {
        let held = (self.reservation.bytes() / (4 * words as u64)) as usize;
        !self.touched.is_empty() || (held < self.allowed && !self.fresh.is_empty())
    }

    /// Touches and reserves another slab.
    fn touch(&mut self, words: usize) -> Option<Slab<'m>> {
        let held = (self.reservation.bytes() / (4 * words as u64)) as usize;
        if held >= self.allowed || self.fresh.is_empty() {
            return None;
        }
        if self.reservation.grow(4 * words as u64, PURPOSE).is_err() {
            // Other buffers have taken the rest of the budget.
            self.allowed = 0;
            return None;
        }
        self.fresh.pop()
    }
}

impl<'m> CacheUse<'_, 'm> {
    /// Gives all slabs back, and caches nothing from then on.
    pub fn release_all(&self) {
        if let CacheUse::For(kept) | CacheUse::Last(kept, _) = self {
            kept.release_all();
        }
    }

    /// Returns the memory of chunk `number`, if it is cached.
    pub(crate) fn take(&self, number: u64) -> Option<Slab<'m>> {
        match self {
            CacheUse::Nothing => None,
            CacheUse::For(kept) | CacheUse::Last(kept, _) => kept.take(number),
        }
    }

    /// Records that chunk `number`, whose memory was taken, is parsed.
    pub(crate) fn parsed(&self, number: u64, slab: Slab<'m>) {
        match self {
            CacheUse::Nothing => {}
            CacheUse::For(kept) => kept.decide(number, Some(slab)),
            CacheUse::Last(_, take) => take(slab),
        }
    }
}

/// Returns true if chunks of `chunk` bytes can be read to slabs, in a file of `length` bytes with records of `record` bytes after a header
/// of `body`. Files of less than half a chunk would leave most of a slab empty.
pub(crate) fn fits(chunk: usize, body: usize, record: usize, length: u64) -> bool {
    length >= chunk as u64 / 2
        && chunk.is_multiple_of(ALIGNED)
        && chunk.is_multiple_of(record)
        && body.is_multiple_of(record)
        && body < chunk
}

/// Returns the bytes of a slab.
pub(crate) fn bytes<'s>(slab: &'s Slab<'_>) -> &'s [u8] {
    bytes_of(slab)
}

/// Returns the bytes of a slab, to be read into.
pub(crate) fn bytes_mut<'s>(slab: &'s mut Slab<'_>) -> &'s mut [u8] {
    bytes_of_mut(slab)
}
