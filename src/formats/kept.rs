//! What is kept of an input from one pass to the next: chunks that had to come from the disk.
//!
//! Some threads read ahead, past the page cache, into memory that is kept; the threads that parse take the chunks from
//! there. Who waits for the disk has the system find memory for what comes next meanwhile: that takes as long as reading.
//! In the last pass a chunk's memory is free for other use as soon as it was parsed.

use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::Input;
use super::read::ALIGNED;
use crate::error::Result;
use crate::memory::{Budget, Buffer, Reservation, addresses_left, bytes_of, bytes_of_mut, discard, populate};

/// Reads under way at a time: more are slower on disks of either kind.
pub(super) const READERS: usize = 4;
/// Chunks of memory that are touched ahead of reading, at most.
const AHEAD: usize = 96;
/// Inputs of fewer chunks are read twice in no time.
const LEAST: usize = 8;
const PURPOSE: &str = "keeping what is read of the input";

/// A chunk's worth of memory.
pub type Slab<'m> = &'m mut [u32];

/// Chunks of an input in memory. Every chunk's memory is reserved from the budget when it is touched.
#[derive(Debug)]
pub struct Kept<'m> {
    /// Words of a slab.
    words: usize,
    inner: Mutex<Inner<'m>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Inner<'m> {
    /// Neither touched nor reserved.
    fresh: Vec<Slab<'m>>,
    /// Touched, with nothing in them.
    touched: Vec<Slab<'m>>,
    /// How many may be reserved.
    allowed: usize,
    chunks: Vec<Chunk<'m>>,
    reservation: Reservation,
    /// How many should be touched ahead.
    ahead: usize,
    /// Threads that read ahead, the next chunk that they look at, and one past the last.
    readers: usize,
    next: usize,
    end: usize,
}

#[derive(Debug)]
enum Chunk<'m> {
    /// Nobody has looked at it.
    Unread,
    /// It is being read into memory.
    Coming,
    /// It is read by who parses it.
    Passed,
    Here(Slab<'m>),
}

/// What a pass does about chunks.
#[derive(Clone, Copy)]
pub enum Keeping<'k, 'm> {
    /// It keeps none.
    Nothing,
    /// It keeps those that had to come from the disk, as far as there is memory, and uses those kept before.
    For(&'k Kept<'m>),
    /// It is the last one: the memory of each chunk goes to whoever takes it.
    Last(&'k Kept<'m>, &'k (dyn Fn(Slab<'m>) + Sync)),
}

/// Slabs for an input of `chunks` chunks, memory touched ahead included.
fn slabs(chunks: usize) -> usize {
    if chunks < LEAST { 0 } else { chunks + (chunks / 4).min(AHEAD) }
}

/// Addresses for what may be kept of `input` within the limit.
///
/// # Errors
/// Where the system gives no more addresses.
pub fn addresses(input: &Input, budget: &Budget) -> Result<Buffer<u32>> {
    // Of what `ulimit -v` leaves, a part: keeping saves time, and all else needs addresses, too.
    let bytes = addresses_left().map_or(budget.limit(), |left| budget.limit().min(left / 4));
    let most = (bytes / input.chunk() as u64) as usize;
    budget.addresses(slabs(input.chunks_to_keep()).min(most) * (input.chunk() / 4), PURPOSE)
}

impl<'m> Kept<'m> {
    /// Nothing is kept until it is allowed.
    ///
    /// # Errors
    /// None in practice.
    pub fn new(memory: &'m mut Buffer<u32>, input: &Input, budget: &Budget) -> Result<Self> {
        let words = (input.chunk() / 4).max(1);
        let fresh: Vec<Slab<'m>> = memory.chunks_exact_mut(words).rev().collect();
        let reservation = budget.reserve(0, PURPOSE)?;
        let (chunks, touched, ahead) = (Vec::new(), Vec::new(), (fresh.len() / 5).min(AHEAD));
        let inner = Inner { fresh, touched, allowed: 0, chunks, reservation, ahead, readers: 0, next: 0, end: 0 };
        Ok(Kept { words, inner: Mutex::new(inner), changed: Condvar::new() })
    }

    /// Bytes that one of `ranks` ranks may keep of an input, memory touched ahead included.
    pub fn most_bytes(input: &Input, ranks: usize) -> u64 {
        (slabs(input.chunks_to_keep().div_ceil(ranks)) * input.chunk()) as u64
    }

    fn lock(&self) -> MutexGuard<'_, Inner<'m>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allows `bytes` in all to be touched. Too few are none.
    pub fn allow(&self, bytes: u64) {
        let slabs = (bytes / self.slab_bytes()) as usize;
        self.lock().allowed = if slabs < LEAST { 0 } else { slabs };
    }

    /// Bytes of a slab.
    pub fn slab_bytes(&self) -> u64 {
        4 * self.words as u64
    }

    /// Bytes reserved: chunks, and memory touched ahead.
    pub fn bytes(&self) -> u64 {
        self.lock().reservation.bytes()
    }

    /// Chunks that are kept.
    pub fn chunks(&self) -> usize {
        self.lock().chunks.iter().filter(|chunk| matches!(chunk, Chunk::Here(_))).count()
    }

    /// Slabs that were touched and hold nothing.
    pub fn spare(&self) -> usize {
        self.lock().touched.len()
    }

    /// Takes the slabs that were touched and hold nothing; they stay reserved until they are released.
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

    /// Gives memory that holds nothing back, or else the last chunk. False if there is none.
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

    /// Gives back what it takes for `bytes` to be free in `budget`, or all.
    pub fn make_room(&self, budget: &Budget, bytes: u64) {
        while budget.free() < bytes && self.release_one() {}
    }

    /// Gives all of it back; nothing is kept from then on.
    pub fn release_all(&self) {
        self.lock().allowed = 0;
        while self.release_one() {}
    }

    /// A pass over these chunks begins: how many threads should read ahead.
    pub(super) fn begin(&self, chunks: Range<u64>) -> usize {
        let mut inner = self.lock();
        inner.chunks.resize_with(chunks.end as usize, || Chunk::Unread);
        inner.chunks.iter_mut().filter(|chunk| matches!(chunk, Chunk::Passed)).for_each(|chunk| *chunk = Chunk::Unread);
        (inner.next, inner.end) = (chunks.start as usize, chunks.end as usize);
        inner.readers = if inner.room(self.words) { READERS } else { 0 };
        inner.readers
    }

    /// One of the threads that read ahead ends.
    pub(super) fn reader(&self) -> impl Drop {
        struct Reading<'k, 'm>(&'k Kept<'m>);
        impl Drop for Reading<'_, '_> {
            fn drop(&mut self) {
                self.0.lock().readers -= 1;
                self.0.changed.notify_all();
            }
        }
        Reading(self)
    }

    /// The next chunk that nobody has looked at; none if there is no memory for it.
    pub(super) fn claim(&self) -> Option<u64> {
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

    /// Memory for a chunk.
    pub(super) fn slab(&self) -> Option<Slab<'m>> {
        let mut inner = self.lock();
        inner.touched.pop().or_else(|| inner.touch(self.words))
    }

    /// What became of a claimed chunk: it is here, or left to who parses it.
    pub(super) fn decide(&self, number: u64, slab: Option<Slab<'m>>) {
        self.lock().chunks[number as usize] = slab.map_or(Chunk::Passed, Chunk::Here);
        self.changed.notify_all();
    }

    /// Memory that was not used after all.
    pub(super) fn unused(&self, slab: Slab<'m>) {
        self.lock().touched.push(slab);
    }

    /// The memory of chunk `number`, once it is here; none if it must be read.
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
    /// Its memory, if it is here.
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

    /// A slab that was not touched yet, reserved now.
    fn touch(&mut self, words: usize) -> Option<Slab<'m>> {
        let held = (self.reservation.bytes() / (4 * words as u64)) as usize;
        if held >= self.allowed || self.fresh.is_empty() {
            return None;
        }
        if self.reservation.grow(4 * words as u64, PURPOSE).is_err() {
            // Others have taken the rest.
            self.allowed = 0;
            return None;
        }
        self.fresh.pop()
    }
}

impl<'m> Keeping<'_, 'm> {
    /// Gives all memory back; nothing is kept from then on.
    pub fn release_all(&self) {
        if let Keeping::For(kept) | Keeping::Last(kept, _) = self {
            kept.release_all();
        }
    }

    /// The memory of chunk `number`, if it is kept.
    pub(super) fn take(&self, number: u64) -> Option<Slab<'m>> {
        match self {
            Keeping::Nothing => None,
            Keeping::For(kept) | Keeping::Last(kept, _) => kept.take(number),
        }
    }

    /// Chunk `number`, which was taken, has been parsed.
    pub(super) fn parsed(&self, number: u64, slab: Slab<'m>) {
        match self {
            Keeping::Nothing => {}
            Keeping::For(kept) => kept.decide(number, Some(slab)),
            Keeping::Last(_, take) => take(slab),
        }
    }
}

/// Returns true if chunks of `chunk` bytes of a file of `length` bytes, each of whole records of `record` bytes behind a header of
/// `body`, can be read to their own memory. Files of less than half a chunk would leave most of it empty.
pub(super) fn fits(chunk: usize, body: usize, record: usize, length: u64) -> bool {
    length >= chunk as u64 / 2
        && chunk.is_multiple_of(ALIGNED)
        && chunk.is_multiple_of(record)
        && body.is_multiple_of(record)
        && body < chunk
}

/// The bytes of a slab.
pub(super) fn bytes<'s>(slab: &'s Slab<'_>) -> &'s [u8] {
    bytes_of(slab)
}

/// The same, to be read into.
pub(super) fn bytes_mut<'s>(slab: &'s mut Slab<'_>) -> &'s mut [u8] {
    bytes_of_mut(slab)
}
