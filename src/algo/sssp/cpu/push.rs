//! Pushing along the edges of vertices that became nearer, bucket after bucket (delta-stepping), or in the order in which they did (Moore).
//!
//! Each thread has buckets of its own. In a round all threads take parts of the lists that they have of the first bucket, first their own; what comes
//! into the same bucket meanwhile a thread goes on with at once if it is little (bucket fusion, Zhang et al. 2020), so that deep graphs have few
//! rounds.

use super::arithmetic::Arithmetic;
use super::bins::{Bins, Entry};
use super::rows::{neighbour, weight};
use super::search::{Here, Walk};
use crate::algo::sssp::task::Method;
use crate::memory::prefetch;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

/// Entries that a thread takes at a time.
const CHUNK: usize = 64;
/// Most entries of the same bucket that a thread goes on with at once.
const FUSED: usize = 1 << 12;
/// Entries ahead whose rows are asked for.
const AHEAD: usize = 8;

/// Pushes until no vertex becomes nearer. Returns false where threads stop. Collective.
pub fn push<A: Arithmetic>(walk: &Walk<'_, A>, here: &mut Here, bins: &mut Bins<A::Sum>, method: Method) -> bool {
    let (mut rounds, mut relaxed, mut list) = (0, 0, Vec::new());
    let is_moore = method == Method::Moore;
    let bucket_of = |sum: A::Sum| if is_moore { 0 } else { A::bucket(sum, walk.graph.width) };
    loop {
        let (next, after) = (&walk.next[here.round & 1], &walk.next[(here.round + 1) & 1]);
        next.fetch_min(bins.first().unwrap_or(u64::MAX), Relaxed);
        if !walk.meet(here) {
            return false;
        }
        let bucket = next.load(Relaxed);
        if bucket == u64::MAX {
            return walk.end_phase(here, "push", rounds, relaxed);
        }
        let own = &walk.lists[here.thread];
        here.note(bins.take(bucket, &mut own.entries.write().unwrap_or_else(PoisonError::into_inner)));
        own.taken.store(0, Relaxed);
        if here.thread == 0 {
            // All have read it, and nobody writes it before the next meeting.
            after.store(u64::MAX, Relaxed);
        }
        if !walk.meet(here) {
            return false;
        }
        here.round += 1;
        rounds += 1;
        for turn in 0..walk.threads {
            let listed = &walk.lists[(here.thread + turn) % walk.threads];
            let list = listed.entries.read().unwrap_or_else(PoisonError::into_inner);
            loop {
                let first = listed.taken.fetch_add(CHUNK, Relaxed);
                if first >= list.len() {
                    break;
                }
                relaxed += settle(walk, bins, &list[first..(first + CHUNK).min(list.len())], bucket_of);
            }
        }
        while !is_moore && (1..=FUSED).contains(&bins.again()) {
            here.note(bins.take(bucket, &mut list));
            relaxed += settle(walk, bins, &list, bucket_of);
        }
    }
}

/// Pushes along the edges of these vertices, but for those that came nearer since. Returns the number of edges.
fn settle<A: Arithmetic>(
    walk: &Walk<'_, A>,
    bins: &mut Bins<A::Sum>,
    list: &[Entry<A::Sum>],
    bucket_of: impl Fn(A::Sum) -> u64,
) -> u64 {
    let (graph, sums) = (walk.graph, walk.sums);
    let mut relaxed = 0;
    for (at, &Entry { sum, vertex }) in list.iter().enumerate() {
        if let Some(ahead) = list.get(at + AHEAD) {
            prefetch(sums, ahead.vertex as usize);
            graph.out.expect(ahead.vertex);
        }
        if let Some(ahead) = list.get(at + AHEAD / 2) {
            graph.out.expect_row(ahead.vertex);
        }
        if A::load(&sums[vertex as usize]) != sum {
            continue;
        }
        let row = graph.out.row(vertex);
        relaxed += row.len() as u64;
        for &entry in row {
            let (to, nearer) = (neighbour(entry), A::add(sum, weight(entry)));
            let cell = &sums[to as usize];
            if to < graph.tails && nearer < A::load(cell) && A::lower(cell, nearer) {
                bins.push(bucket_of(nearer), Entry { sum: nearer, vertex: to });
            }
        }
    }
    relaxed
}
