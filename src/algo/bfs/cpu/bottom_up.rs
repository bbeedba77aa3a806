//! A bottom-up step: every unreached vertex checks its neighbours, in order, until it finds a reached one.

use crate::algo::bfs::cpu::graph::CpuGraph;
use crate::algo::bfs::cpu::top_down::StepCounts;
use crate::algo::bits::{Lookup, ones};
use crate::memory::will_need;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Number of 64-bit bitmap words that a thread claims at a time in a bottom-up step. They cover 32,768 vertices.
pub const PART: usize = 1 << 9;
/// Maximum number of neighbours of a vertex that are requested from the disk before they are checked. The parent is
/// usually among them.
const ASKED: usize = 1 << 12;

/// Finds parents for the unreached vertices in the range `words` of this rank's bitmap words. `known` is the bitmap of
/// the vertices reached before the step. The vertices reached so far are written to the bitmap `all`. No other thread
/// writes these words of `all`.
pub fn part(
    graph: &CpuGraph<'_>,
    lookup: Lookup,
    known: &[AtomicU64],
    words: std::ops::Range<usize>,
    all: &[AtomicU64],
    parents: &[AtomicU32],
) -> StepCounts {
    let mut found = StepCounts::default();
    // If rows are on a disk, all rows of this range are requested first, so that the disk can read them together.
    let mut later = if graph.on_disk { Some(Vec::with_capacity(words.len())) } else { None };
    for own in words {
        let at = graph.own.word(own);
        let word = known[at].load(Relaxed);
        let missing = !word;
        if missing == 0 {
            all[at].store(word, Relaxed);
            continue;
        }
        let (begin, local_index) = (at as u32 * 64, own * 64);
        let first = &graph.heads.first[local_index..local_index + 64];
        let own_parents = &parents[local_index..(local_index + 64).min(parents.len())];
        let mut hits = lookup.known(known, first, missing) & missing;
        found.checked += u64::from(missing.count_ones());
        write(own_parents, first, hits);
        let mut rest = 0;
        for bit in ones(missing & !hits) {
            let looked = graph.find_in_heads(begin + bit, known);
            found.checked += looked.checked;
            rest |= u64::from(looked.goes_on) << bit;
            if let Some(parent) = looked.parent {
                own_parents[bit as usize].store(parent, Relaxed);
                hits |= 1 << bit;
            }
        }
        match &mut later {
            Some(later) if rest != 0 => {
                let ahead = |row: &[u32]| will_need(&row[..row.len().min(ASKED)]);
                ones(rest).for_each(|bit| graph.remaining_neighbours(begin + bit).into_iter().for_each(ahead));
                later.push((own, hits, rest));
                continue;
            }
            _ => hits |= in_rows(graph, known, begin, rest, own_parents, &mut found),
        }
        found.vertices += u64::from(hits.count_ones());
        all[at].store(word | hits, Relaxed);
    }
    for (own, hits, rest) in later.into_iter().flatten() {
        let (at, local_index) = (graph.own.word(own), own * 64);
        let own_parents = &parents[local_index..(local_index + 64).min(parents.len())];
        let hits = hits | in_rows(graph, known, at as u32 * 64, rest, own_parents, &mut found);
        found.vertices += u64::from(hits.count_ones());
        all[at].store(known[at].load(Relaxed) | hits, Relaxed);
    }
    found
}

/// Looks for the parents of unreached vertices in their rows, after the neighbours that `Heads` stores. Bit `i` of
/// `rest` selects vertex `begin + i`. Returns the bits of the vertices for which a parent was found.
#[inline]
fn in_rows(
    graph: &CpuGraph<'_>,
    known: &[AtomicU64],
    begin: u32,
    rest: u64,
    parents: &[AtomicU32],
    found: &mut StepCounts,
) -> u64 {
    let mut hits = 0;
    for bit in ones(rest) {
        let (parent, checked) = graph.find_in_row(begin + bit, known);
        found.checked += checked;
        if let Some(parent) = parent {
            parents[bit as usize].store(parent, Relaxed);
            hits |= 1 << bit;
        }
    }
    hits
}

/// Stores the first neighbour of each vertex whose bit is set in `hits` as the parent of the vertex.
#[inline]
fn write(parents: &[AtomicU32], first: &[u32], hits: u64) {
    if hits == u64::MAX && parents.len() == 64 {
        parents.iter().zip(first).for_each(|(parent, &first)| parent.store(first, Relaxed));
        return;
    }
    ones(hits).for_each(|bit| parents[bit as usize].store(first[bit as usize], Relaxed));
}
