//! Chooses between regular (cached) and non-temporal (streaming) store instructions, for writing to memory that another
//! rank has read and will read again.
//!
//! If the cores of writer and reader share a cache, the reader finds data of regular stores there. Otherwise each
//! cache line is still in the reader's cache when it is written again, and a regular store waits for that cache. A
//! non-temporal store bypasses the caches and does not wait, and the reader then reads from memory. On an AMD EPYC
//! (fourth generation), writing 64 MiB for another rank took 28 ms by regular stores and 4 ms by non-temporal stores.
//! If the cores shared a cache, it took 6 and 7 ms. The operating system does not report reliably which cores of a
//! virtual machine share a cache, and virtual cores move, so both kinds of stores are timed.
#![allow(unsafe_code)] // non-temporal stores have no safe form

use std::time::Instant;

/// Minimum size, in bytes, of a copy that is timed and for which the kind of store is chosen.
const LONG: usize = 8 << 10;
/// Interval between trials: one in so many copies uses the kind of store that seems slower, because ranks may have
/// moved to other cores.
const TRIAL_INTERVAL: usize = 256;
/// For each kind of store, the number of recent copies whose costs are stored. Several are stored, so that a single
/// copy that was interrupted or exceptionally fast does not determine the choice for long.
const RECENT: usize = 3;

/// Chooses the kind of store instructions for copies to one reader, from the recent costs of both kinds.
#[derive(Debug, Default, Clone)]
pub(super) struct StorePolicy {
    /// Costs of the last copies by regular stores (index 0) and by non-temporal stores (index 1), in picoseconds per
    /// KiB; zero for copies that were not made yet.
    costs: [[u64; RECENT]; 2],
    /// Number of copies made so far by each kind of store (regular, non-temporal).
    copies: [usize; 2],
}

impl StorePolicy {
    /// Copies bytes to shared memory by the kind of store that seems faster. Both slices must have the same length.
    pub(super) fn copy(&mut self, to: &mut [u8], from: &[u8]) {
        if from.len() < LONG {
            return to.copy_from_slice(from);
        }
        let trial = (self.copies[0] + self.copies[1] + 1).is_multiple_of(TRIAL_INTERVAL);
        let past = self.prefers_streaming() != trial;
        let start = Instant::now();
        if past {
            copy_past_caches(to, from);
        } else {
            to.copy_from_slice(from);
        }
        self.record_cost(past, (start.elapsed().as_nanos() as u64).saturating_mul(1000 << 10) / from.len() as u64);
    }

    /// Returns true if the next copy should use non-temporal stores: until they have been timed [`RECENT`] times, and
    /// then if regular stores cost more than three times as much. The factor favours regular stores, because they save
    /// the reader an access to memory, which the writer's time does not include.
    fn prefers_streaming(&self) -> bool {
        let [cached, past] = self.costs.map(|costs| costs.into_iter().fold(u64::MAX, u64::min));
        past == 0 || cached / 3 > past
    }

    /// Records the cost of one copy, in picoseconds per KiB. `past` is true if the copy used non-temporal stores.
    fn record_cost(&mut self, past: bool, cost: u64) {
        let way = usize::from(past);
        self.costs[way][self.copies[way] % RECENT] = cost.max(1);
        self.copies[way] += 1;
    }
}

/// Copies bytes by non-temporal stores. The bytes become visible to other ranks before all later stores of this thread.
#[cfg(target_arch = "x86_64")]
fn copy_past_caches(to: &mut [u8], from: &[u8]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    /// A cache line. Non-temporal stores should write whole lines.
    #[repr(align(64))]
    struct Line([__m128i; 4]);
    const BYTES: usize = size_of::<Line>();

    assert_eq!(to.len(), from.len(), "a copy has as many bytes");
    // SAFETY: any bytes are a value of a line.
    let (head, lines, tail) = unsafe { to.align_to_mut::<Line>() };
    let (first, rest) = from.split_at(head.len());
    let (middle, last) = rest.split_at(lines.len() * BYTES);
    head.copy_from_slice(first);
    tail.copy_from_slice(last);
    for (line, bytes) in lines.iter_mut().zip(middle.chunks_exact(BYTES)) {
        let from = bytes.as_ptr().cast::<__m128i>();
        // SAFETY: reads four times 16 bytes of the source, which need no alignment, and writes one line of the target,
        // which is aligned. The fence below orders these stores before all later ones.
        unsafe {
            let values = [0, 1, 2, 3].map(|at| _mm_loadu_si128(from.add(at)));
            line.0.iter_mut().zip(values).for_each(|(place, value)| _mm_stream_si128(place, value));
        }
    }
    // SAFETY: every processor of this architecture has this instruction.
    unsafe { _mm_sfence() };
}

#[cfg(not(target_arch = "x86_64"))]
fn copy_past_caches(to: &mut [u8], from: &[u8]) {
    to.copy_from_slice(from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_past_the_caches_are_whole_wherever_they_begin_and_end() {
        let source: Vec<u8> = (0..1000u32).map(|at| (at * 7 % 251) as u8 + 1).collect();
        let places = (0..70).flat_map(|to| [0, 1, 13].map(|from| (to, from)));
        for (to, from, len) in places.flat_map(|(to, from)| [0, 1, 63, 64, 65, 300, 900].map(|len| (to, from, len))) {
            let mut target = vec![0u8; 1000];
            copy_past_caches(&mut target[to..to + len], &source[from..from + len]);
            assert_eq!(target[to..to + len], source[from..from + len], "{len} bytes from {from} to {to}");
            let others = target[..to].iter().chain(&target[to + len..]);
            assert!(others.copied().all(|byte| byte == 0), "{len} bytes from {from} to {to}: more was written");
        }
    }

    #[test]
    fn the_way_past_the_caches_is_taken_while_the_other_is_far_slower() {
        let mut stores = StorePolicy::default();
        (0..RECENT).for_each(|_| stores.record_cost(true, 62_000));
        assert!(!stores.prefers_streaming(), "nothing is known of the other");
        (0..RECENT).for_each(|_| stores.record_cost(false, 430_000));
        assert!(stores.prefers_streaming());
        stores.record_cost(false, 90_000);
        assert!(!stores.prefers_streaming(), "the reader gains more than the writer loses");
        stores.record_cost(false, 1_000_000_000);
        assert!(!stores.prefers_streaming(), "one interrupted copy says nothing");
        (0..RECENT).for_each(|_| stores.record_cost(false, 430_000));
        assert!(stores.prefers_streaming(), "cores have moved");
    }

    #[test]
    fn bytes_arrive_by_either_way() {
        let source: Vec<u8> = (0..LONG as u32).map(|at| (at % 251) as u8).collect();
        let mut stores = StorePolicy::default();
        for number in 0..TRIAL_INTERVAL + 10 {
            let mut target = vec![0u8; source.len() + 2];
            let from = number % 2;
            stores.copy(&mut target[from..][..LONG], &source);
            assert_eq!(target[from..][..LONG], source);
        }
        assert!(stores.copies[0] >= RECENT && stores.copies[1] >= RECENT, "{stores:?}");
    }
}
