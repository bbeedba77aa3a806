//! The vertices that a thread has to push along, in buckets by their distances.

use crate::error::Result;
use crate::memory::{Budget, Reservation};

/// Buckets that are apart; entries behind them lie together until their turn comes near.
const RING: u64 = 1 << 10;
/// Entries for which memory is reserved at a time.
const STEP: usize = 1 << 16;

/// A vertex that became nearer, with the distance that it had then: another one came later if that of the vertex is smaller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry<S> {
    /// The distance.
    pub sum: S,
    /// The vertex.
    pub vertex: u32,
}

/// Entries in buckets. None is in a bucket before the first that is taken next.
pub struct Bins<S> {
    ring: Vec<Vec<Entry<S>>>,
    /// The bucket that was taken last.
    base: u64,
    far: Vec<(u64, Entry<S>)>,
    /// The first bucket of `far`.
    far_first: u64,
    pending: usize,
    /// Entries that other ranks are told before they come into a bucket.
    told: Vec<Entry<S>>,
    reserved: Reservation,
}

impl<S: Copy> Bins<S> {
    /// Makes empty ones.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(budget: &Budget) -> Result<Bins<S>> {
        let ring = (0..RING).map(|_| Vec::new()).collect();
        let reserved = budget.reserve(bytes(), PURPOSE)?;
        Ok(Bins { ring, base: 0, far: Vec::new(), far_first: u64::MAX, pending: 0, told: Vec::new(), reserved })
    }

    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.ring.iter_mut().for_each(Vec::clear);
        self.far.clear();
        self.told.clear();
        (self.base, self.far_first, self.pending) = (0, u64::MAX, 0);
    }

    /// Adds an entry to a bucket, which is not before the one that was taken last.
    #[inline(always)]
    pub fn push(&mut self, bucket: u64, entry: Entry<S>) {
        self.pending += 1;
        if bucket - self.base < RING {
            self.ring[(bucket % RING) as usize].push(entry);
        } else {
            self.far_first = self.far_first.min(bucket);
            self.far.push((bucket, entry));
        }
    }

    /// Adds an entry that other ranks have to be told.
    #[inline(always)]
    pub fn tell(&mut self, entry: Entry<S>) {
        self.told.push(entry);
    }

    /// Takes the entries that other ranks have to be told.
    pub fn take_told(&mut self) -> Vec<Entry<S>> {
        std::mem::take(&mut self.told)
    }

    /// Returns the first bucket that has an entry.
    pub fn first(&self) -> Option<u64> {
        let near = (self.base..self.base + RING).find(|bucket| !self.ring[(bucket % RING) as usize].is_empty());
        near.into_iter().chain((self.far_first < u64::MAX).then_some(self.far_first)).min()
    }

    /// Takes the entries of a bucket before which there are none, and leaves the memory of `list` in their place.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] where entries take more memory than there is.
    pub fn take(&mut self, bucket: u64, list: &mut Vec<Entry<S>>) -> Result<()> {
        self.base = bucket;
        if self.far_first <= bucket {
            self.far_first = u64::MAX;
            let far = std::mem::take(&mut self.far);
            self.pending -= far.len();
            far.into_iter().for_each(|(bucket, entry)| self.push(bucket, entry));
        }
        list.clear();
        std::mem::swap(&mut self.ring[(bucket % RING) as usize], list);
        self.pending -= list.len();
        self.account(list.len())
    }

    /// Reserves memory for entries, of which `taken` are elsewhere. Vectors grow by doubling.
    fn account(&mut self, taken: usize) -> Result<()> {
        self.reserve(2 * ((self.pending + taken) * size_of::<(u64, Entry<S>)>()) as u64)
    }

    /// Reserves so many bytes, if it did not before.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn reserve(&mut self, needed: u64) -> Result<()> {
        match needed > self.reserved.bytes() {
            true => {
                let step = (2 * STEP * size_of::<(u64, Entry<S>)>()) as u64;
                let more = (needed - self.reserved.bytes()).next_multiple_of(step);
                self.reserved.grow(more, PURPOSE)
            }
            false => Ok(()),
        }
    }

    /// Returns the number of entries in the bucket that was taken last.
    #[inline]
    pub fn again(&self) -> usize {
        self.ring[(self.base % RING) as usize].len()
    }
}

const PURPOSE: &str = "vertices in buckets (up to 16 bytes for each that became nearer)";

/// Returns the bytes that empty ones reserve.
pub fn bytes() -> u64 {
    (2 * STEP * size_of::<(u64, Entry<u64>)>()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_by_buckets_near_and_far() {
        let budget = Budget::new(1 << 30, 1).unwrap();
        let mut bins = Bins::new(&budget).unwrap();
        let buckets = [0, 3, 3, RING - 1, RING, 5 * RING + 7, 1 << 60, 5 * RING + 6];
        for (vertex, &bucket) in (0..).zip(&buckets) {
            bins.push(bucket, Entry { sum: bucket, vertex });
        }
        let (mut found, mut list) = (Vec::new(), Vec::new());
        while let Some(bucket) = bins.first() {
            bins.take(bucket, &mut list).unwrap();
            assert!(list.iter().all(|entry| entry.sum == bucket));
            found.extend(list.iter().map(|entry| entry.sum));
        }
        let mut sorted = buckets;
        sorted.sort_unstable();
        assert_eq!(found, sorted);
        assert_eq!(bins.pending, 0);
    }
}
