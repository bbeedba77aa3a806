//! A set of strings that lie one after the other in memory, each with its hash.

use crate::memory::prefetch;

/// Bytes of a record before the string: its hash and its length.
pub(super) const HEAD: usize = 10;

/// Appends the record of a string to `to`.
#[inline]
pub(super) fn put(to: &mut Vec<u8>, hash: u64, name: &[u8]) {
    to.extend_from_slice(&hash.to_le_bytes());
    to.extend_from_slice(&(name.len() as u16).to_le_bytes());
    to.extend_from_slice(name);
}

/// Returns hash and string of the record at `at`, and the start of the next record; `None` behind the last record.
#[inline]
pub(super) fn record(records: &[u8], at: usize) -> Option<(u64, &[u8], usize)> {
    let (head, rest) = records.get(at..)?.split_first_chunk::<HEAD>()?;
    let (hash, length) = head.split_first_chunk::<8>()?;
    let length = usize::from(u16::from_le_bytes(length.try_into().ok()?));
    Some((u64::from_le_bytes(*hash), rest.get(..length)?, at + HEAD + length))
}

/// Calls `each` with hash and string of every record.
pub(super) fn each<E>(records: &[u8], mut each: impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<(), E> {
    let mut at = 0;
    while let Some((hash, name, next)) = record(records, at) {
        each(hash, name)?;
        at = next;
    }
    Ok(())
}

/// The set. Strings are found by the lower bits of their hashes, because all strings of a part share the upper bits.
#[derive(Default)]
pub(super) struct StringSet {
    /// 0 if free, else 32 bits of the hash above the place of the record plus 1.
    slots: Vec<u64>,
    count: usize,
    /// The records, without repeats.
    pub records: Vec<u8>,
}

/// Bytes from the start of a record to the end of a short string.
const SHORT: usize = HEAD + 20;

/// Returns true if a slot may hold the place of a string with this hash.
#[inline]
fn is_of(slot: u64, hash: u64) -> bool {
    (slot ^ tag(hash)) >> 32 == 0
}

/// Returns the bits of a hash that a slot has.
#[inline]
fn tag(hash: u64) -> u64 {
    hash << 16 >> 32 << 32
}

/// Number of records that are looked up together, so that their memory accesses overlap.
const TOGETHER: usize = 64;

impl StringSet {
    /// Returns the bytes of memory that the set takes.
    pub fn bytes(&self) -> u64 {
        (8 * self.slots.capacity() + self.records.capacity()) as u64
    }

    /// Adds all strings of `records`.
    pub fn add_all(&mut self, records: &[u8]) {
        let mut at = 0;
        while at < records.len() {
            self.reserve(TOGETHER);
            let (mut found, mut next) = ([(0, 0); TOGETHER], at);
            let mut together = 0;
            while together < TOGETHER
                && let Some((hash, _, behind)) = record(records, next)
            {
                prefetch(&self.slots, self.slot(hash));
                found[together] = (hash, next);
                (together, next) = (together + 1, behind);
            }
            if together == 0 {
                return;
            }
            for &(hash, _) in &found[..together] {
                let slot = self.slots[self.slot(hash)];
                // A record begins in one cache line and often ends in the next.
                if slot as u32 != 0 && is_of(slot, hash) {
                    prefetch(&self.records, slot as u32 as usize - 1);
                    prefetch(&self.records, slot as u32 as usize + SHORT);
                }
            }
            for &(hash, at) in &found[..together] {
                if let Some((_, name, _)) = record(records, at) {
                    self.add(hash, name);
                }
            }
            at = next;
        }
    }

    #[inline]
    fn slot(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    fn add(&mut self, hash: u64, name: &[u8]) {
        let mut at = self.slot(hash);
        loop {
            let slot = self.slots[at];
            let place = slot as u32;
            if place == 0 {
                break;
            }
            if is_of(slot, hash) && record(&self.records, place as usize - 1).is_some_and(|(_, there, _)| there == name)
            {
                return;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = tag(hash) | (self.records.len() as u64 + 1);
        self.count += 1;
        put(&mut self.records, hash, name);
    }

    /// Makes room for `more` strings.
    fn reserve(&mut self, more: usize) {
        if (self.count + more) * 4 <= self.slots.len() * 3 {
            return;
        }
        let slots = ((self.count + more) * 2).next_power_of_two();
        self.slots.clear();
        self.slots.shrink_to_fit();
        self.slots.resize(slots, 0);
        let mut place = 0;
        while let Some((hash, _, next)) = record(&self.records, place) {
            let mut at = self.slot(hash);
            while self.slots[at] as u32 != 0 {
                at = (at + 1) & (slots - 1);
            }
            self.slots[at] = tag(hash) | (place as u64 + 1);
            place = next;
        }
    }

    /// Returns true if no more strings may be added before the set is emptied, because places have 32 bits.
    pub fn is_full(&self) -> bool {
        self.records.len() > 1 << 31
    }
}
