//! A hash table from strings to their numbers, as a file. It holds no strings: an entry has 31 bits of the hash, so that
//! the strings themselves are compared only where these bits are not enough.
//!
//! An entry lies at the place that its hash says, or behind it if that is taken. Entries are in the order of their
//! hashes, so the file is written from front to back.

use super::gather::Room;
use super::spill::{Spill, SpillWriter};
use super::{TABLE, in_threads};
use crate::error::{At, Error, Result};
use crate::formats::Watch;
use crate::store::file::{NewFile, Seal};
use crate::store::map::{Mapped, as_u64};
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};

/// A free place.
const FREE: u64 = u64::MAX;
/// The bits of the hash in an entry.
const TAG: u64 = (1 << 31) - 1;
/// Set in an entry if another entry before the next free place has the same bits of its hash.
const SHARED: u64 = 1 << 31;
/// Bytes of a pair of hash and number in the temporary file.
const PAIR: usize = 12;

/// The table, as a mapped file.
#[derive(Debug)]
pub(super) struct Table {
    file: Mapped,
    homes: u64,
}

/// Returns the number of places that hashes name, for `names` strings: an eighth stays free.
fn homes(names: u64) -> u64 {
    names + names / 7 + 1
}

/// Returns the place that a hash names.
#[inline]
fn home(homes: u64, hash: u64) -> u64 {
    ((u128::from(hash) * u128::from(homes)) >> 64) as u64
}

impl Table {
    /// Returns the bytes of the table of `names` strings, about.
    pub fn bytes(names: u64) -> u64 {
        8 * homes(names)
    }

    /// Opens the table of `names` strings.
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

    /// Returns all places.
    pub fn entries(&self) -> &[u64] {
        as_u64(self.file.body()).unwrap_or_default()
    }

    /// Returns the place that a hash names.
    #[inline]
    pub fn home(&self, hash: u64) -> usize {
        home(self.homes, hash) as usize
    }

    /// Returns the number of the string with this hash. `is_one` compares it with a string by that one's number.
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

/// Pairs of the hash and the number of each string, in parts by the upper bits of the hash.
pub(super) struct Pairs {
    spill: Spill,
    bits: u32,
    count: u64,
    room: Room,
}

impl Pairs {
    pub fn new(path: &Path, count: u64, room: Room) -> Result<Pairs> {
        let bytes = count.saturating_mul(PAIR as u64 + 16);
        let parts = (4 * bytes * room.threads as u64 / room.bytes).max((bytes >> 20).min(4 * room.threads as u64));
        let parts = parts.clamp(2, 4096).next_power_of_two();
        Ok(Pairs { spill: Spill::create(path, parts as usize)?, bits: parts.ilog2(), count, room })
    }

    pub fn room(&self) -> &Room {
        &self.room
    }

    pub fn writer(&self) -> SpillWriter<'_> {
        SpillWriter::new(&self.spill, self.room.bytes / self.room.threads as u64 / 4)
    }

    #[inline]
    pub fn put(&self, writer: &mut SpillWriter<'_>, hash: u64, number: u32) -> Result<()> {
        let buffer = writer.buffer((hash >> (u64::BITS - self.bits)) as usize, PAIR)?;
        buffer.extend_from_slice(&hash.to_le_bytes());
        buffer.extend_from_slice(&number.to_le_bytes());
        Ok(())
    }

    /// Writes the table.
    pub fn write(self, path: &Path, key: u64, watch: &dyn Watch) -> Result<Seal> {
        let Pairs { spill, count, room, .. } = self;
        let placing = Placing {
            file: NewFile::create(path, TABLE, key)?,
            homes: homes(count),
            next: 0,
            cluster: Vec::new(),
            sorted: Vec::new(),
            turn: 0,
            failed: false,
        };
        let (placing, changed) = (Mutex::new(placing), Condvar::new());
        let work = |_: &mut (), part: usize| {
            let pairs = watch.advance(0).and_then(|()| sorted_pairs(&spill, part));
            let mut placing = placing.lock().unwrap_or_else(PoisonError::into_inner);
            while placing.turn < part && !placing.failed {
                placing = changed.wait(placing).unwrap_or_else(PoisonError::into_inner);
            }
            let placed = match &pairs {
                Ok(_) if placing.failed => Err(Error::Stopped("another thread failed")),
                Ok(pairs) => pairs.iter().try_for_each(|&(hash, number)| placing.place(hash, number)),
                Err(_) => Ok(()),
            };
            placing.failed |= pairs.is_err() || placed.is_err();
            placing.turn = part + 1;
            drop(placing);
            changed.notify_all();
            pairs?;
            placed
        };
        in_threads(room.threads, spill.parts(), || (), work, |()| Ok(()))?;
        placing.into_inner().unwrap_or_else(PoisonError::into_inner).finish()
    }
}

/// Reads the pairs of a part, sorted by hash, and pairs of one hash by number.
fn sorted_pairs(spill: &Spill, part: usize) -> Result<Vec<(u64, u32)>> {
    let bytes = spill.read(part)?;
    let pair = |pair: &[u8; PAIR]| {
        let (hash, number) = pair.split_first_chunk::<8>()?;
        Some((u64::from_le_bytes(*hash), u32::from_le_bytes(number.try_into().ok()?)))
    };
    let mut pairs: Vec<(u64, u32)> = bytes.as_chunks::<PAIR>().0.iter().filter_map(pair).collect();
    pairs.sort_unstable();
    Ok(pairs)
}

/// The table that is being written.
struct Placing {
    file: NewFile,
    homes: u64,
    /// The next place.
    next: u64,
    /// The entries since the last free place.
    cluster: Vec<u64>,
    /// The bits of their hashes, sorted.
    sorted: Vec<u64>,
    turn: usize,
    failed: bool,
}

impl Placing {
    fn place(&mut self, hash: u64, number: u32) -> Result<()> {
        let home = home(self.homes, hash);
        if self.next < home {
            self.free(home)?;
        }
        self.cluster.push(u64::from(number) << 32 | hash & TAG);
        self.next += 1;
        Ok(())
    }

    /// Writes the entries since the last free place, and leaves the places before `until` free.
    fn free(&mut self, until: u64) -> Result<()> {
        self.sorted.clear();
        self.sorted.extend(self.cluster.iter().map(|entry| entry & TAG));
        self.sorted.sort_unstable();
        let is_unique = self.sorted.is_sorted_by(|a, b| a < b);
        for &entry in &self.cluster {
            let tag = entry & TAG;
            let is_shared = !is_unique && {
                let first = self.sorted.partition_point(|other| *other < tag);
                self.sorted.get(first + 1) == Some(&tag)
            };
            self.file.write(&(if is_shared { entry | SHARED } else { entry }).to_le_bytes())?;
        }
        self.cluster.clear();
        while self.next < until {
            self.file.write(&FREE.to_le_bytes())?;
            self.next += 1;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Seal> {
        let until = self.homes.max(self.next) + 1;
        self.free(until)?;
        self.file.finish()
    }
}
