//! Rounds over all vertices, along all their edges, as long as any vertex becomes nearer: the baseline of other methods (Bellman and Ford).
//!
//! A thread finds what itself found earlier in the round. On a graph that is deep in the order of vertices, as a path is, one thread goes as far in a round
//! as several do in hundreds, each of which begins before what comes before its part is found. So deep searches try now and then which way more
//! vertices become nearer.

use super::arithmetic::Arithmetic;
use super::bins::Entry;
use super::rows::{Wanted, neighbour, weight};
use super::search::{Here, Walk};
use std::ops::Range;

/// The first round that is tried the other way; the next are those of twice as many. Graphs that are not deep have fewer rounds.
const TRIED: u64 = 16;

/// Whether one thread takes a round, as all threads find by what became nearer.
struct Order {
    threads: u64,
    is_alone: bool,
    /// Vertices that became nearer in the round before.
    last: u64,
}

impl Order {
    /// Returns true if one thread takes round `round`.
    fn is_alone(&self, round: u64) -> bool {
        self.threads > 1 && self.is_alone != Order::is_tried(round)
    }

    fn is_tried(round: u64) -> bool {
        round >= TRIED && round.is_power_of_two()
    }

    /// Notes that so many vertices became nearer in a round. One thread takes about as many times as long as there are threads.
    fn note(&mut self, round: u64, changed: u64) {
        let [tried, other] =
            if self.is_alone { [changed * self.threads, self.last] } else { [changed, self.last * self.threads] };
        if Order::is_tried(round) && tried > other {
            self.is_alone = !self.is_alone;
        }
        self.last = changed;
    }
}

/// Searches so. Returns false where threads stop. Collective.
pub fn relax_all<A: Arithmetic>(walk: &Walk<'_, A>, here: &mut Here) -> bool {
    let (graph, sums) = (walk.graph, walk.sums);
    let (mut rounds, mut relaxed, mut nearer) = (0, 0u64, Vec::new());
    let mut order = Order { threads: walk.threads as u64, is_alone: false, last: 0 };
    loop {
        let relax = |part: Range<u32>| {
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
        };
        rounds += 1;
        let changed = match order.is_alone(rounds) {
            true => walk.round_alone(here, 0..graph.vertices, relax),
            false => walk.round(here, 0..graph.vertices, relax),
        };
        if !walk.share(here, &mut nearer, |_| ()) {
            return false;
        }
        nearer.clear();
        match changed {
            None => return false,
            Some(0) => return walk.end_phase(here, "push", rounds, relaxed),
            Some(changed) => order.note(rounds, changed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_takes_rounds_where_it_gets_farther() {
        // Of 2 threads; what becomes nearer in a round of all, and of one.
        for (changed, is_alone) in [([1000, 2000], false), ([1000, 2001], true)] {
            let mut order = Order { threads: 2, is_alone: false, last: 0 };
            for round in 1..100 {
                let alone = order.is_alone(round);
                let tried = [16, 32, 64].contains(&round);
                assert_eq!(alone, if round <= 16 { tried } else { is_alone != tried }, "round {round}");
                order.note(round, changed[usize::from(alone)]);
            }
        }
        let mut order = Order { threads: 1, is_alone: false, last: 0 };
        assert!((1..100).all(|round| {
            order.note(round, round);
            !order.is_alone(round)
        }));
    }
}
