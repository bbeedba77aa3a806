//! Rounds over all vertices, along all their edges, as long as any vertex becomes nearer: the baseline of other methods (Bellman and Ford).

use super::arithmetic::Arithmetic;
use super::bins::Entry;
use super::rows::{Wanted, neighbour, weight};
use super::search::{Here, Walk};

/// Searches so. Returns false where threads stop. Collective.
pub fn relax_all<A: Arithmetic>(walk: &Walk<'_, A>, here: &mut Here) -> bool {
    let (graph, sums) = (walk.graph, walk.sums);
    let (mut rounds, mut relaxed, mut nearer) = (0, 0u64, Vec::new());
    loop {
        let changed = walk.round(here, 0..graph.vertices, |part| {
            let mut changed = 0;
            let reached = part.filter(|&v| A::load(&sums[v as usize]) != A::UNREACHED);
            graph.out.ahead(
                reached,
                |v| Some(Wanted::All(v)),
                |v| {
                    let before = A::load(&sums[v as usize]);
                    relaxed += graph.out.degree(v);
                    graph.out.row(v).along(false, |entry| {
                        let (vertex, sum) = (neighbour(entry), A::add(before, weight(entry)));
                        let to = &sums[vertex as usize];
                        let way = A::way(sum, v, before);
                        if A::is_better(way, to) && A::improve(to, way) {
                            changed += 1;
                            if walk.is_shared() {
                                nearer.push(Entry { sum, vertex });
                            }
                        }
                        true
                    });
                },
            );
            changed
        });
        rounds += 1;
        if !walk.share(here, &mut nearer, |_| ()) {
            return false;
        }
        nearer.clear();
        match changed {
            None => return false,
            Some(0) => return walk.end_phase(here, "push", rounds, relaxed),
            Some(_) => {}
        }
    }
}
