//! The pass over the input that gathers the distinct strings.
//!
//! The upper bits of a string's hash select its *part*. Each thread copies strings, as records (hash, length, bytes),
//! to one chunk of memory per part. Full chunks are queued per part. Chunks wait in the queue until they have as many
//! bytes as the part's distinct strings so far, and at least [`WAITING`] bytes. Then one thread looks up all strings in
//! them. So the part is loaded to the cache of a core once for many strings.

use super::spill::Spill;
use super::string_set::{Distinct, StringSet};
use crate::error::{Error, Result};
use crate::formats::names::{LONGEST_NAME, copy_short};
use crate::formats::{Edges, Input, NameBatch, Visitor, Watch};
use crate::memory::{Budget, Buffer, Reservation, prefetch};
use crate::process::threads::in_threads;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Minimum and maximum number of parts into which the set of all strings is divided.
const PARTS: std::ops::RangeInclusive<u64> = 16..=4096;
/// Number of input bytes per part, so that the distinct strings of most parts fit the L2 cache.
const PART_BYTES: u64 = 1 << 20;
/// Maximum size in bytes of a chunk of memory for strings.
const CHUNK: u64 = 4096;
/// Size of a cache line in bytes.
const LINE: usize = 64;
/// Minimum number of bytes in a part's queued chunks before their strings are looked up, if memory allows.
const WAITING: u64 = 32 << 10;
/// Minimum number of bytes of memory per thread for building the dictionary of strings.
const LEAST: u64 = 256 << 10;

/// Returns the minimum number of bytes of memory that `threads` threads need to build the dictionary of strings.
pub(super) fn least_bytes(threads: usize) -> u64 {
    threads as u64 * (LEAST + 2 * LONGEST_NAME as u64)
}

/// The memory in which the dictionary of strings is built.
pub(super) struct Room {
    pub bytes: u64,
    pub threads: usize,
    _reserved: Reservation,
}

/// A part: the distinct strings whose hashes have the same upper bits.
#[derive(Default)]
pub(super) struct Part {
    distinct: Distinct,
    /// Number of bytes of this part that have been written to the spill file.
    spilled: u64,
}

/// All strings of the input, divided into parts by the upper bits of their hashes.
pub(super) struct Parts {
    parts: Vec<Mutex<Part>>,
    spill: Spill,
    /// Number of upper bits of a string's hash that select the part to which the string belongs.
    bits: u32,
    /// Number of bytes of memory that all parts use together.
    used: AtomicU64,
    /// Number of bytes of memory beyond which parts are spilled.
    most: u64,
}

/// Results of the pass over the input that gathers its strings.
pub(super) struct Gathered {
    pub parts: Parts,
    pub checksum: u64,
    pub room: Room,
}

/// Reads the input once, and divides its distinct strings into parts. Parts that do not fit in memory are spilled to a
/// file next to `path`; a spilled part may contain duplicates.
pub(super) fn gather(
    input: &Input,
    path: &Path,
    threads: usize,
    budget: &Budget,
    watch: &dyn Watch,
) -> Result<Gathered> {
    let _reading = budget.reserve(input.scratch_bytes(threads), "reading the input")?;
    // A string's record in memory is at most eight times as large as the string and the delimiter after it in the file.
    let strings = input.most_text_bytes().saturating_mul(8).max(1 << 20);
    let free = budget.free() / 4 * 3;
    let bytes = free.min(strings + threads as u64 * *PARTS.end() * CHUNK).max(least_bytes(threads));
    let purpose = "numbering ids that are strings";
    let room = Room { bytes, threads, _reserved: budget.reserve(bytes, purpose)? };
    // Chunks use at most a quarter of the memory, and a part should fit an eighth of a thread's memory.
    let most = (bytes / 4 / threads as u64 / 512).next_power_of_two() / 2;
    let parts = (16 * strings / bytes).max(strings / 8 / PART_BYTES).next_power_of_two().min(most);
    let parts = parts.clamp(*PARTS.start(), *PARTS.end());
    let chunk = (bytes / 4 / parts / threads as u64).min(CHUNK) as usize;
    let mut memory: Buffer<u8> = budget.addresses(bytes as usize / 4 / chunk * chunk, purpose)?;
    let parts = Parts {
        parts: (0..parts).map(|_| Mutex::default()).collect(),
        spill: Spill::to_file(path, parts as usize)?,
        bits: parts.ilog2(),
        used: AtomicU64::new(0),
        most: (bytes - bytes / 4) / 4 * 3,
    };
    let queues = Queues {
        free: Mutex::new(memory.chunks_exact_mut(chunk).rev().collect()),
        waiting: parts.parts.iter().map(|_| Mutex::default()).collect(),
        fewest: WAITING as usize / chunk,
    };
    let gatherer = |_| Gatherer {
        parts: &parts,
        queues: &queues,
        chunks: parts.parts.iter().map(|_| Chunk::default()).collect(),
        set: StringSet::default(),
    };
    let mut gatherers: Vec<Gatherer<'_, '_>> = (0..threads).map(gatherer).collect();
    let scan = input.scan(&mut gatherers, watch)?;
    for gatherer in gatherers {
        for (chunk, waiting) in gatherer.chunks.into_iter().zip(&queues.waiting) {
            waiting.lock().chunks.push(chunk);
        }
    }
    let add_rest = |set: &mut StringSet, number: usize| {
        let chunks = std::mem::take(&mut queues.waiting[number].lock().chunks);
        parts.add(number, set, chunks.iter().map(Chunk::records)).map(drop)
    };
    in_threads(threads, 0..parts.parts.len(), StringSet::default, add_rest, |_| Ok(()))?;
    drop(queues);
    parts.settle()?;
    Ok(Gathered { parts, checksum: scan.checksum, room })
}

impl Parts {
    #[inline]
    fn of(&self, hash: u64) -> usize {
        (hash >> (u64::BITS - self.bits)) as usize
    }

    /// Returns the number of parts into which strings are divided by hash.
    pub fn count(&self) -> usize {
        self.parts.len()
    }

    /// Adds records to the part with index `number`. Spills this part if all parts together use too much memory.
    /// Returns the number of bytes of the part that are still in memory.
    fn add<'r>(&self, number: usize, set: &mut StringSet, batches: impl Iterator<Item = &'r [u8]>) -> Result<usize> {
        let mut part = self.parts[number].lock();
        let before = part.distinct.records.capacity() as u64;
        set.add(&mut part.distinct, batches);
        let more = part.distinct.records.capacity() as u64 - before;
        let used = self.used.fetch_add(more, Relaxed) + more;
        if used > self.most || part.distinct.is_full() {
            self.spill(number, &mut part)?;
        }
        Ok(part.distinct.records.len())
    }

    fn spill(&self, number: usize, part: &mut Part) -> Result<()> {
        let mut records = std::mem::take(&mut part.distinct).records;
        self.used.fetch_sub(records.capacity() as u64, Relaxed);
        part.spilled += records.len() as u64;
        self.spill.append(number, &mut records)
    }

    /// Returns true if any part was written to the spill file.
    pub fn is_spilled(&self) -> bool {
        self.parts.iter().any(|part| part.lock().spilled > 0)
    }

    /// If any part was spilled, also spills the records of all parts that are still in memory. Then parts can be
    /// processed one after the other, each with all memory.
    fn settle(&self) -> Result<()> {
        if !self.is_spilled() {
            return Ok(());
        }
        self.parts.iter().enumerate().try_for_each(|(number, part)| self.spill(number, &mut part.lock()))
    }

    /// Returns an upper bound on the size in bytes of the distinct records of a part.
    pub fn bytes(&self, number: usize) -> u64 {
        let part = self.parts[number].lock();
        part.spilled + part.distinct.records.len() as u64
    }

    /// Calls `each` once with the distinct records of a part. The records stay in the part.
    pub fn peek(&self, number: usize, set: &mut StringSet, each: impl FnOnce(&[u8])) -> Result<()> {
        let part = self.parts[number].lock();
        if part.spilled == 0 {
            each(&part.distinct.records);
        } else {
            each(&self.read(number, set)?);
        }
        Ok(())
    }

    /// Removes all records from the part with index `number`, and returns them without duplicates.
    pub fn take(&self, number: usize, set: &mut StringSet) -> Result<Vec<u8>> {
        let part = std::mem::take(&mut *self.parts[number].lock());
        if part.spilled == 0 { Ok(part.distinct.records) } else { self.read(number, set) }
    }

    /// Reads a spilled part and removes duplicates.
    fn read(&self, number: usize, set: &mut StringSet) -> Result<Vec<u8>> {
        let mut distinct = Distinct::default();
        self.spill.each_block(number, |records| set.add(&mut distinct, std::iter::once(records)))?;
        Ok(distinct.records)
    }
}

/// A chunk of memory for records, filled from its start.
#[derive(Default)]
struct Chunk<'m> {
    memory: &'m mut [u8],
    filled: usize,
}

impl Chunk<'_> {
    fn records(&self) -> &[u8] {
        &self.memory[..self.filled]
    }
}

/// Queued chunks of one part, whose strings have not been looked up in the part's set yet.
#[derive(Default)]
struct Waiting<'m> {
    chunks: Vec<Chunk<'m>>,
    /// Threshold: once this part has so many queued chunks, the strings in these chunks are looked up.
    enough: usize,
}

/// Free chunks, and the queued chunks of each part.
struct Queues<'m> {
    free: Mutex<Vec<&'m mut [u8]>>,
    waiting: Vec<Mutex<Waiting<'m>>>,
    /// Lower bound on [`Waiting::enough`] for all parts. While there are free chunks, no part's strings are looked up
    /// before the part has this many queued chunks.
    fewest: usize,
}

/// Visitor that gathers the strings of the edges that one thread reads.
struct Gatherer<'p, 'm> {
    parts: &'p Parts,
    queues: &'p Queues<'m>,
    /// For each part, the chunk that is being filled.
    chunks: Vec<Chunk<'m>>,
    set: StringSet,
}

impl Gatherer<'_, '_> {
    /// Replaces the full chunk of part `number` by an empty one.
    #[inline(never)]
    fn renew(&mut self, number: usize) -> Result<()> {
        let free = self.queues.free.lock().pop();
        let (has_free, fresh) = (free.is_some(), Chunk { memory: free.unwrap_or_default(), filled: 0 });
        let full = std::mem::replace(&mut self.chunks[number], fresh);
        let mut waiting = self.queues.waiting[number].lock();
        if full.filled > 0 {
            waiting.chunks.push(full);
        }
        if has_free && waiting.chunks.len() < waiting.enough.max(self.queues.fewest) {
            return Ok(());
        }
        let chunks = std::mem::take(&mut waiting.chunks);
        drop(waiting);
        let bytes = self.parts.add(number, &mut self.set, chunks.iter().map(Chunk::records))?;
        let mut memories = chunks.into_iter().map(|chunk| chunk.memory);
        if !has_free {
            self.chunks[number].memory = memories.next().unwrap_or_default();
        }
        let chunk = self.chunks[number].memory.len().max(1);
        self.queues.free.lock().extend(memories);
        self.queues.waiting[number].lock().enough = bytes / chunk;
        Ok(())
    }
}

impl Visitor for Gatherer<'_, '_> {
    fn visit(&mut self, _: Edges<'_>, _: &[u32]) -> Result<()> {
        Err(Error::internal("number strings", "the ids are numbers"))
    }

    fn visit_names(&mut self, names: &NameBatch) -> Result<()> {
        for (at, &hash) in names.hashes().iter().enumerate() {
            let (number, record) = (self.parts.of(hash), names.record(at));
            let chunk = &self.chunks[number];
            if chunk.filled + record.len() > chunk.memory.len() {
                self.renew(number)?;
                if record.len() > self.chunks[number].memory.len() {
                    let record = std::iter::once(&names.bytes()[record]);
                    self.parts.add(number, &mut self.set, record)?;
                    continue;
                }
            }
            let chunk = &mut self.chunks[number];
            copy_short(names.bytes(), record.clone(), chunk.memory, chunk.filled);
            chunk.filled += record.len();
            // Prefetch the next cache line of the chunk, to which one of the next records of this part is copied.
            prefetch(chunk.memory, chunk.filled + LINE);
        }
        Ok(())
    }
}
