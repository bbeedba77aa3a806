//! A step bottom-up: every vertex that is not reached looks through its neighbours in order, up to the first that is.

use crate::algo::bfs::cpu::shared::Graph;
use crate::algo::bfs::cpu::vector::Lookup;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Words of bits that a thread takes at a time: 32,768 vertices.
pub const PART: usize = 1 << 9;

/// What a thread found in a step.
#[derive(Debug, Clone, Copy, Default)]
pub struct Found {
    /// Vertices that are reached now.
    pub vertices: u64,
    /// Entries looked at.
    pub checked: u64,
}

/// Searches the vertices of these own words: `known` are those reached before, in `all` come those reached now as well. Only the words of `all` are
/// this thread's.
pub fn part(
    graph: &Graph<'_>,
    lookup: Lookup,
    known: &[AtomicU64],
    words: std::ops::Range<usize>,
    all: &[AtomicU64],
    parents: &[AtomicU32],
) -> Found {
    let mut found = Found::default();
    for own in words {
        let at = graph.own.word(own);
        let word = known[at].load(Relaxed);
        let missing = !word;
        if missing == 0 {
            all[at].store(word, Relaxed);
            continue;
        }
        let begin = at as u32 * 64;
        let place = own * 64;
        let first = &graph.heads.first[place..place + 64];
        let parents = &parents[place..(place + 64).min(parents.len())];
        let mut hits = lookup.known(known, first, missing) & missing;
        found.checked += u64::from(missing.count_ones());
        write(parents, first, hits);
        let mut left = missing & !hits;
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            let v = begin + bit;
            let (parent, checked) = graph.next_known(v, known, 0);
            found.checked += checked;
            if let Some(parent) = parent {
                parents[bit as usize].store(parent, Relaxed);
                hits |= 1 << bit;
            }
        }
        found.vertices += u64::from(hits.count_ones());
        all[at].store(word | hits, Relaxed);
    }
    found
}

/// Writes the first neighbours of those that were hit.
#[inline]
fn write(parents: &[AtomicU32], first: &[u32], mut hits: u64) {
    if hits == u64::MAX && parents.len() == 64 {
        parents.iter().zip(first).for_each(|(parent, &first)| parent.store(first, Relaxed));
        return;
    }
    while hits != 0 {
        let bit = hits.trailing_zeros() as usize;
        hits &= hits - 1;
        parents[bit].store(first[bit], Relaxed);
    }
}
