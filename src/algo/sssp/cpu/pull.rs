//! Cap and pull: the search method for graphs with hubs (vertices with very many edges), which are neighbours of nearly
//! all vertices.
//!
//! While the distances of few vertices decrease, these vertices push: they relax their out-edges. Once the search
//! reaches the hubs, the vertices of a bucket have very many edges, and relaxing them all would rarely shorten a
//! distance. From then on the search pushes only along paths shorter than a certain distance, the *cap*. Then each
//! vertex beyond the cap pulls: it relaxes its in-edges. In-edges are sorted by weight. So the vertex can stop at the
//! first weight that is too large even for an edge from the nearest vertex whose edges may still shorten a distance.
//! After two rounds of pulling, nearly all distances are final. The few vertices whose distances still decrease push.
//!
//! The bucket whose vertices have very many edges is called the *wide bucket*. Vertices in earlier buckets have relaxed
//! all their edges. So they claim the vertices of which they are the parents. All other vertices find their parents
//! among their in-edges.

use super::arithmetic::Arithmetic;
use super::bins::NearerVertex;
use super::push::{PushOptions, PushOutcome, push};
use super::rows::{RowRequest, neighbour, weight};
use super::walk::{PathWalk, ThreadState};
use crate::algo::searches::ranks::RankExchange;

/// Threshold for wide buckets: a bucket is wide if its vertices have more than 1/`WIDE` of all edges. With the value
/// 64, searches of Kronecker graphs of scale 22 took as long, and relaxed six times as many edges.
const WIDE: u64 = 512;
/// Number of buckets after the wide bucket whose vertices still push before other vertices pull. With four buckets,
/// pulling takes less time, but pushing takes more time than that saves.
const CAPPED: u64 = 1;
/// Prefetch distance, in adjacency rows.
const AHEAD: u32 = 12;
/// Threshold at which pulling ends: a round of pulling has decreased the distances of at most 1/`FEW` of all vertices.
/// These vertices then push.
const FEW: usize = 16;
/// Value that replaces [`FEW`] if rows are on a disk. It is larger, because pushing reads whole rows from the disk,
/// while pulling finds most of the entries that it needs in memory.
const FEW_ON_DISK: usize = 1 << 12;

/// Searches by cap and pull, the method that [the module](self) describes. Returns false if an error or a POSIX signal
/// ends the search. All threads must call it.
pub fn cap_and_pull<A: Arithmetic>(walk: &PathWalk<'_, A>, here: &mut ThreadState) -> bool {
    let graph = walk.graph;
    let options =
        PushOptions { wide: if graph.has_hubs { graph.entries / WIDE } else { u64::MAX }, ..PushOptions::whole() };
    let bucket = match push(walk, here, "push", options) {
        None => return false,
        Some(PushOutcome::Done) => return true,
        Some(PushOutcome::Wide(bucket)) => bucket,
    };
    if !walk.reduce(here, &walk.least, RankExchange::all_min) {
        return false;
    }
    let cap = A::least(bucket + 1 + CAPPED, graph.width);
    // If no distance can reach the cap, all vertices push.
    let below = Some(cap).filter(|&cap| cap < A::UNREACHED);
    if push(walk, here, "cap", PushOptions { cap: below, ..PushOptions::whole() }).is_none() {
        return false;
    }
    walk.bins(here.thread).clear();
    let into = graph.into();
    let few = graph.vertices as usize / if graph.is_on_disk { FEW_ON_DISK } else { FEW };
    // Vertices for which too few entries are in memory, so that the disk must be read.
    let mut far = Vec::new();
    let mut nearest = walk.least();
    let (mut rounds, mut relaxed, mut nearer) = (0, 0, Vec::new());
    loop {
        nearer.clear();
        let changed = walk.round(here, 0..graph.tails, |part| {
            let (mut changed, end, is_in_memory) = (0, part.end, !into.is_on_disk());
            let mut look = |v: u32, only_memory: bool| {
                let own = A::load(&walk.sums[v as usize]);
                let Some((sum, looked)) = pull(walk, v, own, nearest, only_memory) else { return false };
                relaxed += looked;
                if sum < own {
                    A::store(&walk.sums[v as usize], sum);
                    changed += 1;
                    // A list of more vertices is used only to send them to other ranks.
                    if rounds > 0 && nearer.len() < few || walk.is_shared() {
                        nearer.push(NearerVertex { sum, vertex: v });
                    }
                }
                true
            };
            for v in part {
                if is_in_memory && v + AHEAD < end && needs_row(walk, v + AHEAD, cap, nearest) {
                    into.prefetch_row(v + AHEAD);
                }
                if needs_row(walk, v, cap, nearest) && !look(v, true) {
                    far.push(v);
                }
            }
            into.for_each_prefetched(far.drain(..), |v| Some(RowRequest::First(v)), |v| _ = look(v, false));
            changed
        });
        rounds += 1;
        if !walk.share(here, &mut nearer, |_| ()) {
            return false;
        }
        match changed {
            None => return false,
            Some(0) => return walk.end_phase(here, "pull", rounds, relaxed),
            // The first round finds a distance for every vertex.
            Some(changed) if rounds > 1 && changed <= few as u64 => break,
            Some(_) => nearest = cap,
        }
    }
    let mut bins = walk.bins(here.thread);
    for &entry in &nearer {
        bins.push(A::bucket(entry.sum, graph.width), entry);
    }
    drop(bins);
    walk.end_phase(here, "pull", rounds, relaxed) && push(walk, here, "push", PushOptions::whole()).is_some()
}

/// Returns true if the row of vertex `v` must be read when `v` pulls (relaxes its in-edges). This is the case if the
/// distance of `v` is at least `cap`, and an edge from a vertex at distance `nearest` with the smallest weight in the
/// row would shorten that distance.
#[inline(always)]
fn needs_row<A: Arithmetic>(walk: &PathWalk<'_, A>, v: u32, cap: A::Sum, nearest: A::Sum) -> bool {
    let own = A::load(&walk.sums[v as usize]);
    own >= cap && A::add(nearest, walk.graph.into().lightest[v as usize], walk.values) < own
}

/// Finds the shortest path to `v` whose last edge is an in-edge of `v` from a vertex at distance `nearest` or farther.
/// Returns its length, or `own`, the present distance of `v`, if it is not shorter, and the number of relaxed edges.
/// With `only_memory`, returns `None` if it would have to read the disk.
#[inline(always)]
fn pull<A: Arithmetic>(
    walk: &PathWalk<'_, A>,
    v: u32,
    own: A::Sum,
    nearest: A::Sum,
    only_memory: bool,
) -> Option<(A::Sum, u64)> {
    let (mut best, mut relaxed) = (own, 0);
    let is_complete = walk.graph.into().row(v).along(only_memory, |entry| {
        if A::add(nearest, weight(entry), walk.values) >= best {
            return false;
        }
        relaxed += 1;
        let before = A::load(&walk.sums[neighbour(entry) as usize]);
        best = best.min(A::add(before, weight(entry), walk.values));
        true
    });
    is_complete.then_some((best, relaxed))
}
