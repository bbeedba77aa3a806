//! Runs the phases of one shortest-path search, one after the other, on several threads.

use super::arithmetic::Arithmetic;
use super::bins::NearerVertex;
use super::push::PushOptions;
use super::rows::{RowRequest, neighbour, weight};
use super::walk::{Findings, PathWalk, ReachedVertices, ThreadState};
use super::{parents, pull, push, rounds};
use crate::algo::sssp::Distances;
use crate::algo::sssp::options::Method;
use crate::algo::sssp::search::{NONE, SearchPhase, SsspStats};
use crate::algo::team::team;
use crate::error::Result;
use crate::memory::cells;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Instant;

/// Runs the search `walk`. Writes the distances and parents of all vertices to `distances` and `parents`.
///
/// # Errors
/// [`crate::Error::Stopped`]; [`crate::Error::Limit`] if memory is too small to find the parents of vertices that are
/// reached only by edges that add nothing to the distance.
pub fn run<A: Arithmetic>(walk: PathWalk<'_, A>, distances: &mut Distances, parents: &mut [u32]) -> Result<SsspStats> {
    let begun = Instant::now();
    let cells = cells(parents);
    team(walk.threads, &|thread| {
        let _attends = walk.barrier.panic_guard();
        let mut here = ThreadState::new(thread);
        run_thread(&walk, &mut here, cells);
        here.outcome
    })?;
    let found_without = Instant::now();
    let Findings { mut phases, mut reached, .. } = walk.take_findings();
    if let Some(ranks) = &walk.ranks {
        let mut exchange = ranks.exchange.lock();
        reached.of_all::<A>(&mut exchange.ranks, &mut phases)?;
        exchange.gather(parents)?;
        let lacks = |&v: &u32| A::load(&walk.sums[v as usize]) != A::UNREACHED && parents[v as usize] == NONE;
        let is_first = walk.graph.own.rank == 0;
        reached.without = (0..walk.graph.vertices).filter(|_| is_first).filter(lacks).collect();
    }
    if !reached.without.is_empty() {
        parents::on_plateaus(&walk, &reached.without, parents)?;
        let seconds = found_without.elapsed().as_secs_f64();
        phases.push(SearchPhase { kind: "plateau".into(), rounds: 1, relaxations: 0, seconds });
    }
    let seconds = begun.elapsed().as_secs_f64();
    A::copy(walk.sums, distances);
    let farthest = (distances.of_word(A::to_word(reached.farthest)), walk.graph.heaviest);
    Ok(SsspStats::new(reached.vertices, farthest, phases, seconds))
}

/// Runs one thread of the search through all phases.
fn run_thread<A: Arithmetic>(walk: &PathWalk<'_, A>, here: &mut ThreadState, parents: &[AtomicU32]) {
    let all = walk.sums.len();
    let own = all * here.thread / walk.threads..all * (here.thread + 1) / walk.threads;
    for v in own {
        A::store(&walk.sums[v], if v as u32 == walk.root { A::ZERO } else { A::UNREACHED });
    }
    walk.bins(here.thread).clear();
    if !walk.wait(here) {
        return;
    }
    if here.thread == 0 && walk.graph.own.has(walk.root) {
        walk.bins(0).push(0, NearerVertex { sum: A::ZERO, vertex: walk.root });
    }
    let found = match walk.method {
        Method::BellmanFord => rounds::relax_all(walk, here),
        Method::Auto => pull::cap_and_pull(walk, here),
        Method::Moore | Method::DeltaStepping => {
            let options = PushOptions { is_moore: walk.method == Method::Moore, ..PushOptions::whole() };
            push::push(walk, here, "push", options).is_some()
        }
    };
    if found && relax_leaves(walk, here, parents) {
        parents::find(walk, here, parents);
    }
}

/// Sets the distances and parents of the vertices with a single edge. The parent of such a vertex is its only
/// neighbour. Returns false if an error or a POSIX signal ends the search. All threads must call it.
fn relax_leaves<A: Arithmetic>(walk: &PathWalk<'_, A>, here: &mut ThreadState, parents: &[AtomicU32]) -> bool {
    let (graph, sums) = (walk.graph, walk.sums);
    let (mut relaxed, mut reached, mut nearer) = (0, ReachedVertices::default(), Vec::new());
    let done = walk.round(here, graph.tails..graph.vertices, |part| {
        relaxed += part.len() as u64;
        let first = |v| Some(RowRequest::First(v)).filter(|_| graph.out.lacks_first(v));
        graph.out.for_each_prefetched(part.filter(|&v| graph.own.has(v)), first, |v| {
            let parent = &parents[v as usize];
            if v == walk.root {
                parent.store(v, Relaxed);
                reached.note(A::ZERO);
                return;
            }
            let entry = graph.out.row(v).first();
            // A floating-point sum may overflow to infinity in this step.
            let sum = A::add(A::load(&sums[neighbour(entry) as usize]), weight(entry), walk.values);
            if sum == A::UNREACHED {
                parent.store(NONE, Relaxed);
                return;
            }
            A::store(&sums[v as usize], sum);
            parent.store(neighbour(entry), Relaxed);
            reached.note(sum);
            if walk.is_shared() {
                nearer.push(NearerVertex { sum, vertex: v });
            }
        });
        0
    });
    walk.add(reached);
    done.is_some() && walk.share(here, &mut nearer, |_| ()) && walk.end_phase(here, "leaves", 1, relaxed)
}
