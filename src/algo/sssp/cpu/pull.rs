//! Cap and pull, for graphs with hubs that nearly everybody hangs on.
//!
//! While few vertices became nearer, these push along their edges. Once the hubs are met, a bucket has so many edges that pushing along all of them
//! would mostly find nothing shorter. Then distances up to a *cap* are settled, along edges that stay below it, and every vertex beyond looks along
//! the edges that lead to it: its row is sorted by weight, so that it may stop at the first edge that is too long even from the nearest vertex that
//! can still make a difference. Two such rounds settle nearly all; the few vertices that still become nearer push.
//!
//! Vertices before the wide bucket pushed along all their edges. Parents among these are claimed likewise, and others are found as distances are, from
//! the wide bucket on.

use super::arithmetic::Arithmetic;
use super::bins::{Bins, Entry};
use super::push::{How, Pushed, push};
use super::rows::{neighbour, weight};
use super::search::{Here, Walk};

/// A bucket is wide if its vertices have more than one in so many of all edges. Kronecker graphs of scale 22 took as long with one in 64, along six
/// times as many edges.
const WIDE: u64 = 512;
/// Buckets behind the wide one that are settled before vertices pull: with four, vertices push longer than pulling takes less.
const CAPPED: u64 = 1;
/// Vertices push again where fewer than one in so many became nearer.
const FEW: u64 = 16;

/// Searches so. Returns false where threads stop. Collective.
pub fn cap_and_pull<A: Arithmetic>(walk: &Walk<'_, A>, here: &mut Here, bins: &mut Bins<A::Sum>) -> bool {
    let graph = walk.graph;
    let how = How { wide: if graph.has_hubs { graph.out.entries() / WIDE } else { u64::MAX }, ..How::whole() };
    let bucket = match push(walk, here, bins, "push", how) {
        None => return false,
        Some(Pushed::Done) => return true,
        Some(Pushed::Wide(bucket)) => bucket,
    };
    let cap = A::least(bucket + 1 + CAPPED, graph.width);
    if push(walk, here, bins, "cap", How { cap: Some(cap), ..How::whole() }).is_none() {
        return false;
    }
    bins.clear();
    let mut nearest = A::load(&walk.least);
    let (mut rounds, mut relaxed, mut nearer) = (0, 0, Vec::new());
    loop {
        nearer.clear();
        let changed = walk.round(here, 0..graph.tails, |part| {
            let before = nearer.len();
            part.for_each(|v| relaxed += pull(walk, v, cap, nearest, &mut nearer));
            (nearer.len() - before) as u64
        });
        rounds += 1;
        match changed {
            None => return false,
            Some(0) => return walk.end_phase(here, "pull", rounds, relaxed),
            // The first round finds the distance of everybody.
            Some(few) if rounds > 1 && few < u64::from(graph.vertices) / FEW => break,
            Some(_) => nearest = cap,
        }
    }
    for &entry in &nearer {
        bins.push(A::bucket(entry.sum, graph.width), entry);
    }
    walk.end_phase(here, "pull", rounds, relaxed) && push(walk, here, bins, "push", How::whole()).is_some()
}

/// Looks for a shorter way to `v`, if it is not nearer than `cap`, along edges from vertices that are at least at the distance `nearest`. Returns the
/// number of edges.
#[inline]
fn pull<A: Arithmetic>(
    walk: &Walk<'_, A>,
    v: u32,
    cap: A::Sum,
    nearest: A::Sum,
    nearer: &mut Vec<Entry<A::Sum>>,
) -> u64 {
    let sums = walk.sums;
    let own = A::load(&sums[v as usize]);
    let rows = walk.graph.into();
    if own < cap || A::add(nearest, rows.lightest(v)) >= own {
        return 0;
    }
    let (mut best, mut relaxed) = (own, 0);
    for &entry in rows.row(v) {
        if A::add(nearest, weight(entry)) >= best {
            break;
        }
        relaxed += 1;
        best = best.min(A::add(A::load(&sums[neighbour(entry) as usize]), weight(entry)));
    }
    if best < own {
        A::store(&sums[v as usize], best);
        nearer.push(Entry { sum: best, vertex: v });
    }
    relaxed
}
