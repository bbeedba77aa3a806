//! The buckets of one thread in a shortest-path search. A bucket contains entries: vertices whose out-edges are to be
//! relaxed, each with its distance.

use crate::error::Result;
use crate::failpoint;
use crate::memory::{Budget, Reservation};
use std::ops::RangeInclusive;

/// Number of consecutive buckets, beginning with the current one, that have a list each. Entries of later buckets share
/// one list until the search comes close to their buckets.
const RING: u64 = 1 << 10;
/// Initial capacity of a list of bucket entries, in entries.
const LEAST: usize = 32;
/// Minimum and maximum number of bytes that a thread reserves at a time for bucket entries.
const STEP: RangeInclusive<u64> = 16 << 10..=1 << 20;
/// Number of bytes that a thread reserves at a time for bucket entries, per vertex of the graph. The product is clamped
/// to [`STEP`].
const STEP_OF_VERTEX: u64 = 1 << 10;

/// A bucket entry: a vertex whose distance became smaller, with this distance. The entry is outdated once the distance
/// of the vertex becomes smaller again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearerVertex<S> {
    /// The distance of the vertex when the entry was created.
    pub sum: S,
    /// The vertex whose distance became smaller.
    pub vertex: u32,
}

/// The buckets of one thread, numbered from 0. The search processes buckets in ascending order, so all entries are in
/// the bucket that it took last or in later ones.
pub struct DistanceBins<S> {
    ring: Vec<Vec<NearerVertex<S>>>,
    /// Index of the bucket that the search took last.
    base: u64,
    far: Vec<(u64, NearerVertex<S>)>,
    /// Smallest index of a bucket that has an entry in `far`, the list that late buckets share; `u64::MAX` if `far` is
    /// empty.
    far_first: u64,
    /// Entries that have not been sent to the other ranks yet. They are added to a bucket once they have been sent.
    pub unsent: Vec<NearerVertex<S>>,
    /// Empty lists with allocated memory, from buckets that were processed. A bucket without memory reuses such a list,
    /// because its memory is likely to be in a cache.
    spare: Vec<Vec<NearerVertex<S>>>,
    memory: EntryMemory,
}

/// Accounting of the memory for the bucket entries of a thread.
struct EntryMemory {
    reserved: Reservation,
    /// Number of bytes by which the reservation grows at a time.
    step: u64,
    /// Number of reserved bytes that the lists of entries use.
    taken: u64,
    /// Whether an entry was dropped because no memory was left for it.
    is_out_of_memory: bool,
}

impl EntryMemory {
    /// Increases the capacity of `list`, a list of bucket entries. A list without memory is replaced by one of the
    /// lists in `spare`, if there is any. Returns false if no memory is left.
    #[cold]
    fn grow_list<T>(&mut self, list: &mut Vec<T>, spare: &mut Vec<Vec<T>>) -> bool {
        if list.capacity() == 0
            && let Some(empty) = spare.pop()
        {
            *list = empty;
            return true;
        }
        self.grow(list)
    }

    /// Doubles the capacity of a list of bucket entries. Returns false if no memory is left.
    #[cold]
    fn grow<T>(&mut self, entries: &mut Vec<T>) -> bool {
        let more = entries.capacity().max(LEAST);
        let taken = self.taken + (more * size_of::<T>()) as u64;
        // A test can set this failpoint to refuse the memory.
        let fits = failpoint::hit("sssp.buckets").is_ok() && self.reserve(taken).is_ok();
        if fits {
            self.taken = taken;
            entries.reserve_exact(more);
        }
        self.is_out_of_memory |= !fits;
        fits
    }

    /// Grows the memory reservation to at least `bytes` bytes.
    fn reserve(&mut self, bytes: u64) -> Result<()> {
        match bytes > self.reserved.bytes() {
            true => self.reserved.grow((bytes - self.reserved.bytes()).next_multiple_of(self.step), PURPOSE),
            false => Ok(()),
        }
    }
}

impl<S: Copy> DistanceBins<S> {
    /// Creates empty buckets for a graph of `vertices` vertices.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(vertices: u32, budget: &Budget) -> Result<DistanceBins<S>> {
        let step = step(vertices.into());
        let ring = (0..RING).map(|_| Vec::new()).collect();
        let memory = EntryMemory {
            reserved: budget.reserve(bytes(vertices.into()), PURPOSE)?,
            step,
            taken: 0,
            is_out_of_memory: false,
        };
        let far_first = u64::MAX;
        Ok(DistanceBins { ring, base: 0, far: Vec::new(), far_first, unsent: Vec::new(), spare: Vec::new(), memory })
    }

    /// Removes all entries from all buckets.
    pub fn clear(&mut self) {
        self.ring.iter_mut().for_each(Vec::clear);
        self.far.clear();
        self.unsent.clear();
        (self.base, self.far_first) = (0, u64::MAX);
        self.memory.is_out_of_memory = false;
        // The search has freed the lists of the buckets that it took.
        let near: usize =
            self.ring.iter().chain(&self.spare).map(|list| list.capacity() * size_of::<NearerVertex<S>>()).sum();
        self.memory.taken = (near + self.far.capacity() * size_of::<(u64, NearerVertex<S>)>()) as u64;
    }

    /// Removes all entries from all buckets, and frees their memory.
    pub fn free(&mut self) {
        self.ring.iter_mut().for_each(|list| *list = Vec::new());
        (self.far, self.spare) = (Vec::new(), Vec::new());
        self.clear();
    }

    /// Releases the reserved memory to the budget, except the [`bytes`] that empty buckets need, because checks of
    /// trees may need this memory. The caller must have dropped the lists of all buckets that it took.
    pub fn give_back(&mut self) {
        let more = self.memory.reserved.bytes().saturating_sub(LEAST_STEPS * self.memory.step);
        if more > 0 {
            self.free();
            self.memory.reserved.shrink(more);
        }
    }

    /// Returns true if an entry was dropped because no memory was left. A vertex whose distance became smaller may then
    /// be missing from the buckets.
    pub fn is_out_of_memory(&self) -> bool {
        self.memory.is_out_of_memory
    }

    /// Adds an entry to the bucket with index `bucket`, which must not precede the bucket that the search took last.
    #[inline(always)]
    pub fn push(&mut self, bucket: u64, entry: NearerVertex<S>) {
        if bucket - self.base < RING {
            let list = &mut self.ring[(bucket % RING) as usize];
            if list.len() < list.capacity() || self.memory.grow_list(list, &mut self.spare) {
                list.push(entry);
            }
        } else if self.far.len() < self.far.capacity() || self.memory.grow(&mut self.far) {
            self.far_first = self.far_first.min(bucket);
            self.far.push((bucket, entry));
        }
    }

    /// Returns the index of the first bucket that has an entry, or `None` if all buckets are empty.
    pub fn first(&self) -> Option<u64> {
        let near = (self.base..self.base + RING).find(|bucket| !self.ring[(bucket % RING) as usize].is_empty());
        near.into_iter().chain((self.far_first < u64::MAX).then_some(self.far_first)).min()
    }

    /// Moves the entries of `bucket`, which must be the first nonempty bucket, to `list`. Drops the previous entries of
    /// `list`, whose memory other buckets reuse.
    pub fn take(&mut self, bucket: u64, list: &mut Vec<NearerVertex<S>>) {
        self.base = bucket;
        if self.far_first <= bucket {
            let mut far = std::mem::take(&mut self.far);
            let base = self.base;
            let is_near = |&(bucket, _): &(u64, NearerVertex<S>)| bucket - base < RING;
            far.iter().filter(|far| is_near(far)).for_each(|&(bucket, entry)| self.push(bucket, entry));
            far.retain(|far| !is_near(far));
            self.far_first = far.iter().map(|&(bucket, _)| bucket).min().unwrap_or(u64::MAX);
            self.far = far;
        }
        list.clear();
        let before = std::mem::replace(list, std::mem::take(&mut self.ring[(bucket % RING) as usize]));
        if before.capacity() > 0 {
            self.spare.push(before);
        }
    }

    /// Removes all entries from all buckets, frees their memory, and reserves at least `bytes` bytes for other data.
    /// Call it when buckets are no longer needed.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn reserve(&mut self, bytes: u64) -> Result<()> {
        self.free();
        self.memory.reserve(bytes)
    }

    /// Returns the number of entries that have been added to the current bucket, the one that the search took last,
    /// since it was taken.
    #[inline]
    pub fn refilled(&self) -> usize {
        self.ring[(self.base % RING) as usize].len()
    }
}

const PURPOSE: &str = "vertices in buckets (up to 16 bytes for each that became nearer)";

/// Memory that is reserved for empty buckets, as a multiple of the number of bytes that a thread reserves at a time. It
/// is enough for a few entries in each bucket.
const LEAST_STEPS: u64 = 3;

/// Returns the memory, in bytes, that a thread reserves for empty buckets of a graph of `vertices` vertices.
pub fn bytes(vertices: u64) -> u64 {
    LEAST_STEPS * step(vertices)
}

fn step(vertices: u64) -> u64 {
    (STEP_OF_VERTEX * vertices).clamp(*STEP.start(), *STEP.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_by_buckets_near_and_far() {
        let budget = Budget::new(1 << 30, 1).unwrap();
        let mut bins = DistanceBins::new(1 << 20, &budget).unwrap();
        let buckets = [0, 3, 3, RING - 1, RING, 5 * RING + 7, 1 << 60, 5 * RING + 6];
        for (vertex, &bucket) in (0..).zip(&buckets) {
            bins.push(bucket, NearerVertex { sum: bucket, vertex });
        }
        let (mut found, mut list) = (Vec::new(), Vec::new());
        while let Some(bucket) = bins.first() {
            bins.take(bucket, &mut list);
            assert!(list.iter().all(|entry| entry.sum == bucket));
            found.extend(list.iter().map(|entry| entry.sum));
        }
        let mut sorted = buckets;
        sorted.sort_unstable();
        assert_eq!(found, sorted);
        assert!(!bins.is_out_of_memory());
    }

    #[test]
    fn buckets_one_after_the_other_share_memory() {
        let budget = Budget::new(1 << 30, 1).unwrap();
        let mut bins = DistanceBins::new(1 << 20, &budget).unwrap();
        let mut list = Vec::new();
        for bucket in 0..10 * RING {
            (0..100).for_each(|vertex| bins.push(bucket + u64::from(vertex % 2), NearerVertex { sum: bucket, vertex }));
            bins.take(bucket, &mut list);
            assert_eq!(list.len(), if bucket == 0 { 50 } else { 100 });
        }
        assert!(bins.memory.taken <= 4 * 128 * 16, "{}", bins.memory.taken);
    }

    #[test]
    fn entries_without_memory_are_dropped_and_noticed() {
        let budget = Budget::new(crate::memory::limit_leaving(bytes(1 << 20), 1), 1).unwrap();
        let mut bins = DistanceBins::new(1 << 20, &budget).unwrap();
        let fill = |bins: &mut DistanceBins<u64>| {
            (0..)
                .take_while(|&vertex| {
                    bins.push(u64::from(vertex) * 100 % 5000, NearerVertex { sum: 0, vertex });
                    !bins.is_out_of_memory()
                })
                .count() as u64
        };
        let first = fill(&mut bins);
        assert!(first * 16 <= bytes(1 << 20) && first * 96 > bytes(1 << 20), "{first}");
        // The memory stays available, including the memory of lists that were taken from buckets.
        let mut list = Vec::new();
        bins.take(0, &mut list);
        bins.clear();
        assert!(!bins.is_out_of_memory());
        drop(list);
        bins.free();
        assert_eq!(fill(&mut bins), first);
        assert!(bins.reserve(bytes(1 << 20)).is_ok() && bins.reserve(bytes(1 << 20) + 1).is_err());
        let budget = Budget::new(1 << 30, 1).unwrap();
        let (mut bins, free) = (DistanceBins::new(1 << 20, &budget).unwrap(), budget.free());
        (0..1 << 20).for_each(|vertex| bins.push(7, NearerVertex { sum: 7u64, vertex }));
        assert!(!bins.is_out_of_memory());
        assert_eq!(free - budget.free(), (16 << 20) - bytes(1 << 20));
        bins.give_back();
        assert_eq!((budget.free(), bins.first()), (free, None));
    }
}
