//! The pass over the input that gathers the different strings.

use super::spill::Spill;
use super::string_set::{HEAD, StringSet, put};
use crate::error::{Error, Result};
use crate::formats::names::LONGEST_NAME;
use crate::formats::{Edges, Input, NameBatch, Visitor, Watch};
use crate::memory::{Budget, Reservation};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Fewest and most parts.
const PARTS: std::ops::RangeInclusive<u64> = 16..=4096;
/// Bytes of a thread's buffer for each part.
const BUFFER: u64 = 2048;
/// Fewest bytes of memory of each thread.
const LEAST: u64 = 256 << 10;

/// Returns the fewest bytes of memory with which `threads` threads can number strings.
pub(super) fn least_bytes(threads: usize) -> u64 {
    threads as u64 * (LEAST + 2 * LONGEST_NAME as u64)
}

/// The memory in which strings are numbered.
pub(super) struct Room {
    pub bytes: u64,
    pub threads: usize,
    _reserved: Reservation,
}

/// A part of the strings: those with the same upper bits of their hashes.
pub(super) struct Part {
    pub set: StringSet,
    /// Number of bytes that were spilled.
    pub spilled: u64,
}

/// All strings of the input.
pub(super) struct Parts {
    pub parts: Vec<Mutex<Part>>,
    pub spill: Spill,
    /// Number of the upper bits of a hash that are a part's number.
    bits: u32,
    /// Bytes of all sets together, and the most that they may take.
    used: AtomicU64,
    most: u64,
}

/// What the pass found.
pub(super) struct Gathered {
    pub parts: Parts,
    pub checksum: u64,
    pub room: Room,
}

/// The pass, before it begins.
pub(super) struct Gathering {
    parts: Parts,
    room: Room,
    buffer: usize,
    _reading: Reservation,
}

impl Gathering {
    pub fn new(input: &Input, path: &Path, threads: usize, budget: &Budget) -> Result<Gathering> {
        let reading = budget.reserve(input.scratch_bytes(threads), "reading the input")?;
        // A string and its delimiter take an eighth of the bytes of the file that they take in a set, at least.
        let strings = input.most_text_bytes().saturating_mul(8).max(1 << 20);
        let free = budget.free() / 4 * 3;
        let bytes = free.min(strings + threads as u64 * *PARTS.end() * BUFFER).max(least_bytes(threads));
        let reserved = budget.reserve(bytes, "numbering ids that are strings")?;
        let room = Room { bytes, threads, _reserved: reserved };
        // A thread takes a quarter of the memory at most for its buffers, and a part should fit an eighth of it.
        let most = (bytes / 4 / threads as u64 / 512).next_power_of_two() / 2;
        let parts = (16 * strings / bytes).max(512).next_power_of_two().min(most);
        let parts = parts.clamp(*PARTS.start(), *PARTS.end());
        let buffers = (bytes / 4).min(threads as u64 * parts * BUFFER);
        let buffer = (buffers / parts / threads as u64) as usize;
        let part = || Mutex::new(Part { set: StringSet::default(), spilled: 0 });
        let parts = Parts {
            parts: (0..parts).map(|_| part()).collect(),
            spill: Spill::create(path, parts as usize)?,
            bits: parts.ilog2(),
            used: AtomicU64::new(0),
            most: (bytes - buffers) / 4 * 3,
        };
        Ok(Gathering { parts, room, buffer, _reading: reading })
    }

    pub fn run(self, input: &Input, watch: &dyn Watch) -> Result<Gathered> {
        let Gathering { parts, room, buffer, .. } = self;
        let gatherer = |_| Gatherer { parts: &parts, buffers: vec![Vec::new(); parts.parts.len()], buffer };
        let mut gatherers: Vec<Gatherer<'_>> = (0..room.threads).map(gatherer).collect();
        let scan = input.scan(&mut gatherers, watch)?;
        gatherers.iter_mut().try_for_each(Gatherer::flush)?;
        drop(gatherers);
        parts.settle()?;
        Ok(Gathered { parts, checksum: scan.checksum, room })
    }
}

impl Parts {
    #[inline]
    fn of(&self, hash: u64) -> usize {
        (hash >> (u64::BITS - self.bits)) as usize
    }

    /// Adds records to a part, which is spilled if all parts together take too much memory.
    fn add(&self, number: usize, records: &[u8]) -> Result<()> {
        let mut part = self.parts[number].lock().unwrap_or_else(PoisonError::into_inner);
        let before = part.set.bytes();
        part.set.add_all(records);
        let after = part.set.bytes();
        let used = self.used.fetch_add(after - before, Relaxed) + after - before;
        if used > self.most || part.set.is_full() {
            self.spill(number, &mut part)?;
        }
        Ok(())
    }

    fn spill(&self, number: usize, part: &mut Part) -> Result<()> {
        let set = std::mem::take(&mut part.set);
        self.used.fetch_sub(set.bytes(), Relaxed);
        part.spilled += set.records.len() as u64;
        self.spill.append(number, &set.records)
    }

    /// Spills what is left of all parts if some part was spilled, so that one part after the other has all memory.
    fn settle(&self) -> Result<()> {
        let lock = |part: &'_ Mutex<Part>| part.lock().unwrap_or_else(PoisonError::into_inner).spilled > 0;
        if !self.parts.iter().any(lock) {
            return Ok(());
        }
        for (number, part) in self.parts.iter().enumerate() {
            self.spill(number, &mut part.lock().unwrap_or_else(PoisonError::into_inner))?;
        }
        Ok(())
    }

    /// Returns the number of bytes of the records of a part, at most.
    pub fn bytes(&self, number: usize) -> u64 {
        let part = self.parts[number].lock().unwrap_or_else(PoisonError::into_inner);
        part.spilled + part.set.records.len() as u64
    }

    /// Returns the records of a part, without repeats, and leaves them in it.
    pub fn peek(&self, number: usize, buffer: &mut Vec<u8>) -> Result<Vec<u8>> {
        let part = self.parts[number].lock().unwrap_or_else(PoisonError::into_inner);
        if part.spilled == 0 {
            return Ok(part.set.records.clone());
        }
        let mut set = StringSet::default();
        self.spill.each_block(number, buffer, |records| set.add_all(records))?;
        Ok(set.records)
    }

    /// Takes the records of a part, without repeats.
    pub fn take(&self, number: usize, buffer: &mut Vec<u8>) -> Result<Vec<u8>> {
        let mut part = self.parts[number].lock().unwrap_or_else(PoisonError::into_inner);
        let mut set = std::mem::take(&mut part.set);
        self.spill.each_block(number, buffer, |records| set.add_all(records))?;
        Ok(set.records)
    }
}

/// Visitor of one thread.
struct Gatherer<'a> {
    parts: &'a Parts,
    /// Records that are not in the set of their part yet.
    buffers: Vec<Vec<u8>>,
    buffer: usize,
}

impl Gatherer<'_> {
    fn flush(&mut self) -> Result<()> {
        for (number, buffer) in self.buffers.iter_mut().enumerate().filter(|(_, buffer)| !buffer.is_empty()) {
            self.parts.add(number, buffer)?;
            buffer.clear();
        }
        Ok(())
    }
}

impl Visitor for Gatherer<'_> {
    fn visit(&mut self, _: Edges<'_>, _: &[u32]) -> Result<()> {
        Err(Error::internal("number strings", "the ids are numbers"))
    }

    fn visit_names(&mut self, names: &NameBatch) -> Result<()> {
        for (at, &hash) in names.hashes().iter().enumerate() {
            let (number, name) = (self.parts.of(hash), names.name(at));
            let buffer = &mut self.buffers[number];
            if buffer.len() + HEAD + name.len() > self.buffer && !buffer.is_empty() {
                self.parts.add(number, buffer)?;
                buffer.clear();
            }
            put(buffer, hash, name);
        }
        Ok(())
    }
}
