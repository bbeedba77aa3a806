//! The graph of SSCA#2 (HPCS Scalable Synthetic Compact Applications #2, version 1), as GTgraph generates it.
//!
//! Vertices form cliques, whose sizes are uniform from 1 to the largest. Two vertices of a clique are joined in both
//! directions, or with some probability in only one. Each direction has from 1 to `parallel` edges.
//!
//! Vertices are also joined to other cliques. For `d` = 1, 2, 4 and so on, vertex `u` looks up vertex `u + d` with
//! probability `between / d`. If vertex `u + d` is in another clique, `u` gets an edge to a random vertex of that
//! clique. Ids are permuted at the end.
//!
//! Each random number depends only on the ids of vertices, so the edges of a clique can be generated without the edges
//! of other cliques. For each clique, or for each group of cliques if there are many, two numbers are stored: its first
//! vertex and its first edge.

use crate::error::Result;
use crate::generate::permutation::Permutation;
use crate::generate::random::{below, key, number};
use crate::process::signals;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

pub(super) const MOST_VERTICES: u64 = 1 << 36;
/// Maximum value of [`Parameters::largest_clique`].
pub(super) const LARGEST_CLIQUE: u64 = 1 << 16;
/// Maximum value of [`Parameters::parallel`].
pub(super) const MOST_PARALLEL: u32 = 1 << 10;

/// Ids of the purposes for which this file draws random numbers. Each purpose has its own key.
const SIZES: u64 = 6;
const PAIRS: u64 = 7;
const LINKS: u64 = 8;
const HEADS: u64 = 9;
/// Approximate maximum number of groups of cliques; each takes 16 bytes.
const GROUPS: u64 = 1 << 21;
/// Upper bound on the number of distances at which a vertex may be joined to other cliques.
const DISTANCES: u64 = 64;

/// Parameters of an SSCA#2 graph.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// Number of vertices of the graph.
    pub vertices: u64,
    /// The largest size of a clique.
    pub largest_clique: u64,
    /// The probability that two vertices of a clique are joined in only one direction.
    pub one_way: f64,
    /// Maximum number of parallel edges from one vertex to another.
    pub parallel: u32,
    /// Probability that vertex `u` gets an edge to the clique of vertex `u + 1`, if that is another clique.
    pub between: f64,
}

impl Parameters {
    /// Returns GTgraph's default parameters for a graph of `vertices` vertices. The size of the largest clique is the
    /// cube root of `vertices`, rounded down.
    pub fn of(vertices: u64) -> Parameters {
        let root = (1..=LARGEST_CLIQUE).take_while(|root| root.pow(3) <= vertices).last().unwrap_or(1);
        Parameters { vertices, largest_clique: root, one_way: 0.2, parallel: 3, between: 0.5 }
    }

    pub(super) fn words(&self) -> [u64; 5] {
        let Parameters { vertices, largest_clique, one_way, parallel, between } = *self;
        [vertices, largest_clique, one_way.to_bits(), parallel.into(), between.to_bits()]
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parameters { vertices, largest_clique, one_way, parallel, between } = self;
        write!(
            f,
            "ssca2 vertices {vertices} cliques to {largest_clique} one way {one_way} parallel {parallel} between {between}"
        )
    }
}

/// The cliques of an SSCA#2 graph, after their sizes are drawn and their edges are counted.
#[derive(Debug, PartialEq)]
pub(super) struct Cliques {
    parameters: Parameters,
    pairs: u64,
    links: u64,
    heads: u64,
    permutation: Permutation,
    sizes: u64,
    /// log2 of the number of cliques in a group of cliques.
    shift: u32,
    /// The first vertex of each group of cliques.
    first: Vec<u64>,
    /// Index of the first edge of each group of cliques, followed by the number of all edges.
    edges: Vec<u64>,
}

impl Cliques {
    /// Draws the sizes of the cliques of an SSCA#2 graph, and counts their edges.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`] if a POSIX signal stops the run.
    pub fn new(parameters: Parameters, seed: u64) -> Result<Cliques> {
        Self::in_groups(parameters, seed, GROUPS)
    }

    fn in_groups(parameters: Parameters, seed: u64, most: u64) -> Result<Cliques> {
        let Parameters { vertices, largest_clique, .. } = parameters;
        let cliques = vertices / largest_clique.div_ceil(2);
        let shift = cliques.div_ceil(most).max(1).next_power_of_two().ilog2();
        let sizes = key(seed, SIZES);
        let mut first = Vec::new();
        let mut end = 0;
        for clique in 0.. {
            if clique % (1 << shift) == 0 {
                signals::check()?;
                first.push(end);
            }
            if end >= vertices {
                break;
            }
            end = vertices.min(end + 1 + below(largest_clique, number(sizes, clique)));
        }
        let [pairs, links, heads] = [PAIRS, LINKS, HEADS].map(|purpose| key(seed, purpose));
        let permutation = Permutation::below(vertices, seed);
        let mut cliques =
            Cliques { parameters, pairs, links, heads, permutation, sizes, shift, first, edges: Vec::new() };
        let count = |group| {
            signals::check()?;
            let mut edges = 0;
            cliques.group_edges(group, |_, _, copies| edges += copies);
            Ok(edges)
        };
        let mut edges: Vec<u64> = (0..cliques.first.len()).into_par_iter().map(count).collect::<Result<_>>()?;
        let mut before = 0;
        for edges in &mut edges {
            (*edges, before) = (before, before + *edges);
        }
        edges.push(before);
        cliques.edges = edges;
        Ok(cliques)
    }

    /// Returns the vertices of each clique in a group of cliques.
    fn members(&self, group: usize) -> impl Iterator<Item = Range<u64>> {
        let Parameters { vertices, largest_clique, .. } = self.parameters;
        let (mut end, first) = (self.first[group], (group as u64) << self.shift);
        (first..first + (1 << self.shift)).map_while(move |clique| {
            let begin = end;
            end = vertices.min(begin + 1 + below(largest_clique, number(self.sizes, clique)));
            (begin < vertices).then_some(begin..end)
        })
    }

    /// Returns the vertices of the clique that contains `vertex`.
    fn clique_of(&self, vertex: u64) -> Range<u64> {
        let group = self.first.partition_point(|&first| first <= vertex) - 1;
        // The group of a vertex always contains the clique of that vertex, so the fallback is never used.
        self.members(group).find(|members| members.contains(&vertex)).unwrap_or(vertex..vertex + 1)
    }

    pub fn edges(&self) -> u64 {
        self.edges.last().copied().unwrap_or(0)
    }

    pub fn bytes(&self) -> u64 {
        8 * (self.first.len() + self.edges.len()) as u64
    }

    /// Calls `put` with (tail, head, number of copies) of each edge that begins in a group of cliques, in order.
    fn group_edges(&self, group: usize, mut put: impl FnMut(u64, u64, u64)) {
        self.members(group).for_each(|own| self.within(own, &mut put));
    }

    /// Like [`Self::group_edges`], for the edges that begin in the clique `own`.
    fn within(&self, own: Range<u64>, put: &mut impl FnMut(u64, u64, u64)) {
        let Parameters { vertices, one_way, between, parallel, .. } = self.parameters;
        // The upper half of a random number is compared with a probability; numbers of copies are computed from bits of
        // the lower half.
        let chance = |probability: f64| (probability * (1u64 << 32) as f64) as u64;
        let copies = |random: u64| 1 + (((random & 0x7fff) * u64::from(parallel)) >> 15);
        let (one_way, between) = (chance(one_way), chance(between));
        for u in own.clone() {
            for v in u + 1..own.end {
                let random = number(self.pairs, u.wrapping_mul(vertices).wrapping_add(v));
                let is_both = random >> 32 >= one_way;
                if is_both || random & 1 == 0 {
                    put(u, v, copies(random >> 1));
                }
                if is_both || random & 1 == 1 {
                    put(v, u, copies(random >> 16));
                }
            }
        }
        for u in own.clone() {
            for power in (0..DISTANCES).take_while(|&power| 1 << power < vertices) {
                let place = u * DISTANCES + power;
                let random = number(self.links, place);
                if random >> 32 >= between >> power {
                    continue;
                }
                let at = (u + (1 << power)) % vertices;
                if !own.contains(&at) {
                    let Range { start: first, end } = self.clique_of(at);
                    put(u, first + below(end - first, number(self.heads, place)), copies(random));
                }
            }
        }
    }

    /// Fills `out` with the generated edges from number `first_edge` on. `narrow` converts each id to `T`.
    pub fn fill<T>(&self, first_edge: u64, out: &mut [[T; 2]], narrow: impl Fn(u64) -> T + Copy) {
        let end_edge = first_edge + out.len() as u64;
        let mut group = self.edges.partition_point(|&first| first <= first_edge) - 1;
        while group + 1 < self.edges.len() && self.edges[group] < end_edge {
            let mut edge = self.edges[group];
            self.group_edges(group, |tail, head, copies| {
                let wanted = edge.max(first_edge)..(edge + copies).min(end_edge);
                for number in wanted {
                    let ends = [tail, head].map(|vertex| narrow(self.permutation.within(vertex)));
                    if let Some(slot) = out.get_mut((number - first_edge) as usize) {
                        *slot = ends;
                    }
                }
                edge += copies;
            });
            group += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that edges do not depend on how many cliques a group has.
    #[test]
    fn groups_change_nothing() {
        for (vertices, largest_clique) in [(1, 1), (7, 1), (500, 1), (500, 9), (1000, 40)] {
            let parameters = Parameters { largest_clique, ..Parameters::of(vertices) };
            let edges = |groups: u64, from: usize| {
                let cliques = Cliques::in_groups(parameters, 3, groups).expect("not stopped");
                assert!(cliques.first.len() as u64 <= 2 * groups + 1, "{groups} groups are {}", cliques.first.len());
                let mut all = vec![[0u64; 2]; cliques.edges() as usize];
                let (before, behind) = all.split_at_mut(from.min(cliques.edges() as usize));
                cliques.fill(0, before, |id| id);
                if !behind.is_empty() {
                    cliques.fill(before.len() as u64, behind, |id| id);
                }
                all
            };
            let known = edges(vertices, 0);
            assert!(vertices < 500 || known.len() > 300);
            for groups in [1, 3, 20] {
                assert_eq!(edges(groups, 177), known, "{vertices} vertices, {groups} groups");
            }
        }
    }

    /// Checks the memory for many cliques. A table with a row per clique would take more memory than a node has.
    #[test]
    fn many_cliques_take_little_memory() {
        let parameters = Parameters { largest_clique: 1, between: 0.0, ..Parameters::of(1 << 22) };
        let cliques = Cliques::new(parameters, 1).expect("not stopped");
        assert!(cliques.bytes() <= 17 * GROUPS, "{}", cliques.bytes());
    }
}
