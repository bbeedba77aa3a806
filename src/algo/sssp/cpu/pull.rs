//! Cap and pull: the method for graphs with hubs that are neighbours of nearly all vertices.
//!
//! While few vertices become nearer, they push along their edges. Once the search meets the hubs, a bucket has so many
//! edges that pushing along all of them would mostly find nothing shorter. From then on the search settles distances up
//! to a *cap*, along edges that stay below the cap. Each vertex beyond the cap then pulls: it looks along its in-edges.
//! Its row is sorted by weight, so it stops at the first edge that is too long even from the nearest vertex that can
//! still make a difference. Two rounds of pulling settle nearly all vertices. The few that still become nearer push.
//!
//! Vertices before the wide bucket pushed along all their edges, so they also claim the vertices whose parents they
//! are. Other parents are found by pulling from the wide bucket on, as distances are.

use super::arithmetic::Arithmetic;
use super::bins::NearerVertex;
use super::push::{PushOptions, Pushed, push};
use super::rows::{Wanted, neighbour, weight};
use super::walk::{PathWalk, ThreadState};
use crate::algo::searches::ranks::RankExchange;

/// A bucket is wide if its vertices have more than this fraction of all edges (1 in 512). With 1 in 64, Kronecker
/// graphs of scale 22 took as long and relaxed six times as many edges.
const WIDE: u64 = 512;
/// Buckets after the wide one that are settled before vertices pull. With four, pushing takes longer by more than
/// pulling gets shorter.
const CAPPED: u64 = 1;
/// How many vertices ahead a row is prefetched.
const AHEAD: u32 = 12;
/// Vertices push again if fewer than this fraction of all (1 in 16) became nearer.
const FEW: usize = 16;
/// The same fraction if rows are on a disk. Pushing reads whole rows from the disk, and pulling mostly finds enough
/// entries in memory.
const FEW_ON_DISK: usize = 1 << 12;

/// Searches by cap and pull. Returns false if threads stop. Collective.
pub fn cap_and_pull<A: Arithmetic>(walk: &PathWalk<'_, A>, here: &mut ThreadState) -> bool {
    let graph = walk.graph;
    let options =
        PushOptions { wide: if graph.has_hubs { graph.entries / WIDE } else { u64::MAX }, ..PushOptions::whole() };
    let bucket = match push(walk, here, "push", options) {
        None => return false,
        Some(Pushed::Done) => return true,
        Some(Pushed::Wide(bucket)) => bucket,
    };
    if !walk.agree(here, &walk.least, RankExchange::least) {
        return false;
    }
    let cap = A::least(bucket + 1 + CAPPED, graph.width);
    if push(walk, here, "cap", PushOptions { cap: Some(cap), ..PushOptions::whole() }).is_none() {
        return false;
    }
    walk.bins(here.thread).clear();
    let into = graph.into();
    let few = graph.vertices as usize / if graph.is_on_disk { FEW_ON_DISK } else { FEW };
    // Vertices of which memory has too few entries.
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
                    // More than a few need not be known, except to other ranks.
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
            into.for_each_prefetched(far.drain(..), |v| Some(Wanted::First(v)), |v| _ = look(v, false));
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

/// Returns true if a vertex may become nearer along its lightest edge, coming from a vertex at the distance `nearest`.
#[inline(always)]
fn needs_row<A: Arithmetic>(walk: &PathWalk<'_, A>, v: u32, cap: A::Sum, nearest: A::Sum) -> bool {
    let own = A::load(&walk.sums[v as usize]);
    own >= cap && A::add(nearest, walk.graph.into().lightest[v as usize]) < own
}

/// Returns the length of the shortest path to `v` over vertices at the distance `nearest` or farther, or `own` if that
/// is shorter, and the number of edges that it relaxed. With `only_memory` it returns `None` if the entries in memory
/// do not suffice.
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
        if A::add(nearest, weight(entry)) >= best {
            return false;
        }
        relaxed += 1;
        best = best.min(A::add(A::load(&walk.sums[neighbour(entry) as usize]), weight(entry)));
        true
    });
    is_complete.then_some((best, relaxed))
}
