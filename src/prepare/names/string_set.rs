//! Distinct strings, and the hash table that detects duplicates. Strings are stored as records: hash, length, bytes.

use crate::formats::names::HEAD;
use crate::memory::prefetch;

/// Returns (hash, string, byte offset of the next record) of the record at byte `at`; `None` at the end.
#[inline]
pub(super) fn record(records: &[u8], at: usize) -> Option<(u64, &[u8], usize)> {
    let (head, rest) = records.get(at..)?.split_first_chunk::<HEAD>()?;
    let (hash, length) = head.split_first_chunk::<8>()?;
    let length = usize::from(u16::from_le_bytes(length.try_into().ok()?));
    Some((u64::from_le_bytes(*hash), rest.get(..length)?, at + HEAD + length))
}

/// Iterates over the records as (hash, string, byte range of the record).
pub(super) fn each(records: &[u8]) -> impl Iterator<Item = (u64, &[u8], std::ops::Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (hash, name, next) = record(records, at)?;
        Some((hash, name, std::mem::replace(&mut at, next)..next))
    })
}

/// Records of distinct strings, one after the other.
#[derive(Default)]
pub(super) struct Distinct {
    pub records: Vec<u8>,
    pub count: usize,
}

impl Distinct {
    /// Returns true if no more strings may be added, because the offsets of records have 32 bits.
    pub fn is_full(&self) -> bool {
        self.records.len() > 1 << 31
    }
}

/// A hash table of the byte offsets of records. A thread reuses it for one part after the other, so that it stays in
/// the cache. The lower bits of a hash select the slot, because all strings of a part share the upper bits.
#[derive(Default)]
pub(super) struct StringSet {
    /// Slots of the table. A free slot is 0. The upper half of any other slot contains 32 bits of a hash, and its lower
    /// half the offset of the record plus 1.
    slots: Vec<u64>,
}

/// Offset in a record, in bytes, that is prefetched in addition to the record's start: about the end of a short string.
const SHORT: usize = HEAD + 20;

/// Returns true if the 32 bits of a hash in `slot` equal the corresponding bits of `hash`.
#[inline]
fn is_of(slot: u64, hash: u64) -> bool {
    (slot ^ tag(hash)) >> 32 == 0
}

/// Returns the 32 bits of `hash` that a slot of the table stores, in the upper half of the result.
#[inline]
fn tag(hash: u64) -> u64 {
    hash << 16 >> 32 << 32
}

/// Number of records that are looked up together, so that their memory accesses overlap.
const TOGETHER: usize = 64;

impl StringSet {
    /// Adds the strings in all `batches` of records to `distinct`, except strings that `distinct` already contains.
    pub fn add<'r>(&mut self, distinct: &mut Distinct, batches: impl Iterator<Item = &'r [u8]>) {
        // The batches contain about as many strings as `distinct`.
        self.fill(distinct, 2 * distinct.count);
        for batch in batches {
            self.add_batch(distinct, batch);
        }
    }

    /// Rebuilds the hash table from the strings in `distinct`, with a capacity of `strings` strings and [`TOGETHER`]
    /// more.
    fn fill(&mut self, distinct: &Distinct, strings: usize) {
        let slots = ((strings + TOGETHER) * 4).div_ceil(3).next_power_of_two();
        self.slots.clear();
        // Free the memory that only a larger part needed.
        self.slots.shrink_to(slots);
        self.slots.resize(slots, 0);
        for (hash, _, place) in each(&distinct.records) {
            let mut at = self.slot(hash);
            while self.slots[at] != 0 {
                at = (at + 1) & (slots - 1);
            }
            self.slots[at] = tag(hash) | (place.start as u64 + 1);
        }
    }

    fn add_batch(&mut self, distinct: &mut Distinct, records: &[u8]) {
        let (mut next, mut found) = (0, [(0, 0, 0); TOGETHER]);
        loop {
            if (distinct.count + TOGETHER) * 4 > self.slots.len() * 3 {
                self.fill(distinct, 2 * distinct.count);
            }
            let mut together = 0;
            while together < TOGETHER
                && let Some((hash, _, behind)) = record(records, next)
            {
                prefetch(&self.slots, self.slot(hash));
                found[together] = (hash, next, behind);
                (together, next) = (together + 1, behind);
            }
            if together == 0 {
                return;
            }
            for &(hash, ..) in &found[..together] {
                let slot = self.slots[self.slot(hash)];
                // Prefetch both the start and the end of the record, which are often in different cache lines.
                if slot != 0 && is_of(slot, hash) {
                    prefetch(&distinct.records, slot as u32 as usize - 1);
                    prefetch(&distinct.records, slot as u32 as usize + SHORT);
                }
            }
            for &(hash, at, behind) in &found[..together] {
                self.add_one(distinct, hash, &records[at..behind]);
            }
        }
    }

    #[inline]
    fn slot(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn add_one(&mut self, distinct: &mut Distinct, hash: u64, record: &[u8]) {
        let mut at = self.slot(hash);
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                break;
            }
            // A record contains the length of its string, so it never matches a longer string with the same prefix.
            let place = slot as u32 as usize - 1;
            if is_of(slot, hash) && distinct.records[place..].starts_with(record) {
                return;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = tag(hash) | (distinct.records.len() as u64 + 1);
        distinct.count += 1;
        distinct.records.extend_from_slice(record);
    }
}
