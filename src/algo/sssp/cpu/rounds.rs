//! The Bellman-Ford algorithm: relaxes the edges of all vertices in rounds until no distance decreases. This is the
//! baseline for the other methods.
//!
//! Within a round, a thread uses the distances that it has just found. Suppose that a graph is a path whose vertices
//! are numbered along it. Then one thread alone finds all distances in one round. Several threads need many rounds,
//! because each begins its part of the path before the distances in the previous part are known. So a search with many
//! rounds occasionally tries a round by one thread alone. It continues in the mode (one thread or all threads) in which
//! more distances decrease per unit of time.

use super::arithmetic::Arithmetic;
use super::bins::NearerVertex;
use super::rows::{RowRequest, neighbour, weight};
use super::walk::{PathWalk, ThreadState};
use std::ops::Range;

/// First round (1-based) that tries the other mode: one thread instead of all, or all instead of one. Another round
/// tries it whenever the number of rounds has doubled. Unless the graph is deep, a search ends before the first of
/// these rounds.
const TRIED: u64 = 16;

/// Decides whether one thread alone executes a round. All threads reach the same decision, because they use the same
/// counts.
struct RoundMode {
    threads: u64,
    is_alone: bool,
    /// Number of distances that decreased in the previous round.
    last: u64,
}

impl RoundMode {
    /// Returns true if one thread alone executes the round with the 1-based number `round`.
    fn is_alone(&self, round: u64) -> bool {
        self.threads > 1 && self.is_alone != RoundMode::is_tried(round)
    }

    fn is_tried(round: u64) -> bool {
        round >= TRIED && round.is_power_of_two()
    }

    /// Records that `changed` distances decreased in round `round`. If that round tried the other mode (one thread
    /// instead of all, or all instead of one), and more distances decreased per unit of time, switches to that mode.
    /// One thread is assumed to take `threads` times as long as all threads.
    fn note(&mut self, round: u64, changed: u64) {
        let [tried, other] =
            if self.is_alone { [changed * self.threads, self.last] } else { [changed, self.last * self.threads] };
        if RoundMode::is_tried(round) && tried > other {
            self.is_alone = !self.is_alone;
        }
        self.last = changed;
    }
}

/// Searches by relaxing the edges of all vertices in rounds. Returns false if an error or a POSIX signal ends the
/// search. All threads must call it.
pub fn relax_all<A: Arithmetic>(walk: &PathWalk<'_, A>, here: &mut ThreadState) -> bool {
    let (graph, sums) = (walk.graph, walk.sums);
    let (mut rounds, mut relaxed, mut nearer) = (0, 0u64, Vec::new());
    let mut order = RoundMode { threads: walk.threads as u64, is_alone: false, last: 0 };
    loop {
        let relax = |part: Range<u32>| {
            let mut changed = 0;
            let reached = part.filter(|&v| A::load(&sums[v as usize]) != A::UNREACHED);
            graph.out.for_each_prefetched(
                reached,
                |v| Some(RowRequest::All(v)),
                |v| {
                    let before = A::load(&sums[v as usize]);
                    relaxed += graph.out.degree(v);
                    graph.out.row(v).along(false, |entry| {
                        let (vertex, sum) = (neighbour(entry), A::add(before, weight(entry), walk.values));
                        let to = &sums[vertex as usize];
                        let way = A::way(sum, v, before);
                        if A::is_better(way, to) && A::improve(to, way) {
                            changed += 1;
                            if walk.is_shared() {
                                nearer.push(NearerVertex { sum, vertex });
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
    fn one_thread_does_rounds_if_it_gets_farther() {
        // With 2 threads: the number of distances that decrease in a round by all threads, and in a round by one.
        for (changed, is_alone) in [([1000, 2000], false), ([1000, 2001], true)] {
            let mut order = RoundMode { threads: 2, is_alone: false, last: 0 };
            for round in 1..100 {
                let alone = order.is_alone(round);
                let tried = [16, 32, 64].contains(&round);
                assert_eq!(alone, if round <= 16 { tried } else { is_alone != tried }, "round {round}");
                order.note(round, changed[usize::from(alone)]);
            }
        }
        let mut order = RoundMode { threads: 1, is_alone: false, last: 0 };
        assert!((1..100).all(|round| {
            order.note(round, round);
            !order.is_alone(round)
        }));
    }
}
