//! Sorts candidates (neighbours of the frontier, with the vertices that reach them) and drops repeats. Each neighbour
//! has a key. The upper bits of the key select a bucket. Within a bucket there is a bin for each value of the lower
//! bits.
//!
//! Candidates come in the order of the frontier. Threads write them to buckets in this order, so the first candidate
//! with a key has the smallest parent. The bin of the key stores this parent. In the end the bins of all buckets
//! contain the candidates, sorted and without repeats. The bins of a bucket fit in a cache.

use super::rows::Expansion;
use crate::algo::searches::ranks::VertexOwnership;
use crate::algo::team::{Parts, gathered, team};
use crate::algo::traverse::levels::{lap, pair};
use crate::algo::traverse::search::{NONE, StepTimes};
use crate::error::Result;
use crate::memory::{Budget, Buffer, Reservation};
use crate::process::signals;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Base-2 logarithm of the maximum number of buckets. It is so small that one cache line per bucket fits in the
/// second-level cache.
const BUCKET_BITS: u32 = 10;
/// Ratio of keys to candidates in a bucket above which the candidates are sorted by comparison instead of by bins.
const SPARSE: usize = 8;

/// Counters and bins with which all threads sort candidates (neighbours of the frontier) by their keys.
pub(super) struct KeyBuckets {
    /// Number of lower bits of a key. They select the bin within a bucket.
    low: u32,
    buckets: usize,
    /// For each thread and bucket, first the number of candidates, and later the position of the next candidate in the
    /// output.
    places: Buffer<AtomicU32>,
    /// For each thread, one bin for each key of the bucket that it sorts.
    bins: Buffer<AtomicU32>,
    /// For each bucket, the number of candidates that remain after repeats are dropped.
    left: Buffer<AtomicU32>,
    /// Memory for the starts of the buckets, and for the candidates that threads sort by comparison.
    _scratch: Reservation,
}

/// Divides the numbers below `keys` (the keys) into buckets. Returns the number of lower bits of a key, and the number
/// of buckets.
fn shape(keys: u64) -> (u32, usize) {
    let bits = 64 - keys.saturating_sub(1).leading_zeros();
    let low = bits.saturating_sub(BUCKET_BITS);
    (low, ((keys.max(1) - 1) >> low) as usize + 1)
}

/// Returns the size in bytes of [`KeyBuckets`] for `keys` keys and `threads` threads.
pub(super) fn bytes(keys: u64, threads: usize) -> u64 {
    let (low, buckets) = shape(keys);
    4 * (threads as u64 * (2 * buckets as u64 + (1 << low)) + buckets as u64) + scratch_bytes(keys, threads)
}

/// Returns the size in bytes of the starts of the buckets, and of the candidates that threads sort by comparison.
fn scratch_bytes(keys: u64, threads: usize) -> u64 {
    let (low, buckets) = shape(keys);
    let sorted = (1 << low) / SPARSE as u64;
    8 * (buckets as u64 + 1 + threads as u64 * sorted)
}

/// Keeps only the first pair of each key in `pairs`, which must be sorted. Returns how many pairs remain.
pub(super) fn unique(pairs: &mut [u64]) -> usize {
    let mut count = 0;
    for at in 0..pairs.len() {
        if at == 0 || pairs[at] >> 32 != pairs[at - 1] >> 32 {
            pairs[count] = pairs[at];
            count += 1;
        }
    }
    count
}

impl KeyBuckets {
    pub fn new(keys: u64, threads: usize, budget: &Budget) -> Result<KeyBuckets> {
        let (low, buckets) = shape(keys);
        let zeroed = |len: usize| budget.zeroed(len, "buckets of candidates");
        let (places, bins) = (zeroed(2 * threads * buckets)?, zeroed(threads << low)?);
        bins.iter().for_each(|bin: &AtomicU32| bin.store(NONE, Relaxed));
        let scratch = budget.reserve(scratch_bytes(keys, threads), "buckets of candidates")?;
        Ok(KeyBuckets { low, buckets, places, bins, left: zeroed(buckets)?, _scratch: scratch })
    }

    /// Writes the candidates of a piece (a range of the frontier's edges) to `pairs`, sorted by key and without
    /// repeats. Returns three counts: dropped candidates, candidates for vertices of other ranks (including repeats),
    /// and remaining candidates.
    pub fn fill(
        &self,
        expansion: &Expansion<'_>,
        ownership: &VertexOwnership,
        piece: Range<u64>,
        pairs: &[AtomicU64],
        threads: usize,
        steps: &mut StepTimes,
    ) -> Result<(u64, u64, usize)> {
        let mut lapped = Instant::now();
        let ranked = ownership.ranks > 1;
        let own = gathered(threads, &|thread| {
            let share = Expansion::share(&piece, thread, threads);
            let own = match ranked {
                true => self.count::<true>(expansion, ownership, share, thread),
                false => self.count::<false>(expansion, ownership, share, thread),
            };
            signals::check().map(|()| own)
        })?;
        lap(&mut lapped, &mut steps.search);
        let starts = self.place(threads);
        team(threads, &|thread| {
            let share = Expansion::share(&piece, thread, threads);
            match ranked {
                true => self.scatter::<true>(expansion, ownership, share, thread, pairs),
                false => self.scatter::<false>(expansion, ownership, share, thread, pairs),
            }
            signals::check()
        })?;
        lap(&mut lapped, &mut steps.sort);
        let parts = Parts::new(self.buckets, 1);
        team(threads, &|thread| {
            let mut scratch = Vec::new();
            parts.each(|part| {
                let bucket = &pairs[starts[part.start]..starts[part.end]];
                let left = self.unique(bucket, part.start, thread, &mut scratch);
                self.left[part.start].store(left as u32, Relaxed);
                Ok(())
            })
        })?;
        let mut count = 0;
        for (bucket, left) in self.left.iter().enumerate() {
            for from in &pairs[starts[bucket]..][..left.load(Relaxed) as usize] {
                pairs[count].store(from.load(Relaxed), Relaxed);
                count += 1;
            }
        }
        lap(&mut lapped, &mut steps.unique);
        let all = piece.end - piece.start;
        Ok((all - count as u64, all - own.into_iter().sum::<u64>(), count))
    }

    fn places(&self, thread: usize) -> &[AtomicU32] {
        &self.places[2 * thread * self.buckets..][..2 * self.buckets]
    }

    /// Returns the key of vertex `v`. With a single rank the key is the vertex itself.
    #[inline(always)]
    fn key<const RANKED: bool>(ownership: &VertexOwnership, v: u32) -> u32 {
        if RANKED { ownership.key(v) } else { v }
    }

    /// Counts, for each bucket, the candidates in the range `share` of the frontier's edges. Returns how many of these
    /// candidates are vertices that this rank owns.
    fn count<const RANKED: bool>(
        &self,
        expansion: &Expansion<'_>,
        ownership: &VertexOwnership,
        share: Range<u64>,
        thread: usize,
    ) -> u64 {
        // Consecutive candidates often have the same bucket, and an increment waits for the previous increment of the
        // same counter. So each bucket has two counters, which are used alternately.
        let counts = self.places(thread);
        counts.iter().for_each(|count| count.store(0, Relaxed));
        let first = ownership.rank as u32 * ownership.stride;
        let (mut own, mut turn) = (0, 0);
        expansion.each(share, |neighbour, _| {
            let key = Self::key::<RANKED>(ownership, neighbour);
            own += u64::from(!RANKED || key.wrapping_sub(first) < ownership.stride);
            let count = &counts[(key >> self.low) as usize * 2 + turn];
            count.store(count.load(Relaxed) + 1, Relaxed);
            turn ^= 1;
        });
        own
    }

    /// Converts the counts of all threads to positions in the output. Returns the start of each bucket in the output,
    /// followed by the end of the last bucket.
    fn place(&self, threads: usize) -> Vec<usize> {
        let mut next = 0u32;
        let mut starts = Vec::with_capacity(self.buckets + 1);
        for bucket in 0..self.buckets {
            starts.push(next as usize);
            for thread in 0..threads {
                let counts = &self.places(thread)[2 * bucket..][..2];
                let count = counts[0].load(Relaxed) + counts[1].load(Relaxed);
                counts[0].store(next, Relaxed);
                next += count;
            }
        }
        starts.push(next as usize);
        starts
    }

    /// Writes the candidates in the range `share` of the frontier's edges to the buckets of their keys.
    fn scatter<const RANKED: bool>(
        &self,
        expansion: &Expansion<'_>,
        ownership: &VertexOwnership,
        share: Range<u64>,
        thread: usize,
        pairs: &[AtomicU64],
    ) {
        let places = self.places(thread);
        expansion.each(share, |neighbour, v| {
            let key = Self::key::<RANKED>(ownership, neighbour);
            let next = &places[(key >> self.low) as usize * 2];
            let place = next.load(Relaxed);
            next.store(place + 1, Relaxed);
            pairs[place as usize].store(pair(key, v), Relaxed);
        });
    }

    /// Sorts the pairs of a bucket by key and drops repeats. Returns how many pairs remain.
    fn unique(&self, pairs: &[AtomicU64], bucket: usize, thread: usize, scratch: &mut Vec<u64>) -> usize {
        let keys = 1 << self.low;
        if pairs.len() * SPARSE < keys {
            scratch.clear();
            scratch.extend(pairs.iter().map(|pair| pair.load(Relaxed)));
            scratch.sort_unstable();
            let count = unique(scratch);
            pairs.iter().zip(&scratch[..count]).for_each(|(to, &from)| to.store(from, Relaxed));
            return count;
        }
        let bins = &self.bins[thread << self.low..][..keys];
        for pair in pairs {
            let pair = pair.load(Relaxed);
            let bin = &bins[(pair >> 32) as usize & (keys - 1)];
            // Parents arrive in ascending order, so the minimum is the first.
            bin.store(bin.load(Relaxed).min(pair as u32), Relaxed);
        }
        let mut count = 0;
        for (key, bin) in ((bucket as u32) << self.low..).zip(bins) {
            let parent = bin.load(Relaxed);
            if parent != NONE {
                pairs[count].store(pair(key, parent), Relaxed);
                bin.store(NONE, Relaxed);
                count += 1;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_all_keys() {
        for keys in [0, 1, 2, 1000, 1024, 1025, 1 << 20, (1 << 20) + 1, u64::from(u32::MAX)] {
            let (low, buckets) = shape(keys);
            assert!(buckets <= 1 << BUCKET_BITS && (buckets as u64) << low >= keys, "{keys}: {low}, {buckets}");
        }
    }

    #[test]
    fn the_first_pair_of_each_key_is_left() {
        let mut pairs = [pair(1, 5), pair(1, 6), pair(2, 1), pair(7, 0), pair(7, 0), pair(9, 3)];
        let count = unique(&mut pairs);
        assert_eq!(pairs[..count], [pair(1, 5), pair(2, 1), pair(7, 0), pair(9, 3)]);
        assert_eq!(unique(&mut []), 0);
    }
}
