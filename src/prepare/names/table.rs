//! A hash table that maps strings to their numbers, as a file. It contains no strings: an entry stores 31 bits of the
//! hash, and the strings themselves are compared only if these bits are ambiguous.
//!
//! An entry is in the slot that its hash selects, its *home*, or in the next free slot after it (linear probing).
//! Entries are in the order of their hashes, so the file is written sequentially.

use super::TABLE;
use super::gather::Room;
use super::spill::{Spill, SpillWriter};
use crate::error::{At, Error, Result};
use crate::formats::Watch;
use crate::prepare::gate::Gate;
use crate::process::threads::in_threads;
use crate::store::file::{NewFile, Pending};
use crate::store::map::{Mapped, as_u64};
use std::path::Path;

/// Value of a free slot in the hash table.
const FREE: u64 = u64::MAX;
/// Mask of the bits of a hash that an entry of the table stores.
const TAG: u64 = (1 << 31) - 1;
/// Bit that is set in an entry if another entry of its cluster (run of occupied slots) has the same [`TAG`] bits.
const SHARED: u64 = 1 << 31;
/// Size in bytes of a pair (hash, number) in the temporary file.
const PAIR: usize = 12;
/// Target size in bytes of the pairs that are sorted at once, so that they stay in the L2 cache.
const PART_BYTES: u64 = 128 << 10;
/// Base-2 logarithm of the number of bits in the bitmap with which equal hashes in a cluster are detected.
const SEEN: u32 = 16;

/// The hash table, as a mapped file.
#[derive(Debug)]
pub(super) struct Table {
    file: Mapped,
    homes: u64,
}

/// Returns the number of slots that the hashes of `names` strings can select. An eighth of them stays free.
fn homes(names: u64) -> u64 {
    names + names / 7 + 1
}

/// Returns the index of the slot that a hash selects.
#[inline]
fn home(homes: u64, hash: u64) -> u64 {
    ((u128::from(hash) * u128::from(homes)) >> 64) as u64
}

impl Table {
    /// Returns the approximate size in bytes of the hash table for `names` strings.
    pub fn bytes(names: u64) -> u64 {
        8 * homes(names)
    }

    /// Opens the hash table of `names` strings.
    pub fn open(path: &Path, key: u64, names: u64) -> Result<Table> {
        let file = Mapped::open(path, TABLE, key)?;
        file.verify_checksum()?;
        let (entries, homes) = (file.body_as_u64()?, homes(names));
        if (entries.len() as u64) <= homes || entries.last() != Some(&FREE) {
            let what = format!("{} places for {names} strings", entries.len());
            return Err(Error::corrupt(path, At::File, what));
        }
        Ok(Table { file, homes })
    }

    /// Returns all slots of the hash table. The upper half of an entry is the number (raw id) of the entry's string.
    pub fn entries(&self) -> &[u64] {
        as_u64(self.file.body()).unwrap_or_default()
    }

    /// Returns the index of the slot that a hash selects.
    #[inline]
    pub fn home(&self, hash: u64) -> usize {
        home(self.homes, hash) as usize
    }

    /// Returns the number (raw id) of the string with the hash `hash`. If several strings may have the same bits of the
    /// hash, calls `is_one` with the number of each; it must return true if the string with this number is the wanted
    /// one. If the list does not contain the string, the result may be `None` or the number of another string.
    #[inline]
    pub fn find(&self, hash: u64, is_one: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = self.home(hash);
        let entries = self.entries();
        loop {
            let entry = *entries.get(at)?;
            if entry == FREE {
                return None;
            }
            let number = (entry >> 32) as u32;
            if (entry ^ hash) & TAG == 0 && (entry & SHARED == 0 || is_one(number)) {
                return Some(number);
            }
            at += 1;
        }
    }
}

/// For each string, the pair (hash, number), where the number is the raw id. The pairs are divided into parts by the
/// upper bits of the hash.
pub(super) struct Pairs {
    spill: Spill,
    bits: u32,
    count: u64,
    room: Room,
}

impl Pairs {
    pub fn new(path: &Path, count: u64, room: Room) -> Result<Pairs> {
        let bytes = count.saturating_mul(PAIR as u64);
        // A thread needs memory for the bytes of a part, and twice 16 bytes for each pair.
        let parts = (16 * bytes * room.threads as u64 / room.bytes).max(bytes / PART_BYTES);
        let parts = parts.clamp(2, 4096).next_power_of_two();
        let spill = Spill::new(path, parts as usize, bytes, room.bytes / 8)?;
        Ok(Pairs { spill, bits: parts.ilog2(), count, room })
    }

    pub fn room(&self) -> &Room {
        &self.room
    }

    pub fn writer(&self) -> SpillWriter<'_> {
        SpillWriter::new(&self.spill, self.room.bytes / self.room.threads as u64 / 8)
    }

    #[inline]
    pub fn put(&self, writer: &mut SpillWriter<'_>, hash: u64, number: u32) -> Result<()> {
        let mut pair = [0; PAIR];
        pair[..8].copy_from_slice(&hash.to_le_bytes());
        pair[8..].copy_from_slice(&number.to_le_bytes());
        writer.put((hash >> (u64::BITS - self.bits)) as usize, &pair)
    }

    /// Sorts the pairs (hash, number) and writes them as a hash table.
    pub fn write(self, path: &Path, key: u64, watch: &dyn Watch) -> Result<Pending> {
        let Pairs { spill, bits, count, room, .. } = self;
        let placing = Gate::new(Placing {
            file: NewFile::create(path, TABLE, key)?,
            homes: homes(count),
            next: 0,
            cluster: Vec::new(),
            seen: vec![0; 1 << (SEEN - 6)].into(),
            ready: Vec::new(),
            turn: 0,
        });
        let work = |sorter: &mut Sorter, part: usize| {
            placing.run(|| {
                watch.advance(0)?;
                spill.take(part, &mut sorter.bytes)?;
                sorter.sort(bits);
                let placed = placing.take(|placing| placing.turn == part, |placing| placing.place_all(&sorter.sorted));
                // If another thread has failed, its error is the one to report.
                placed.unwrap_or(Ok(()))
            })
        };
        in_threads(room.threads, 0..spill.parts(), Sorter::default, work, |_| Ok(()))?;
        placing.into_inner().finish()
    }
}

/// Sorter for the pairs (hash, number) of a part. A thread reuses it for one part after the other.
#[derive(Default)]
struct Sorter {
    bytes: Vec<u8>,
    /// For each bucket, the index of its next pair in `sorted`.
    places: Vec<u32>,
    sorted: Vec<(u64, u32)>,
}

impl Sorter {
    /// Sorts the pairs in `bytes` into `sorted`, by hash and then by number. All hashes share their upper `bits` bits.
    fn sort(&mut self, bits: u32) {
        let Sorter { bytes, places, sorted } = self;
        let pairs = bytes.as_chunks::<PAIR>().0;
        let pair = |pair: &[u8; PAIR]| {
            let (mut hash, mut number) = ([0; 8], [0; 4]);
            hash.copy_from_slice(&pair[..8]);
            number.copy_from_slice(&pair[8..]);
            (u64::from_le_bytes(hash), u32::from_le_bytes(number))
        };
        // Hashes are uniform, so a bucket contains about one pair.
        let more = (pairs.len().max(1).ilog2() + 1).min(u64::BITS - bits);
        let bucket = |hash: u64| (hash << bits >> (u64::BITS - more)) as usize;
        places.clear();
        places.resize((1 << more) + 1, 0);
        pairs.iter().for_each(|bytes| places[bucket(pair(bytes).0) + 1] += 1);
        (1..places.len()).for_each(|at| places[at] += places[at - 1]);
        sorted.clear();
        sorted.resize(pairs.len(), (0, 0));
        for bytes in pairs {
            let pair = pair(bytes);
            let place = &mut places[bucket(pair.0)];
            sorted[*place as usize] = pair;
            *place += 1;
        }
        // Now each element of `places` is the end of its bucket.
        let mut start = 0;
        for &end in &*places {
            let bucket = &mut sorted[start..end as usize];
            if bucket.len() > 1 {
                bucket.sort_unstable();
            }
            start = end as usize;
        }
    }
}

/// Writer of the hash table's file.
struct Placing {
    file: NewFile,
    homes: u64,
    /// Index of the slot of the table that is written next.
    next: u64,
    /// Entries of the current cluster, which begins after the last free slot.
    cluster: Vec<u64>,
    /// Bitmap for detecting equal hashes in a cluster. The lower bits of a hash select its bit.
    seen: Box<[u64]>,
    /// Bytes that are ready to be written to the file.
    ready: Vec<u8>,
    /// Index of the part of pairs that must be written next.
    turn: usize,
}

impl Placing {
    fn place_all(&mut self, pairs: &[(u64, u32)]) -> Result<()> {
        for &(hash, number) in pairs {
            let home = home(self.homes, hash);
            if self.next < home {
                self.free(home);
            }
            self.cluster.push(u64::from(number) << 32 | hash & TAG);
            self.next += 1;
        }
        self.file.write(&self.ready)?;
        self.ready.clear();
        self.turn += 1;
        Ok(())
    }

    /// Ends the current cluster of occupied slots: appends its entries, and then free slots up to the slot `until`.
    fn free(&mut self, until: u64) {
        let words = self.seen.len();
        let place = |entry: u64| ((entry & TAG) as usize >> 6 & (words - 1), entry & 63);
        let mut is_unique = true;
        for &entry in &self.cluster {
            let (word, bit) = place(entry);
            is_unique &= self.seen[word] >> bit & 1 == 0;
            self.seen[word] |= 1 << bit;
        }
        self.cluster.iter().for_each(|&entry| self.seen[place(entry).0] = 0);
        if !is_unique {
            mark_shared(&mut self.cluster);
        }
        self.cluster.drain(..).for_each(|entry| self.ready.extend_from_slice(&entry.to_le_bytes()));
        (self.next..until).for_each(|_| self.ready.extend_from_slice(&FREE.to_le_bytes()));
        self.next = self.next.max(until);
    }

    fn finish(mut self) -> Result<Pending> {
        let until = self.homes.max(self.next) + 1;
        self.free(until);
        self.file.write(&self.ready)?;
        self.file.finish_deferred()
    }
}

/// Sets [`SHARED`] in each entry of a cluster that has the same [`TAG`] bits as another one.
fn mark_shared(cluster: &mut [u64]) {
    let mut tags: Vec<u64> = cluster.iter().map(|entry| entry & TAG).collect();
    tags.sort_unstable();
    for entry in cluster {
        let tag = *entry & TAG;
        let first = tags.partition_point(|&other| other < tag);
        if tags.get(first + 1) == Some(&tag) {
            *entry |= SHARED;
        }
    }
}
